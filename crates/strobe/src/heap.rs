//! `strobe heap`: what a firmware allocates in a simulated run, by whom, and what it does not free.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use strobe_model::measurement::ids;

use strobe_memory::size::{Layers, heap_by_layer};
use strobe_model::measurement::{Balance, Measurement};
use strobe_report::text::Selection;
use strobe_source::simulated::bounding_runs::NO_BOUNDS;
use strobe_source::simulated::{Allocators, HeapSampling, HeapSettings, Heaps};
use strobe_symbols::Firmware;

use crate::files::{self, Kind};
use crate::host::RerunHost;
use crate::log::ArchiveArgs;
use crate::output::OutputArgs;
use crate::report::{self, detect};
use crate::rig::{self, Rig};
use crate::run::By;
use crate::simulate::{self, PathFor, Setup};
use crate::{board, exit, input, measurement, show, size, traced};

const EXAMPLES: &str = "\
Examples:
  strobe heap firmware.elf
  strobe heap firmware.elf --until 2s --tree
  strobe heap firmware.elf --measure live-bytes --by line
  strobe heap firmware.elf --allocators pool.toml
  strobe heap firmware.elf --check-memory
  strobe heap firmware.elf --from request --to answer      what is allocated in between, and left
  strobe heap firmware.elf --until 1h --sample-bytes 4096  estimates for a long run
  strobe heap --rig rig.toml --chip pong           several chips in one simulation
  strobe heap trace/ --elf firmware.elf            CTF events of a board's heap
  strobe heap x.strobe --elf firmware.elf          what the kit on a board has recorded
  strobe heap firmware.elf -o h.measurement; strobe export h.measurement --to pprof

The firmware is run as it is: its allocators are found by the names of their functions (malloc,
pvPortMalloc, k_malloc, operator new and many more, docs/heap.md). A place leaks if its live blocks
grow all through the second half of the run; what else is live at the end may be needed.

Exit codes: as of strobe run; 65 also for firmware without a known allocator";

/// Show what a firmware allocates in a simulated run: peak, leaks, misuse, by call site.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The firmware, an ELF file; or what was recorded: records of the kit for the target, a trace
    /// of events (CTF), the text of a traced allocator, a measurement.
    #[arg(required_unless_present = "rig")]
    firmware: Option<PathBuf>,
    /// Instead of one firmware, what a rig file describes: several chips with their firmwares in
    /// one simulation, wires between them, and parts beside them.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["firmware", "elf", "board", "svd", "memory", "clock"]
    )]
    rig: Option<PathBuf>,
    /// The chip of the rig whose heap is shown, and that --from, --to and --until are about; by
    /// default all that have one are shown, and those are about the first chip.
    #[arg(long, value_name = "NAME", requires = "rig", conflicts_with = "firmware")]
    chip: Option<String>,
    /// Another firmware for a chip of the rig: `cube=late.elf`.
    #[arg(long, value_name = "CHIP=FILE", requires = "rig", conflicts_with = "firmware")]
    load: Vec<PathFor>,
    /// The firmware of a recorded trace, for the names of its functions.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["allocators", "check_memory"])]
    elf: Option<PathBuf>,
    /// Further memory allocators by the names of their functions (docs/heap.md).
    #[arg(long, value_name = "FILE")]
    allocators: Option<PathBuf>,
    /// Rules for layers, which come before the built-in ones (docs/size.md).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["elf", "sample_bytes"])]
    layers: Option<PathBuf>,
    /// Check every load and store: use after free, accesses beside a block, reads of what was never
    /// written; and how much of each block is used. The run takes several times as long.
    #[arg(long)]
    check_memory: bool,
    /// Follow samples of the blocks, one byte in so many on average, for runs with more allocations
    /// than fit in memory. Figures are estimates with their intervals.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..),
          conflicts_with_all = ["check_memory", "from"])]
    sample_bytes: Option<u32>,
    /// Show as well what is allocated from here on, each time it is reached, and what of it is left
    /// at the end: a symbol, an address (`0x8000123`), or a pin's edge (`PB8=1`, `PB8:any`).
    #[arg(long, value_name = "PLACE")]
    from: Option<String>,
    /// Up to here.
    #[arg(long, value_name = "PLACE", requires = "from")]
    to: Option<String>,
    /// What rows of the profile stand for.
    #[arg(long, value_enum, default_value_t = By::Function)]
    by: By,
    /// What the profile shows: `peak-bytes`, `bytes`, `live-bytes`, `freed-bytes`, or `-blocks` of
    /// these.
    #[arg(long, value_name = "MEASURE")]
    measure: Option<String>,
    /// Print the call tree as well.
    #[arg(long)]
    tree: bool,
    /// Draw the call tree as areas.
    #[arg(long)]
    treemap: bool,
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
        named.reads(self.firmware.iter().chain(&self.rig));
        named.reads(self.load.iter().map(|load| &load.path));
        named.reads(&self.elf);
        named.reads(&self.allocators);
        named.reads(&self.layers);
        self.setup.files(named);
        self.result.files(named);
    }

    /// Which allocators are watched, and how.
    fn wanted(&self) -> anyhow::Result<HeapSettings> {
        let sample = self.sample_bytes.map(HeapSampling::every);
        let settings = settings(self.allocators.as_deref(), self.check_memory)?;
        Ok(HeapSettings { sample, ..settings })
    }

    /// Which code belongs to which layer.
    fn layers(&self) -> anyhow::Result<Layers> {
        size::layers(self.layers.as_deref())
    }

    /// Where windows begin and end.
    fn marks(&self) -> (Option<String>, Option<String>) {
        (self.from.clone(), self.to.clone())
    }
}

/// Blocks of more bytes than this are big in an archive.
const BIG_ABOVE: u64 = 1024;

/// Sections that repeat others in more detail: shown only if asked for.
const DETAILS: [&str; 5] =
    ["heap-calls", "heap-repeated", "heap-biggest", "heap-live", "heap-use-blocks"];

/// Runs and reports.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.log.ready()?;
    if let Some(rig) = &args.rig {
        return run_rig(rig, args);
    }
    let path = args.firmware.as_deref().unwrap_or(Path::new(""));
    rig::reject_rig(path)?;
    if let Some(measurement) = recorded(path, args)? {
        return shown(args, measurement);
    }
    if args.elf.is_some() {
        let path = path.display();
        return Err(exit::usage(format!("--elf is for what was recorded; {path} is a firmware")));
    }
    let firmware = input::firmware(path)?;
    let choice = board::choose(&args.setup.board, &firmware)?;
    let layers = args.layers()?;
    let settings = simulate::heap_settings(&args.setup, args.wanted()?, args.marks())?;
    let done = simulate::Run::new((path, &firmware), &choice, &args.setup, settings).once()?;
    let mut measurement = done.record.measurement();
    done.heaps.unwrap_or_default().replace_sections(&mut measurement);
    heap_by_layer(&mut measurement, &layers);
    shown(args, measurement)?;
    Ok(exit::code_for(&done.record))
}

/// Runs a rig and reports the heap of the chip that was asked for, or of all that have one.
fn run_rig(path: &Path, args: &Args) -> anyhow::Result<ExitCode> {
    let rig = Rig::load(path, args.chip.as_deref(), &args.load, &args.setup)?;
    let layers = args.layers()?;
    let asked = simulate::heap_settings(&args.setup, args.wanted()?, args.marks())?;
    let mut ran = rig.simulate::<RerunHost>(&args.setup, &asked, None, None)?;
    simulate::never_reached(&mut ran[rig.chosen].record, &args.setup);
    let mut measurement = rig.measurement(&ran);
    for (part, i) in measurement.parts.iter_mut().zip(rig.reported()) {
        ran[i].heaps.take().unwrap_or_default().replace_sections(&mut part.measurement);
        heap_by_layer(&mut part.measurement, &layers);
    }
    shown(args, measurement)?;
    Ok(rig::code_for(&ran))
}

/// What a trace, an archive or a measurement has of heaps; none if the file is firmware.
fn recorded(path: &Path, args: &Args) -> anyhow::Result<Option<Measurement>> {
    let kind = detect::of_heaps(path)?;
    let read = match kind {
        None => measurement::read(path)?,
        Some(_) => None,
    };
    if kind.is_none() && read.is_none() {
        return Ok(None);
    }
    let of_runs = [args.check_memory, args.sample_bytes.is_some(), args.from.is_some()];
    if args.allocators.is_some() || of_runs.contains(&true) {
        let text = "--allocators, --check-memory, --sample-bytes, --from and --to are for firmware \
                    that is run; strobe report has --from and --to for recordings";
        return Err(exit::usage(text));
    }
    let firmware = args.elf.as_deref().map(input::firmware).transpose()?;
    let mut measurement = match (kind, read) {
        (_, Some(measurement)) => measurement,
        (Some(report::Kind::Allocations), _) => {
            let all = report::archive::of_allocations(path, BIG_ABOVE, None, firmware.as_ref())?;
            return Ok(Some(all));
        }
        (Some(kind @ (report::Kind::Recording | report::Kind::Kit)), _) => {
            of_kit(path, kind, firmware.as_ref())?
        }
        _ => report::of_events(path, (None, None), firmware.as_ref())?,
    };
    of_heaps(&mut measurement);
    if !has_sections(&measurement) {
        return Err(exit::data(format!(
            "{}: nothing in it is about heaps; strobe heap FIRMWARE and strobe run --heap measure \
             them{}",
            path.display(),
            match (kind, &firmware) {
                (Some(report::Kind::Recording), None) =>
                    ", and records of the kit over ITM need the firmware (--elf)",
                _ => "",
            }
        )));
    }
    Ok(Some(measurement))
}

/// What the kit for the target has sent.
fn of_kit(
    path: &Path,
    kind: report::Kind,
    firmware: Option<&Firmware>,
) -> anyhow::Result<Measurement> {
    let kind = match kind {
        report::Kind::Kit => traced::Kind::Kit,
        _ => traced::Kind::Recording,
    };
    let record = traced::record(path, kind, firmware, &traced::Options::default())?;
    Ok(record.measurement())
}

/// Leaves of a measurement what is about heaps.
fn of_heaps(measurement: &mut Measurement) {
    measurement.sections.retain(|section| section.id.starts_with(ids::prefix::HEAP_ANY));
    measurement.totals.retain(|total| total.id.starts_with(ids::prefix::HEAP_ANY));
    let is_about = |balance: &Balance| balance.parts().what.starts_with("heap");
    measurement.balances.retain(is_about);
    // These are about cycles.
    let is_about_time = ["modelled", NO_BOUNDS, "advice"];
    measurement.findings.retain(|finding| !is_about_time.contains(&finding.code.as_str()));
    // Chips of a rig.
    measurement.parts.iter_mut().for_each(|part| of_heaps(&mut part.measurement));
}

fn has_sections(measurement: &Measurement) -> bool {
    let mut parts = measurement.parts.iter().map(|part| &part.measurement);
    !measurement.sections.is_empty() || parts.any(has_sections)
}

fn shown(args: &Args, measurement: Measurement) -> anyhow::Result<ExitCode> {
    known_measure(&measurement, args.measure.as_deref())?;
    let mut selection = show::selection(&args.result, args.by, args.tree, Vec::new());
    selection.treemap = args.treemap;
    selection.measure.clone_from(&args.measure);
    selection.without.extend(DETAILS.map(str::to_owned));
    args.result.measurement(&measurement, &selection)?;
    args.log.add(&measurement)?;
    Ok(ExitCode::SUCCESS)
}

fn known_measure(measurement: &Measurement, asked: Option<&str>) -> anyhow::Result<()> {
    let Some(asked) = asked else { return Ok(()) };
    let parts = measurement.parts.iter().map(|part| &part.measurement);
    let profiles = std::iter::once(measurement).chain(parts).flat_map(Measurement::profiles);
    let mut all: Vec<&str> =
        profiles.flat_map(|profile| &profile.measures).map(|measure| measure.id.as_str()).collect();
    if all.is_empty() || all.contains(&asked) {
        return Ok(());
    }
    let mut seen = HashSet::new();
    all.retain(|id| seen.insert(*id));
    Err(exit::usage(format!("--measure {asked}: there are {}", all.join(", "))))
}

/// The allocators to watch: those of a file, and those that are known; and whether every access is
/// checked.
pub fn settings(path: Option<&Path>, check_memory: bool) -> anyhow::Result<HeapSettings> {
    let Some(path) = path else {
        return Ok(HeapSettings { check_memory, ..HeapSettings::default() });
    };
    let toml = files::text(path, &Kind::ALLOCATORS)?;
    // The parser's messages show the line in question: indented, they stay one message.
    let parsed = Allocators::parse(&toml).map_err(|e| {
        exit::data(format!("{}: {}", path.display(), e.to_string().replace('\n', "\n  ")))
    })?;
    Ok(HeapSettings { allocators: Some(parsed), check_memory, sample: None })
}

/// Adds what was seen of heaps to a run's measurement; its text shows the call sites and what is
/// wrong, not every detail.
pub fn add(heaps: Option<Heaps>, measurement: &mut Measurement, selection: &mut Selection) {
    let Some(heaps) = heaps else { return };
    heaps.add_to(measurement);
    heap_by_layer(measurement, &Layers::default());
    selection.without.extend(DETAILS.map(str::to_owned));
}
