//! AVR firmware that goes wrong: one clear message each, and whatever could be measured until then.

use std::fs;
use std::process::Command;

use crate::common::*;

/// Compiles C with avr-gcc, runs it and returns the report with its lines joined.
fn report(mcu: &str, source: &str, arguments: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    fs::write(path("main.c"), source).unwrap();
    let compiled = Command::new("avr-gcc")
        .args([&format!("-mmcu={mcu}"), "-gdwarf-4", "-O1", "-o", &path("main.elf")])
        .arg(path("main.c"))
        .status();
    assert!(compiled.expect("avr-gcc runs").success());
    let ran = strobe(&[&["run", &path("main.elf"), "--quiet", "--terse"], arguments].concat());
    assert!(ran.stdout.contains("cycles by cause"), "{}\n{}", ran.stdout, ran.stderr);
    ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn assert_reported(report: &str, expected: &[&str]) {
    for text in expected {
        assert!(report.contains(text), "no {text:?} in\n{report}");
    }
}

#[test]
fn invalid_opcodes_end_the_run_with_a_reason() {
    let erased = "int main(void) { __asm__ volatile(\".word 0xffff\"); return 0; }";
    assert_reported(
        &report("atmega328p", erased, &[]),
        &[
            "ended an opcode that is no instruction of this core",
            "erased flash, 0xffff; the flow has left the program",
            "main at",
        ],
    );
    let data = "int main(void) { __asm__ volatile(\".word 0x0001\"); return 0; }";
    assert_reported(&report("atmega328p", data, &[]), &["0x0001; data that is run"]);
    // MUL on a part without a multiplier.
    let foreign = "int main(void) { __asm__ volatile(\".word 0x9c01\"); return 0; }";
    assert_reported(
        &report("attiny85", foreign, &["--board", "attiny85"]),
        &["0x9c01, which larger AVRs have; is the firmware built for this part (-mmcu)?"],
    );
}

#[test]
fn stack_reaching_the_registers_is_reported_before_its_effects() {
    let source = "__attribute__((noinline)) int deeper(int n) { volatile char a[16]; a[0] = n; \
                  return deeper(n + 1) + a[0]; }
                  int main(void) { return deeper(0); }";
    let report = report("atmega328p", source, &["--until", "5ms"]);
    assert_reported(
        &report,
        &[
            "the stack of thread main has overflowed",
            "below 0x00800100, where RAM begins: below are the registers of peripherals and the \
             core's own",
            "deeper (103 times) < main",
            "reached behind the end of RAM (0x0900 and above)",
        ],
    );
    assert!(report.matches("reached behind the end of RAM").count() < 12, "{report}");
}

#[test]
fn fuses_of_the_firmware_are_used_and_reported() {
    let source = "#include <avr/io.h>\n#include <avr/sleep.h>\n
                  FUSES = { .low = 0x62, .high = 0xd9, .extended = 0xff };
                  LOCKBITS = 0xff;
                  int main(void) { sleep_enable(); sleep_cpu(); return 0; }";
    assert_reported(
        &report("atmega328p", source, &[]),
        &[
            "clock 1 MHz",
            "the fuses of the firmware (low 0x62, high 0xd9, extended 0xff) choose internal \
             oscillator, 8,000,000 Hz \
             divided by 8 (CKSEL, CKDIV8); the core begins at 1,000,000 Hz",
        ],
    );
    let other = report("atmega328p", source, &["--fuses", "0xff,0xce"]);
    assert_reported(
        &other,
        &[
            "clock 16 MHz",
            "the fuses given (low 0xff, high 0xce)",
            "the watchdog is always on (WDTON)",
            "BOOTRST",
        ],
    );
}

#[test]
fn use_of_unmodelled_features_is_reported() {
    let source = "#include <avr/io.h>\n#include <avr/boot.h>\n#include <avr/sleep.h>\n
                  int main(void) { boot_page_erase(0x1000); ACSR = _BV(ACIC);
                  sleep_enable(); sleep_cpu(); return 0; }";
    assert_reported(
        &report("atmega328p", source, &["--until", "1ms"]),
        &[
            "(flash programming is not modelled)",
            "AC: captures by the comparator (ACIC) are not modelled",
        ],
    );
}
