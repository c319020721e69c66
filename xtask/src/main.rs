//! `cargo xtask`: fixtures, snapshots and benchmarks, the one entry that CI and people both call.
//!
//! One file per subcommand; this one only dispatches.

mod firmware;
mod subjects;

use clap::Parser;

#[derive(Parser)]
#[command(name = "xtask", about = "Stroboscope's maintenance tasks")]
enum Task {
    Firmware(firmware::Arguments),
    Subjects(subjects::Args),
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Firmware(arguments) => firmware::run(&arguments),
        Task::Subjects(args) => subjects::run(&args),
    }
}
