//! `strobe completions`: scripts for shells.

use std::process::ExitCode;

use crate::files::FileSet;
use clap::CommandFactory;

/// Print a completion script for a shell.
#[derive(clap::Args)]
pub struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

impl Args {
    /// Registers no file: none is both read and written.
    pub fn files(&self, _: &mut FileSet) {}
}

/// Prints the script.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "strobe", &mut script);
    crate::terminal::result(&script)?;
    Ok(ExitCode::SUCCESS)
}
