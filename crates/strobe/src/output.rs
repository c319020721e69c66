//! Where results go: standard output or a file, with or without colours.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// When to use colours.
#[derive(Clone, Copy, Default, clap::ValueEnum)]
pub enum Color {
    /// On terminals, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Makes the choice hold for all output.
    pub fn apply(self) {
        let choice = match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// How results are printed.
#[derive(Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs; versioned, see docs/schema.
    Json,
}

/// How a command's result is wanted.
#[derive(clap::Args)]
pub struct Wanted {
    /// Leave out the explanations.
    #[arg(long)]
    terse: bool,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Write the result to a file.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Wanted {
    /// The look of a text report.
    pub fn options(&self) -> strobe_report::Options {
        options(self.output.is_none(), self.terse)
    }

    /// Writes it where it is wanted.
    pub fn write(&self, bytes: &[u8]) -> anyhow::Result<()> {
        write(bytes, self.output.as_deref())
    }
}

/// The look of a text report. Only one that goes to a terminal is coloured and fitted to it.
pub fn options(to_stdout: bool, terse: bool) -> strobe_report::Options {
    let choice = anstream::AutoStream::choice(&io::stdout());
    let colour = to_stdout && choice != anstream::ColorChoice::Never;
    let on_terminal = to_stdout && io::stdout().is_terminal();
    let columns =
        std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).filter(|_| on_terminal);
    let width = columns.unwrap_or(100).clamp(60, 200);
    strobe_report::Options { style: strobe_report::Style { colour, width }, quiet: terse }
}

/// Writes a finished result to standard output, or to a file if one is named.
pub fn write(bytes: &[u8], path: Option<&Path>) -> anyhow::Result<()> {
    match path {
        None => {
            let mut out = io::stdout().lock();
            out.write_all(bytes)?;
            out.flush()?;
        }
        Some(path) => {
            std::fs::write(path, bytes).map_err(|e| {
                crate::exit::output(format!("cannot write {}: {e}", path.display()))
            })?;
        }
    }
    Ok(())
}
