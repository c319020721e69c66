//! Measuring a firmware with strobe's own commands: a process each, so that a run that hangs can be
//! ended and paths mean what they mean in the directory of the file, or of another revision.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use strobe_model::measurement::{Finding, Measurement, Severity};
use strobe_model::spelling;
use strobe_symbols::Firmware as Elf;

use super::config::Firmware;
use super::entry::{Budget, From};
use super::error::{CommandError, StepError};
use super::process::{self, Ended};
use crate::{exit, input, measurement};

const BUILD: Duration = Duration::from_secs(30 * 60);
const RUN: Duration = Duration::from_secs(10 * 60);

/// Names are near each other from this likeness on, in thousandths; as in
/// [`strobe_analyse::budget::Missing`].
const NEAR: u32 = 600;

/// The number of near names that are listed.
const NEAREST: usize = 3;

/// The code of what is found wrong with a budget's mark.
const WRONG_MARK: &str = "wrong-mark";

/// What was measured of a firmware, or why not.
pub type Measured = BTreeMap<From, Result<Measurement, StepError>>;

/// Builds and measures what the budgets need.
///
/// # Errors
/// When the firmware cannot be built.
pub fn measure(firmware: &Firmware, directory: &Path) -> Result<Measured, StepError> {
    build(firmware, directory)?;
    let wanted: BTreeSet<&From> = firmware.budgets.iter().map(|budget| &budget.from).collect();
    let one = |from: &From| (from.clone(), of(firmware, from, directory));
    Ok(wanted.into_iter().map(one).collect())
}

/// A file that cannot be read, in the words of its reader.
fn unreadable(error: anyhow::Error) -> StepError {
    StepError::Unreadable(error.to_string())
}

/// Builds it, if a command is given.
pub fn build(firmware: &Firmware, directory: &Path) -> Result<(), StepError> {
    let Some(command) = &firmware.build else { return Ok(()) };
    let timeout = duration(firmware.build_timeout.as_deref(), BUILD);
    shell(command, directory, timeout)
}

fn shell(command: &str, directory: &Path, timeout: Duration) -> Result<(), StepError> {
    let ended = process::run(command, &mut process::shell(command), directory, timeout)
        .map_err(|error| StepError::Process { command: command.to_owned(), error })?;
    if ended.status.success() {
        return Ok(());
    }
    let (command, Ended { status, output }) = (command.to_owned(), ended);
    Err(StepError::Failed { command, status, output })
}

fn duration(text: Option<&str>, or: Duration) -> Duration {
    text.and_then(spelling::time).map_or(or, Duration::from_nanos)
}

/// One of its measurements.
///
/// # Errors
/// When there is none.
pub fn of(firmware: &Firmware, from: &From, directory: &Path) -> Result<Measurement, StepError> {
    if let From::Other(name) = from {
        let unknown = || StepError::UnknownMeasurement(name.clone());
        let other = firmware.measurement.get(name).ok_or_else(unknown)?;
        if let Some(command) = &other.command {
            shell(command, directory, duration(firmware.timeout.as_deref(), RUN))?;
        }
        let path = directory.join(&other.file);
        let read = measurement::read(&path).map_err(unreadable)?;
        return read.ok_or(StepError::NoMeasurement(path));
    }
    let is_run = matches!(from, From::Run(_));
    let budgets = firmware.budgets.iter().filter(|budget| budget.from == *from);
    let marks: BTreeSet<&String> = budgets.filter_map(|budget| budget.mark.as_ref()).collect();
    // A pin or symbol that is not there breaks its own budget and not all of them.
    let mut wrong: BTreeMap<&String, String> = BTreeMap::new();
    loop {
        let left: BTreeSet<&String> =
            marks.iter().copied().filter(|mark| !wrong.contains_key(mark)).collect();
        let arguments = arguments(firmware, from, directory, &left)?;
        match strobe(firmware, &arguments, directory, is_run) {
            Ok(mut measurement) => {
                measurement.findings.extend(wrong.into_iter().map(|(mark, text)| Finding {
                    place: Some(mark.clone()),
                    ..Finding::new(Severity::Warning, WRONG_MARK, text)
                }));
                return Ok(measurement);
            }
            Err(failed) => {
                let text = failed.to_string();
                match left.into_iter().find(|mark| is_about(&text, mark)) {
                    Some(mark) => wrong.insert(mark, text),
                    None => return Err(failed),
                }
            }
        };
    }
}

/// Whether an error is about a pin or symbol: its message names it behind the command's own words.
fn is_about(text: &str, mark: &str) -> bool {
    let message = text.rsplit_once("strobe: ").map_or("", |(_, message)| message);
    message.split([' ', '"', ':', '`', '\n']).any(|word| word == mark)
}

/// Why what a budget marks could not be, if that is so.
pub fn wrong_mark(budget: &Budget, measurement: &Measurement) -> Option<StepError> {
    let mark = budget.mark.as_ref()?;
    let mut findings = measurement.findings.iter().filter(|finding| finding.code == WRONG_MARK);
    let text = &findings.find(|finding| finding.place.as_ref() == Some(mark))?.text;
    let message = text.rsplit_once("strobe: ").map_or(text.as_str(), |(_, message)| message);
    Some(StepError::WrongMark(message.to_owned()))
}

/// What a run shows, the heap's use with it where there is a known allocator.
///
/// # Errors
/// When there is no result.
pub fn watched(firmware: &Firmware, directory: &Path) -> Result<Measurement, StepError> {
    let mut arguments = arguments(firmware, &From::Run(None), directory, &BTreeSet::new())?;
    if no_allocator(firmware, directory).is_none() {
        option_without(&mut arguments, "--heap", &firmware.run);
    }
    strobe(firmware, &arguments, directory, true)
}

/// What its pins do, if they can be recorded.
pub fn pins(firmware: &Firmware, directory: &Path) -> Option<Measurement> {
    let mut arguments = vec!["pins".to_owned(), firmware.elf.display().to_string()];
    let board = firmware.board.iter().map(|board| ("--board", board));
    let until = firmware.until.all().iter().map(|until| ("--until", until));
    board.chain(until).for_each(|(name, value)| arguments.extend([name.to_owned(), value.clone()]));
    strobe(firmware, &arguments, directory, true).ok()
}

/// Runs this program with these arguments and reads its result. Of a run the exit code counts.
fn strobe(
    firmware: &Firmware,
    arguments: &[String],
    directory: &Path,
    is_run: bool,
) -> Result<Measurement, StepError> {
    let results = tempfile::tempdir().map_err(|e| StepError::NoDirectory(e.to_string()))?;
    let path = results.path().join("result.measurement");
    let program = std::env::current_exe().map_err(|e| StepError::NoProgram(e.to_string()))?;
    let mut command = Command::new(program);
    command.args(arguments).arg("-o").arg(&path);
    let shown = format!("strobe {}", arguments.join(" "));
    let failed = |code, why| StepError::Command(CommandError { command: shown.clone(), code, why });
    let timeout = duration(firmware.timeout.as_deref(), RUN);
    let ended = process::run(&shown, &mut command, directory, timeout)
        .map_err(|e| failed(None, format!(": {e}")))?;
    if !path.is_file() {
        return Err(failed(ended.status.code(), format!(": {}", ended.output)));
    }
    let code = ended.status.code().unwrap_or(-1);
    let read = measurement::read(&path).map_err(unreadable)?;
    let read = read.ok_or_else(|| StepError::OtherOutput(shown.clone()))?;
    if code == i32::from(exit::NEVER) && is_run {
        let texts = read.findings.iter().map(|finding| finding.text.as_str());
        match texts.into_iter().find(|t| t.starts_with("--until") || t.starts_with("--from")) {
            Some(never) if firmware.exit_code != code => {
                return Err(failed(Some(code), format!(": strobe: {never}")));
            }
            // A pin that never changed breaks its own budget and not all of them.
            None => return Ok(read),
            Some(_) => {}
        }
    }
    if code != if is_run { firmware.exit_code } else { 0 } {
        let output = ended.output.trim();
        let why = if output.is_empty() {
            format!("`exit-code = {code}` expects that (strobe init: --exit-code {code})")
        } else {
            output.to_owned()
        };
        return Err(failed(Some(code), format!(" ended with {code}: {why}")));
    }
    Ok(read)
}

/// The arguments of strobe.
fn arguments(
    firmware: &Firmware,
    from: &From,
    directory: &Path,
    marks: &BTreeSet<&String>,
) -> Result<Vec<String>, StepError> {
    let elf = firmware.elf.display().to_string();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let window = match from {
        From::Size => return Ok([words(&["size", &elf]), firmware.size.clone()].concat()),
        From::Stack => return Ok([words(&["stack", &elf]), firmware.stack.clone()].concat()),
        From::Other(_) => return Ok(Vec::new()),
        From::Run(window) => window,
    };
    let mut arguments = words(&["run", &elf, "--quiet"]);
    let mut option = |name: &str, value: &str| arguments.extend(words(&[name, value]));
    firmware.board.iter().for_each(|board| option("--board", board));
    firmware.until.all().iter().for_each(|until| option("--until", until));
    if let Some(window) = window {
        option("--from", &window.from);
        option("--to", &window.to);
    }
    let budgets = || firmware.budgets.iter().filter(|budget| budget.from == *from);
    let calls: BTreeSet<&String> = budgets().filter_map(|budget| budget.calls.as_ref()).collect();
    if !calls.is_empty() {
        let elf = input::firmware(&directory.join(&firmware.elf)).map_err(unreadable)?;
        // One that is gone breaks its own budget and not all of them.
        let known = calls.into_iter().filter(|name| absent(&elf, name).is_none());
        known.for_each(|name| option("--calls", name));
    }
    marks.iter().for_each(|mark| option("--mark", mark));
    let heap = budgets().any(|budget| budget.heap);
    if heap && no_allocator(firmware, directory).is_none() {
        option_without(&mut arguments, "--heap", &firmware.run);
    }
    arguments.extend(firmware.run.iter().cloned());
    Ok(arguments)
}

/// A switch, unless the further options have it.
fn option_without(arguments: &mut Vec<String>, name: &str, further: &[String]) {
    if !further.iter().any(|word| word == name) {
        arguments.push(name.to_owned());
    }
}

/// Why there is no heap to watch. One that the options describe may be there.
fn no_allocator(firmware: &Firmware, directory: &Path) -> Option<StepError> {
    if firmware.run.iter().any(|word| word.starts_with("--allocators")) {
        return None;
    }
    let elf = input::firmware(&directory.join(&firmware.elf)).ok()?;
    let found = strobe_source::simulated::allocators(&elf, None);
    found.err().map(|error| StepError::NoAllocator(error.to_string()))
}

/// Why a function's calls cannot be measured, with names that are much like its own.
fn absent(elf: &Elf, name: &str) -> Option<StepError> {
    input::function(elf, name).err()?;
    let like = |other: &str| (strsim::jaro_winkler(name, other) * 1000.0) as u32;
    let names = elf.functions().iter().map(|function| function.name.to_string());
    let mut near: Vec<(u32, String)> = names.map(|other| (like(&other), other)).collect();
    near.sort_by(|a, b| b.cmp(a));
    near.dedup();
    let near = near.into_iter().filter(|(like, _)| *like > NEAR).take(NEAREST);
    let nearest = near.map(|(_, name)| name).collect();
    Some(StepError::NoFunction { name: name.to_owned(), nearest })
}

/// Why a budget's function or heap cannot be found, if that is so.
pub fn nothing_there(firmware: &Firmware, budget: &Budget, directory: &Path) -> Option<StepError> {
    if budget.heap
        && matches!(budget.from, From::Run(_))
        && let Some(why) = no_allocator(firmware, directory)
    {
        return Some(why);
    }
    let name = budget.calls.as_ref()?;
    absent(&input::firmware(&directory.join(&firmware.elf)).ok()?, name)
}
