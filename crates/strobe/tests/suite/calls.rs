//! Calls and windows one by one (`run --calls`, `--from/--to`): against counts that the bundled
//! programs' sources give, and against the call tree's sums.

use strobe_model::measurement::{Measurement, Severity};
use strobe_synth::{ElfBuilder, Symbol};

use crate::common::figures::*;
use crate::common::{measured, prebuilt};

/// Cycles of the outermost nodes of a function in the call tree, with all that they called.
fn inclusive(ran: &Measurement, function: &str) -> u64 {
    let nodes = nodes(ran);
    let outermost = nodes.iter().filter(|node| {
        let mut above = std::iter::successors(node.parent, |&at| nodes[at].parent);
        node.name == function && above.all(|at| nodes[at].name != function)
    });
    outermost.map(|node| node.all).sum()
}

fn notes(ran: &Measurement, id: &str) -> String {
    ran.section(id).map(|section| section.notes.join("\n")).unwrap_or_default()
}

/// Every turn of `work` is nine cycles, entry and return are eight, whoever interrupts it.
#[test]
fn each_call_has_only_its_threads_cycles() {
    let program = prebuilt("threads");
    let arguments = [program.as_str(), "--until", "finished", "--calls", "work"];
    let (code, ran) = run(&[&arguments[..], &["--calls", "flush_log"]].concat());
    assert_eq!(code, 0);
    let work = &spread(&ran, "calls", "work with callees").spread;
    let of = |turns: u64| work.buckets().find(|(at, _)| *at == 9 * turns + 8).map(|(_, n)| n);
    let flushed = spread(&ran, "calls", "flush_log with callees").spread.count();
    assert_eq!(of(100), Some(100), "one for each sample");
    assert_eq!(of(250), Some(flushed), "one for each flush of the log");
    assert_eq!(work.buckets().count(), 4, "{:?}", work.buckets().collect::<Vec<_>>());
    assert_eq!(&spread(&ran, "calls", "work alone").spread, work, "it calls nothing");
    let elapsed = &spread(&ran, "calls", "work entry to return").spread;
    assert_eq!(elapsed.count(), work.count());
    assert!(elapsed.max() > work.max(), "interrupts came in between");
    assert_eq!(figure(&ran, "calls-worst", "work", "with-callees"), 9 * 1500 + 8);
    for function in ["work", "flush_log"] {
        let calls = &spread(&ran, "calls", &format!("{function} with callees")).spread;
        assert_eq!(calls.sum(), inclusive(&ran, function), "{function}");
    }
}

#[test]
fn calls_balance_on_both_cores() {
    for (program, function, count) in [("loop-0ws", "test_loop", 10), ("loop-avr", "main", 1)] {
        let (code, ran) = run(&[&prebuilt(program), "--until", "1s", "--calls", function]);
        assert_eq!(code, 0);
        let calls = &spread(&ran, "calls", &format!("{function} with callees")).spread;
        assert_eq!(calls.count(), count, "{program}");
        assert_eq!(calls.sum(), inclusive(&ran, function), "{program}");
    }
}

/// The compiler makes one of the two recursions of fibonacci(15) a loop: the 16th Fibonacci number
/// of calls, 987, of which one comes from outside.
#[test]
fn recursion_is_part_of_the_outermost_call() {
    let (code, ran) = run(&[&prebuilt("generic-c"), "--calls", "fibonacci"]);
    // Its own exit code.
    assert_eq!(code, 42);
    let calls = &spread(&ran, "calls", "fibonacci with callees").spread;
    assert_eq!((calls.count(), calls.sum()), (1, inclusive(&ran, "fibonacci")));
    let notes = notes(&ran, "calls");
    assert!(notes.contains("fibonacci: 986 calls came from within"), "{notes}");
}

/// Nobody interrupts it, so that its cycles are those from entry to return, the way in and the way
/// out among them.
#[test]
fn handlers_have_their_way_in_from_entry_to_return() {
    let elf = crate::waits::ticking(&[0xe7fe]);
    let ran = crate::waits::run(&elf, &[&crate::waits::BOARD[..], &["--calls", "other"]].concat());
    let own = &spread(&ran, "calls", "other with callees").spread;
    assert!(own.count() > 90 && own.min() > Some(12), "{own:?}");
    assert_eq!(&spread(&ran, "calls", "other entry to return").spread, own);
}

/// `rcall .+0` takes two bytes of the stack. main: rcall work; rcall work; rjmp . work: rcall .+0;
/// pop r0; pop r0; ret.
#[test]
fn a_call_to_what_comes_next_is_none() {
    let code: [u16; 7] = [0xd002, 0xd001, 0xcfff, 0xd000, 0x900f, 0x900f, 0x9508];
    let image: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
    let mut elf = ElfBuilder::new();
    elf.machine = 83;
    elf.code(0, &image);
    for (name, value, size) in [("main", 0, 6), ("work", 6, 8)] {
        let (name, kind, section) = (name.to_owned(), 2, 0xfff1);
        elf.symbol(Symbol { name, value, size, kind, global: true, section });
    }
    let board = ["--board", "arduino-uno", "--until", "1000c", "--calls", "work"];
    let ran = crate::waits::run(&elf.build(), &board);
    assert_eq!(spread(&ran, "calls", "work with callees").spread.count(), 2);
    assert!(!notes(&ran, "calls").contains("from within"), "{}", notes(&ran, "calls"));
    assert_eq!(nodes(&ran).iter().filter(|node| node.name == "work").count(), 1);
}

/// main: movs r4, #5; back: bl work; subs r4, #1; bne back; b . work: movs r0, #1; b other. other:
/// movs r0, #2; bx lr.
#[test]
fn tail_calls_extend_the_call_until_their_return() {
    let code = [0x2405, 0xf000, 0xf803, 0x3c01, 0xd1fb, 0xe7fe, 0x2001, 0xe7ff, 0x2002, 0x4770];
    let functions = [("main", 0, 12), ("work", 12, 4), ("other", 16, 4)];
    let elf = crate::waits::with_functions(&code, &functions, &[]);
    let board = ["--board", "cortex-m3", "--until", "1000c", "--calls", "work"];
    let ran = crate::waits::run(&elf, &[&board[..], &["--calls", "other"]].concat());
    let of = |what: &str| spread(&ran, "calls", what).spread.clone();
    assert_eq!((of("work with callees").count(), of("other with callees").count()), (5, 5));
    let both = of("work alone").sum() + of("other with callees").sum();
    assert_eq!(of("work with callees").sum(), both);
    assert_eq!(of("work entry to return"), of("work with callees"));
    let notes = notes(&ran, "calls");
    assert!(notes.contains("work: 5 calls ended in a jump"), "{notes}");
    assert!(!notes.contains("other: "), "{notes}");
}

/// main: movs r0, #4; bl even; b . even: subs r0, #1; bmi out; b odd; out: bx lr; nop. odd: subs
/// r0, #1; bmi out; b even; out: bx lr.
#[test]
fn functions_that_jump_to_one_another_are_one_call() {
    let code = [
        0x2004, 0xf000, 0xf801, 0xe7fe, 0x3801, 0xd400, 0xe001, 0x4770, 0x46c0, 0x3801, 0xd400,
        0xe7f7, 0x4770,
    ];
    let functions = [("main", 0, 8), ("even", 8, 10), ("odd", 18, 8)];
    let elf = crate::waits::with_functions(&code, &functions, &[]);
    let board = ["--board", "cortex-m3", "--until", "1000c", "--calls", "even"];
    let ran = crate::waits::run(&elf, &[&board[..], &["--calls", "odd"]].concat());
    let of = |what: &str| spread(&ran, "calls", what).spread.clone();
    assert_eq!((of("even with callees").count(), of("odd with callees").count()), (1, 1));
    let all = inclusive(&ran, "even") + inclusive(&ran, "odd");
    assert_eq!((of("even with callees").sum(), of("even entry to return").sum()), (all, all));
    assert_eq!(of("even alone").sum(), inclusive(&ran, "even"));
    let notes = notes(&ran, "calls");
    for words in ["even: 2 calls came from within", "even: 2 calls ended", "odd: 1 call came"] {
        assert!(notes.contains(words), "no {words:?} in {notes}");
    }
}

#[test]
fn windows_are_measured_one_by_one() {
    let program = prebuilt("loop-0ws");
    let (code, ran) = run(&[&program, "--from", "test_loop", "--to", "test_loop"]);
    assert_eq!(code, 0);
    let windows = &spread(&ran, "windows", "test_loop to test_loop").spread;
    assert_eq!((windows.count(), windows.min(), windows.max()), (9, Some(1808), Some(1808)));
    assert!(notes(&ran, "windows").contains("open at the end"), "{}", notes(&ran, "windows"));
    assert!(!ran.findings.iter().any(|finding| finding.code == "nested-windows"));
}

#[test]
fn windows_that_are_reached_while_open_are_counted() {
    let program = prebuilt("generic-c");
    let (code, ran) = run(&[&program, "--from", "fibonacci", "--to", "printf"]);
    // Its own exit code.
    assert_eq!(code, 42);
    let nested = ran.findings.iter().find(|finding| finding.code == "nested-windows");
    let nested = nested.expect("a finding");
    assert_eq!((nested.severity, nested.count), (Severity::Warning, 986), "{}", nested.text);
    assert_eq!(spread(&ran, "windows", "fibonacci to printf").spread.count(), 1);
}

#[test]
fn missing_function_is_a_usage_error() {
    let ran = crate::common::strobe(&["run", &prebuilt("loop-0ws"), "--calls", "test_lop"]);
    assert_eq!(ran.code, 64);
    let (code, ran) = measured(&["run", &prebuilt("loop-0ws"), "--calls", "test_loop"]);
    assert_eq!(code, 0);
    assert!(ran.check().is_ok());
}

/// As in libgcc, whose subtraction changes a sign and goes on as the addition: two names and one
/// end.
#[test]
fn tail_of_another_function_is_refused_with_its_name() {
    let mut words = [0xc1_u32; 48];
    words[0] = 0x2000_1000;
    let mut image: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    // main: bl sub; b .; sub: movs r0, #1; add: bx lr
    for half in [0xf000_u16, 0xf801, 0xe7fe, 0x2001, 0x4770] {
        image.extend(half.to_le_bytes());
    }
    let mut elf = strobe_synth::ElfBuilder::new();
    elf.entry = 0xc1;
    elf.code(0, &image);
    for (name, at, size) in [("main", 0xc0, 6), ("sub", 0xc6, 4), ("add", 0xc8, 2)] {
        elf.function(name, at, size);
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("firmware.elf");
    std::fs::write(&path, elf.build()).unwrap();
    let path = path.display().to_string();
    let arguments = ["run", &path, "--board", "cortex-m3", "--until", "1000c", "--calls"];
    let ran = crate::common::strobe(&[&arguments[..], &["add"]].concat());
    assert_eq!(ran.code, 64, "{}", ran.stderr);
    assert!(ran.stderr.contains("the end of sub") && ran.stderr.contains("--calls sub"));
    let (code, ran) = run(&[&arguments[1..], &["sub"]].concat());
    assert_eq!((code, spread(&ran, "calls", "sub with callees").spread.count()), (0, 1));
}
