//! `strobe log`: adds measurements to an archive.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{SystemTime, UNIX_EPOCH};

use strobe_archive::{Figure, Origin, Place, date, figures, fingerprint, is_name, name_of, write};
use strobe_model::measurement::Measurement;
use strobe_report::file;

use crate::archive::{self, State};
use crate::{exit, files, measurement, output};

const EXAMPLES: &str = "\
Examples:
  strobe run firmware.elf -o run.measurement && strobe log history run.measurement
  strobe log history run.measurement size.measurement --project sensor --board rev-b
  strobe log history old.measurement --commit v1.2 --date 2026-03-01
  strobe history history; strobe history history main

Each call writes new files and replaces none, so that several may write at once. The files are
Parquet; what is in them is in docs/history.md.

Exit codes: 0 done, 64 wrong arguments, 65 no measurement, 66 cannot be read, 74 cannot be written";

/// Add measurements to an archive, with the commit that they are of: a folder of Parquet files by
/// project, board and date, which `strobe history` and any SQL engine read.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The archive's folder; made if there is none.
    directory: PathBuf,
    /// Measurements (-o FILE.measurement of any command).
    #[arg(required = true, value_name = "MEASUREMENT")]
    measurements: Vec<PathBuf>,
    /// Project [default: the name of git's work tree, else of the current folder].
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Board [default: the measurement's, else `unknown`].
    #[arg(long, value_name = "NAME")]
    board: Option<String>,
    /// What was measured [default: the name of the measured file]. Histories are kept apart by it.
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
    /// Commit of the firmware's source [default: that of the current folder, with `-dirty` behind
    /// it if files have changed].
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,
    /// Branch [default: that of the current folder].
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// When it was measured, in UTC: `2026-11-23` or `2026-11-23T05:09:38Z` [default: now].
    #[arg(long, value_name = "TIME")]
    date: Option<String>,
}

impl Args {
    /// Registers the files that are read.
    pub fn files(&self, named: &mut files::Named) {
        named.reads(&self.measurements);
    }
}

/// Reads all, then writes.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let directory = &args.directory;
    if archive::state(directory)? == State::Other {
        return Err(exit::usage(format!(
            "{} has other files and no folder project=...: it is no archive; name a new folder",
            directory.display()
        )));
    }
    let time = match &args.date {
        Some(text) => date::parse(text).ok_or_else(|| {
            exit::usage(format!("--date {text}: no date as 2026-11-23 or 2026-11-23T05:09:38Z"))
        })?,
        None => now(),
    };
    let source = Source::of(args)?;
    let project = named("--project", args.project.as_deref(), source.project.as_deref())?;
    let mut by_place: BTreeMap<Place, Vec<(Origin, Vec<Figure>)>> = BTreeMap::new();
    for path in &args.measurements {
        let measurement = measurement::read(path)?.ok_or_else(|| {
            exit::data(format!(
                "{} is no measurement; commands write one with -o FILE.measurement",
                path.display()
            ))
        })?;
        let board = measurement.subject.board.as_deref();
        let board = named("--board", args.board.as_deref(), board)?;
        let place = Place { project: project.clone(), board, date: date::day(time) };
        let origin = origin(args, &source, &measurement, time);
        by_place.entry(place).or_default().push((origin, figures(&measurement)));
    }
    let mut lines = String::new();
    for (place, measurements) in by_place {
        let bytes = write(&measurements, &archive::tool())?;
        let stem = format!("part-{time}-{}", std::process::id());
        let path = files::fresh(&directory.join(place.to_string()), &stem, "parquet", &bytes)?;
        let rows: usize = measurements.iter().map(|(_, figures)| figures.len()).sum();
        let of = source.commit.as_deref().map_or_else(
            || "without a commit".to_owned(),
            |commit| format!("of {}", commit.chars().take(12).collect::<String>()),
        );
        let (n, s) = (measurements.len(), if measurements.len() == 1 { "" } else { "s" });
        lines += &format!("{n} measurement{s} {of}, {rows} figures: {}\n", path.display());
    }
    output::write(lines.as_bytes(), None)?;
    Ok(ExitCode::SUCCESS)
}

/// What can be a part of a path: as given, or made of what is known.
fn named(option: &str, given: Option<&str>, known: Option<&str>) -> anyhow::Result<String> {
    match given {
        Some(name) if is_name(name) => Ok(name.to_owned()),
        Some(name) => Err(exit::usage(format!(
            "{option} {name}: letters, digits, `.`, `_`, `+` and `-`, the first a letter or digit, \
             100 at most: it names a folder"
        ))),
        None => Ok(known.and_then(name_of).unwrap_or_else(|| "unknown".to_owned())),
    }
}

fn origin(args: &Args, source: &Source, measurement: &Measurement, time: i64) -> Origin {
    let subject = &measurement.subject;
    let settings = &measurement.instrument.settings;
    let settings: String = settings.iter().map(|(name, is)| format!("{name}={is}\n")).collect();
    Origin {
        measurement: fingerprint(file::json(measurement).as_bytes()),
        time,
        commit: source.commit.clone(),
        commit_time: source.commit_time,
        branch: source.branch.clone(),
        subject: args.subject.clone().unwrap_or_else(|| subject.name.clone()),
        sha256: subject.sha256.clone(),
        build_id: subject.build_id.clone(),
        instrument: measurement.instrument.kind.clone(),
        tool: measurement.instrument.tool.clone(),
        settings: fingerprint(settings.as_bytes()),
    }
}

/// What git knows of the current folder.
#[derive(Default)]
struct Source {
    project: Option<String>,
    commit: Option<String>,
    commit_time: Option<i64>,
    branch: Option<String>,
}

impl Source {
    fn of(args: &Args) -> anyhow::Result<Source> {
        let project = git(&["rev-parse", "--show-toplevel"])
            .map(PathBuf::from)
            .or_else(|| std::env::current_dir().ok())
            .and_then(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()));
        let commit = match &args.commit {
            Some(text) => Some(given(text)?),
            None => head(),
        };
        let clean = commit.as_deref().map(|commit| commit.trim_end_matches("-dirty"));
        let commit_time = clean
            .and_then(|commit| {
                git(&["show", "-s", "--format=%ct", &format!("{commit}^{{commit}}")])
            })
            .and_then(|seconds| seconds.parse::<i64>().ok())
            .and_then(|seconds| seconds.checked_mul(date::SECOND));
        let branch = || git(&["symbolic-ref", "--short", "--quiet", "HEAD"]);
        // The current branch is not that of another commit.
        let here = if args.commit.is_none() { branch() } else { None };
        Ok(Source { project, commit, commit_time, branch: args.branch.clone().or(here) })
    }
}

/// The commit of a name; as it is given where git does not know it.
fn given(text: &str) -> anyhow::Result<String> {
    if text.is_empty() || text.starts_with('-') || text.contains(char::is_whitespace) {
        return Err(exit::usage(format!("--commit {text}: no commit")));
    }
    let known = git(&["rev-parse", "--verify", "--quiet", &format!("{text}^{{commit}}")]);
    Ok(known.unwrap_or_else(|| text.to_owned()))
}

fn head() -> Option<String> {
    let commit = git(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]);
    Some(if changed.is_none_or(|files| files.is_empty()) { commit } else { commit + "-dirty" })
}

/// What git prints; none where there is no repository or no git.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
