//! `strobe check`: whether a firmware keeps its budgets.

mod against;
mod baseline;
mod commands;
mod config;
mod entry;
mod error;
mod evaluate;
pub mod init;
mod measure;
mod process;
mod verdict;
mod watch;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use strobe_analyse::budget::{Line, Verdict};
use strobe_model::measurement::{Number, Unit};
use strobe_report::check::{github, junit, markdown};

use crate::log::ArchiveArgs;
use crate::output::{self, OutputArgs};
use crate::{exit, files, input, interrupt, terminal};
use baseline::Baseline;
use config::Config;
use evaluate::Base;

const EXAMPLES: &str = "\
Examples:
  strobe check
  strobe check --junit budgets.xml --markdown summary.md
  strobe check --accept
  strobe check --against origin/main
  strobe check --watch

docs/check.md describes strobe.toml.

Exit codes: 0 all budgets held, 110 one is exceeded, or may be, or its figure is not known, 65 one
matches nothing or cannot be judged, or the file contradicts itself (110 goes first), 64 wrong
arguments, 66 a file cannot be read, 74 a file cannot be written, 130 stopped by Ctrl-C";

/// Options of the report, which is not made of what is accepted or watched.
const REPORTS: [&str; 6] = ["log", "junit", "markdown", "github", "output", "format"];

/// Check the budgets of strobe.toml: cycles, latencies, sizes, stacks and any other figure against
/// limits, a baseline or another git revision.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The budgets; commands and paths in it are meant from its directory.
    #[arg(default_value = "strobe.toml")]
    budgets: PathBuf,
    /// Accept the figures as they are: write the baseline, and show what changes in it.
    #[arg(long, conflicts_with_all = ["against", "watch"], conflicts_with_all = REPORTS)]
    accept: bool,
    /// Relative limits count from this git revision, which is built in a temporary work tree.
    #[arg(long, value_name = "REV", conflicts_with = "watch")]
    against: Option<String>,
    /// Write JUnit XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a summary in Markdown; in GitHub Actions it is added to the step's summary as well.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write annotations for GitHub to standard error [default: in GitHub Actions].
    #[arg(long)]
    github: bool,
    /// Build and check again whenever a source file, or without a build command the firmware,
    /// changes; until Ctrl-C.
    #[arg(long, conflicts_with_all = REPORTS)]
    watch: bool,
    #[command(flatten)]
    result: OutputArgs,
    #[command(flatten)]
    log: ArchiveArgs,
}

impl Args {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::FileSet) {
        named.reads([&self.budgets]);
        named.writes("--junit", &self.junit);
        named.writes("--markdown", &self.markdown);
        named.writes("GITHUB_STEP_SUMMARY", self.step_summary());
        self.result.files(named);
    }

    /// The summary of GitHub's step, if it is written.
    fn step_summary(&self) -> Option<PathBuf> {
        let path = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty())?;
        (in_actions() && !self.accept && !self.watch).then(|| path.into())
    }

    /// The directory from which commands and paths are meant.
    fn directory(&self) -> anyhow::Result<PathBuf> {
        let parent = self.budgets.parent().filter(|parent| *parent != Path::new(""));
        let parent = parent.unwrap_or(Path::new("."));
        let unreadable = |e| exit::no_input(format!("cannot read {}: {e}", parent.display()));
        parent.canonicalize().map_err(unreadable)
    }
}

/// Whether this is a step of GitHub Actions.
fn in_actions() -> bool {
    std::env::var("GITHUB_ACTIONS").is_ok_and(|value| value == "true")
}

/// Checks and reports.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.log.ready()?;
    let directory = args.directory()?;
    let config = config::read(&args.budgets)?;
    commands::register(&config, &directory)?;
    register_sources(&config, &directory)?;
    let path = directory.join(&config.baseline);
    if args.watch {
        return watch::watch(&config, &directory);
    }
    if args.accept {
        return accept(&config, &directory, &path);
    }
    // What is wrong with a baseline or a revision shall not cost a whole run.
    let base = match &args.against {
        Some(revision) => {
            let tree = against::Worktree::of(&directory, revision)?;
            let measured = evaluate::measured(&config, tree.directory());
            not_interrupted()?;
            Base::Revision(measured)
        }
        None => Baseline::read(&path)?.map_or(Base::None, Base::Accepted),
    };
    let all = evaluate::measured(&config, &directory);
    not_interrupted()?;
    let lines = evaluate::lines(&config, &all, &base, &directory);
    // A build may have made the firmware that names them.
    register_sources(&config, &directory)?;
    report(args, &lines, &all)?;
    Ok(code(&lines).into())
}

/// Registers the source files that runs read lines from.
fn register_sources(config: &Config, directory: &Path) -> anyhow::Result<()> {
    let mut all = config.firmware.iter();
    all.try_for_each(|firmware| commands::register_sources(firmware, directory))
}

fn not_interrupted() -> anyhow::Result<()> {
    if interrupt::happened() {
        Err(exit::interrupted(format!("stopped by {}", interrupt::by())))
    } else {
        Ok(())
    }
}

/// The exit code for lines.
fn code(lines: &[Line]) -> u8 {
    let worst = lines.iter().map(|line| line.judged.verdict);
    let is_beyond = |verdict: Verdict| !matches!(verdict, Verdict::Held | Verdict::Broken);
    if worst.clone().any(is_beyond) {
        return exit::BUDGET;
    }
    if worst.into_iter().any(|verdict| verdict == Verdict::Broken) { exit::DATA } else { 0 }
}

fn report(args: &Args, lines: &[Line], all: &evaluate::All) -> anyhow::Result<()> {
    let file = args.budgets.display().to_string();
    let mut measurement = verdict::measurement(lines, &input::file_name(&args.budgets));
    measurement.findings.extend(evaluate::timings(all));
    args.result.measurement(&measurement, &args.result.selection_of(0))?;
    args.log.add(&measurement)?;
    if let Some(path) = &args.junit {
        files::write(path, junit::document(lines).as_bytes())?;
    }
    let summary = markdown::summary(lines);
    if let Some(path) = &args.markdown {
        files::write(path, summary.as_bytes())?;
    }
    if let Some(path) = args.step_summary() {
        files::append(&path, summary.as_bytes())?;
    }
    if args.github || in_actions() {
        github::annotations(lines, &file).lines().for_each(terminal::message);
    }
    Ok(())
}

/// Writes the baseline and shows what changes in it.
fn accept(config: &Config, directory: &Path, path: &Path) -> anyhow::Result<ExitCode> {
    Baseline::may_replace(path)?;
    // One that is of another form or cut off is replaced: that is what its message asks for.
    let old = Baseline::read(path).unwrap_or_else(|error| {
        terminal::message(&format!("strobe: {error}; it is replaced"));
        None
    });
    let all = evaluate::measured(config, directory);
    not_interrupted()?;
    let (new, missing) = evaluate::accepted(config, &all, directory);
    if !missing.is_empty() {
        let text = missing.join("\n");
        return Err(exit::data(format!("nothing is accepted, for some have no figure:\n{text}")));
    }
    // A build may have made another file of that name.
    Baseline::may_replace(path)?;
    new.write(path)?;
    output::write(accepted(old.as_ref(), &new, path).as_bytes(), None)?;
    Ok(ExitCode::SUCCESS)
}

/// What is accepted: what each figure was and is.
fn accepted(old: Option<&Baseline>, new: &Baseline, path: &Path) -> String {
    let mut text = format!("accepted in {}\n", path.display());
    let figures = |baseline: &Baseline| {
        let each = baseline.firmware.iter().flat_map(|(firmware, accepted)| {
            let one = |(name, entry): (&String, &baseline::Entry)| {
                (format!("{firmware}: {name}"), (entry.value, entry.unit.clone()))
            };
            accepted.budget.iter().map(one).collect::<Vec<_>>()
        });
        each.collect::<std::collections::BTreeMap<_, _>>()
    };
    let (before, now) = (old.map(figures).unwrap_or_default(), figures(new));
    let figure = |number: &Number, unit: &Unit| {
        let number = match number {
            Number::Integer(n) => n.to_string(),
            Number::Real(x) => format!("{x:.3}"),
        };
        // Of things that are counted, the budget's name has what they are.
        if *unit == Unit::COUNT { number } else { format!("{number} {unit}") }
    };
    // Writing to a string cannot fail.
    for (name, (value, unit)) in &now {
        let _ = match before.get(name) {
            Some((was, of)) if was == value && of == unit => {
                writeln!(text, "  {name}: {}, as before", figure(value, unit))
            }
            Some((was, of)) => {
                let (from, to) = (was.as_f64(), value.as_f64());
                let by = (of == unit && from != 0.0).then(|| (to - from) * 100.0 / from);
                let by = by.map(|by| format!(" ({by:+.1} %)")).unwrap_or_default();
                writeln!(text, "  {name}: {} -> {}{by}", figure(was, of), figure(value, unit))
            }
            None => writeln!(text, "  {name}: new -> {}", figure(value, unit)),
        };
    }
    for (name, (was, unit)) in before.iter().filter(|(name, _)| !now.contains_key(*name)) {
        let _ = writeln!(text, "  {name}: {} -> gone", figure(was, unit));
    }
    text
}
