//! The bundled firmware gives the figures that its README and the measurements behind it promise.

use std::fs;

use crate::common::figures::*;
use crate::common::{assert_each, prebuilt, root, strobe};

/// Pulse widths and bounds of the founding loop, in cycles.
fn pulses(program: &str) -> (Vec<u64>, Vec<(u64, u64)>) {
    let (code, ran) = run(&[&prebuilt(program), "--mark", "PB8"]);
    assert_eq!(code, 0);
    assert_eq!(ended(&ran), "sleeps-forever");
    (widths(&ran, "PB8 high"), bounds(&ran, "PB8 high"))
}

#[test]
fn the_founding_loop_takes_1790_cycles_without_wait_states() {
    let (widths, bounds) = pulses("loop-0ws");
    assert_eq!(widths, [1790; 10]);
    assert!(bounds.is_empty(), "exact figures have no bounds: {bounds:?}");
}

/// Measured: 45.19 us at 48 MHz, 2169 cycles, by a clock that is right within 1 %.
#[test]
fn founding_loop_with_wait_state_is_within_one_percent() {
    let (widths, bounds) = pulses("loop-48mhz");
    assert_eq!(widths.len(), 10);
    for (likely, (low, high)) in widths.into_iter().zip(bounds) {
        assert!(likely.abs_diff(2169) * 100 <= 2169, "{likely} is not within 1 % of 2169");
        assert!(low <= 2147 && 2191 <= high, "{low} to {high} leaves measured values out");
        assert!(low * 5 >= likely * 4 && high * 5 <= likely * 6, "{low} to {high} is too wide");
    }
}

/// Word-aligned target: 8 cycles a turn; no prefetch: 10, or 9 if the flash keeps two words.
#[test]
fn alignment_and_prefetch_change_the_founding_loop() {
    let (aligned, bounds) = pulses("loop-48mhz-aligned");
    assert_eq!(aligned, [2045; 10]);
    assert!(bounds.iter().all(|(low, high)| *low <= 2045 && *high >= 2045), "{bounds:?}");
    let (without, bounds) = pulses("loop-48mhz-noprefetch");
    assert_each(&without, 2556, 4);
    assert!(bounds.iter().all(|(low, high)| *low <= 2299 && *high >= 2554), "{bounds:?}");
}

#[test]
fn fetch_wait_is_named_as_the_cause() {
    let ran = strobe(&["run", &prebuilt("loop-48mhz"), "--mark", "PB8"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("fetch wait"), "{}", ran.stdout);
    assert!(ran.stdout.contains("prefetch buffer"), "{}", ran.stdout);
    let ran = strobe(&["run", &prebuilt("loop-0ws"), "--mark", "PB8"]);
    assert!(!ran.stdout.contains("fetch wait"), "{}", ran.stdout);
}

#[test]
fn generic_c_exits_with_42_and_prints_expected_text() {
    let ran = strobe(&["run", &prebuilt("generic-c")]);
    assert_eq!(ran.code, 42, "{}", ran.stderr);
    let expected = fs::read_to_string(root().join("firmware/generic-c/expected.txt")).unwrap();
    // The first line and the last go other ways than standard output; all of them are shown.
    assert_eq!(ran.stderr, format!("generic-c\n{expected}this line is on standard error\n"));
    let (code, _) = run(&[&prebuilt("generic-c")]);
    assert_eq!(code, 42);
}

#[test]
fn programs_that_check_themselves_succeed() {
    for name in ["crc-rs", "x25519-c", "x25519-c-m3", "numbers-m4f"] {
        let (code, ran) = run(&[&prebuilt(name)]);
        assert_eq!(code, 0, "{name}");
        assert_eq!(ended(&ran), "exit", "{name}");
    }
}

/// Runs a program with USART1 in a file and returns the text.
fn usart1(name: &str, arguments: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log.txt");
    let port = format!("USART1=file:{}", log.display());
    let ran = strobe(&[&["run", &prebuilt(name), "--uart", &port, "--quiet"], arguments].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    fs::read_to_string(log).unwrap()
}

#[test]
fn hello_uart_prints_its_lines_on_usart1() {
    let expected = fs::read_to_string(root().join("firmware/hello-uart/expected.txt")).unwrap();
    assert_eq!(usart1("hello-uart", &["--until", "210ms"]), expected);
}

#[test]
fn shift_prints_equal_checksums_by_processor_and_dma() {
    let expected = fs::read_to_string(root().join("firmware/shift/expected.txt")).unwrap();
    assert_eq!(usart1("shift", &[]), expected);
}

/// The processor waits for the whole frame, or with DMA sleeps for what is left of it: 1024 bytes
/// at 12 Mbit/s are 32,768 cycles.
#[test]
fn shift_frees_the_processor_by_dma() {
    let cycles_in = |function: &str| {
        let (code, ran) = run(&[&prebuilt("shift"), "--from", function, "--to", "fletcher16"]);
        assert_eq!(code, 0);
        assert_eq!(ran.window.entries, Some(4));
        total(&ran, "cycles") / 4
    };
    let by_cpu = cycles_in("send_by_cpu");
    assert!((32_768..40_000).contains(&by_cpu), "{by_cpu}");
    let by_dma = cycles_in("send_by_dma");
    assert!(by_dma < 200, "{by_dma}");
    let (_, ran) = run(&[&prebuilt("shift")]);
    assert!(balance(&ran).idle > 4 * 5_000, "wait_for_dma sleeps");
    assert_eq!(figure(&ran, "interrupts", "DMA1", "count"), 4);
}

#[test]
fn stepper_ticks_every_2400_cycles_and_mostly_sleeps() {
    let (code, ran) = run(&[&prebuilt("stepper"), "--mark", "on_tick", "--until", "50ms"]);
    assert_eq!(code, 0);
    let ticks = widths(&ran, "on_tick to on_tick");
    assert!((990..1000).contains(&ticks.len()), "{}", ticks.len());
    // What the core was doing when the interrupt came moves a tick by a few cycles, but not the
    // mean.
    assert_each(&ticks, 2400, 40);
    let mean = ticks.iter().sum::<u64>() as f64 / ticks.len() as f64;
    assert!((mean - 2400.0).abs() < 0.1, "{mean}");
    let idle = idle_percent(&ran);
    assert!((50..95).contains(&idle), "idle for {idle} %");
}

#[test]
fn blink_changes_its_light_every_second() {
    let (code, ran) = run(&[&prebuilt("blink"), "--mark", "PA5", "--until", "4500ms"]);
    assert_eq!(code, 0);
    assert_each(&widths(&ran, "PA5 high"), 48_000_000, 2);
    assert_each(&widths(&ran, "PA5 low"), 48_000_000, 2);
    let ran = strobe(&["run", &prebuilt("blink"), "--until", "100ms"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("without idle cycles"), "{}", ran.stdout);
}

#[test]
fn a_fault_is_reported_with_its_way_there() {
    let ran = strobe(&["run", &prebuilt("fault")]);
    assert_eq!(ran.code, 120, "{}", ran.stderr);
    let (_, backtrace) = ran.stdout.split_once("backtrace").expect("a backtrace");
    let names = [" read_length_field at", " parse_header at", " handle_packet at", " main at"];
    let places: Vec<_> = names.iter().map(|name| backtrace.find(name)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{backtrace}");
    assert!(ran.stdout.contains("unaligned access"), "{}", ran.stdout);
}

#[test]
fn a_fault_in_the_fault_handler_locks_up() {
    let (code, _) = run(&[&prebuilt("lockup")]);
    assert_eq!(code, 120, "the first fault ends the run without --run-on");
    let ran = strobe(&["run", &prebuilt("lockup"), "--run-on"]);
    assert_eq!(ran.code, 121, "{}", ran.stderr);
    let (_, backtrace) = ran.stdout.split_once("backtrace").expect("a backtrace");
    assert!(backtrace.contains("HardFault_Handler"), "{backtrace}");
}

#[test]
fn measurement_names_its_schema_and_is_reproducible() {
    for name in ["loop-48mhz", "generic-c", "shift", "generic-c-m3"] {
        let arguments = ["run", &prebuilt(name), "--format", "json", "--quiet"];
        let first = strobe(&arguments);
        let json: serde_json::Value = serde_json::from_str(&first.stdout).expect("JSON");
        assert_eq!(json["schema"], "strobe-measurement/1");
        assert_eq!(json["subject"]["name"], format!("{name}.elf"));
        assert_eq!(first.stdout, strobe(&arguments).stdout, "{name}");
    }
}

#[test]
fn wrong_serial_input_is_reported() {
    let elf = prebuilt("hello-uart");
    for (arguments, code, words) in [
        (&["--uart-input", "USART9=stdin"][..], 64, "has no serial port USART9"),
        (&["--uart-input", "USART1=file:/nowhere/at/all"], 66, "cannot read /nowhere/at/all"),
        (&["--uart-input", "USART1=tty"], 64, "write DEVICE=SOURCE"),
        (&["--uart-input", "USART1=stdin", "--uart-input", "usart1=stdin"], 64, "an input already"),
        (&["--uart-input", "USART1=stdin", "--uart-input-after", "3"], 64, "a time such as"),
        (&["--uart-input-after", "3ms"], 64, "--uart-input <"),
    ] {
        let ran = strobe(&[&["run", &elf, "--until", "1ms"], arguments].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(words), "no {words} in\n{}", ran.stderr);
    }
}

/// Otherwise a board that sleeps while nobody has typed yet is at its end at once.
#[cfg(unix)]
#[test]
fn board_with_a_terminal_runs_in_real_time() {
    let begin = std::time::Instant::now();
    let ran = strobe(&["run", &prebuilt("hello-uart"), "--uart", "USART1=pty", "--until", "400ms"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let took = begin.elapsed().as_millis();
    assert!(took >= 350, "{took} ms for 400 ms");
}
