//! The `strobe` command: parses arguments, calls the library crates, prints.
//!
//! One file per subcommand. Results go to standard output, everything else to standard error.

mod analog;
mod board;
mod boards;
mod bus;
mod capture;
mod chip;
mod compare;
mod completions;
mod cycles;
mod events;
mod exit;
mod export;
mod gallery;
mod host;
mod input;
mod link;
mod live;
mod man;
mod measurement;
mod output;
mod pins;
mod plan;
mod record;
mod recording;
mod report;
mod rig;
mod run;
mod simulate;
mod size;
mod source;
mod stack;
mod swo;
mod top;
mod trace_options;
mod traced;
mod version;

use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};

/// Measures, explains and compares where firmware spends its cycles.
#[derive(Parser)]
#[command(name = "strobe", version = version::SHORT, long_version = version::LONG.as_str())]
#[command(about, after_help = exit::HELP, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    color: output::Color,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Args),
    Cycles(cycles::Args),
    Compare(compare::Args),
    Size(size::Args),
    Stack(stack::Args),
    Pins(pins::Args),
    Plan(plan::Args),
    Bus(bus::Args),
    Record(record::Args),
    Report(report::Args),
    Top(top::Args),
    Export(export::Args),
    Boards(boards::Args),
    Completions(completions::Args),
    Man(man::Args),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return explain(&error),
    };
    cli.color.apply();
    let result = match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Cycles(args) => cycles::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Size(args) => size::run(&args),
        Command::Stack(args) => stack::run(&args),
        Command::Pins(args) => pins::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Bus(args) => bus::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Boards(args) => boards::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    };
    match result {
        Ok(code) => code,
        Err(error) => exit::report(&error),
    }
}

/// What the parser has to say: help and version are results, anything else is a usage error.
fn explain(error: &clap::Error) -> ExitCode {
    if let Some(file) = file_as_command(error) {
        let message = format!("`{file}` is no command; to profile it: strobe run {file}");
        return exit::report(&exit::usage(message));
    }
    match error.print() {
        Err(io) if !error.use_stderr() => exit::report(&io.into()),
        _ if error.use_stderr() => exit::USAGE.into(),
        _ => ExitCode::SUCCESS,
    }
}

/// The firmware, where somebody gave it without saying what to do with it.
fn file_as_command(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::InvalidSubcommand)? {
        ContextValue::String(name) if Path::new(name).is_file() => Some(name),
        _ => None,
    }
}
