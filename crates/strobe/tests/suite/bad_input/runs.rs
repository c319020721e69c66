//! Runs that do not end by themselves, or not as was asked for.

use std::fs;

use strobe_synth::{Imm8Op, Insn, LoadStore, Reg, Value};

use super::{FLASH, STM32_FLASH, assert_reported, firmware, in_directory, reported, spin};
use crate::common::{command, prebuilt, ran, strobe};

/// `b .` with no interrupt to come is where programs end that have no other way to.
#[test]
fn a_branch_to_itself_ends_the_run() {
    let report = reported(&firmware(FLASH, spin), &[], 0);
    assert_reported(&report, &["ended", "nothing is left that could wake it"]);
}

#[test]
fn endless_loop_ends_at_the_limit_with_report() {
    let busy = firmware(STM32_FLASH, |asm| {
        let turn = asm.label_here();
        asm.emit(Insn::Imm8 { op: Imm8Op::Add, rdn: Reg::new(0), imm8: 1 });
        asm.b(turn);
    });
    let report = reported(&busy, &["--until", "1ms"], 0);
    assert_reported(&report, &["1.000 ms simulated", "the limit that was asked for"]);
    let report = reported(&busy, &["--until", "100000c"], 0);
    assert_reported(&report, &["balance: 100,000 cycles taken", "the limit that was asked for"]);
}

#[test]
fn the_exit_code_of_firmware_is_cut_at_63() {
    let directory = tempfile::tempdir().unwrap();
    for (text, words) in [("", 0), ("one two\nthree\n", 3), (&"w ".repeat(100), 63)] {
        fs::write(directory.path().join("input"), text).unwrap();
        let input = fs::File::open(directory.path().join("input")).unwrap();
        let ran = ran(command().args(["run", &prebuilt("wordcount")]).stdin(input));
        assert_eq!(ran.code, words, "{}", ran.stderr);
    }
}

/// Switches USART1's receiver on, at 115,200 baud from 8 MHz, and never reads.
fn deaf() -> Vec<u8> {
    firmware(STM32_FLASH, |asm| {
        // RCC_APB2ENR, BRR and CR1 (UE, RE).
        for (address, value) in [(0x4002_1018, 1 << 14), (0x4001_380c, 69), (0x4001_3800, 5)] {
            asm.load(Reg::new(1), Value::Word(address));
            asm.load(Reg::new(0), Value::Word(value));
            let (rt, rn) = (Reg::new(0), Reg::new(1));
            asm.emit(Insn::MemImm { op: LoadStore::Str, rt, rn, units: 0 });
        }
        spin(asm);
    })
}

/// Twelve bytes of ten bits: all but the first are overrun, or still to come when the run ends.
#[test]
fn serial_input_is_never_lost_in_silence() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("firmware.elf"), deaf()).unwrap();
    fs::write(directory.path().join("script"), "twelve bytes").unwrap();
    let reported = |more: &[&str]| {
        let input = ["run", "firmware.elf", "--uart-input", "USART1=file:script"];
        let ran = in_directory(&directory, &[&input, more].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
        ran.stdout
    };
    let report = reported(&["--until", "20000c"]);
    assert_reported(&report, &["(overrun): they are lost (11 times)"]);
    assert!(!report.contains("still to arrive"), "{report}");
    // 690 cycles each: five have arrived, and the sixth is on its way.
    let report = reported(&["--uart-input-after", "1ms", "--until", "12000c"]);
    assert_reported(
        &report,
        &[
            "(overrun): they are lost (4 times)",
            "bytes for USART1 were still to arrive when the run ended, of 12 in all",
        ],
    );
    // Without a limit the board waits for what is still to be sent.
    assert_reported(&reported(&["--uart-input-after", "50ms"]), &["they are lost (11 times)"]);
}

#[test]
fn a_window_that_never_opens_is_reported() {
    let ran = strobe(&["run", &prebuilt("loop-0ws"), "--from", "0x08000f00"]);
    assert_eq!(ran.code, 122, "{}", ran.stderr);
    assert_reported(&ran.stdout, &["--from 0x08000f00 was never reached, so nothing was measured"]);
}

/// A run would go on to its limit and find that it was never there.
#[test]
fn a_variable_is_no_place() {
    let firmware = prebuilt("pairs-inlined");
    for option in ["--until", "--mark", "--from"] {
        let ran = strobe(&["run", &firmware, option, "samples"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (64, ""), "{option}: {}", ran.stderr);
        let text = "samples is a variable, at 0x2000";
        assert!(ran.stderr.contains(text), "{option}: {}", ran.stderr);
    }
}

#[test]
fn unreached_name_has_a_distinct_exit_code() {
    let report = strobe(&["run", &prebuilt("loop-0ws"), "--until", "set_mode", "--quiet"]);
    assert_eq!(report.code, 64, "an inlined function has no place of its own: {}", report.stderr);
    let report = strobe(&["run", &prebuilt("pairs-inlined"), "--until", "scale"]);
    assert_eq!((report.code, report.stdout.as_str()), (64, ""), "{}", report.stderr);
    let inlined = "no symbol \"scale\" in the firmware: it was inlined everywhere, into work";
    assert!(report.stderr.contains(inlined), "{}", report.stderr);
    let report = strobe(&["run", &prebuilt("loop-0ws"), "--until", "exit"]);
    assert_eq!(report.code, 122, "{}", report.stderr);
    assert!(report.stdout.contains("balance: "));
}
