//! Runs `strobe` as a user does and reads its output.

pub mod figures;
pub mod image;
pub mod recorded;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use strobe_model::measurement::{Measurement, Number};
use strobe_report::file;

/// What a call of `strobe` gave.
pub struct Ran {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A bundled program.
pub fn prebuilt(name: &str) -> String {
    root().join("firmware/prebuilt").join(format!("{name}.elf")).display().to_string()
}

/// The command, free of what the tests' own environment states about terminals.
pub fn command() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("strobe"));
    command.env_remove("COLUMNS").env_remove("CLICOLOR_FORCE");
    command
}

/// Strobe with the usual signals, whatever started the tests: what `nohup` runs ignores SIGHUP, and
/// so would strobe.
pub fn heeding_signals() -> Command {
    if !cfg!(target_os = "linux") {
        return command();
    }
    let mut heeding = Command::new("env");
    heeding.env_remove("COLUMNS").env_remove("CLICOLOR_FORCE");
    heeding.arg("--default-signal=HUP,INT,TERM").arg(command().get_program());
    heeding
}

/// Sends a process the signal of this name. In Turkish the `kill` of procps knows no HUP.
pub fn signal(name: &str, process: u32) {
    let mut kill = Command::new("kill");
    kill.env("LC_ALL", "C").args([format!("-{name}"), process.to_string()]);
    assert!(kill.status().expect("a kill").success(), "{name}");
}

/// Runs it to its end.
pub fn strobe(arguments: &[&str]) -> Ran {
    ran(command().args(arguments))
}

/// Runs a prepared command to its end. A panic or a signal is never right.
pub fn ran(command: &mut Command) -> Ran {
    let output = command.output().expect("strobe starts");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!stderr.contains("panicked"), "{command:?}\n{stderr}");
    let code = output.status.code();
    let code = code.unwrap_or_else(|| panic!("{command:?}: {}\n{stderr}", output.status));
    let stdout = String::from_utf8(output.stdout).expect("results are UTF-8");
    Ran { code, stdout, stderr }
}

/// Runs a command, as `["run", "fw.elf"]`, and reads the measurement that it writes. Reading holds
/// it to what a measurement promises: it balances, its tables are whole, its indices point inside.
pub fn measured(arguments: &[&str]) -> (i32, Measurement) {
    let ran = strobe(&[arguments, &["--format", "json", "--quiet"]].concat());
    (ran.code, read(&ran))
}

/// The measurement that a command has written to standard output.
pub fn read(ran: &Ran) -> Measurement {
    match file::read(ran.stdout.as_bytes()) {
        Ok(measurement) => measurement,
        other => panic!("{other:?}\n{}\n{}", ran.stdout, ran.stderr),
    }
}

/// The likely value of a headline figure.
pub fn total(measurement: &Measurement, id: &str) -> Number {
    let figure = measurement.total(id).and_then(|quantity| quantity.value());
    figure.unwrap_or_else(|| panic!("no total {id}"))
}

/// A count.
pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

/// A list.
pub fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

/// Every width within a cycle count of what is expected.
pub fn assert_each(widths: &[u64], expected: u64, tolerance: u64) {
    assert!(!widths.is_empty());
    let wrong = widths.iter().find(|w| w.abs_diff(expected) > tolerance);
    assert_eq!(wrong, None, "where {expected} +- {tolerance} is right: {widths:?}");
}
