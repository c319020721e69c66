//! `strobe boards`: what can be simulated.

use std::io::Write;
use std::process::ExitCode;

use strobe_sim::board::Board;

/// List the boards that can be simulated.
#[derive(clap::Args)]
pub struct Args {}

/// Prints one line per board.
pub fn run(_: &Args) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    for name in Board::builtin_names() {
        let board = Board::builtin(name)?;
        writeln!(out, "{name:<14} {}", board.description())?;
    }
    Ok(ExitCode::SUCCESS)
}
