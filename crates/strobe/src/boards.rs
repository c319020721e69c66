//! `strobe boards`: what can be simulated.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use strobe_devices::board::{Board, from_svd};

use crate::files::FileSet;
use crate::{board, exit};

/// List the boards that can be simulated, or make a board file from an SVD file.
#[derive(clap::Args)]
pub struct Args {
    /// How to print the list.
    #[arg(long, value_enum, default_value_t)]
    format: Form,
    /// Print a board file for the chip of a CMSIS-SVD file instead: its core, its peripherals with
    /// addresses and interrupts, and memories to be set.
    #[arg(long, value_name = "FILE.svd")]
    new: Option<PathBuf>,
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

impl Args {
    /// Registers no file: none is both read and written.
    pub fn files(&self, _: &mut FileSet) {}
}

/// Prints one line per board, or a new board file.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.new {
        let svd = board::read_svd(path)?;
        let text = from_svd(&svd)
            .map_err(|e| exit::data(format!("{}: cannot be made a board: {e}", path.display())))?;
        crate::terminal::result(text.to_string().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
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
