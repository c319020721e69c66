//! Runs strobe on a recording and compares its output with the expected one.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::known::{Balance, Known, Recording, Run};
use super::readable::readable;
use super::select::{sum, value};
use super::{Outcome, second};

/// The strobe under test and the table of expectations.
pub(super) struct Judge<'a> {
    pub(super) known: &'a Known,
    pub(super) directory: &'a Path,
    pub(super) strobe: &'a Path,
}

impl Judge<'_> {
    /// Tests a recording.
    ///
    /// # Errors
    /// If a file cannot be read, or a program does not start: then the recording was not tested.
    pub(super) fn outcome(&self, recording: &Recording) -> Result<Outcome> {
        if !self.directory.join(&recording.file).is_file() {
            return Ok(Outcome::Skipped("missing".to_owned()));
        }
        let folder = self.folder(recording);
        if let Some(name) = recording.beside.iter().find(|name| !folder.join(name).is_file()) {
            return Ok(Outcome::Skipped(format!("{name}, beside it, is missing")));
        }
        let others = self.others(recording)?;
        if !others.is_empty() {
            return Ok(Outcome::Failed(others));
        }
        let mut differences = Vec::new();
        for run in &recording.runs {
            self.run(&folder, run, &mut differences)?;
        }
        for judge in &recording.second {
            second::judge(self, recording, judge, &mut differences)?;
        }
        let passed = differences.is_empty();
        Ok(if passed { Outcome::Passed } else { Outcome::Failed(differences) })
    }

    /// The folder of a recording.
    pub(super) fn folder(&self, recording: &Recording) -> PathBuf {
        self.directory.join(recording.folder())
    }

    /// Files with a known name and different contents.
    fn others(&self, recording: &Recording) -> Result<Vec<String>> {
        let mut others = Vec::new();
        for file in recording.files() {
            let path = self.directory.join(&file);
            let bytes = std::fs::read(&path).with_context(|| format!("{}", path.display()))?;
            let digest = Sha256::digest(&bytes);
            let found: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            let expected = self.known.sha256.get(&file).map_or("", String::as_str);
            if found != expected {
                others.push(format!(
                    "{file} is not the known file of that name, so it is not judged: \
                     sha256 expected {expected}, found {found}"
                ));
            }
        }
        Ok(others)
    }

    /// The standard output of strobe in a folder, or its error.
    pub(super) fn strobe(&self, folder: &Path, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let mut command = Command::new(self.strobe);
        command.current_dir(folder).args(arguments).env_remove("COLUMNS");
        let output = command.output().map_err(|error| format!("strobe does not start: {error}"))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(format!("strobe {}: {}: {}", arguments.join(" "), output.status, errors.trim()))
    }

    /// The measurement, as paths refer to it.
    pub(super) fn measured(&self, folder: &Path, arguments: &[&str]) -> Result<Value, String> {
        let printed = self.strobe(folder, &[arguments, &["--format", "measurement"]].concat())?;
        let unusable = |error| format!("strobe {}: not JSON: {error}", arguments.join(" "));
        let measurement: Value = serde_json::from_slice(&printed).map_err(unusable)?;
        Ok(readable(&measurement))
    }

    fn run(&self, folder: &Path, run: &Run, differences: &mut Vec<String>) -> Result<()> {
        let arguments: Vec<&str> = run.arguments.iter().map(String::as_str).collect();
        ensure!(!arguments.is_empty(), "known.toml has a run without arguments");
        let command = format!("strobe {}", arguments.join(" "));
        if run.has_values() {
            match self.measured(folder, &arguments) {
                Ok(report) => {
                    let found = values(run, &report).into_iter().chain(self.unbalanced(&report));
                    differences.extend(found.map(|difference| format!("{command}: {difference}")));
                }
                Err(failure) => differences.push(failure),
            }
        }
        if run.text.is_empty() {
            return Ok(());
        }
        match self.strobe(folder, &arguments) {
            Ok(printed) => match String::from_utf8(printed) {
                Ok(text) => differences.extend(
                    run.text
                        .iter()
                        .filter(|wanted| !text.contains(*wanted))
                        .map(|wanted| format!("{command}: no {wanted:?} in the text")),
                ),
                Err(error) => differences.push(format!("{command}: the text: {error}")),
            },
            Err(failure) => differences.push(failure),
        }
        Ok(())
    }

    /// The violated balances of this kind of report.
    fn unbalanced(&self, report: &Value) -> Vec<String> {
        let of = |balance: &&Balance| report["instrument"] == *balance.instrument;
        let of_its_kind = self.known.balances.iter().filter(of);
        let sums = of_its_kind.map(|b| (b, sum(report, &b.left), sum(report, &b.right)));
        let unequal = sums.filter(|(_, left, right)| left != right);
        unequal
            .map(|(balance, left, right)| {
                let (a, b) = (balance.left.join(" + "), balance.right.join(" + "));
                format!("{a} is {left}, and {b} is {right}")
            })
            .collect()
    }
}

/// The values of a report that differ from the known ones.
fn values(run: &Run, report: &Value) -> Vec<String> {
    let shown =
        |value: Option<Value>| value.map_or("nothing".to_owned(), |value| value.to_string());
    let exact = run.is.iter().filter_map(|(path, wanted)| {
        let found = value(report, path);
        let same = found.as_ref().is_some_and(|found| equal(found, wanted));
        (!same).then(|| format!("{path}: expected {wanted}, found {}", shown(found)))
    });
    let ranges = run.between.iter().filter_map(|(path, [low, high])| {
        let found = value(report, path);
        let inside =
            found.as_ref().and_then(Value::as_f64).is_some_and(|n| (*low..=*high).contains(&n));
        (!inside).then(|| format!("{path}: expected {low} to {high}, found {}", shown(found)))
    });
    exact.chain(ranges).collect()
}

/// Compares numbers by value, whatever their spelling.
fn equal(found: &Value, wanted: &Value) -> bool {
    match (found.as_f64(), wanted.as_f64()) {
        (Some(found), Some(wanted)) => found == wanted,
        _ => found == wanted,
    }
}

/// The standard output of another program.
///
/// # Errors
/// If it does not start or fails.
pub(super) fn printed(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output();
    let output = output
        .with_context(|| format!("{name} does not start; `scripts/setup test` installs it"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?}: {}: {}", output.status, errors.trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("what {name} prints"))
}
