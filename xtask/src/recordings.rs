//! `cargo xtask recordings`: tests strobe with recordings of real boards, which are not in the
//! repository.
//!
//! The known files, their places and the expected results are data: `recordings/known.toml`. A
//! missing file is skipped and listed by its name; a file with other contents than the known ones
//! fails without a test.

mod compare;
mod known;
mod readable;
mod second;
mod select;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use self::compare::Judge;
use self::known::Known;

/// Test strobe with recordings of real boards, which are not kept in the repository.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory with the recordings, laid out as xtask/src/recordings/known.toml lists them
    directory: PathBuf,
    /// The strobe to test, instead of one built from this repository
    #[arg(long, value_name = "PATH")]
    strobe: Option<PathBuf>,
}

/// The result of one recording.
enum Outcome {
    Passed,
    /// The differences, one line each.
    Failed(Vec<String>),
    /// The reason for skipping it.
    Skipped(String),
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let directory = args.directory.canonicalize().ok().filter(|path| path.is_dir());
    let directory = directory.with_context(|| {
        let given = args.directory.display();
        format!(
            "no directory {given}: name the one with the recordings (`make recordings \
             DIR=...`); xtask/src/recordings/known.toml lists what belongs there, and where \
             to get it"
        )
    })?;
    let known = Known::read()?;
    let strobe = match &args.strobe {
        Some(path) => path.canonicalize().with_context(|| format!("no {}", path.display()))?,
        None => build()?,
    };
    let judge = Judge { known: &known, directory: &directory, strobe: &strobe };
    let (mut passed, mut failed, mut skipped) = (0, 0, Vec::new());
    for recording in &known.recordings {
        // An error with one recording does not stop the others.
        let outcome = judge.outcome(recording);
        match outcome.unwrap_or_else(|error| Outcome::Failed(vec![format!("{error:#}")])) {
            Outcome::Passed => {
                passed += 1;
                println!("ok       {}", recording.file);
            }
            Outcome::Failed(differences) => {
                failed += 1;
                println!("FAILED   {}", recording.file);
                differences.iter().for_each(|line| println!("         {line}"));
            }
            Outcome::Skipped(why) => skipped.push(format!("{}: {why}", recording.file)),
        }
    }
    skipped.iter().for_each(|line| println!("skipped  {line}"));
    println!("recordings: {passed} passed, {failed} failed, {} skipped", skipped.len());
    if passed + failed == 0 {
        eprintln!("nothing was tested: {} has none of the known files", directory.display());
    }
    Ok(if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the command as `cargo test` does; cargo's messages have its path.
fn build() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has a parent")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root)
        .args(["build", "--quiet", "--locked", "-p", "strobe-cli", "--message-format", "json"])
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    ensure!(output.status.success(), "cargo build -p strobe-cli: {}", output.status);
    let messages = String::from_utf8(output.stdout)?;
    let mut artifacts = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let name = message["target"]["name"].as_str()?.to_owned();
        Some((name, PathBuf::from(message["executable"].as_str()?)))
    });
    let built = artifacts.find(|(name, _)| name == "strobe");
    Ok(built.context("cargo build names no executable `strobe`")?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fake strobe that always prints one measurement. A child process writes it: a file that
    /// this process had open for writing could not be executed while another test's child, just
    /// forked, still has it open.
    fn strobe(directory: &Path, json: &str) -> PathBuf {
        use std::io::Write;
        let path = directory.join("strobe");
        let mut writer = Command::new("sh")
            .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
            .arg(&path)
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let script = format!("#!/bin/sh\ncat <<'END'\n{json}\nEND\n");
        writer.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success());
        path
    }

    fn outcome(json: &str, table: &str) -> Outcome {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("here.bin"), b"abc").unwrap();
        let strobe = strobe(directory.path(), json);
        let known = Known::parse(table).unwrap();
        let judge = Judge { known: &known, directory: directory.path(), strobe: &strobe };
        judge.outcome(&known.recordings[0]).unwrap()
    }

    const TABLE: &str = "[sha256]
'here.bin' = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
'gone.bin' = '00'
[[recording]]
file = 'here.bin'
[[recording.run]]
arguments = ['report', 'here.bin']
is = { '/a/0/n' = 3, '/a/#' = 2 }
between = { '/a/*/n' = [6, 8] }
";

    /// A measurement with a table `a` of one column.
    fn measurement(n: &[u64]) -> String {
        let table = serde_json::json!({ "columns": [{ "id": "n", "cells": n }] });
        let section = serde_json::json!({ "id": "a", "content": { "table": table } });
        serde_json::json!({ "sections": [section] }).to_string()
    }

    #[test]
    fn differences_are_named_with_both_values() {
        let judged = outcome(&measurement(&[3, 4]), TABLE);
        assert!(matches!(judged, Outcome::Passed));
        let Outcome::Failed(lines) = outcome(&measurement(&[9]), TABLE) else {
            panic!("not failed")
        };
        let command = "strobe report here.bin";
        let wanted = [
            format!("{command}: /a/#: expected 2, found 1"),
            format!("{command}: /a/0/n: expected 3, found 9"),
            format!("{command}: /a/*/n: expected 6 to 8, found 9"),
        ];
        assert_eq!(lines, wanted);
        let judged = outcome("{}", TABLE);
        assert!(matches!(judged, Outcome::Failed(lines) if lines[1].ends_with("found nothing")));
    }

    #[test]
    fn files_that_are_missing_or_others_are_not_judged() {
        let judged = outcome("{}", &TABLE.replace("file = 'here.bin'", "file = 'gone.bin'"));
        assert!(matches!(judged, Outcome::Skipped(why) if why == "missing"));
        let beside = "file = 'here.bin'\nbeside = ['gone.bin']";
        let judged = outcome("{}", &TABLE.replace("file = 'here.bin'", beside));
        assert!(
            matches!(judged, Outcome::Skipped(why) if why == "gone.bin, beside it, is missing")
        );
        let Outcome::Failed(lines) = outcome("{}", &TABLE.replace("ba78", "0000")) else {
            panic!("not failed")
        };
        assert!(lines.len() == 1 && lines[0].contains("not the known file"), "{lines:?}");
    }

    #[test]
    fn the_table_holds_together() {
        let known = Known::read().unwrap();
        assert!(known.recordings.len() >= 19, "{}", known.recordings.len());
        let files: Vec<String> = known.recordings.iter().flat_map(|r| r.files()).collect();
        for file in &files {
            assert!(known.sha256.contains_key(file), "{file} has no hash");
        }
        for file in known.sha256.keys() {
            assert!(files.contains(file), "nothing uses {file}");
        }
        for recording in &known.recordings {
            let judged =
                recording.runs.iter().any(known::Run::judges) || !recording.second.is_empty();
            assert!(judged, "nothing is known of {}", recording.file);
        }
    }
}
