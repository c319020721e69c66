//! Third-party programs and programs on Embassy and stm32f0xx-hal run as they do elsewhere.
//!
//! `cargo xtask subjects` builds them; without that these tests fail with that message. What each
//! of the ecosystem's programs does is in firmware/ecosystem/README.md.

use std::fs;
use std::path::PathBuf;

use crate::common::figures::*;
use crate::common::{assert_each, read, root, strobe};
use strobe_model::measurement::Measurement;

fn built(file: &str) -> PathBuf {
    let path = root().join("target/subjects").join(file);
    assert!(path.exists(), "{} is missing: run `cargo xtask subjects`", path.display());
    path
}

fn elf(name: &str) -> String {
    built(&format!("{name}.elf")).display().to_string()
}

/// The programs whose output the host has computed, for each core.
fn third_party(suffix: &str, board: &str) -> usize {
    let directory = root().join("firmware/subjects/fw/src/bin");
    let sources = fs::read_dir(directory).expect("the subjects' sources");
    let mut count = 0;
    for source in sources {
        let path = source.expect("a directory entry").path();
        let name = format!("{}{suffix}", path.file_stem().unwrap_or_default().display());
        let expected = fs::read_to_string(built(&format!("{name}.expected"))).unwrap();
        assert!(!expected.is_empty(), "{name}.expected is empty: run `cargo xtask subjects`");
        let ran = strobe(&["run", &elf(&name), "--board", board, "--format", "json"]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        assert_eq!(ran.stderr, expected, "{name}");
        let ran = read(&ran);
        assert_balanced(&ran);
        assert_eq!(ended(&ran), "exit", "{name}");
        if suffix.is_empty() {
            assert_exact(&ran);
        }
        count += 1;
    }
    count
}

#[test]
fn third_party_programs_print_what_the_host_computes() {
    assert!(third_party("", "cortex-m0") >= 16);
}

#[test]
fn third_party_programs_do_so_on_the_larger_cores() {
    assert!(third_party("-m3", "mps2-an385") >= 16);
    assert!(third_party("-m4f", "mps2-an386") >= 16);
}

/// The same Fourier transforms on one core, with its floating-point unit and with a library
/// instead.
#[test]
fn floating_point_unit_speeds_up_a_fourier_transform() {
    let cycles = |name: &str, board: &str| {
        let ran = strobe(&["run", &elf(name), "--board", board, "--format", "json"]);
        assert_eq!(ran.stderr, fs::read_to_string(built("fft.expected")).unwrap(), "{name}");
        total(&read(&ran), "cycles")
    };
    let [library, unit] = [("fft-m4", "cortex-m4"), ("fft-m4f", "cortex-m4f")]
        .map(|(name, board)| cycles(name, board));
    assert!(library > 3 * unit / 2, "{library} cycles with the library, {unit} with the unit");
}

/// RTIC and cortex-m-rt on the LM3S6965: what they print is what QEMU's machine of that name
/// prints, which `cargo xtask subjects --check` looks after.
#[test]
fn rtic_programs_print_the_same_as_in_qemu() {
    for name in ["rtic-preemption", "rtic-messages", "rtic-delays", "rt-exceptions"] {
        let expected = fs::read_to_string(built(&format!("{name}.expected"))).unwrap();
        let ran = strobe(&["run", &elf(name), "--board", "lm3s6965evb", "--format", "json"]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        assert_eq!(ran.stderr, expected, "{name}");
        let ran = read(&ran);
        assert_balanced(&ran);
        assert_eq!(ended(&ran), "exit", "{name}");
        assert!(ran.section("unmodelled").is_none(), "{name} touches what the board lacks");
    }
}

/// Runs a program of the ecosystem on the STM32F070 to a limit.
fn on_the_board(name: &str, until: &str, more: &[&str]) -> Measurement {
    let elf = elf(name);
    let (code, ran) = run(&[&[&elf, "--until", until], more].concat());
    assert_eq!(code, 0, "{name}");
    assert_eq!(board(&ran), Some("stm32f070cb"));
    assert_eq!(ended(&ran), "limit", "{name}");
    assert!(ran.section("unmodelled").is_none(), "{name} touches what the board lacks");
    ran
}

/// What a program sends until then, with time stamps of its own.
fn sent(name: &str, port: &str, until: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log.txt");
    let uart = format!("{port}=file:{}", log.display());
    on_the_board(name, until, &["--uart", &uart]);
    fs::read_to_string(log).unwrap()
}

#[test]
fn embassy_blinky_keeps_two_rhythms_on_one_timer() {
    let ran = on_the_board("embassy-blinky", "1100ms", &["--mark", "PA5,PB0,PB1"]);
    assert_eq!(final_hertz(&ran), 8_000_000);
    // The time driver counts in steps of 100 us; the other task may delay an edge by some
    // microseconds.
    let tick = 800;
    assert_each(&widths(&ran, "PA5 high"), 2_000_000, tick);
    assert_each(&widths(&ran, "PA5 low"), 2_000_000, tick);
    assert_each(&widths(&ran, "PB0 high"), 240_000, tick);
    assert_each(&widths(&ran, "PB0 low"), 240_000, tick);
    assert_each(&widths(&ran, "PB1 high"), 480_000, tick);
    assert_eq!(widths(&ran, "PA5 high").len() + widths(&ran, "PA5 low").len(), 3);
    assert!(idle_percent(&ran) > 95, "{} % idle", idle_percent(&ran));
}

#[test]
fn embassy_usart_prints_each_100_ms_by_dma() {
    let text = sent("embassy-usart", "USART1", "550ms");
    let expected: String = (1..=5).map(|n| format!("line {n} at {} ms\r\n", 100 * n)).collect();
    assert_eq!(text, expected);
}

#[test]
fn embassy_serial_ticks_each_50_ms() {
    let text = sent("embassy-serial", "USART2", "280ms");
    let ticks: String = (1..=5).map(|n| format!("tick {n}\r\n")).collect();
    assert_eq!(text, format!("ready\r\n{ticks}"));
}

#[test]
fn hal_blinky_polls_systick() {
    let ran = on_the_board("hal-blinky", "1100ms", &["--mark", "PA5"]);
    let (high, low) = (widths(&ran, "PA5 high"), widths(&ran, "PA5 low"));
    // A poll takes less than 100 cycles.
    assert_each(&high, 2_000_000, 100);
    assert_each(&low, 2_000_000, 100);
    assert_eq!(high.len() + low.len(), 3);
    assert_eq!(idle_percent(&ran), 0);
}

#[test]
fn hal_serial_prints_three_lines() {
    let text = sent("hal-serial", "USART1", "50ms");
    let expected: String = (1..=3).map(|n| format!("line {n} at 48000000 Hz\r\n")).collect();
    assert_eq!(text, expected);
}

#[test]
fn hal_timer_toggles_dims_and_feeds_the_watchdog() {
    let ran = on_the_board("hal-timer", "350ms", &["--mark", "PA5,PA6"]);
    assert_eq!(final_hertz(&ran), 48_000_000);
    // What the core was doing when the interrupt came moves an edge by a few cycles, but not the
    // mean.
    let edges = [widths(&ran, "PA5 high"), widths(&ran, "PA5 low")].concat();
    assert_each(&edges, 48_001, 8);
    let mean = edges.iter().sum::<u64>() as f64 / edges.len() as f64;
    assert!((mean - 48_001.0).abs() < 0.1, "{mean}");
    // A reset by the watchdog would leave out pulses: 350 ms have room for 349 changes.
    assert_eq!(edges.len(), 348);
    assert_eq!(widths(&ran, "PA6 high"), vec![600; widths(&ran, "PA6 high").len()]);
    assert_eq!(widths(&ran, "PA6 low"), vec![1801; widths(&ran, "PA6 low").len()]);
    assert!(idle_percent(&ran) > 95, "{} % idle", idle_percent(&ran));
}
