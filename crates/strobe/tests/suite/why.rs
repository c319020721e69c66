//! `strobe size`: who pulls what in, on bundled firmware whose chains are known.

use strobe_model::measurement::Measurement;

use crate::common::recorded::{figure, findings, recorded, row, rows};
use crate::common::{number, prebuilt, root, strobe};

/// Symbols of the first way to the symbol.
fn way(measurement: &Measurement) -> Vec<String> {
    let steps = rows(measurement, "why").into_iter().filter(|row| number(&row["way"]) == 1);
    steps.map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn float_formatting_is_the_debug_prints() {
    let measured = recorded(&["size", &prebuilt("floaty")]);
    let found = findings(&measured, "pulls-in-float-formatting");
    let [finding] = found.as_slice() else { panic!("{:?}", measured.findings) };
    for word in ["_dtoa_r", "_printf_float", "debug_print", "%.3f", "floaty/main.c:"] {
        assert!(finding.text.contains(word), "{word}: {}", finding.text);
    }
    assert!(finding.advice.as_deref().is_some_and(|text| text.contains("--why")), "{finding:?}");
    let family = row(&measured, "support", "formatting of floating-point numbers");
    let goes = number(&family["flash"]);
    // What it really costs is the difference to the same program without the print: the print's own
    // arithmetic as well, and functions that nothing calls of objects that are needed.
    let without = recorded(&["size", &prebuilt("floaty-off")]);
    let costs = figure(&measured, "flash") - figure(&without, "flash");
    assert!(goes <= costs && goes * 4 >= costs * 3, "{goes} of {costs}");
    assert!(findings(&without, "pulls-in-float-formatting").is_empty(), "{:?}", without.findings);
}

#[test]
fn the_chain_leads_from_reset_to_the_symbol() {
    let measured = recorded(&["size", &prebuilt("floaty"), "--why", "_dtoa_r"]);
    let way = way(&measured);
    assert_eq!(way.first().map(String::as_str), Some("Reset_Handler"), "{way:?}");
    assert_eq!(way.last().map(String::as_str), Some("_dtoa_r"), "{way:?}");
    for name in ["main", "_printf_float"] {
        assert!(way.iter().any(|step| step == name), "{name}: {way:?}");
    }
    // All of the chain's last part goes with its first reference.
    let steps = rows(&measured, "why").into_iter().filter(|row| !row["goes"].is_null());
    let goes: Vec<u64> = steps.map(|row| number(&row["goes"])).collect();
    assert!(goes.last().is_some_and(|last| *last >= 3856), "{goes:?}");
    let shown = strobe(&["size", &prebuilt("floaty"), "--why", "_printf_float"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    for word in ["why _printf_float is there", "what refers to _printf_float", "calls", "reset"] {
        assert!(shown.stdout.contains(word), "{word}: {}", shown.stdout);
    }
}

/// On an AVR addresses are put together from bytes, and interrupts enter through jumps.
#[test]
fn chains_of_an_avr_lead_from_the_vectors() {
    let measured = recorded(&["size", &prebuilt("work-avr"), "--why", "vfprintf"]);
    let way = way(&measured);
    assert_eq!(way.first().map(String::as_str), Some("__vectors"), "{way:?}");
    assert!(way.iter().any(|step| step == "main"), "{way:?}");
    let handler = recorded(&["size", &prebuilt("peripherals-avr"), "--why", "__vector_18"]);
    assert!(!rows(&handler, "why").is_empty(), "{:?}", handler.findings);
}

/// The linker has removed sections that nothing refers to, so a graph that knows every reference
/// reaches most of an image: all but what shares a section with something that is needed, as
/// functions of one object of libgcc do.
#[test]
fn most_of_an_image_is_reached() {
    let programs = [
        "hello-uart",
        "calculator",
        "generic-c",
        "numbers-m4f",
        "threads",
        "leaky",
        "crc-rs",
        "log-rs",
        "x25519-c",
        "cube",
        "work-avr",
        "floaty",
        "trace-kit-rs",
        "trace-kit-rs-rtt",
        "benched",
        "benched-m4f",
        "benched-rs",
    ];
    for program in programs {
        let measured = recorded(&["size", &prebuilt(program)]);
        let (reached, flash) = (figure(&measured, "reached"), figure(&measured, "flash"));
        assert!(reached <= flash && reached * 4 >= flash * 3, "{program}: {reached} of {flash}");
    }
}

/// Nothing calls a benchmark, or what Rust's vector table consists of.
#[test]
fn externally_entered_loops_are_named() {
    let way = |firmware: &str, symbol: &str| {
        let ran = strobe(&["size", &prebuilt(firmware), "--why", symbol]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout
    };
    let benchmark = way("benched", "strobe_bench_scale");
    assert!(benchmark.contains("the benchmark scale"), "{benchmark}");
    let vectors = way("trace-kit-rs", "__INTERRUPTS");
    assert!(vectors.contains("the processor reads it"), "{vectors}");
}

#[test]
fn unanswerable_questions_are_explained() {
    let elf = prebuilt("floaty");
    let unknown = strobe(&["size", &elf, "--why", "_printf_flaot"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (64, ""));
    assert!(unknown.stderr.contains("_printf_float"), "{}", unknown.stderr);
    let outside = strobe(&["size", &elf, "--why", "0xe000e010"]);
    assert_eq!(outside.code, 64);
    assert!(outside.stderr.contains("outside"), "{}", outside.stderr);
    let both = strobe(&["size", &elf, "--why", "main", "--against", &elf]);
    assert_eq!(both.code, 64);
    let hex = root().join("firmware/prebuilt/none.hex").display().to_string();
    let missing = strobe(&["size", &hex, "--why", "main"]);
    assert_eq!(missing.code, 66);
    let entry = strobe(&["size", &elf, "--why", "Reset_Handler"]);
    assert!(entry.stdout.contains("where the program is entered"), "{}", entry.stdout);
}
