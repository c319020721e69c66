//! `cargo xtask`: fixtures, snapshots and benchmarks, the one entry that CI and people both call.
//!
//! One file per subcommand; this one only dispatches.

mod subjects;

use clap::Parser;

#[derive(Parser)]
#[command(name = "xtask", about = "Stroboscope's maintenance tasks")]
enum Task {
    Subjects(subjects::Args),
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Subjects(args) => subjects::run(&args),
    }
}
