//! `strobe stack`: how deep stacks can get, from the image, and how deep they got in a run.

use std::path::PathBuf;
use std::process::ExitCode;

use strobe_memory::stack::{self, Annotations, Measured};
use strobe_model::measurement::{Finding, Measurement, Severity};
use strobe_source::simulated::StackUse;
use strobe_symbols::Firmware;

use crate::files::{self, Kind};
use crate::log::Logged;
use crate::output::Wanted;
use crate::simulate::{self, Setup};
use crate::{board, exit, input};

const EXAMPLES: &str = "\
Examples:
  strobe stack firmware.elf
  strobe stack firmware.elf --annotations stacks.toml
  strobe stack firmware.elf --run --until 2s
  strobe stack firmware.elf -o s.measurement; strobe export s.measurement --to flamegraph

A worst case is what the machine code allows on any path. Where calls go through pointers, functions
call themselves or allocate on the stack, it is a lower bound until annotations supply the rest
(docs/stack.md).

Exit codes: 0 done, 64 wrong arguments, 65 unusable firmware or annotations, 66 cannot be read, 74
cannot be written; with --run also those of strobe run";

/// Show the worst case of every stack by machine code, and beside it what a simulated run used.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The firmware, an ELF file.
    firmware: PathBuf,
    /// Targets of indirect calls, depths of recursion, bounds of dynamic allocation, threads and
    /// their stacks (docs/stack.md).
    #[arg(long, value_name = "FILE")]
    annotations: Option<PathBuf>,
    /// Run the firmware on the simulated board as well, and show how deep its stacks got.
    #[arg(long)]
    run: bool,
    #[command(flatten)]
    setup: Setup,
    #[command(flatten)]
    result: Wanted,
    #[command(flatten)]
    log: Logged,
}

impl Args {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::Named) {
        named.reads([&self.firmware]);
        named.reads(&self.annotations);
        self.setup.files(named);
        self.result.files(named);
    }
}

/// Measures and prints.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.log.ready()?;
    if let Some(option) = args.setup.given().next().filter(|_| !args.run) {
        return Err(exit::usage(format!("{option} is about a run: add --run")));
    }
    let firmware = input::firmware(&args.firmware)?;
    let annotations = annotations(args)?;
    let measured = stack::measure(&firmware, &input::file_name(&args.firmware), &annotations);
    let mut measurement = measured.map_err(|error| match &args.annotations {
        Some(path) => exit::data(format!("{}: {error}", path.display())),
        None => exit::data(error.to_string()),
    })?;
    let code = match args.run {
        true => simulated(args, &firmware, &mut measurement)?,
        false => ExitCode::SUCCESS,
    };
    let selection = args.result.selection();
    let overview = || {
        let sections = ["stacks", "entry-points", "unknown-calls", "recursion", "stack-variables"];
        sections.map(str::to_owned).to_vec()
    };
    let sections = Some(selection.sections.clone().unwrap_or_else(overview));
    let selection = strobe_report::text::Selection { sections, ..selection };
    args.result.measurement(&measurement, &selection)?;
    args.log.add(&measurement)?;
    Ok(code)
}

fn annotations(args: &Args) -> anyhow::Result<Annotations> {
    let Some(path) = &args.annotations else { return Ok(Annotations::default()) };
    let text = files::text(path, &Kind::ANNOTATIONS)?;
    Annotations::parse(&text).map_err(|e| exit::data(format!("{}: {e}", path.display())))
}

/// Puts what a run used beside what the image allows; returns how the run ended.
fn simulated(
    args: &Args,
    firmware: &Firmware,
    measurement: &mut Measurement,
) -> anyhow::Result<ExitCode> {
    let choice = board::choose(&args.setup.board, firmware)?;
    let done = simulate::stacks(&args.firmware, firmware, &choice, &args.setup)?;
    measurement.subject.board = Some(choice.board.name().to_owned());
    let stacks: Vec<Measured> = done.stacks.iter().map(measured).collect();
    stack::join(measurement, &stacks);
    for text in done.stacks.into_iter().filter_map(|stack| stack.overflow) {
        measurement.findings.push(Finding::new(Severity::Fault, "stack-overflow", text));
    }
    measurement.findings.extend(simulate::unreached(&done.record));
    Ok(exit::code_for(&done.record))
}

fn measured(stack: &StackUse) -> Measured {
    Measured {
        name: stack.name.clone(),
        entry: stack.entry,
        is_main: stack.is_main,
        bytes: stack.bytes,
        low: stack.low,
        is_exact: true,
        chain: stack.chain.clone(),
        cycle: stack.cycle,
    }
}
