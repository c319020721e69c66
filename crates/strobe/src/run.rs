//! `strobe run`: simulate a firmware, profile it, report.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use strobe_model::measurement::Measurement;
use strobe_model::{Record, Trust, Warning};
use strobe_report::text::{AnnotateInput, AnnotateRow, Rows, Show, Tree};
use strobe_source::simulated::trace::Pin;
use strobe_source::simulated::{self, Limit, TimelineSettings};
use strobe_source::{Attach, attach};
use strobe_symbols::Firmware;

use crate::output::{Format, Wanted};
use crate::rig::{self, Rig};
use crate::simulate::{PathFor, Threads};
use crate::source::Sources;
use crate::swo::Raw;
use crate::{board, exit, files, input, measurement, simulate};

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
    #[arg(long, value_name = "FILE", conflicts_with_all = ["firmware", "board", "svd", "memory", "clock"])]
    rig: Option<PathBuf>,
    /// The chip of the rig that is reported, and that --from, --to, --until, --mark, --annotate,
    /// --thread, --uart and their like are about; by default all are reported, and those are
    /// about the first.
    #[arg(long, value_name = "NAME", requires = "rig")]
    chip: Option<String>,
    /// Another firmware for a chip of the rig: `cube=late.elf`.
    #[arg(long, value_name = "CHIP=FILE", requires = "rig")]
    load: Vec<PathFor>,
    /// What rows of the profile stand for.
    #[arg(long, value_enum, default_value_t = By::Function)]
    by: By,
    /// Only what this thread or interrupt ran: a thread's name, `SysTick`, `IRQ16` or `TIM3`.
    #[arg(long, value_name = "NAME")]
    thread: Option<String>,
    /// Who ran when: at the end, or around the worst latency (of --thread, if given).
    #[arg(long, value_name = "PART", value_enum, num_args = 0..=1, default_missing_value = "last")]
    timeline: Option<Part>,
    /// How much time --timeline shows.
    #[arg(long, value_name = "TIME", default_value = "5ms", requires = "timeline")]
    span: String,
    /// Print the call tree as well.
    #[arg(long)]
    tree: bool,
    /// Print a function's source and instructions with their cycles. May be given several times.
    #[arg(long, value_name = "FUNCTION")]
    annotate: Vec<String>,
    /// Where to look for source files, if they are not where they were compiled.
    #[arg(long, value_name = "DIR")]
    source: Vec<PathBuf>,
    /// Put what is needed to read the measurement without the ELF file into it.
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    attach: Vec<What>,
    #[command(flatten)]
    result: Wanted,
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
enum What {
    /// Functions and variables with their sizes.
    Symbols,
    /// The instructions of functions that ran.
    Disassembly,
    /// The source lines of functions that ran.
    Source,
}

/// Which part of the run a timeline shows.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// The end.
    Last,
    /// Around the worst latency from a thread's wake-up to its run or, without threads, of an
    /// interrupt.
    Worst,
}

impl By {
    /// The place in the code; functions for what is no place.
    pub fn place(self) -> strobe_model::By {
        match Rows::from(self) {
            Rows::By(by) => by,
            Rows::Threads => strobe_model::By::Function,
        }
    }
}

impl From<By> for Rows {
    fn from(by: By) -> Self {
        match by {
            By::Function => Rows::By(strobe_model::By::Function),
            By::Line => Rows::By(strobe_model::By::Line),
            By::Address => Rows::By(strobe_model::By::Address),
            By::File => Rows::By(strobe_model::By::File),
            By::Thread => Rows::Threads,
        }
    }
}

/// Runs and reports.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(rig) = &args.rig {
        return run_rig(rig, args);
    }
    let path = args.firmware.as_deref().unwrap_or(Path::new(""));
    let firmware = input::firmware(path)?;
    let choice = board::choose(&args.simulation.setup.board, &firmware)?;
    // A wrong name shall not cost a whole run.
    functions(&firmware, &args.annotate)?;
    let threads = args.threads()?;
    let mut swo = args.swo.as_deref().map(Raw::create).transpose()?;
    let pin = swo.as_mut().map(|raw| raw as &mut dyn Pin);
    let mut done = simulate::simulate(path, &firmware, &choice, &args.simulation, threads, pin)?;
    if swo.map(Raw::finish).transpose()? == Some(0) {
        let text = "nothing left the trace pin: the trace blocks are to be programmed, by the firmware or with --trace-write";
        done.record.warnings.push(Warning { text: text.to_owned(), count: 1 });
    }
    let record = args.part_of(&done.record)?;
    match args.result.format() {
        Format::Json => {
            let json = strobe_report::json::record(&record);
            args.result.write(json.as_bytes())?;
        }
        Format::Measurement => {
            let mut measurement = measurement::of(&record);
            args.attach(&mut measurement, &firmware);
            args.result.file(&measurement)?;
        }
        Format::Text => args.result.write(&args.text(&firmware, &record, &args.annotate)?)?,
    }
    Ok(exit::code_for(&done.record))
}

/// Runs a rig and reports the chip that was asked for, or all.
fn run_rig(path: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    let (chip, setup) = (args.chip.as_deref(), &args.simulation.setup);
    let rig = Rig::load(path, chip, &args.load, setup)?;
    functions(&rig.members[rig.chosen].firmware, &args.annotate)?;
    let asked = simulate::settings(&args.simulation, args.threads()?)?;
    let mut records = rig.simulate(setup, &asked, None)?;
    simulate::never_reached(&mut records[rig.chosen], setup);
    let code = rig::code_for(&records);
    // Only the chosen chip has what was asked for.
    let mut shown = Vec::new();
    for (i, (member, record)) in rig.members.iter().zip(&records).enumerate() {
        let is_chosen = i == rig.chosen;
        if is_chosen {
            shown.push((member, args.part_of(record)?, args.annotate.as_slice()));
        } else if chip.is_none() {
            shown.push((member, Cow::Borrowed(record), &[]));
        }
    }
    match args.result.format() {
        Format::Json => {
            let chips = shown.iter().map(|(m, part, _)| (m.name.as_str(), &**part));
            let chips: Vec<_> = chips.collect();
            let json = strobe_report::json::rig(&rig.name, &chips);
            args.result.write(json.as_bytes())?;
        }
        Format::Measurement => {
            let chips = shown.iter().map(|(m, part, _)| (m.name.clone(), &**part));
            let chips: Vec<_> = chips.collect();
            let mut measurement = simulated::rig_measurement(&rig.name, &chips, &rig.joined());
            for (part, (member, ..)) in measurement.parts.iter_mut().zip(&shown) {
                args.attach(&mut part.measurement, &member.firmware);
            }
            args.result.file(&measurement)?;
        }
        Format::Text => {
            let mut out = Vec::new();
            for (member, part, annotate) in &shown {
                if shown.len() > 1 {
                    let gap = if out.is_empty() { "" } else { "\n\n" };
                    out.extend(format!("{gap}== {} ==\n\n", member.name).into_bytes());
                }
                out.extend(args.text(&member.firmware, part, annotate)?);
            }
            args.result.write(&out)?;
        }
    }
    Ok(code)
}

fn functions<'a>(
    firmware: &'a Firmware,
    names: &[String],
) -> anyhow::Result<Vec<&'a strobe_symbols::Function>> {
    names.iter().map(|name| input::function(firmware, name)).collect()
}

impl Args {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::Named) {
        named.reads(self.firmware.iter().chain(&self.rig));
        named.reads(self.load.iter().map(|load| &load.path));
        named.writes("--swo", &self.swo);
        self.simulation.files(named);
        self.result.files(named);
    }

    /// Puts into a measurement what was asked for.
    fn attach(&self, measurement: &mut Measurement, firmware: &Firmware) {
        let wants = |what| self.attach.contains(&what);
        let mut sources = Sources::new(&self.source);
        let mut line = |file: &str, line| sources.text(file, line);
        let what = Attach {
            symbols: wants(What::Symbols),
            disassembly: wants(What::Disassembly),
            source: wants(What::Source).then_some(&mut line),
        };
        attach(measurement, firmware, what);
    }

    /// What is to be seen of threads.
    fn threads(&self) -> anyhow::Result<Threads> {
        Ok(Threads {
            only: self.thread.clone(),
            apart: self.thread.is_some() || matches!(self.by, By::Thread),
            timeline: timeline(self)?,
        })
    }

    /// The whole record, or the part of the thread that was asked for.
    fn part_of<'a>(&self, record: &'a Record) -> anyhow::Result<Cow<'a, Record>> {
        Ok(match &self.thread {
            Some(name) => Cow::Owned(only(record, name)?),
            None => Cow::Borrowed(record),
        })
    }

    /// The report as text, with these functions annotated.
    fn text(
        &self,
        firmware: &Firmware,
        record: &Record,
        annotate: &[String],
    ) -> anyhow::Result<Vec<u8>> {
        let mut sources = Sources::new(&self.source);
        let functions = functions(firmware, annotate)?.into_iter();
        let annotate = functions.map(|f| annotation(firmware, f, record, &mut sources));
        let show = Show {
            rows: self.by.into(),
            top: self.result.top(),
            tree: self.tree.then(Tree::default),
            annotate: annotate.collect(),
        };
        let mut out = Vec::new();
        let options = self.result.options();
        strobe_report::text::report(record, &show, &options, &mut out)?;
        Ok(out)
    }
}

fn timeline(args: &Args) -> anyhow::Result<Option<TimelineSettings>> {
    let Some(part) = args.timeline else { return Ok(None) };
    match simulate::limit(&args.span) {
        Some(Limit::Nanoseconds(nanoseconds)) if nanoseconds > 0 => {
            Ok(Some(TimelineSettings { worst: part == Part::Worst, nanoseconds }))
        }
        _ => Err(exit::usage(format!("--span {}: a time such as 5ms or 200us", args.span))),
    }
}

/// The part of the record that belongs to the thread or interrupt of that name.
fn only(record: &Record, name: &str) -> anyhow::Result<Record> {
    let who = record.named(name);
    if who.is_empty() {
        let threads = record.scheduling.iter().flat_map(|s| &s.threads).map(|t| t.name.as_str());
        let interrupts = record.exceptions.iter().map(|e| e.name.as_str());
        let known: Vec<&str> = threads.chain(interrupts).collect();
        return Err(exit::usage(format!(
            "no thread or interrupt {name} has run; there were {}",
            known.join(", ")
        )));
    }
    Ok(record.only(&who)?)
}

/// A function's instructions with what the run saw of each.
fn annotation(
    firmware: &Firmware,
    function: &strobe_symbols::Function,
    record: &Record,
    sources: &mut Sources,
) -> AnnotateInput {
    let end = u32::try_from(function.end()).unwrap_or(u32::MAX);
    let row = |i| annotated(firmware, record, i, sources);
    AnnotateInput {
        function: function.name.clone(),
        rows: firmware.instructions(function.start..end).map(row).collect(),
        trust: Trust::clone(&record.trust),
    }
}

/// An instruction with what the run saw of it.
pub fn annotated(
    firmware: &Firmware,
    record: &Record,
    i: strobe_symbols::Instruction,
    sources: &mut Sources,
) -> AnnotateRow {
    let samples = &record.profile.addresses;
    let at = samples.binary_search_by_key(&i.address, |s| s.address).ok();
    let sample = at.map(|at| &samples[at]);
    AnnotateRow {
        address: i.address,
        bytes: i.encoding(),
        text: i.to_string(),
        source: sources.line_of(firmware, i.address),
        count: sample.map_or(0, |s| s.count),
        cycles: sample.map_or_else(Default::default, |s| s.cycles),
        bounds: sample.map_or_else(Default::default, |s| s.bounds),
    }
}
