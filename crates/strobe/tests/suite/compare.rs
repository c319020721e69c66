//! Two firmwares side by side, and windows between pins' edges.

use strobe_analyse::attribution::{self, RowPlace};
use strobe_model::measurement::{Cell, Measurement, Trust};

use crate::common::figures::{column, figure, part, profile, taken, total};
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
            RowPlace::Address(address) => listed.contains(&Cell::Address(address)),
            _ => false,
        });
        assert_eq!(rows.map(|row| row.sums.all.value as u64).sum::<u64>(), taken(side), "{name}");
    }
    let ran = strobe(&[&arguments[..], &["--top", "0", "--with-sides"]].concat());
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

/// `pairs` against a version of it with one thing changed.
fn pair(version: &str, more: &[&str]) -> (Ran, Measurement) {
    let (a, b) = (prebuilt("pairs"), prebuilt(&format!("pairs-{version}")));
    let arguments = [&["compare", &a, &b, "--until", "finished", "--format", "json"], more];
    let ran = strobe(&arguments.concat());
    let compared = read(&ran);
    (ran, compared)
}

/// The texts of a column, empty ones too.
fn words<'m>(compared: &'m Measurement, table: &str, name: &str) -> Vec<&'m str> {
    column(compared, table, name).iter().map(|cell| cell.text().unwrap_or("")).collect()
}

fn row_one(compared: &Measurement) -> (&str, &str) {
    let first = |column| words(compared, "profile-functions", column)[0];
    (first("function"), first("change"))
}

fn verdict(compared: &Measurement) -> String {
    words(compared, "verdict", "answer").join("\n")
}

#[test]
fn a_function_ten_times_slower_is_row_one() {
    let (ran, compared) = pair("slow", &[]);
    assert_eq!((ran.code, row_one(&compared)), (0, ("filter", "")));
    assert!(verdict(&compared).contains("filter: "), "{}", verdict(&compared));
    let why = words(&compared, "profile-causes", "why")[0];
    assert!(why.contains("more instructions per call"), "{why}");
    // Its instructions stand side by side.
    let marks = words(&compared, "profile-instructions-filter", "in");
    assert!(marks.iter().filter(|mark| **mark == "=").count() > 8, "{marks:?}");
}

#[test]
fn renamed_moved_or_inlined_functions_are_found() {
    let change = |version: &str, function: &str| {
        let compared = pair(version, &[]).1;
        let rows = words(&compared, "profile-functions", "function");
        let at = rows.iter().position(|row| *row == function).expect("a row");
        words(&compared, "profile-functions", "change")[at].to_owned()
    };
    let renamed = change("renamed", "low_pass");
    assert_eq!(renamed, "renamed from filter (100 % alike)");
    let moved = change("moved", "scale");
    assert_eq!(moved, "moved from ./firmware/pairs/main.c");
    let inlined = change("inlined", "scale");
    assert!(inlined.starts_with("gone: inlined into work"), "{inlined}");
}

#[test]
fn moved_code_in_flash_is_named_as_such() {
    let (_, compared) = pair("shifted", &[]);
    let whys = words(&compared, "profile-causes", "why");
    let moved = |why: &&str| why.contains("the same instructions lie otherwise");
    assert!(whys.iter().any(moved), "{whys:?}");
}

#[test]
fn a_longer_latency_is_compared() {
    let (_, compared) = pair("masked", &[]);
    let longest = |side| figure(&compared, "latencies", "SysTick", side);
    assert!(longest("max-b") > 5 * longest("max-a"), "{:?}", compared.table("latencies"));
    assert!(verdict(&compared).contains("SysTick"), "{}", verdict(&compared));
}

#[test]
fn exceeded_limit_exits_110_and_unmatched_64() {
    let code = |version: &str, limit: &str| {
        let (a, b) = (prebuilt("pairs"), prebuilt(&format!("pairs-{version}")));
        strobe(&["compare", &a, &b, "--until", "finished", "--fail-above", limit]).code
    };
    assert_eq!(code("slow", "2%"), 110);
    assert_eq!(code("slow", "filter=20%"), 110);
    assert_eq!(code("slow", "scale=2%"), 0);
    assert_eq!(code("renamed", "2%"), 0);
    assert_eq!(code("renamed", "filter=2%"), 64);
}

#[test]
fn the_file_that_lacks_a_symbol_is_named() {
    let (a, b) = (prebuilt("pairs-renamed"), prebuilt("pairs"));
    let ran = strobe(&["compare", &a, &b, "--until", "low_pass"]);
    assert_eq!(ran.code, 64);
    assert!(ran.stderr.contains("pairs.elf: no symbol \"low_pass\""), "{}", ran.stderr);
}

#[test]
fn phases_say_what_is_luck() {
    let (_, compared) = pair("masked", &["--phases", "4"]);
    assert_eq!(compared.parts.len(), 8);
    let rows = words(&compared, "spread", "figure");
    assert!(rows.iter().any(|row| row.starts_with("latencies/SysTick")), "{rows:?}");
    let (_, same) = pair("renamed", &["--phases", "4"]);
    let verdicts = words(&same, "profile-functions", "verdict");
    assert!(verdicts.iter().all(|v| !v.starts_with("yes")), "{verdicts:?}");
    let ran = strobe(&["compare", "a.elf", "--phases", "3"]);
    assert_eq!(ran.code, 64);
}

/// The steps of `stepper` are those of TIM3; nothing interrupts the loop on the AVR.
#[test]
fn phases_shift_timers_and_report_unshifted_ones() {
    let of = |firmware: &str, phases: &str| {
        let firmware = prebuilt(firmware);
        let ends = ["--phases", phases, "--until", "5ms"];
        let (code, compared) = measured(&[&["compare", &firmware, &firmware][..], &ends].concat());
        assert_eq!(code, 0);
        compared
    };
    let stepper = of("stepper", "3");
    let note = |compared: &Measurement, code: &str| {
        let found = compared.findings.iter().filter(|finding| finding.code == code);
        found.map(|finding| finding.text.clone()).collect::<Vec<_>>()
    };
    let shifted = note(&stepper, "phase-shifted");
    assert!(shifted.len() == 2 && shifted[0].contains("TIM3"), "{shifted:?}");
    let rows = words(&stepper, "spread", "figure");
    assert!(rows.contains(&"totals/cycles"), "its steps come at others: {rows:?}");
    let still = note(&of("loop-avr", "2"), "phase-not-shifted");
    assert!(still.len() == 2 && still[0].contains("all the same"), "{still:?}");
}

#[test]
fn sets_are_separated() {
    let firmware = prebuilt("pairs");
    let several = ["compare", &firmware, &firmware, &firmware];
    let ran = strobe(&several);
    assert_eq!(ran.code, 64);
    assert!(ran.stderr.contains("--vs"), "{}", ran.stderr);
}
