//! `strobe bench`: commands of this machine side by side, with a verdict.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use strobe_experiment::bench::{Bench, Settings};
use strobe_experiment::host::{Command, Counted, Host, Lease, Probe, instructions};
use strobe_experiment::measurement::{Parts, measurement};
use strobe_experiment::samples::{Log, Metric, Round, Variant};
use strobe_model::spelling;

use crate::output::Wanted;
use crate::{exit, files, interrupt, terminal};

/// Tool and version, for measurements.
pub const TOOL: &str = concat!("strobe ", env!("CARGO_PKG_VERSION"));

const EXAMPLES: &str = "\
Examples:
  strobe bench 'sort -n numbers' 'sort -g numbers'
  strobe bench --name old --name new ./old.sh ./new.sh --time 60s
  strobe bench -- gzip -9k file --vs zstd -19 file
  strobe bench --same-output --instructions './old input' './new input'
  strobe bench --samples runs.jsonl -o runs.measurement 'make -C a' 'make -C b'

All variants run once a round, in a random order, so that what slowly changes on the machine is in
all of them. Rounds end when every comparison has an answer, or the time is over. A variant that
fails, hangs or answers something else has no time.

Exit codes: 0 done, 1 a variant failed, 64 wrong arguments, 74 cannot be written, 130 stopped; what
was measured until then is shown";

/// Compare what commands of this machine take: interleaved rounds, intervals, a verdict.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The commands, each in quotes; the first is the reference.
    #[arg(value_name = "COMMAND")]
    commands: Vec<String>,
    /// The commands with their arguments, parted by `--vs`.
    #[arg(last = true, value_name = "COMMAND [--vs COMMAND]...")]
    parted: Vec<String>,
    /// What a command is called; as often as there are commands.
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// How long rounds may begin.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "20s")]
    time: Duration,
    /// So many rounds, instead of as many as the answer needs.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// Rounds at the start that do not count [default: found, one at least].
    #[arg(long, value_name = "N")]
    warm_up: Option<usize>,
    /// Differences up to this do not matter, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0)]
    threshold: f64,
    /// How long a single run may take.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s")]
    timeout: Duration,
    /// What is judged: wall, cpu, user, system, peak-memory, minor-faults, ..., or a counter.
    #[arg(long, value_name = "METRIC", default_value = "wall")]
    metric: String,
    /// A counter that each command prints in a line `NAME NUMBER`.
    #[arg(long, value_name = "NAME")]
    counter: Vec<String>,
    /// Everything that is printed must be equal, but for counters.
    #[arg(long)]
    same_output: bool,
    /// Count instructions by valgrind, twice each, before the rounds.
    #[arg(long)]
    instructions: bool,
    /// Decides the order of each round.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Keep every sample in this file (JSON Lines), as it comes. If it has samples of the same
    /// commands, the run goes on after them.
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
    #[command(flatten)]
    result: Wanted,
}

impl Args {
    /// Registers the files that are written.
    pub fn files(&self, named: &mut files::Named) {
        named.writes("--samples", &self.samples);
        self.result.files(named);
    }
}

pub fn duration(text: &str) -> Result<Duration, String> {
    spelling::time(text).map(Duration::from_nanos).ok_or_else(|| spelling::TIME.to_owned())
}

/// Runs, judges and prints.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let variants = variants(args)?;
    let settings = settings(args)?;
    let workplace = Workplace::new()?;
    let stop = interrupt::on_interrupt();
    let (mut log, mut rounds) = samples(args, &variants)?;
    let bench = Bench {
        host: &workplace.host,
        folder: workplace.folder.path(),
        variants: &variants,
        settings: &settings,
        stop: &stop,
        check: None,
    };
    let counted = if args.instructions { count(&bench) } else { Vec::new() };
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
        instructions: &counted,
        clock_ns: Probe::new(workplace.folder.path()).clock_ns,
        interrupted: interrupt::happened(),
        tool: TOOL,
    };
    args.result.measurement(&measurement(&parts), &args.result.selection())?;
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
            terminal::say(&format!(
                "strobe: ended {} processes that an earlier run left when it was killed",
                lease.cleaned
            ));
        }
        let supervisor = std::env::current_exe()?;
        let host = Host { supervisor, mark: lease.mark.clone() };
        Ok(Workplace { host, folder, _lease: lease })
    }
}

/// One folder for each user: of others' runs nothing is known.
fn leases() -> PathBuf {
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
    let user = user.unwrap_or_else(|_| "nobody".to_owned()).replace('/', "_");
    own.unwrap_or_else(std::env::temp_dir).join(format!("strobe-runs-{user}"))
}

fn samples(args: &Args, variants: &[Variant]) -> anyhow::Result<(Option<Log>, Vec<Round>)> {
    let Some(path) = &args.samples else { return Ok((None, Vec::new())) };
    let (log, rounds) = open(path, variants, args.seed)?;
    Ok((Some(log), rounds))
}

/// Opens a file of samples, and says what is in it.
pub fn open(path: &Path, variants: &[Variant], seed: u64) -> anyhow::Result<(Log, Vec<Round>)> {
    let opened = Log::open(path, variants, seed);
    let (log, rounds) = opened.map_err(|e| files::cannot_write(path, &e))?;
    if !rounds.is_empty() {
        let text = format!("strobe: going on after {} rounds of {}", rounds.len(), path.display());
        terminal::say(&text);
    }
    Ok((log, rounds))
}

/// Instructions of each variant, twice: whether they repeat is seen, not taken for granted.
pub fn count(bench: &Bench) -> Vec<Vec<Counted>> {
    let timeout = bench.settings.timeout.saturating_mul(100);
    let twice = |variant: &Variant| {
        let one = || instructions(bench.host, &variant.command, bench.folder, timeout, bench.stop);
        let first = one();
        if matches!(first, Counted::No(_)) { vec![first] } else { vec![first, one()] }
    };
    bench.variants.iter().map(twice).collect()
}

fn settings(args: &Args) -> anyhow::Result<Settings> {
    if !(args.threshold > 0.0 && args.threshold < 100.0) {
        return Err(exit::usage("--threshold: a percentage above 0 and below 100"));
    }
    if let (Some(warm_up), Some(rounds)) = (args.warm_up, args.rounds)
        && warm_up as u64 >= rounds
    {
        return Err(exit::usage(format!(
            "--warm-up {warm_up} of --rounds {rounds} leaves none that counts"
        )));
    }
    let metric = Metric::named(&args.metric);
    if let Metric::Counter(name) = &metric
        && !args.counter.contains(name)
    {
        let known: Vec<String> = Metric::ALWAYS.iter().map(|m| m.name().to_owned()).collect();
        return Err(exit::usage(format!(
            "--metric {name}: there are {}, output-bytes (with --same-output), and counters named \
             by --counter",
            known.join(", ")
        )));
    }
    Ok(Settings {
        seed: args.seed,
        time: args.time,
        rounds: args.rounds,
        warm_up: args.warm_up,
        threshold: args.threshold / 100.0,
        timeout: args.timeout,
        metric,
        same_output: args.same_output,
        counters: args.counter.clone(),
        ..Settings::default()
    })
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
        let command = Command { arguments: arguments.to_vec(), ..Command::default() };
        commands.push((arguments.join(" "), command));
    }
    if commands.iter().any(|(line, _)| line.trim().is_empty()) {
        return Err(exit::usage("a command is empty"));
    }
    if commands.len() < 2 {
        return Err(exit::usage(
            "give two commands or more: strobe bench 'COMMAND' 'COMMAND', or strobe bench -- \
             COMMAND --vs COMMAND",
        ));
    }
    if !args.name.is_empty() && args.name.len() != commands.len() {
        let (names, n) = (args.name.len(), commands.len());
        return Err(exit::usage(format!("{names} of --name for {n} commands")));
    }
    let named = commands.into_iter().enumerate().map(|(n, (line, command))| Variant {
        name: args.name.get(n).cloned().unwrap_or_else(|| short(&line)),
        command,
    });
    let named: Vec<Variant> = named.collect();
    let mut names: Vec<&String> = named.iter().map(|variant| &variant.name).collect();
    names.sort();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(exit::usage("two commands have one name; name them with --name"));
    }
    Ok(named)
}

/// A name that fits into a table.
fn short(line: &str) -> String {
    const MOST: usize = 32;
    if line.chars().count() <= MOST {
        return line.to_owned();
    }
    let start: String = line.chars().take(MOST - 3).collect();
    format!("{start}...")
}
