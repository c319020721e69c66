//! Where results go: standard output or a file, with or without colours.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::Context;

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

/// Whether standard output takes colours.
pub fn colour() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Columns to fill: the terminal's where there is one, else 100.
pub fn width() -> usize {
    if !io::stdout().is_terminal() {
        return 100;
    }
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    columns.unwrap_or(100).clamp(60, 200)
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
            let failed = || format!("cannot write {}", path.display());
            std::fs::write(path, bytes).with_context(failed)?;
        }
    }
    Ok(())
}
