//! The `strobe` command: parses arguments, calls the library crates, prints.
//!
//! One file per subcommand. Results go to standard output, everything else to standard error.

mod analog;
mod archive;
mod bench;
mod board;
mod boards;
mod bus;
mod capture;
mod check;
mod chip;
mod compare;
mod completions;
mod cycles;
mod ending;
mod events;
mod exit;
mod experiment;
mod export;
mod files;
mod flashing;
mod gallery;
mod heap;
mod history;
mod host;
mod input;
mod interrupt;
mod link;
mod live;
mod log;
mod man;
mod measurement;
mod output;
mod pins;
mod plan;
mod query;
mod record;
mod recording;
mod report;
mod rig;
mod run;
mod serial_ports;
mod show;
mod simulate;
mod size;
mod source;
mod stack;
mod swo;
mod terminal;
mod top;
mod trace_options;
mod traced;
mod version;

use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};
use strobe_experiment::host as experiment_host;
use strobe_report::visible;

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

/// The commands in the order of `--help`: each is a module with `Args`, whose `files` registers the
/// files that are read and written, and with `run`.
macro_rules! commands {
    ($($name:ident: $($module:ident)::+,)*) => {
        #[derive(Subcommand)]
        enum Command {
            $($name($($module)::+::Args),)*
        }

        impl Command {
            fn files(&self, named: &mut files::FileSet) {
                match self {
                    $(Command::$name(args) => args.files(named),)*
                }
            }

            fn run(&self) -> anyhow::Result<ExitCode> {
                match self {
                    $(Command::$name(args) => $($module)::+::run(args),)*
                }
            }
        }
    };
}

commands! {
    Run: run,
    Cycles: cycles,
    Compare: compare,
    Heap: heap,
    Check: check,
    Init: check::init,
    Size: size,
    Stack: stack,
    Bench: bench,
    Experiment: experiment,
    Log: log,
    History: history,
    Query: query,
    Pins: pins,
    Plan: plan,
    Bus: bus,
    Record: record,
    Report: report,
    Top: top,
    Export: export,
    Boards: boards,
    Completions: completions,
    Man: man,
}

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == experiment_host::SUPERVISOR) {
        return experiment_host::supervise().into();
    }
    interrupt::ignore_sigxfsz();
    interrupt::install_handlers();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return explain(&error),
    };
    cli.color.apply();
    match carry_out(&cli.command) {
        Ok(code) => code,
        Err(error) => exit::report(&error),
    }
}

/// The files that the arguments name.
fn named(command: &Command) -> files::FileSet {
    let mut named = files::FileSet::default();
    command.files(&mut named);
    named
}

/// Runs a command. Before anything is opened, no output is an input.
fn carry_out(command: &Command) -> anyhow::Result<ExitCode> {
    named(command).register()?;
    let code = command.run()?;
    files::commit_logs()?;
    Ok(code)
}

/// The parser's output: help and version are results, anything else is a usage error.
fn explain(error: &clap::Error) -> ExitCode {
    if let Some(file) = file_as_command(error) {
        let message = format!("`{file}` is no command; to profile it: strobe run {file}");
        return exit::report(&exit::usage(message));
    }
    // Arguments are shown in it: what a terminal would obey goes, and the colours with it.
    if error.use_stderr()
        && std::env::args_os().any(|text| text.to_string_lossy().chars().any(visible::is_obeyed))
    {
        terminal::message(&error.render().to_string());
        return exit::USAGE.into();
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
