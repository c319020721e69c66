//! `cargo xtask`: fixtures, snapshots and benchmarks, the one entry that CI and people both call.
//!
//! One file per subcommand; this one only dispatches.

use clap::Parser;

#[derive(Parser)]
#[command(name = "xtask", about = "Stroboscope's maintenance tasks")]
enum Task {}

fn main() -> anyhow::Result<()> {
    match Task::parse() {}
}
