//! `strobe stack`: how deep stacks can get, from the image, and how deep they got in a run.

use std::path::PathBuf;
use std::process::ExitCode;

use strobe_memory::stack::painted::{self, Copy};
use strobe_memory::stack::{self, Analysis, Annotations, Measured};
use strobe_model::measurement::{CORE_TIMING, Finding, Measurement, Severity};
use strobe_model::spelling;
use strobe_source::simulated::StackUse;
use strobe_symbols::Firmware;

use crate::files::{self, Kind};
use crate::log::ArchiveArgs;
use crate::output::OutputArgs;
use crate::simulate::{self, Setup};
use crate::{board, exit, input};

const EXAMPLES: &str = "\
Examples:
  strobe stack firmware.elf
  strobe stack firmware.elf --annotations stacks.toml
  strobe stack firmware.elf --run --until 2s
  strobe stack firmware.elf --ram 0x20000000=ram.bin    # copied by a debugger
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
    /// A copy of a board's memory, as raw bytes from this address on (OpenOCD's `dump_image`, gdb's
    /// `dump binary memory`): show how far painted stacks were used. May be given several times.
    #[arg(long, value_name = "ADDRESS=FILE", value_parser = copied)]
    ram: Vec<(u32, PathBuf)>,
    #[command(flatten)]
    setup: Setup,
    #[command(flatten)]
    result: OutputArgs,
    #[command(flatten)]
    log: ArchiveArgs,
}

impl Args {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::FileSet) {
        named.reads([&self.firmware]);
        named.reads(&self.annotations);
        named.reads(self.ram.iter().map(|(_, path)| path));
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
    let analysis = Analysis::new(&firmware, &annotations);
    let mut analysis = analysis.map_err(|error| match &args.annotations {
        Some(path) => exit::data(format!("{}: {error}", path.display())),
        None => exit::data(error.to_string()),
    })?;
    let name = input::file_name(&args.firmware);
    let (mut measurement, code) = if args.run {
        simulated(args, &firmware, &mut analysis, &name)?
    } else {
        (analysis.measurement(&name), ExitCode::SUCCESS)
    };
    paint(args, &mut measurement)?;
    let selection = args.result.selection();
    let overview = || {
        let stacks = ["stacks", "painted-stacks", "entry-points"];
        let others = ["unknown-calls", "recursion", "stack-variables"];
        stacks.into_iter().chain(others).map(str::to_owned).collect()
    };
    let sections = Some(selection.sections.clone().unwrap_or_else(overview));
    let selection = strobe_report::text::Selection { sections, ..selection };
    args.result.measurement(&measurement, &selection)?;
    args.log.add(&measurement)?;
    Ok(code)
}

fn copied(text: &str) -> Result<(u32, PathBuf), String> {
    let (address, path) = text
        .split_once('=')
        .filter(|(_, path)| !path.is_empty())
        .ok_or("write it ADDRESS=FILE, as 0x20000000=ram.bin")?;
    let number = spelling::address(address).and_then(|address| u32::try_from(address).ok());
    let number = number.ok_or_else(|| format!("{address} is no address, as 0x20000000 is"))?;
    Ok((number, path.into()))
}

/// Puts beside it how far the copies of a board's memory show stacks to be used.
fn paint(args: &Args, measurement: &mut Measurement) -> anyhow::Result<()> {
    if args.ram.is_empty() {
        return Ok(());
    }
    let mut copies = Vec::new();
    for (address, path) in &args.ram {
        let bytes = files::bytes(path, &Kind::MEMORY)?;
        let name = input::file_name(path);
        let shown = format!("{name}, {} bytes", bytes.len());
        measurement.instrument.settings.insert(format!("memory from {address:#010x}"), shown);
        copies.push(Copy { address: *address, bytes });
    }
    if painted::painted(measurement, &copies) == 0 {
        let text = "no stack whose place is known lies in what was given with --ram: copy all of \
                    the board's RAM, and check the address";
        measurement.findings.push(Finding::new(Severity::Warning, "no-stack-in-memory", text));
    }
    Ok(())
}

fn annotations(args: &Args) -> anyhow::Result<Annotations> {
    let Some(path) = &args.annotations else { return Ok(Annotations::default()) };
    let text = files::text(path, &Kind::ANNOTATIONS)?;
    Annotations::parse(&text).map_err(|e| exit::data(format!("{}: {e}", path.display())))
}

/// What a run used beside what the image allows, and how the run ended.
fn simulated(
    args: &Args,
    firmware: &Firmware,
    analysis: &mut Analysis<'_>,
    name: &str,
) -> anyhow::Result<(Measurement, ExitCode)> {
    let choice = board::choose(&args.setup.board, firmware)?;
    let settings = simulate::common_settings(&args.setup)?;
    let run = simulate::Run::new((&args.firmware, firmware), &choice, &args.setup, settings);
    let done = run.once()?;
    let threads = done.stacks.iter().filter(|stack| !stack.is_main);
    let first: Vec<_> = threads.map(|stack| stack.first.clone()).collect();
    analysis.observe(&first);
    let mut measurement = analysis.measurement(name);
    let run = done.measurement();
    measurement.subject.board = run.subject.board;
    let facts = run.subject.facts.into_iter();
    measurement.subject.facts.extend(facts.filter(|fact| fact.name == CORE_TIMING));
    // How long it was and how it ended is that of the run.
    measurement.window = run.window;
    let stacks: Vec<_> = done.stacks.iter().map(|stack| measured(analysis, stack)).collect();
    stack::join(&mut measurement, &stacks);
    for text in done.stacks.into_iter().filter_map(|stack| stack.overflow) {
        measurement.findings.push(Finding::new(Severity::Fault, "stack-overflow", text));
    }
    measurement.findings.extend(simulate::unreached(&done.record));
    Ok((measurement, exit::code_for(&done.record)))
}

fn measured(analysis: &Analysis<'_>, stack: &StackUse) -> Measured {
    let first = stack.first.first().and_then(|path| path.first().copied());
    Measured {
        name: stack.name.clone(),
        entry: analysis.entry_of(&stack.first).or(first),
        is_main: stack.is_main,
        bytes: stack.bytes,
        size: stack.size,
        is_most: stack.shares,
        low: stack.low,
        is_exact: true,
        chain: stack.chain.clone(),
        cycle: stack.cycle,
    }
}
