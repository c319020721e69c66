//! `strobe cycles` adds up, and says of each figure whether a model has a part in it.

use crate::common::*;
use serde_json::Value;

/// One function explained.
fn explained(program: &str, function: &str, arguments: &[&str]) -> Value {
    let elf = prebuilt(program);
    let all = [&["cycles", &elf, function, "--format", "json"], arguments].concat();
    let ran = strobe(&all);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{all:?}");
    serde_json::from_str(&ran.stdout).expect("JSON")
}

/// Every range in the report.
fn ranges(value: &Value) -> Vec<&Value> {
    let inside = match value {
        Value::Array(items) => items.iter().flat_map(ranges).collect(),
        Value::Object(fields) => fields.values().flat_map(ranges).collect(),
        _ => Vec::new(),
    };
    let itself = value.get("min").is_some().then_some(value);
    itself.into_iter().chain(inside).collect()
}

fn bounds_of(range: &Value) -> (u64, u64) {
    (number(&range["min"]), number(&range["max"]))
}

/// Functions of every kind: loops, calls, returns through a register, tables, peripherals.
const FUNCTIONS: [(&str, &str); 6] = [
    ("loop-48mhz", "test_loop"),
    ("shift", "send_by_cpu"),
    ("shift", "main"),
    ("stepper", "on_tick"),
    ("hello-uart", "_vfprintf_r"),
    ("hello-uart", "memset"),
];

#[test]
fn what_a_model_touches_always_has_a_likely_figure() {
    for (program, function) in FUNCTIONS {
        let report = explained(program, function, &["--wait-states", "1"]);
        for instruction in array(&report["instructions"]) {
            let causes = array(&instruction["causes"]);
            let waits = causes.iter().any(|c| c["cause"].as_str().unwrap().ends_with("wait"));
            let likely = &instruction["cycles"]["likely"];
            assert_eq!(likely.is_number(), waits, "{program} {function}: {instruction:#}");
        }
        for range in ranges(&report) {
            let (min, max) = bounds_of(range);
            let Some(likely) = range["likely"].as_f64() else { continue };
            let most = range["likely_most"].as_f64().unwrap_or(likely);
            assert!(min as f64 <= likely && likely <= most && most <= max as f64, "{range:#}");
        }
        let of_function = &report["totals"]["once_through"];
        assert!(of_function.is_null() || of_function["likely"].is_number(), "{of_function:#}");
    }
}

#[test]
fn without_wait_states_figures_are_documented_ones() {
    for function in ["main", "merge_sort", "compare_u16", "_vfprintf_r"] {
        let report = explained("generic-c", function, &[]);
        let modelled = ranges(&report).into_iter().find(|range| !range["likely"].is_null());
        assert_eq!(modelled, None, "{function}");
    }
}

#[test]
fn a_block_is_the_sum_of_its_instructions() {
    for (program, function) in FUNCTIONS {
        let report = explained(program, function, &["--wait-states", "1"]);
        let address = |value: &Value| value.as_str().expect("an address").to_owned();
        for block in array(&report["blocks"]) {
            let inside = address(&block["first"])..=address(&block["last"]);
            let instructions = array(&report["instructions"]).iter();
            let sum = instructions
                .filter(|i| inside.contains(&address(&i["address"])))
                .map(|i| bounds_of(&i["cycles"]))
                .fold((0, 0), |sum, cycles| (sum.0 + cycles.0, sum.1 + cycles.1));
            assert_eq!(sum, bounds_of(&block["cycles"]), "{program} {function}: {block:#}");
        }
    }
}

/// What a run took lies within what was said of it beforehand.
#[test]
fn a_run_stays_within_the_bounds() {
    // The others run without wait states as well, before the clock is set up.
    let later = ["test_loop", "send_by_cpu", "on_tick", "_vfprintf_r"];
    for (program, function) in FUNCTIONS.into_iter().filter(|(_, f)| later.contains(f)) {
        let report = explained(program, function, &["--run", "--until", "30ms", "--quiet"]);
        let ran = array(&report["instructions"]).iter().filter(|i| number(&i["run"]["count"]) > 0);
        let mut some = false;
        for instruction in ran {
            let ((min, max), count) =
                (bounds_of(&instruction["cycles"]), number(&instruction["run"]["count"]));
            let cycles = &instruction["run"]["cycles"];
            let (low, high) = (number(&cycles["low"]), number(&cycles["high"]));
            let within = min * count <= low && high <= max * count;
            assert!(within, "{program} {function}: {instruction:#}");
            some = true;
        }
        assert!(some, "{program} {function} did not run");
    }
}
