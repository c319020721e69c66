//! `strobe heap`: what a firmware allocates in a simulated run, by whom, and what it does not free.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use strobe_model::measurement::Measurement;
use strobe_report::text::Selection;
use strobe_source::simulated::{Allocators, HeapSettings, Heaps};

use crate::files::{self, Kind};
use crate::output::Wanted;
use crate::run::By;
use crate::simulate::{self, Setup};
use crate::{board, exit, input, measurement, show};

const EXAMPLES: &str = "\
Examples:
  strobe heap firmware.elf
  strobe heap firmware.elf --until 2s --tree
  strobe heap firmware.elf --measure live-bytes --by line
  strobe heap firmware.elf --allocators pool.toml
  strobe heap firmware.elf --check-memory
  strobe heap firmware.elf -o h.measurement; strobe export h.measurement --to pprof

The firmware is run as it is: its allocators are found by the names of their functions (malloc,
pvPortMalloc, k_malloc, operator new and many more, docs/heap.md). A place leaks if its live blocks
grow all through the second half of the run; what else is live at the end may be needed.

Exit codes: as of strobe run; 65 also for firmware without a known allocator";

/// Show what a firmware allocates in a simulated run: peak, leaks, misuse, by call site.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The firmware, an ELF file.
    firmware: PathBuf,
    /// Further memory allocators by the names of their functions (docs/heap.md).
    #[arg(long, value_name = "FILE")]
    allocators: Option<PathBuf>,
    /// Check every load and store: use after free, accesses beside a block, reads of what was never
    /// written; and how much of each block is used. The run takes several times as long.
    #[arg(long)]
    check_memory: bool,
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
    #[command(flatten)]
    setup: Setup,
    #[command(flatten)]
    result: Wanted,
}

impl Args {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::Named) {
        named.reads([&self.firmware]);
        named.reads(&self.allocators);
        self.setup.files(named);
        self.result.files(named);
    }
}

/// Sections that repeat others in more detail: shown only if asked for.
const DETAILS: [&str; 5] =
    ["heap-calls", "heap-repeated", "heap-biggest", "heap-live", "heap-use-blocks"];

/// Runs and reports.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let firmware = input::firmware(&args.firmware)?;
    let wanted = settings(args.allocators.as_deref(), args.check_memory)?;
    let choice = board::choose(&args.setup.board, &firmware)?;
    let done = simulate::heap(&args.firmware, &firmware, &choice, &args.setup, wanted)?;
    let mut measurement = measurement::of(&done.record);
    done.heaps.unwrap_or_default().instead_of(&mut measurement);
    known_measure(&measurement, args.measure.as_deref())?;
    let mut selection = show::selection(&args.result, args.by, args.tree, Vec::new());
    selection.measure.clone_from(&args.measure);
    selection.without.extend(DETAILS.map(str::to_owned));
    args.result.measurement(&measurement, &selection)?;
    Ok(exit::code_for(&done.record))
}

fn known_measure(measurement: &Measurement, asked: Option<&str>) -> anyhow::Result<()> {
    let Some(asked) = asked else { return Ok(()) };
    let mut profiles = measurement.profiles().peekable();
    if profiles.peek().is_none() || profiles.any(|profile| profile.measure(asked).is_some()) {
        return Ok(());
    }
    let all = measurement.profiles().flat_map(|profile| &profile.measures);
    let all: Vec<&str> = all.map(|measure| measure.id.as_str()).collect();
    Err(exit::usage(format!("--measure {asked}: there are {}", all.join(", "))))
}

/// The allocators to watch: those of a file, and those that are known; and whether every access is
/// checked.
pub fn settings(path: Option<&Path>, check_memory: bool) -> anyhow::Result<HeapSettings> {
    let Some(path) = path else { return Ok(HeapSettings { allocators: None, check_memory }) };
    let toml = files::text(path, &Kind::ALLOCATORS)?;
    // The parser's messages show the line in question: indented, they stay one message.
    let parsed = Allocators::parse(&toml)
        .map_err(|e| exit::data(format!("{}: {}", path.display(), e.replace('\n', "\n  "))))?;
    Ok(HeapSettings { allocators: Some(parsed), check_memory })
}

/// Adds what was seen of heaps to a run's measurement; its text shows the call sites and what is
/// wrong, not every detail.
pub fn add(heaps: Option<Heaps>, measurement: &mut Measurement, selection: &mut Selection) {
    let Some(heaps) = heaps else { return };
    heaps.add_to(measurement);
    selection.without.extend(DETAILS.map(str::to_owned));
}
