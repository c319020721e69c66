//! Two firmwares side by side, and windows between pins' edges.

use crate::common::{Ran, prebuilt, strobe};
use serde_json::Value;

const EDGES: [&str; 12] = [
    "--board",
    "arduino-uno",
    "--board",
    "stm32f070cb",
    "--from",
    "PD1=1",
    "--from",
    "PB8=1",
    "--to",
    "PD1=0",
    "--to",
    "PB8=0",
];

fn compare(more: &[&str]) -> Ran {
    let (a, b) = (prebuilt("loop-avr"), prebuilt("loop-0ws"));
    let files = [a.as_str(), b.as_str()];
    strobe(&[&["compare"], &files[..], &EDGES[..], &["--until", "10ms"], more].concat())
}

/// What two logic analysers measured, and the causes behind it.
#[test]
fn the_founding_loop_on_both_chips() {
    let ran = compare(&["--format", "json"]);
    assert_eq!(ran.code, 0);
    let both: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(both["schema"], "strobe-comparison/1");
    for (side, pulse) in [("a", 1022), ("b", 1790)] {
        let record = &both[side];
        let windows = record["window"]["entries"].as_u64().expect("a number");
        assert!(windows >= 10, "{side}: {windows}");
        let cycles = &record["totals"]["cycles"];
        assert_eq!(cycles["low"], cycles["high"], "{side} is exact");
        assert_eq!(cycles["likely"], pulse * windows, "{side}");
    }
}

#[test]
fn columns_for_people() {
    let ran = compare(&["--top", "3"]);
    assert_eq!(ran.stderr, "");
    insta::assert_snapshot!(ran.stdout);
}

/// Instructions of two and of four bytes: what they took adds up to all cycles.
#[test]
fn every_instruction_is_listed() {
    let [a, b] = ["calculator-m3", "calculator-m4f"].map(prebuilt);
    let ran =
        strobe(&["compare", &a, &b, "--board", "cortex-m3", "--board", "cortex-m4f", "--top", "0"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let number = |text: &str| text.trim_start_matches('~').replace(',', "").parse::<u64>().ok();
    let cycles = ran.stdout.lines().find(|line| line.trim_start().starts_with("cycles  "));
    let totals = cycles.expect("a line of cycles").split_whitespace().filter_map(number);
    let listed = ran.stdout.split("the instructions that took them").skip(1).map(|list| {
        let first = |line: &str| line.split_whitespace().next().and_then(number);
        list.lines().filter_map(first).sum::<u64>()
    });
    assert_eq!(listed.collect::<Vec<_>>(), totals.collect::<Vec<_>>());
}

#[test]
fn wrong_arguments_are_named() {
    for (more, message) in [
        (&["--board", "x"][..], "--board was given 3 times; there are two sides"),
        (&["--from", "PZ9=1", "--from", "a", "--from", "b"][..], "--from was given 5 times"),
    ] {
        let ran = compare(more);
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
        assert_eq!(ran.code, 64);
    }
    let ran = strobe(&["run", &prebuilt("loop-0ws"), "--from", "PZ9=1"]);
    assert!(ran.stderr.contains("PZ9"), "{}", ran.stderr);
    assert_eq!(ran.code, 64);
}
