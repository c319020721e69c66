//! `strobe run`: simulate a firmware, profile it, report.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use strobe_model::measurement::{Finding, Measurement};
use strobe_report::text::Selection;
use strobe_source::simulated::trace::Pin;
use strobe_source::simulated::{HeapSettings, Limit, Settings, TimelineSettings};
use strobe_source::{Attach, attach};
use strobe_symbols::{Firmware, Function};

use crate::host::RerunHost;
use crate::log::ArchiveArgs;
use crate::output::{Format, OutputArgs};
use crate::rig::{self, Rig};
use crate::simulate::{PathFor, Threads};
use crate::source::Sources;
use crate::swo::Raw;
use crate::{board, exit, files, heap, input, show, simulate};

/// Simulate a firmware cycle by cycle and report where the cycles went.
#[derive(clap::Args)]
#[command(after_help = exit::HELP)]
pub struct Args {
    /// The firmware, an ELF file (nothing in it needs to be prepared) or Intel HEX, which has no
    /// names.
    #[arg(required_unless_present = "rig")]
    firmware: Option<PathBuf>,
    /// Instead of one firmware, what a rig file describes: several chips with their firmwares in
    /// one simulation, wires between them, and parts beside them.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["firmware", "board", "svd", "memory", "clock"]
    )]
    rig: Option<PathBuf>,
    /// The chip of the rig that is reported, and that --from, --to, --until, --mark, --annotate,
    /// --thread, --uart and their like are about; by default all are reported, and those are
    /// about the first.
    #[arg(long, value_name = "NAME", requires = "rig", conflicts_with = "firmware")]
    chip: Option<String>,
    /// Another firmware for a chip of the rig: `cube=late.elf`.
    #[arg(long, value_name = "CHIP=FILE", requires = "rig", conflicts_with = "firmware")]
    load: Vec<PathFor>,
    /// What rows of the profile stand for.
    #[arg(long, value_enum, default_value_t = By::Function)]
    by: By,
    /// Only what this thread or interrupt ran: a thread's name, `SysTick`, `IRQ16` or `TIM3`.
    #[arg(long, value_name = "NAME")]
    thread: Option<String>,
    /// Who ran when: at the end, or around the worst latency (of --thread, if given).
    #[arg(long, value_name = "PART", value_enum, num_args = 0..=1, default_missing_value = "last")]
    timeline: Option<TimelinePart>,
    /// How much time --timeline shows.
    #[arg(long, value_name = "TIME", default_value = "5ms", requires = "timeline")]
    span: String,
    /// Print the call tree as well.
    #[arg(long)]
    tree: bool,
    /// Print a function's source and instructions with their cycles. May be given several times.
    #[arg(long, value_name = "FUNCTION")]
    annotate: Vec<String>,
    /// Watch the firmware's memory allocators as well: what is allocated, by whom, and what leaks.
    #[arg(long)]
    heap: bool,
    /// Further memory allocators by the names of their functions (docs/heap.md).
    #[arg(long, value_name = "FILE", requires = "heap")]
    allocators: Option<PathBuf>,
    /// With --heap, check every load and store as well, which takes several times as long.
    #[arg(long, requires = "heap")]
    check_memory: bool,
    /// Where to look for source files, if they are not where they were compiled.
    #[arg(long, value_name = "DIR")]
    source: Vec<PathBuf>,
    /// Put what is needed to read the measurement without the ELF file into it.
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    attach: Vec<Attachment>,
    #[command(flatten)]
    result: OutputArgs,
    #[command(flatten)]
    log: ArchiveArgs,
    /// Write what leaves the trace pin (SWO) of a Cortex-M3 or M4 to a file: the bytes alone. What
    /// it sends is programmed by the firmware or with --trace-write.
    #[arg(long, value_name = "FILE", conflicts_with = "rig")]
    swo: Option<PathBuf>,
    #[command(flatten)]
    simulation: simulate::Options,
}

/// What rows of the profile stand for.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum By {
    /// Functions, with what they call.
    Function,
    /// Source lines.
    Line,
    /// Instruction addresses.
    Address,
    /// Source files.
    File,
    /// Threads and interrupts, with latencies and worst cases.
    Thread,
}

/// What can go with a measurement.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Attachment {
    /// Functions and variables with their sizes.
    Symbols,
    /// The instructions of functions that ran.
    Disassembly,
    /// The source lines of functions that ran.
    Source,
}

/// Which part of the run a timeline shows.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum TimelinePart {
    /// The end.
    Last,
    /// Around the worst latency from a thread's wake-up to its run or, without threads, of an
    /// interrupt.
    Worst,
}

/// Runs and reports.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.log.ready()?;
    if let Some(rig) = &args.rig {
        return run_rig(rig, args);
    }
    let path = args.firmware.as_deref().unwrap_or(Path::new(""));
    rig::reject_rig(path)?;
    let firmware = input::firmware(path)?;
    let choice = board::choose(&args.simulation.setup.board, &firmware)?;
    // A wrong name shall not cost a whole run.
    let annotated = functions(&firmware, &args.annotate)?;
    args.register_sources(&firmware)?;
    let threads = args.threads()?;
    let mut swo = args.swo.as_deref().map(Raw::create).transpose()?;
    let pin = swo.as_mut().map(|raw| raw as &mut dyn Pin);
    let settings = simulate::settings(&args.simulation, threads)?;
    let settings = Settings { heap: args.heaps()?, ..settings };
    let run = simulate::Run::new((path, &firmware), &choice, &args.simulation.setup, settings);
    let mut done = run.with_trace(pin).bounded()?;
    if swo.map(Raw::finish).transpose()? == Some(0) {
        let text = "nothing left the trace pin: the trace blocks are to be programmed, by the \
                    firmware or with --trace-write";
        done.record.warnings.push(Finding::warning("nothing-traced", text));
    }
    let whole = done.measurement();
    let mut measurement = show::part_of(whole, args.thread.as_deref())?;
    args.attach(&mut measurement, &firmware, &annotated);
    let mut selection = args.selection(&annotated);
    heap::add(done.heaps, &mut measurement, &mut selection);
    args.result.measurement(&measurement, &selection)?;
    args.log.add(&measurement)?;
    Ok(exit::code_for(&done.record))
}

/// Runs a rig and reports the chip that was asked for, or all.
fn run_rig(path: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    let (chip, setup) = (args.chip.as_deref(), &args.simulation.setup);
    let rig = Rig::load(path, chip, &args.load, setup)?;
    let annotated = functions(&rig.members[rig.chosen].firmware, &args.annotate)?;
    rig.members.iter().try_for_each(|member| args.register_sources(&member.firmware))?;
    let asked = simulate::settings(&args.simulation, args.threads()?)?;
    let asked = Settings { heap: args.heaps()?, ..asked };
    let mut ran = rig.simulate(setup, &asked, None, Some(&mut RerunHost::pair()))?;
    simulate::never_reached(&mut ran[rig.chosen].record, setup);
    let mut measurement = rig.measurement(&ran);
    let mut selection = args.selection(&annotated);
    for (part, i) in measurement.parts.iter_mut().zip(rig.reported()) {
        // Only the chosen chip has what was asked for.
        let (thread, annotated) = if i == rig.chosen {
            (args.thread.as_deref(), annotated.as_slice())
        } else {
            (None, [].as_slice())
        };
        part.measurement = show::part_of(part.measurement.clone(), thread)?;
        args.attach(&mut part.measurement, &rig.members[i].firmware, annotated);
        heap::add(ran[i].heaps.take(), &mut part.measurement, &mut selection);
    }
    args.result.measurement(&measurement, &selection)?;
    args.log.add(&measurement)?;
    Ok(rig::code_for(&ran))
}

fn functions<'a>(firmware: &'a Firmware, names: &[String]) -> anyhow::Result<Vec<&'a Function>> {
    names.iter().map(|name| input::function(firmware, name)).collect()
}

impl Args {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::FileSet) {
        named.reads(self.firmware.iter().chain(&self.rig));
        named.reads(self.load.iter().map(|load| &load.path));
        named.reads(&self.allocators);
        named.writes("--swo", &self.swo);
        self.simulation.files(named);
        self.result.files(named);
    }

    /// The source files that lines are read from when the run is over, if any are.
    pub fn sources(&self) -> Option<Sources> {
        let reads = self.attach.contains(&Attachment::Source) || !self.annotate.is_empty();
        reads.then(|| Sources::new(&self.source))
    }

    /// Registers them.
    fn register_sources(&self, firmware: &Firmware) -> anyhow::Result<()> {
        self.sources().map_or(Ok(()), |sources| sources.register(firmware))
    }

    /// Puts into a measurement what was asked for, and for text what functions are annotated from.
    fn attach(&self, measurement: &mut Measurement, firmware: &Firmware, annotated: &[&Function]) {
        let annotates = self.result.format() == Format::Text && !annotated.is_empty();
        let wants = |what| self.attach.contains(&what);
        let mut sources = Sources::new(&self.source);
        let mut line = |file: &str, line| sources.text(file, line);
        let what = Attach {
            symbols: wants(Attachment::Symbols),
            disassembly: wants(Attachment::Disassembly) || annotates,
            source: (wants(Attachment::Source) || annotates).then_some(&mut line),
            also: if annotates { annotated.to_vec() } else { Vec::new() },
        };
        attach(measurement, firmware, what);
    }

    /// What of it is shown.
    fn selection(&self, annotated: &[&Function]) -> Selection {
        let names = annotated.iter().map(|function| function.name.clone()).collect();
        show::selection(&self.result, self.by, self.tree, names)
    }

    /// Which memory allocators are watched, if they are to be.
    fn heaps(&self) -> anyhow::Result<Option<HeapSettings>> {
        let settings = || heap::settings(self.allocators.as_deref(), self.check_memory);
        self.heap.then(settings).transpose()
    }

    /// What is to be seen of threads.
    fn threads(&self) -> anyhow::Result<Threads> {
        Ok(Threads {
            only: self.thread.clone(),
            apart: self.thread.is_some() || matches!(self.by, By::Thread),
            timeline: timeline(self)?,
        })
    }
}

fn timeline(args: &Args) -> anyhow::Result<Option<TimelineSettings>> {
    let Some(part) = args.timeline else { return Ok(None) };
    match simulate::limit(&args.span) {
        Some(Limit::Nanoseconds(nanoseconds)) if nanoseconds > 0 => {
            Ok(Some(TimelineSettings { worst: part == TimelinePart::Worst, nanoseconds }))
        }
        _ => Err(exit::usage(format!("--span {}: a time such as 5ms or 200us", args.span))),
    }
}
