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

#[derive(Subcommand)]
enum Command {
    Run(run::Args),
    Cycles(cycles::Args),
    Compare(compare::Args),
    Heap(heap::Args),
    Check(check::Args),
    Init(check::init::Args),
    Size(size::Args),
    Stack(stack::Args),
    Bench(bench::Args),
    Experiment(experiment::Args),
    Log(log::Args),
    History(history::Args),
    Query(query::Args),
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
    if std::env::args_os().nth(1).is_some_and(|first| first == experiment_host::SUPERVISOR) {
        return experiment_host::supervise().into();
    }
    interrupt::outlive_file_limits();
    interrupt::end_as_ctrl_c();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return explain(&error),
    };
    cli.color.apply();
    match named(&cli.command).register().and_then(|()| carry_out(&cli.command)) {
        Ok(code) => code,
        Err(error) => exit::report(&error),
    }
}

/// The files that the arguments name: before anything is opened, no output is an input.
fn named(command: &Command) -> files::Named {
    let mut named = files::Named::default();
    match command {
        Command::Run(args) => args.files(&mut named),
        Command::Cycles(args) => args.files(&mut named),
        Command::Compare(args) => args.files(&mut named),
        Command::Heap(args) => args.files(&mut named),
        Command::Check(args) => args.files(&mut named),
        Command::Init(args) => args.files(&mut named),
        Command::Size(args) => args.files(&mut named),
        Command::Stack(args) => args.files(&mut named),
        Command::Bench(args) => args.files(&mut named),
        Command::Experiment(args) => args.files(&mut named),
        Command::Log(args) => args.files(&mut named),
        Command::History(args) => args.files(&mut named),
        Command::Query(args) => args.files(&mut named),
        Command::Pins(args) => args.files(&mut named),
        Command::Plan(args) => args.files(&mut named),
        Command::Bus(args) => args.files(&mut named),
        Command::Record(args) => args.files(&mut named),
        Command::Report(args) => args.files(&mut named),
        Command::Export(args) => args.files(&mut named),
        Command::Top(_) | Command::Boards(_) | Command::Completions(_) | Command::Man(_) => {}
    }
    named
}

fn carry_out(command: &Command) -> anyhow::Result<ExitCode> {
    let code = match command {
        Command::Run(args) => run::run(args),
        Command::Cycles(args) => cycles::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Heap(args) => heap::run(args),
        Command::Check(args) => check::run(args),
        Command::Init(args) => check::init::run(args),
        Command::Size(args) => size::run(args),
        Command::Stack(args) => stack::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Experiment(args) => experiment::run(args),
        Command::Log(args) => log::run(args),
        Command::History(args) => history::run(args),
        Command::Query(args) => query::run(args),
        Command::Pins(args) => pins::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Bus(args) => bus::run(args),
        Command::Record(args) => record::run(args),
        Command::Report(args) => report::run(args),
        Command::Top(args) => top::run(args),
        Command::Export(args) => export::run(args),
        Command::Boards(args) => boards::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }?;
    files::logs_are_whole()?;
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
