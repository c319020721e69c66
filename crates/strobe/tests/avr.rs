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

/// What handlers cost, counted by hand from the instruction set manual: 4 cycles in, 3 for the vector's JMP, GCC's 32 and
/// 35 of saving and restoring around a call, and the 13 of the work; 4 more to wake up from idle.
#[test]
fn three_peripherals_interrupt_at_their_own_pace() {
    let input = concat!(env!("CARGO_TARGET_TMPDIR"), "/peripherals-avr.bin");
    let bytes: Vec<u8> = (0..64).collect();
    std::fs::write(input, &bytes).unwrap();
    let program = prebuilt("peripherals-avr");
    let line = format!("USART0=file:{input}");
    let ran = strobe(&[
        "run",
        &program,
        "--uart-input",
        &line,
        "--mark",
        "PB0",
        "--board",
        "arduino-uno",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let row = |name: &str| -> Vec<String> {
        let line = ran.stdout.lines().find(|line| line.contains(name));
        line.unwrap_or_else(|| panic!("no {name}")).split_whitespace().map(str::to_owned).collect()
    };
    let received = row("USART_RX (USART0)");
    // Count, cycles, share and its sign, per entry.
    assert_eq!((received[0].as_str(), received[4].as_str()), ("64", "91"));
    assert_eq!(row("TIMER1_COMPA (TIMER1)")[0], "32");
    let (code, record) = record(&[&program, "--mark", "PB0", "--board", "arduino-uno"]);
    assert_eq!(code, 0);
    assert!(widths(&record, "PB0 high").iter().all(|&cycles| cycles == 8192));
}
