//! Runs `strobe` as a user does and reads what it says.

pub mod image;
pub mod recorded;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use strobe_model::measurement::{Measurement, Number};
use strobe_report::file::{self, Form};

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

/// The command, free of what the tests' own environment says about terminals.
pub fn command() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("strobe"));
    command.env_remove("COLUMNS").env_remove("CLICOLOR_FORCE");
    command
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
    let ran = strobe(&[arguments, &["--format", "measurement", "--quiet"]].concat());
    match file::read(ran.stdout.as_bytes()) {
        Ok(Form::Measurement(measurement)) => (ran.code, *measurement),
        other => panic!("{arguments:?}: {other:?}\n{}\n{}", ran.stdout, ran.stderr),
    }
}

/// The likely value of a headline figure.
pub fn total(measurement: &Measurement, id: &str) -> Number {
    let figure = measurement.total(id).and_then(|quantity| quantity.value());
    figure.unwrap_or_else(|| panic!("no total {id}"))
}

/// Runs a firmware and reads its record, which must balance.
pub fn record(arguments: &[&str]) -> (i32, Value) {
    let ran = strobe(&[&["run", "--format", "json", "--quiet"], arguments].concat());
    let record = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|e| panic!("{arguments:?}: {e}\n{}\n{}", ran.stdout, ran.stderr));
    assert_balanced(&record);
    (ran.code, record)
}

/// Every cycle taken is accounted for, in the balance, by cause and by address.
pub fn assert_balanced(record: &Value) {
    let part = |name: &str| number(&record["balance"][name]);
    let unattributed: u64 =
        array(&record["balance"]["unattributed"]).iter().map(|pair| number(&pair[1])).sum();
    let accounted = part("attributed") + unattributed + part("idle") + part("lost");
    assert_eq!(part("taken"), accounted, "the balance of {}", record["subject"]["file"]);
    let total = number(&record["totals"]["cycles"]["likely"]);
    assert_eq!(part("taken"), total);
    assert_eq!(total, by_cause(&record["totals"]["by_cause"]));
    let addresses = array(&record["profile"]["addresses"]);
    assert_eq!(total, addresses.iter().map(|a| by_cause(&a["cycles"])).sum::<u64>());
}

fn by_cause(cycles: &Value) -> u64 {
    cycles.as_object().expect("cycles by cause").values().map(number).sum()
}

/// A count.
pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

/// A list.
pub fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

/// The likely widths of a series, in cycles.
pub fn widths(record: &Value, name: &str) -> Vec<u64> {
    array(&series(record, name)["values"]).iter().map(number).collect()
}

/// The lower and upper bounds of a series, in cycles.
pub fn bounds(record: &Value, name: &str) -> Vec<(u64, u64)> {
    let pairs = array(&series(record, name)["bounds"]).iter();
    pairs.map(|pair| (number(&pair[0]), number(&pair[1]))).collect()
}

fn series<'a>(record: &'a Value, name: &str) -> &'a Value {
    let mut all = array(&record["series"]).iter();
    all.find(|s| s["name"] == name).unwrap_or_else(|| panic!("no series {name}"))
}

/// Every width within a cycle count of what is expected.
pub fn assert_each(widths: &[u64], expected: u64, tolerance: u64) {
    assert!(!widths.is_empty());
    let wrong = widths.iter().find(|w| w.abs_diff(expected) > tolerance);
    assert_eq!(wrong, None, "where {expected} +- {tolerance} is right: {widths:?}");
}
