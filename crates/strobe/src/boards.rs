//! `strobe boards`: what can be simulated.

use std::io::Write;
use std::process::ExitCode;

use strobe_sim::board::Board;

/// List the boards that can be simulated.
#[derive(clap::Args)]
pub struct Args {
    /// How to print the list.
    #[arg(long, value_enum, default_value_t)]
    format: Form,
}

/// How to print the list.
#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum Form {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// Prints one line per board.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let boards: Vec<Board> =
        Board::builtin_names().map(Board::builtin).collect::<Result<_, _>>()?;
    let mut out = Vec::new();
    match args.format {
        Form::Text => {
            let width = boards.iter().map(|board| board.name().len()).max().unwrap_or(0);
            for board in &boards {
                writeln!(out, "{:<width$} {}", board.name(), board.description())?;
            }
        }
        Form::Json => {
            let describe = |board: &Board| {
                serde_json::json!({
                    "name": board.name(),
                    "description": board.description(),
                    "core": board.core_name(),
                    "clock_hz": board.clock_hz(),
                })
            };
            let boards: Vec<_> = boards.iter().map(describe).collect();
            let list = serde_json::json!({ "schema": "strobe-boards/1", "boards": boards });
            writeln!(out, "{list:#}")?;
        }
    }
    crate::terminal::result(&out)?;
    Ok(ExitCode::SUCCESS)
}
