//! `strobe bench`: functions of firmware on simulated boards, or commands of this machine side by
//! side. Which of them is seen by what was named.

mod baseline;
mod firmware;
mod names;
mod reports;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use strobe_experiment::bench::{Bench, Settings};
use strobe_experiment::host::{Command, Count, Host, Lease, Probe};
use strobe_experiment::measurement::{Parts, measurement};
use strobe_experiment::samples::{Log, Metric, Round, Variant};

use crate::log::ArchiveArgs;
use crate::output::OutputArgs;
use crate::record::duration;
use crate::{exit, files, interrupt, terminal};

/// Tool and version, for measurements.
pub const TOOL: &str = concat!("strobe ", env!("CARGO_PKG_VERSION"));

const EXAMPLES: &str = "\
Benchmarks of firmware, without a board (docs/bench.md):
  strobe bench firmware.elf
  strobe bench firmware.elf --filter sort --filter 'crc*' --filter '/^(fir|iir)_/'
  strobe bench firmware.elf --profile heap_sort/256 -o sort.measurement
  strobe bench firmware.elf --save bench.toml        then  --baseline bench.toml
  strobe bench m0.elf m3.elf m4.elf avr.elf          one source, side by side

Functions that the firmware marks (STROBE_BENCH in C, strobe_trace::bench! in Rust) are called on a
simulated board after start-up; each input has a board of its own. Files are firmware if they are
ELF files for a microcontroller's Arm core or an AVR; anything else is a command.

Commands of this machine, timed side by side (docs/experiments.md):
  strobe bench 'sort -n numbers' 'sort -g numbers'
  strobe bench --name old --name new ./old.sh ./new.sh --time 60s
  strobe bench -- gzip -9k file --vs zstd -19 file
  strobe bench --same-output --instructions './old input' './new input'
  strobe bench --instrument perf 'old input' 'new input'
  strobe bench --samples runs.jsonl -o runs.measurement 'make -C a' 'make -C b'

All variants run once a round, in a random order, so that what slowly changes on the machine is in
all of them. Rounds end when every comparison has an answer, or the time is over. A variant that
fails, hangs or answers something else has no time.

Exit codes: 0 done, 1 a benchmark or a variant failed, 64 wrong arguments, 65 unusable firmware or
baseline, or no benchmarks in it, 66 cannot be read, 69 this machine does not count what is to be
judged, 74 cannot be written, 110 more than in the baseline, 130 stopped; what was measured until
then is shown";

/// Measure marked functions of firmware on a simulated board, or time commands of this machine.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Firmware, ELF files; or commands, each in quotes, of which the first is the reference.
    #[arg(value_name = "FIRMWARE|COMMAND")]
    commands: Vec<String>,
    /// The commands with their arguments, parted by `--vs`.
    #[arg(last = true, value_name = "COMMAND [--vs COMMAND]...")]
    parted: Vec<String>,
    /// What a firmware or command is called; as often as there are any [default: the file's name
    /// without its ending, or the command].
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// How long a single run, or a call of a benchmark, may take; in a simulation, by the board's
    /// clock [default: 60s; of firmware 1s].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
    /// Differences up to this do not matter, in percent [default: 2; of firmware 0].
    #[arg(long, value_name = "PERCENT")]
    threshold: Option<f64>,
    #[command(flatten)]
    firmware: firmware::Options,
    /// How long rounds may begin [default: 20s].
    #[arg(
        long,
        value_name = "TIME",
        value_parser = duration,
        help_heading = "Commands of this machine"
    )]
    time: Option<Duration>,
    /// So many rounds, instead of as many as the answer needs.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "Commands of this machine"
    )]
    rounds: Option<u64>,
    /// Rounds at the start that do not count [default: found, one at least].
    #[arg(long, value_name = "N", help_heading = "Commands of this machine")]
    warm_up: Option<usize>,
    /// What is judged: wall, cpu, user, system, peak-memory, minor-faults, ..., or a counter
    /// [default: wall].
    #[arg(long, value_name = "METRIC", help_heading = "Commands of this machine")]
    metric: Option<String>,
    /// A counter that each command prints in a line `NAME NUMBER`.
    #[arg(long, value_name = "NAME", help_heading = "Commands of this machine")]
    counter: Vec<String>,
    /// Everything that is printed must be equal, but for counters.
    #[arg(long, help_heading = "Commands of this machine")]
    same_output: bool,
    /// Count instructions by valgrind, twice each, before the rounds: as `--instrument
    /// valgrind-instructions`.
    #[arg(long, help_heading = "Commands of this machine")]
    instructions: bool,
    /// What kernel and processor count for each command and its descendants (perf_event_open):
    /// perf, perf-software, perf-hardware, or an event, as perf-cycles; or what valgrind counts:
    /// valgrind, valgrind-instructions, -cache, -branches, -allocations.
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Commands of this machine"
    )]
    instrument: Vec<String>,
    /// Decides the order of each round [default: 1].
    #[arg(long, value_name = "N", help_heading = "Commands of this machine")]
    seed: Option<u64>,
    /// Keep every sample in this file (JSON Lines), as it comes. If it has samples of the same
    /// commands, the run goes on after them.
    #[arg(long, value_name = "FILE", help_heading = "Commands of this machine")]
    samples: Option<PathBuf>,
    #[command(flatten)]
    result: OutputArgs,
    #[command(flatten)]
    log: ArchiveArgs,
}

impl Args {
    /// Registers the files that are written.
    pub fn files(&self, named: &mut files::FileSet) {
        // A command may be one word or a line of them.
        let words = self.commands.iter().flat_map(|line| {
            std::iter::once(line.as_str()).chain(line.split_whitespace()).map(Path::new)
        });
        named.reads(words.filter(|path| path.is_file()));
        self.firmware.files(named);
        named.writes("--samples", &self.samples);
        self.result.files(named);
    }

    /// Options that were given and are for commands of this machine alone.
    fn for_commands(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            (self.time.is_some(), "--time"),
            (self.rounds.is_some(), "--rounds"),
            (self.warm_up.is_some(), "--warm-up"),
            (self.metric.is_some(), "--metric"),
            (!self.counter.is_empty(), "--counter"),
            (self.same_output, "--same-output"),
            (self.instructions, "--instructions"),
            (!self.instrument.is_empty(), "--instrument"),
            (self.seed.is_some(), "--seed"),
            (self.samples.is_some(), "--samples"),
        ];
        given.into_iter().filter(|(is, _)| *is).map(|(_, option)| option)
    }

    /// The order's seed.
    fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }
}

/// Runs, judges and prints.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.log.ready()?;
    if let Some(paths) = firmware::named(args)? {
        return firmware::run(args, &paths);
    }
    let variants = variants(args)?;
    let settings = settings(args)?;
    let workplace = Workplace::new()?;
    let stop = interrupt::on_interrupt();
    if let Some(event) = settings.metric.event()
        && let Some(what) = strobe_experiment::host::uncounted(&workplace.host, event, &stop)
    {
        return Err(exit::does_not_fit(format!("--metric {} needs {what}", event.name())));
    }
    let (mut log, mut rounds) = samples(args, &variants, &stop)?;
    let bench = Bench {
        host: &workplace.host,
        folder: workplace.folder.path(),
        variants: &variants,
        settings: &settings,
        stop: &stop,
        check: None,
    };
    let counted = bench.counted(100);
    let written = rounds_of(&bench, &mut rounds, log.as_mut());
    if rounds.is_empty() {
        return Err(exit::interrupted("stopped before the first round was over"));
    }
    let title = variants.iter().map(|v| v.name.as_str()).collect::<Vec<_>>().join(" | ");
    let parts = Parts {
        title: &title,
        variants: &variants,
        rounds: &rounds,
        settings: &settings,
        counted: &counted,
        clock_ns: Probe::new(workplace.folder.path()).clock_ns,
        interrupted: interrupt::happened(),
        tool: TOOL,
    };
    let measurement = measurement(&parts);
    args.result.measurement(&measurement, &args.result.selection())?;
    args.log.add(&measurement)?;
    if let (Err(error), Some(path)) = (written, &args.samples) {
        return Err(files::cannot_write(path, &error));
    }
    let judgement = bench.judgement(&rounds);
    let has_failed = (0..variants.len()).any(|variant| judgement.has_failed(variant));
    Ok(match (interrupt::happened(), has_failed) {
        (true, _) => exit::INTERRUPTED.into(),
        (false, true) => exit::FAILED.into(),
        (false, false) => ExitCode::SUCCESS,
    })
}

/// Runs rounds, with a line that shows them on a terminal.
pub fn rounds_of(
    bench: &Bench,
    rounds: &mut Vec<Round>,
    log: Option<&mut Log>,
) -> std::io::Result<()> {
    // Nothing is shown where standard error is no terminal.
    let line = indicatif::ProgressBar::new_spinner();
    let written = bench.run(rounds, log, &mut |round| {
        line.set_message(format!("round {}", round.number + 1));
        line.tick();
    });
    line.finish_and_clear();
    written
}

/// Where commands are run from: what is needed for them and goes afterwards.
pub struct Workplace {
    pub host: Host,
    pub folder: tempfile::TempDir,
    // Ends the claim when it goes.
    _lease: Lease,
}

impl Workplace {
    /// Makes it, after cleaning up behind runs that were killed.
    pub fn new() -> anyhow::Result<Workplace> {
        let folder = tempfile::Builder::new().prefix("strobe-bench-").tempdir();
        let folder = folder.map_err(|e| exit::output(format!("no temporary folder: {e}")))?;
        let leases = leases();
        let lease = Lease::take(&leases)
            .map_err(|e| exit::output(format!("cannot begin in {}: {e}", leases.display())))?;
        if lease.cleaned > 0 {
            terminal::message(&format!(
                "strobe: ended {} processes that an earlier run left when it was killed",
                lease.cleaned
            ));
        }
        let supervisor = std::env::current_exe()?;
        let host = Host { supervisor, mark: lease.mark.clone() };
        Ok(Workplace { host, folder, _lease: lease })
    }
}

/// One folder for each user: of others' runs nothing is known. By number, since containers and
/// schedulers set no name.
fn leases() -> PathBuf {
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    own.unwrap_or_else(std::env::temp_dir).join(format!("strobe-runs-{}", user()))
}

#[cfg(target_os = "linux")]
fn user() -> u32 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").map_or(u32::MAX, |own| own.uid())
}

#[cfg(not(target_os = "linux"))]
fn user() -> &'static str {
    // Nothing is started there.
    "none"
}

fn samples(
    args: &Args,
    variants: &[Variant],
    stop: &AtomicBool,
) -> anyhow::Result<(Option<Log>, Vec<Round>)> {
    let Some(path) = &args.samples else { return Ok((None, Vec::new())) };
    let (log, rounds) = open(path, variants, args.seed(), stop)?;
    Ok((Some(log), rounds))
}

/// Opens a file of samples, and shows what is in it.
fn open(
    path: &Path,
    variants: &[Variant],
    seed: u64,
    stop: &AtomicBool,
) -> anyhow::Result<(Log, Vec<Round>)> {
    let opened = Log::open(path, variants, seed, stop);
    let (log, rounds) = opened.map_err(|e| match e.kind() {
        std::io::ErrorKind::Interrupted => {
            exit::interrupted("stopped before the first round was over")
        }
        _ => files::cannot_write(path, &e),
    })?;
    if !rounds.is_empty() {
        let text = format!("strobe: going on after {} rounds of {}", rounds.len(), path.display());
        terminal::message(&text);
    }
    Ok((log, rounds))
}

fn settings(args: &Args) -> anyhow::Result<Settings> {
    let threshold = args.threshold.unwrap_or(2.0);
    if !(threshold > 0.0 && threshold < 100.0) {
        return Err(exit::usage("--threshold: a percentage above 0 and below 100"));
    }
    if let (Some(warm_up), Some(rounds)) = (args.warm_up, args.rounds)
        && warm_up as u64 >= rounds
    {
        return Err(exit::usage(format!(
            "--warm-up {warm_up} of --rounds {rounds} leaves none that counts"
        )));
    }
    let asked = args.metric.as_deref().unwrap_or("wall");
    let metric = Metric::named(asked);
    if let Metric::Counter(name) = &metric
        && !args.counter.contains(name)
    {
        let known: Vec<String> = Metric::ALWAYS.iter().map(|m| m.name().to_owned()).collect();
        return Err(exit::usage(format!(
            "--metric {name}: there are {}, output-bytes (with --same-output), events as \
             perf-cycles (--instrument), and counters named by --counter",
            known.join(", ")
        )));
    }
    let settings = Settings {
        seed: args.seed(),
        time: args.time.unwrap_or(Duration::from_secs(20)),
        rounds: args.rounds,
        warm_up: args.warm_up,
        threshold: threshold / 100.0,
        timeout: args.timeout.unwrap_or(Duration::from_secs(60)),
        metric,
        same_output: args.same_output,
        counters: args.counter.clone(),
        counts: args.instructions.then_some(Count::Instructions).into_iter().collect(),
        ..Settings::default()
    };
    settings
        .with_instruments(&args.instrument)
        .map_err(|error| exit::usage(format!("--instrument: {error}")))
}

fn variants(args: &Args) -> anyhow::Result<Vec<Variant>> {
    let mut commands: Vec<(String, Command)> =
        args.commands.iter().map(|line| (line.clone(), Command::line(line))).collect();
    for arguments in args.parted.split(|argument| argument == "--vs") {
        if arguments.is_empty() && args.parted.is_empty() {
            continue;
        }
        if arguments.is_empty() {
            return Err(exit::usage("there is no command beside --vs"));
        }
        let command = match arguments {
            // Quoted as for a shell; no program is called so.
            [line] if line.contains(char::is_whitespace) && !Path::new(line).exists() => {
                Command::line(line)
            }
            _ => Command { arguments: arguments.to_vec(), ..Command::default() },
        };
        commands.push((arguments.join(" "), command));
    }
    if let [(only, _)] = &commands[..]
        && args.parted.is_empty()
    {
        let what = if Path::new(only).is_file() {
            "is no ELF file for a microcontroller's Arm core or an AVR"
        } else {
            "is no file"
        };
        return Err(exit::usage(format!(
            "{only} {what}, and one command alone has nothing to compare with: give the ELF file \
             of a firmware with benchmarks, or two commands or more"
        )));
    }
    if commands.iter().any(|(line, _)| line.trim().is_empty()) {
        return Err(exit::usage("a command is empty"));
    }
    if commands.len() < 2 {
        return Err(exit::usage(
            "give the ELF file of a firmware with benchmarks (strobe bench firmware.elf), or two \
             commands or more: strobe bench 'COMMAND' 'COMMAND', or strobe bench -- COMMAND --vs \
             COMMAND",
        ));
    }
    if !args.name.is_empty() && args.name.len() != commands.len() {
        let (names, n) = (args.name.len(), commands.len());
        return Err(exit::usage(format!("{names} of --name for {n} commands")));
    }
    let lines = commands.iter().map(|(line, _)| line.as_str());
    let names = match args.name.is_empty() {
        true => names::of(&lines.collect::<Vec<_>>()),
        false if names::all_differ(&args.name) => args.name.clone(),
        false => return Err(exit::usage("two commands have one name")),
    };
    let named = names.into_iter().zip(commands);
    Ok(named.map(|(name, (_, command))| Variant { name, command }).collect())
}
