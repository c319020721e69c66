//! Programs for AVR parts, from the ELF file to the report.

mod common;

use common::*;

/// 1022 cycles from edge to edge: 63.875 us at 16 MHz, where a logic analyser saw 63.88.
#[test]
fn the_founding_loop_on_an_arduino_uno() {
    let (code, record) = record(&[&prebuilt("loop-avr"), "--mark", "PD1"]);
    assert_eq!(code, 0);
    assert_eq!(record["subject"]["board"], "arduino-uno", "chosen by itself");
    assert_eq!(record["subject"]["core"], "AVRe+");
    assert_eq!(widths(&record, "PD1 high"), [1022; 20]);
    assert_eq!(record["trust"]["kind"], "exact");
    assert_eq!(record["window"]["end_reason"]["kind"], "sleeps-forever");
}

#[test]
fn a_profile_has_avr_libcs_functions_and_balances() {
    for (program, board) in [("work-avr", "arduino-uno"), ("work-avr-2560", "arduino-mega")] {
        let (code, record) = record(&[&prebuilt(program), "--board", board]);
        assert_eq!(code, 0, "{program}");
        let functions = array(&record["profile"]["functions"]);
        for name in ["sorts", "qsort", "sqrt", "__udivmodsi4", "vfprintf"] {
            assert!(functions.iter().any(|f| f["name"] == name), "{program}: no {name}");
        }
    }
}

#[test]
fn instructions_are_annotated() {
    let ran = strobe(&["run", &prebuilt("loop-avr"), "--annotate", "pulse"]);
    assert!(ran.stdout.contains("subi r24, 0x01"), "{}", ran.stdout);
}
