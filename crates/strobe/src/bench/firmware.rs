//! `strobe bench` of firmware: functions that it marks, called on simulated boards.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use strobe_model::measurement::ids;

use globset::{Glob, GlobMatcher};
use regex_automata::meta::Regex;
use strobe_model::measurement::{Content, Finding, Measurement, Severity};
use strobe_source::simulated::bench::{self, Benched};
use strobe_symbols::{Benchmark, Firmware};

use super::baseline::{Compared, SavedBaseline};
use super::{Args, reports};
use crate::files::{self, Kind};
use crate::{board, exit, input, interrupt, simulate};

/// Options for firmware alone.
#[derive(clap::Args)]
#[command(next_help_heading = "Benchmarks of firmware")]
pub struct Options {
    /// Only benchmarks with this in their names; or that match it where it has `*`, `?` or `[`, or
    /// between slashes as a regular expression: `/^(fir|iir)_/`. May be given several times.
    #[arg(long, value_name = "TEXT|PATTERN|/REGEX/")]
    filter: Vec<String>,
    /// The board, by name or file: one for all, or one for each firmware in their order [default:
    /// the one that each is linked for].
    #[arg(long, value_name = "NAME|FILE")]
    board: Vec<String>,
    /// Where start-up is over and functions are called from: a symbol or an address [default:
    /// main].
    #[arg(long, value_name = "PLACE")]
    after: Option<String>,
    /// Keep the figures in this file, small and sorted, to compare with.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Compare with figures that --save has kept: more cycles, stack or allocations is exit code
    /// 110.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Profile the first call of this benchmark as well, with its input (`sort/64`) or else its
    /// largest: by function, line and instruction, for report, export and compare.
    #[arg(long, value_name = "NAME[/INPUT]")]
    profile: Option<String>,
    /// Write JUnit XML: a case for each benchmark and input.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a summary in Markdown.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

impl Options {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::FileSet) {
        named.reads(self.board.iter().map(Path::new).filter(|path| path.is_file()));
        named.reads(&self.baseline);
        named.writes("--save", &self.save);
        named.writes("--junit", &self.junit);
        named.writes("--markdown", &self.markdown);
    }

    fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            (!self.filter.is_empty(), "--filter"),
            (!self.board.is_empty(), "--board"),
            (self.after.is_some(), "--after"),
            (self.save.is_some(), "--save"),
            (self.baseline.is_some(), "--baseline"),
            (self.profile.is_some(), "--profile"),
            (self.junit.is_some(), "--junit"),
            (self.markdown.is_some(), "--markdown"),
        ];
        given.into_iter().filter(|(is, _)| *is).map(|(_, option)| option)
    }
}

/// The firmware that was named; none if commands were.
///
/// # Errors
/// Both at once, and options of one for the other.
pub fn named(args: &Args) -> anyhow::Result<Option<Vec<PathBuf>>> {
    let is_one = |text: &String| -> anyhow::Result<bool> {
        let path = Path::new(text);
        Ok(path.is_file() && is_firmware(&files::head(path, &Kind::RECORDED, HEAD)?))
    };
    let mut is = args.commands.iter().map(is_one).collect::<Result<Vec<_>, _>>()?;
    is.extend((!args.parted.is_empty()).then_some(false));
    let (firmware, commands) = (is.iter().any(|is| *is), is.iter().any(|is| !is));
    if firmware && commands {
        return Err(exit::usage(
            "firmware and commands cannot be measured together: give ELF files for an Arm core or \
             an AVR, or commands of this machine",
        ));
    }
    if firmware {
        return match args.for_commands().next() {
            None => Ok(Some(args.commands.iter().map(PathBuf::from).collect())),
            Some(option) => Err(exit::usage(format!(
                "{option} is for commands of this machine: a simulated board gives the same \
                 figures every time"
            ))),
        };
    }
    let Some(option) = args.firmware.given().next() else { return Ok(None) };
    let what = args.commands.first().map_or_else(
        || "none was given".to_owned(),
        |first| {
            if Path::new(first).is_file() {
                format!("{first} is no ELF file for an Arm core or an AVR")
            } else {
                format!("there is no file {first}")
            }
        },
    );
    Err(exit::usage(format!("{option} is for benchmarks of firmware, and {what}")))
}

/// Bytes of a file that show what it is.
const HEAD: u64 = 4096;

/// Whether a file's first bytes are those of an ELF file for a microcontroller. Programs that a
/// loader starts (Linux on Arm) are commands.
fn is_firmware(head: &[u8]) -> bool {
    const ARM: u16 = 40;
    const AVR: u16 = 83;
    const INTERPRETER: u32 = 3;
    let half =
        |at: usize| head.get(at..at + 2).and_then(|b| Some(u16::from_le_bytes(b.try_into().ok()?)));
    let word = |at: usize| {
        head.get(at..at.checked_add(4)?).and_then(|b| Some(u32::from_le_bytes(b.try_into().ok()?)))
    };
    let is_elf = head.starts_with(b"\x7fELF\x01\x01");
    if !is_elf || !matches!(half(18), Some(ARM | AVR)) {
        return false;
    }
    let (start, size, count) = (word(28).unwrap_or(0), half(42), half(44));
    let size = usize::from(size.unwrap_or(0)).max(1);
    let headers = (0..usize::from(count.unwrap_or(0)))
        .map_while(|n| word((start as usize).checked_add(n.checked_mul(size)?)?));
    !headers.into_iter().any(|kind| kind == INTERPRETER)
}

/// Runs and reports.
pub fn run(args: &Args, paths: &[PathBuf]) -> anyhow::Result<ExitCode> {
    let names = names(args, paths)?;
    let threshold = args.threshold.unwrap_or(0.0);
    if !(0.0..=1000.0).contains(&threshold) {
        return Err(exit::usage("--threshold: a percentage from 0 to 1000"));
    }
    let filter = Filter::new(&args.firmware.filter)?;
    let baseline = args.firmware.baseline.as_deref().map(SavedBaseline::read).transpose()?;
    let boards = &args.firmware.board;
    if boards.len() > 1 && boards.len() != paths.len() {
        let (boards, firmware) = (boards.len(), paths.len());
        return Err(exit::usage(format!("{boards} of --board for {firmware} firmwares")));
    }
    let loaded = load(paths, &filter)?;
    let asked = args.firmware.profile.as_deref();
    let profile = asked.map(|asked| profiled(asked, &loaded, &filter)).transpose()?;
    let mut all = Vec::new();
    let (mut failed, mut interrupted) = (0, false);
    for (at, (path, firmware)) in paths.iter().zip(&loaded).enumerate() {
        let board = boards.get(at).or(boards.first().filter(|_| boards.len() == 1));
        let options = options(args, profile.clone());
        let benched = one(path, firmware, board, &options, &filter)?;
        failed += benched.failed;
        all.push((names[at].clone(), benched.measurement));
        interrupted = benched.interrupted;
        if interrupted {
            break;
        }
    }
    // Part of the benchmarks would be compared, or kept, as if it were all of them.
    let compared = baseline.filter(|_| !interrupted);
    let compared = compared.map(|kept| kept.compare(&all, threshold, &|name| filter.takes(name)));
    let compared = compared.transpose()?;
    if let Some(path) = args.firmware.save.as_deref().filter(|_| !interrupted) {
        SavedBaseline::of(&all).write(path)?;
    }
    let rows = reports::rows(&all, compared.as_ref());
    show(args, all, compared.as_ref())?;
    if let Some(path) = &args.firmware.junit {
        files::write(path, strobe_report::bench::junit(&rows).as_bytes())?;
    }
    if let Some(path) = &args.firmware.markdown {
        files::write(path, strobe_report::bench::markdown(&rows).as_bytes())?;
    }
    let is_worse = compared.is_some_and(|compared| compared.is_worse);
    Ok(match (interrupted, failed > 0, is_worse) {
        (true, ..) => exit::INTERRUPTED.into(),
        (_, true, _) => exit::FAILED.into(),
        (_, _, true) => exit::BUDGET.into(),
        _ => ExitCode::SUCCESS,
    })
}

/// What each firmware is called: as the user wants, else by its file.
fn names(args: &Args, paths: &[PathBuf]) -> anyhow::Result<Vec<String>> {
    if !args.name.is_empty() && args.name.len() != paths.len() {
        let (names, n) = (args.name.len(), paths.len());
        return Err(exit::usage(format!("{names} of --name for {n} firmwares")));
    }
    let stem = |path: &PathBuf| {
        path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
    };
    let names: Vec<String> =
        if args.name.is_empty() { paths.iter().map(stem).collect() } else { args.name.clone() };
    // These are columns already.
    let taken = ["benchmark", "input"];
    let is_twice =
        |(at, name): (usize, &String)| names[..at].contains(name) || taken.contains(&name.as_str());
    match names.iter().enumerate().position(is_twice) {
        None => Ok(names),
        Some(at) => Err(exit::usage(format!(
            "{}: the name {} is taken by another column; name each firmware with --name",
            paths[at].display(),
            names[at]
        ))),
    }
}

/// Reads all of them before anything is run: each must have something to run.
fn load(paths: &[PathBuf], filter: &Filter) -> anyhow::Result<Vec<Firmware>> {
    let mut out = Vec::new();
    let mut known = Vec::new();
    for path in paths {
        let firmware = input::firmware(path)?;
        let found = firmware.benchmarks();
        if found.all.is_empty() {
            let damage = found.damage.first().map_or(String::new(), |text| format!(": {text}"));
            return Err(exit::data(format!(
                "{}: the firmware has no benchmarks{damage}\n  \
                 mark functions with STROBE_BENCH and build with -DSTROBE_BENCHMARKS=1, or in Rust \
                 with strobe_trace::bench! and the feature `bench` (docs/bench.md)",
                path.display()
            )));
        }
        known.extend(found.all.iter().map(|benchmark| benchmark.name.clone()));
        out.push(firmware);
    }
    known.sort();
    known.dedup();
    if !known.iter().any(|name| filter.takes(name)) {
        let text = format!("--filter: no benchmark matches; there are {}", known.join(", "));
        return Err(exit::usage(text));
    }
    Ok(out)
}

/// The benchmark that is to be profiled, and the input: as it is given, else the largest.
fn profiled(
    asked: &str,
    all: &[Firmware],
    filter: &Filter,
) -> anyhow::Result<(String, Option<u32>)> {
    let benchmarks = || all.iter().flat_map(|firmware| &firmware.benchmarks().all);
    let (name, input) = match asked.rsplit_once('/') {
        Some((name, input)) => (name, Some(input)),
        None => (asked, None),
    };
    let wanted = || benchmarks().filter(|benchmark| filter.takes(&benchmark.name));
    let Some(found) = wanted().find(|benchmark| benchmark.name == name) else {
        let mut known: Vec<&str> = wanted().map(|benchmark| benchmark.name.as_str()).collect();
        known.sort_unstable();
        known.dedup();
        return Err(exit::usage(format!(
            "--profile {asked}: no such benchmark is measured; there are {}",
            known.join(", ")
        )));
    };
    let input = match input {
        None => found.inputs.iter().max().copied(),
        Some(text) => {
            let known = |n: &u32| found.inputs.contains(n);
            Some(text.parse().ok().filter(known).ok_or_else(|| {
                let inputs: Vec<String> = found.inputs.iter().map(u32::to_string).collect();
                let inputs = if inputs.is_empty() { "none".to_owned() } else { inputs.join(", ") };
                exit::usage(format!("--profile {asked}: the inputs of {name} are {inputs}"))
            })?)
        }
    };
    Ok((found.name.clone(), input))
}

fn options(args: &Args, profile: Option<(String, Option<u32>)>) -> bench::Options {
    let mut options = bench::Options { profile, ..bench::Options::default() };
    if let Some(after) = &args.firmware.after {
        options.after.clone_from(after);
    }
    if let Some(timeout) = args.timeout {
        options.timeout = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    }
    options
}

fn one(
    path: &Path,
    firmware: &Firmware,
    board: Option<&String>,
    options: &bench::Options,
    filter: &Filter,
) -> anyhow::Result<Benched> {
    let choice = board::choose(&board::BoardArgs::named(board.cloned()), firmware)?;
    let all = firmware.benchmarks().all.iter();
    let wanted: Vec<&Benchmark> = all.filter(|b| filter.takes(&b.name)).collect();
    let name = input::file_name(path);
    let stop = interrupt::on_interrupt();
    let benched = bench::bench(firmware, &name, &choice.board, options, &wanted, &stop);
    let mut benched = benched.map_err(|error| {
        let mut text = format!("{}: {error}", path.display());
        if matches!(error, strobe_source::simulated::Error::Symbol(_)) {
            text.push_str(
                "\n  start-up is over where --after names, a symbol or an address [default: main]; \
                 compilers put a `main` that is called once into its caller, unless it is \
                 __attribute__((noinline))",
            );
        }
        simulate::explain_as(error, text)
    })?;
    if let Some((name, input)) = &options.profile
        && benched.measurement.profiles().next().is_some()
    {
        let input = input.map_or_else(String::new, |input| format!("/{input}"));
        let text = format!("the profile and the causes are of the first call of {name}{input}");
        benched.measurement.findings.push(Finding::new(Severity::Note, "profiled", text));
    }
    if let Some(note) = choice.note {
        let note = Finding::new(Severity::Note, "board", note);
        benched.measurement.findings.push(note);
    }
    Ok(benched)
}

fn show(
    args: &Args,
    mut all: Vec<(String, Measurement)>,
    compared: Option<&Compared>,
) -> anyhow::Result<()> {
    let mut selection = args.result.selection_of(0);
    let mut measurement = if all.len() == 1 {
        all.remove(0).1
    } else {
        // Their tables are side by side already.
        selection.parts = selection.sections.is_some();
        bench::across(all)
    };
    if let Some(compared) = compared {
        let content = Content::Table(compared.table.clone());
        let section = measurement.push(ids::section::BASELINE, "against the baseline", content);
        section.notes.clone_from(&compared.notes);
        measurement.findings.extend(compared.findings.iter().cloned());
    }
    args.result.measurement(&measurement, &selection)?;
    args.log.add(&measurement)
}

/// Which benchmarks are wanted: all, or those that match one of several patterns.
struct Filter(Vec<Pattern>);

enum Pattern {
    Part(String),
    Whole(GlobMatcher),
    Regex(Regex),
}

impl Filter {
    fn new(given: &[String]) -> anyhow::Result<Self> {
        let one = |text: &String| {
            let regex = text.strip_prefix('/').and_then(|text| text.strip_suffix('/'));
            if let Some(regex) = regex {
                // The first line of the parser's message repeats the expression.
                let wrong = |e: &dyn std::fmt::Display| {
                    let text = e.to_string();
                    let why = text.lines().last().unwrap_or_default();
                    exit::usage(format!(
                        "--filter /{regex}/: {}",
                        why.trim_start_matches("error: ")
                    ))
                };
                return Regex::new(regex).map(Pattern::Regex).map_err(|e| match e.syntax_error() {
                    Some(syntax) => wrong(syntax),
                    None => wrong(&e),
                });
            }
            if !text.contains(['*', '?', '[']) {
                return Ok(Pattern::Part(text.clone()));
            }
            let glob = Glob::new(text);
            let glob = glob.map_err(|e| exit::usage(format!("--filter {text}: {}", e.kind())))?;
            Ok(Pattern::Whole(glob.compile_matcher()))
        };
        given.iter().map(one).collect::<anyhow::Result<_>>().map(Filter)
    }

    fn takes(&self, name: &str) -> bool {
        let matches = |pattern: &Pattern| match pattern {
            Pattern::Part(text) => name.contains(text.as_str()),
            Pattern::Whole(glob) => glob.is_match(name),
            Pattern::Regex(regex) => regex.is_match(name),
        };
        self.0.is_empty() || self.0.iter().any(matches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(machine: u8, headers: &[u32]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x01\x01\x01".to_vec();
        bytes.resize(52, 0);
        bytes[18] = machine;
        (bytes[28], bytes[42], bytes[44]) = (52, 32, headers.len() as u8);
        for kind in headers {
            bytes.extend(kind.to_le_bytes());
            bytes.resize(bytes.len() + 28, 0);
        }
        bytes
    }

    #[test]
    fn firmware_is_what_no_loader_starts() {
        assert!(is_firmware(&elf(40, &[1, 1])));
        assert!(is_firmware(&elf(83, &[1])));
        // A program for Linux on Arm, and one for x86-64.
        assert!(!is_firmware(&elf(40, &[6, 3, 1])));
        assert!(!is_firmware(&elf(62, &[1])));
        assert!(!is_firmware(b"#!/bin/sh\n"));
        let whole = elf(40, &[1, 1]);
        for end in 0..whole.len() {
            let _ = is_firmware(&whole[..end]);
        }
        let mut far = whole;
        far[28..32].copy_from_slice(&[0xff; 4]);
        assert!(is_firmware(&far));
    }

    #[test]
    fn filters_are_parts_or_patterns() {
        let takes = |given: &[&str], name: &str| {
            let given: Vec<String> = given.iter().map(|&text| text.to_owned()).collect();
            Filter::new(&given).unwrap().takes(name)
        };
        assert!(takes(&[], "heap_sort"));
        assert!(takes(&["sort"], "heap_sort"));
        assert!(!takes(&["sort*"], "heap_sort"));
        assert!(takes(&["crc", "*sort"], "heap_sort"));
        assert!(takes(&["/^(heap|merge)_sort$/"], "heap_sort"));
        assert!(takes(&["/sort/"], "heap_sort"));
        assert!(!takes(&["/^sort/"], "heap_sort"));
        let wrong = |text: &str| Filter::new(&[text.to_owned()]).err().map(|e| e.to_string());
        assert!(wrong("[").is_some());
        assert_eq!(wrong("/(/").as_deref(), Some("--filter /(/: unclosed group"));
    }
}
