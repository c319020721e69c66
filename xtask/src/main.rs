//! `cargo xtask`: fixtures, snapshots and benchmarks, the common entry for CI and developers.
//!
//! One file per subcommand; this one only dispatches.

mod arduino;
mod bench;
mod card;
mod count;
mod dist;
mod firmware;
mod founding;
mod judge;
mod licences;
mod recordings;
mod simulate;
mod stamp;
mod subjects;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "xtask", about = "Stroboscope's maintenance tasks")]
enum Task {
    Bench(bench::Args),
    Card(card::Args),
    Count(count::Args),
    Dist(dist::Args),
    Firmware(firmware::Arguments),
    Founding(founding::Args),
    Judge(judge::Args),
    Licences(licences::Args),
    Recordings(recordings::Args),
    Simulate(simulate::Args),
    Subjects(subjects::Args),
}

fn main() -> anyhow::Result<ExitCode> {
    let done = match Task::parse() {
        Task::Bench(args) => bench::run(&args),
        Task::Card(args) => card::run(&args),
        Task::Count(args) => count::run(&args),
        Task::Dist(args) => dist::run(&args),
        Task::Firmware(arguments) => firmware::run(&arguments),
        Task::Founding(args) => founding::run(&args),
        Task::Judge(args) => return judge::run(&args),
        Task::Licences(args) => licences::run(&args),
        Task::Recordings(args) => return recordings::run(&args),
        Task::Simulate(args) => return simulate::run(&args),
        Task::Subjects(args) => subjects::run(&args),
    };
    done.map(|()| ExitCode::SUCCESS)
}
