//! `strobe compare`: two firmwares, measurements or sets of them, side by side.

mod phases;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use strobe_analyse::compare::threshold::{self, Limit};
use strobe_model::measurement::{Ended, Finding, Measurement, Severity};
use strobe_report::{comparison, text};
use strobe_source::simulated::Phase;
use strobe_source::simulated::run_record::EndReason;
use strobe_source::{Attach, attach};

use crate::log::is_part;
use crate::output::OutputArgs;
use crate::simulate::{self, Setup, Threads, World};
use crate::{board, exit, files, input, measurement};

/// Compare two measurements, or two firmwares, or one on two boards: what changed, how much, and
/// whether that is certain; then functions, causes, lines, interrupts and everything else that both
/// have, and the instructions of what changed most.
///
/// An option given once is for both sides; given twice, first for A and then for B.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub struct Args {
    /// A and B: firmwares (ELF files), which are simulated, or measurements. Several of each are
    /// separated by --vs.
    #[arg(required = true, value_name = "A B")]
    sides: Vec<PathBuf>,
    /// Everything before is A, what follows is B: sets of runs, whose figures vary.
    #[arg(long, value_name = "B", num_args = 1..)]
    vs: Vec<PathBuf>,
    /// The part of each measurement to compare: a chip of a rig; a part of a part as `a/ping`.
    #[arg(long, value_name = "NAME")]
    part: Option<String>,
    /// Exit with 110 if all functions together, or one by itself, take more than so much in B for
    /// certain: `2%`, `send=5%`. May be given several times.
    #[arg(long, value_name = "[FUNCTION=]PERCENT")]
    fail_above: Vec<Limit>,
    /// Run each firmware so many times, with the interrupts of timers (SysTick and those of the
    /// chip) and serial input shifted against the program by parts of a period, to see which
    /// differences are luck.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=64))]
    phases: Option<u32>,
    /// Show the report of each side behind the comparison.
    #[arg(long)]
    with_sides: bool,
    /// Board: a name from `strobe boards` or a board file; by default the one the firmware is
    /// linked for.
    #[arg(long, value_name = "NAME|FILE", help_heading = "Simulation")]
    board: Vec<String>,
    /// Measure only from here on, each time it is reached: a symbol, an address (`0x8000123`), or
    /// a pin's edge (`PB8=1` or `PB8:rise`).
    #[arg(long, value_name = "PLACE", help_heading = "Simulation")]
    from: Vec<String>,
    /// Measure only up to here.
    #[arg(long, value_name = "PLACE", help_heading = "Simulation")]
    to: Vec<String>,
    /// End the run: after cycles (`1000000c`), simulated time (`20ms`), at a place, or when the
    /// firmware exits (`exit`).
    #[arg(long, value_name = "WHEN", help_heading = "Simulation")]
    until: Vec<String>,
    /// List pulse widths of a pin (`PB8`) or times between arrivals at a symbol, for both.
    #[arg(long, value_name = "PIN|SYMBOL", value_delimiter = ',', help_heading = "Simulation")]
    mark: Vec<String>,
    #[command(flatten)]
    described: board::Described,
    #[command(flatten)]
    world: World,
    #[command(flatten)]
    result: OutputArgs,
}

const EXAMPLE: &str = "\
Examples: one pulse of a pin, on a 16 MHz AVR and on a 48 MHz Cortex-M0:
  strobe compare avr.elf arm.elf --board arduino-uno --board stm32f070cb \\
      --from PD1=1 --from PB8=1 --to PD1=0 --to PB8=0 --until 10ms
three recordings before and three after a change:
  strobe compare a1.measurement a2.measurement a3.measurement \\
      --vs b1.measurement b2.measurement b3.measurement
two builds, with what depends on where interrupts meet the program:
  strobe compare main.elf change.elf --phases 8
a change that must not cost more than 2 %, in CI:
  strobe compare main.elf change.elf --fail-above 2%";

/// Runs both and reports.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let sets = args.sets()?;
    let mut missed: Vec<Finding> = Vec::new();
    let mut ran = false;
    let mut measured = |number: usize| -> anyhow::Result<Vec<Measurement>> {
        let of = args.phases.unwrap_or(1);
        let mut all = Vec::new();
        for path in sets[number] {
            for part in 0..of {
                let phase = (part > 0).then_some(Phase { part, of });
                match one(args, number, path, phase)? {
                    One::Read(_) if args.phases.is_some() => {
                        return Err(exit::usage(format!(
                            "--phases: {} is a measurement, and only firmware can be run again",
                            path.display()
                        )));
                    }
                    One::Read(read) => {
                        all.push(measurement::part(path, *read, args.part.as_deref())?);
                    }
                    One::Measured(..) if args.part.is_some() => {
                        let shown = path.display();
                        return Err(exit::usage(format!(
                            "--part is for measurements, and {shown} is firmware"
                        )));
                    }
                    One::Measured(measurement, unreached) => {
                        ran = true;
                        all.push(*measurement);
                        missed.extend(unreached);
                    }
                }
            }
        }
        Ok(all)
    };
    let (a, b) = (measured(0)?, measured(1)?);
    if let Some(option) = args.of_firmware().filter(|_| !ran) {
        return Err(exit::usage(format!("{option} is for firmware, and all are measurements")));
    }
    if !args.fail_above.is_empty() {
        none_is_part(["a", "b"].into_iter().zip([&a, &b]))?;
    }
    let compared = strobe_analyse::compare::compare_sets(&a, &b);
    let mut compared = compared.ok_or_else(|| exit::usage("there is nothing to compare"))?;
    let is_above = threshold::judge(&mut compared, &args.fail_above)
        .map_err(|error| exit::usage(format!("--fail-above: {}", comparison::unjudged(&error))))?;
    let mut compared = comparison::measurement(compared);
    // Each phase misses the same.
    missed.dedup();
    let never = !missed.is_empty();
    compared.findings.extend(missed);
    if args.phases.is_some() {
        let has_input = args.world.has_serial_input();
        let sides = [("a", &a), ("b", &b)];
        let all = sides.iter().flat_map(|(side, runs)| phases::findings(side, runs, has_input));
        compared.findings.extend(all);
    }
    // Whoever does not come to the end takes less.
    let failed = failed_end(&a, &b).filter(|_| !args.fail_above.is_empty());
    if let Some(end) = failed {
        let text = format!("b failed where a did not: {}; no limit is held by that", end.text);
        compared.findings.insert(0, Finding::new(Severity::Warning, "failed-side", text));
    }
    let selection = args.result.selection();
    let selection = text::Selection { instructions: true, parts: args.with_sides, ..selection };
    args.result.measurement(&compared, &selection)?;
    Ok(match (is_above, failed.and_then(exit::of_end)) {
        (true, _) => exit::BUDGET.into(),
        (false, Some(code)) => code.into(),
        (false, None) if never => exit::NEVER.into(),
        (false, None) => ExitCode::SUCCESS,
    })
}

/// A limit is about whole runs: of one that somebody stopped, what it lacks looks like less.
fn none_is_part<'m>(
    sides: impl Iterator<Item = (&'static str, &'m Vec<Measurement>)>,
) -> anyhow::Result<()> {
    for (side, runs) in sides {
        if let Some(run) = runs.iter().find(|run| is_part(run)) {
            return Err(exit::data(format!(
                "--fail-above: {} ({side}) was stopped by the user, and part of a run holds no \
                 limit; measure it anew",
                run.subject.name
            )));
        }
    }
    Ok(())
}

/// How one of `b` failed, if none of `a` did so too.
fn failed_end<'m>(a: &[Measurement], b: &'m [Measurement]) -> Option<&'m Ended> {
    let is_alike = |x: &Ended, y: &Ended| (&x.kind, x.code) == (&y.kind, y.code);
    let in_a = |end: &Ended| a.iter().any(|run| is_alike(&run.window.ended, end));
    let mut ends = b.iter().map(|run| &run.window.ended);
    ends.find(|&end| exit::of_end(end).is_some() && !in_a(end))
}

impl Args {
    /// The first option that was given and that only a simulated run has a use for.
    fn of_firmware(&self) -> Option<&'static str> {
        let given = [
            (self.board.is_empty(), "--board"),
            (self.from.is_empty(), "--from"),
            (self.to.is_empty(), "--to"),
            (self.until.is_empty(), "--until"),
            (self.mark.is_empty(), "--mark"),
        ];
        given.into_iter().find(|(none, _)| !none).map(|(_, option)| option)
    }

    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::FileSet) {
        named.reads(self.sides.iter().chain(&self.vs));
        self.board.iter().for_each(|b| board::BoardArgs::named(Some(b.clone())).files(named));
        self.described.files(named);
        self.world.files(named);
        self.result.files(named);
    }

    /// The files of A and of B.
    fn sets(&self) -> anyhow::Result<[&[PathBuf]; 2]> {
        match (self.sides.as_slice(), self.vs.as_slice()) {
            ([_, _], []) => Ok([&self.sides[..1], &self.sides[1..]]),
            (a, []) => Err(exit::usage(format!(
                "{} given: name A and B, or put --vs between several of each",
                if a.len() == 1 {
                    "one file was".to_owned()
                } else {
                    format!("{} files were", a.len())
                }
            ))),
            (a, b) => Ok([a, b]),
        }
    }
}

/// Where a measurement is from.
enum One {
    Read(Box<Measurement>),
    /// With what was asked for and never reached.
    Measured(Box<Measurement>, Vec<Finding>),
}

/// A run of A (0) or B (1), or a measurement.
fn one(args: &Args, number: usize, path: &Path, phase: Option<Phase>) -> anyhow::Result<One> {
    if let Some(measurement) = measurement::read(path)? {
        return Ok(One::Read(Box::new(measurement)));
    }
    let pick = |name: &str, given: &[String]| match given {
        [] => Ok(None),
        [both] => Ok(Some(both.clone())),
        [_, _] => Ok(Some(given[number].clone())),
        _ => Err(exit::usage(format!(
            "--{name} was given {} times; there are two sides",
            given.len()
        ))),
    };
    let setup = Setup {
        board: board::BoardArgs::new(pick("board", &args.board)?, args.described.clone()),
        until: pick("until", &args.until)?.into_iter().collect(),
        world: args.world.silent(),
    };
    let (from, to) = (pick("from", &args.from)?, pick("to", &args.to)?);
    let mut options = simulate::Options::of(setup, from, to, args.mark.clone());
    options.phase = phase;
    let firmware = input::firmware(path)?;
    let choice = board::choose(&options.setup.board, &firmware)?;
    let settings = simulate::settings(&options, Threads::default())?;
    let run = simulate::Run::new((path, &firmware), &choice, &options.setup, settings);
    let done = run.bounded().map_err(|error| exit::of_file(error, path))?;
    if done.record.window.end_reason == EndReason::Interrupted {
        let text = format!("{}: stopped by the user; nothing is compared", path.display());
        return Err(exit::interrupted(text));
    }
    if done.record.totals.cycles == 0 {
        return Err(exit::never(format!(
            "{}: nothing was measured: the run ended before --from was reached; --until may be too \
             early",
            path.display()
        )));
    }
    let mut measurement = done.measurement();
    // Which instructions took the cycles is a part of the comparison.
    attach(
        &mut measurement,
        &firmware,
        Attach { symbols: true, disassembly: true, ..Attach::default() },
    );
    let unreached = simulate::unreached(&done.record).map(|finding| Finding {
        text: format!("{}: {}", ["a", "b"][number], finding.text),
        ..finding
    });
    Ok(One::Measured(Box::new(measurement), unreached.collect()))
}
