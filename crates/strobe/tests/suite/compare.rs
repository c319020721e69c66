//! Two firmwares side by side, and windows between pins' edges.

use strobe_analyse::attribution::{self, Spot};
use strobe_model::measurement::{Cell, Trust};

use crate::common::figures::{part, profile, taken, total};
use crate::common::{Ran, measured, prebuilt, read, strobe};

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
    let both = read(&ran);
    assert_eq!(both.subject.kind, "comparison");
    for (name, pulse) in [("a", 1022), ("b", 1790)] {
        let side = part(&both, name);
        let windows = side.window.entries.expect("a number");
        assert!(windows >= 10, "{name}: {windows}");
        let cycles = side.total("cycles").expect("cycles");
        assert_eq!(*cycles.trust(), Trust::Exact, "{name} is exact");
        assert_eq!(total(side, "cycles"), pulse * windows, "{name}");
        let each = both.table("windows-cycles").and_then(|table| table.column(name));
        assert_eq!(each.expect("a side").cells[0], Cell::from(pulse));
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
    let arguments = ["compare", &a, &b, "--board", "cortex-m3", "--board", "cortex-m4f"];
    let (code, both) = measured(&arguments);
    assert_eq!(code, 0);
    for name in ["a", "b"] {
        let side = part(&both, name);
        let disassembly = side.table("disassembly").and_then(|table| table.column("address"));
        let listed = &disassembly.expect("the instructions").cells;
        let flat = attribution::rows(profile(side), "cycles", &attribution::By::Address);
        let rows = flat.expect("cycles").rows.into_iter();
        let rows = rows.filter(|row| match row.spot {
            Spot::Address(address) => listed.contains(&Cell::Address(address)),
            _ => false,
        });
        assert_eq!(rows.map(|row| row.sums.all.value as u64).sum::<u64>(), taken(side), "{name}");
    }
    let ran = strobe(&[&arguments[..], &["--top", "0"]].concat());
    let number = |text: &str| text.trim_start_matches('~').replace(',', "").parse::<u64>().ok();
    let lists = ran.stdout.split("profile by address").skip(1);
    let listed = lists.map(|list| {
        let rows = list.lines().take_while(|line| !line.contains("---"));
        let first = |line: &str| line.split_whitespace().next().and_then(number);
        rows.filter_map(first).sum::<u64>()
    });
    let [of_a, of_b] = ["a", "b"].map(|name| taken(part(&both, name)));
    assert_eq!(listed.collect::<Vec<_>>(), [of_a, of_b]);
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
