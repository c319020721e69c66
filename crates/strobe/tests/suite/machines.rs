//! Boards that are also machines of QEMU: the same ELF prints the same on the serial port.
//!
//! What the programs must print is beside their sources; `cargo xtask firmware --qemu` sees to it
//! that QEMU prints it.

use std::fs;

use strobe_model::measurement::Measurement;

use crate::common::figures::*;
use crate::common::{prebuilt, root};

/// Runs a program on a board to its exit; returns what UART0 sent, and the measurement.
fn serial(program: &str, board: &str) -> (String, Measurement) {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log.txt");
    let port = format!("UART0=file:{}", log.display());
    let (code, ran) = run(&[&prebuilt(program), "--board", board, "--uart", &port]);
    assert_eq!(code, 0, "{program}: {:?}", ran.findings);
    assert_eq!(ended(&ran), "exit", "{program}");
    (fs::read_to_string(log).unwrap(), ran)
}

fn expected(program: &str) -> String {
    fs::read_to_string(root().join("firmware").join(program).join("expected.txt")).unwrap()
}

#[test]
fn tours_print_what_they_print_in_qemu() {
    for (program, board) in [("tour-mps2", "mps2-an385"), ("tour-lm3s6965", "lm3s6965evb")] {
        let (text, ran) = serial(program, board);
        assert_eq!(text, expected(program), "{program} on {board}");
        assert!(ran.section("unmodelled").is_none(), "{program} touches what the board lacks");
        let warnings = warnings(&ran).concat();
        assert!(!warnings.contains("UART"), "{warnings}");
    }
}

/// The same program on the board's variant with a Cortex-M4: only the image's number differs.
#[test]
fn the_cortex_m4_variant_runs_the_same_program() {
    let (text, ran) = serial("tour-mps2", "mps2-an386");
    assert_eq!(text, expected("tour-mps2").replace("AN385", "AN386"));
    assert_eq!(core(&ran), Some("Cortex-M4F"));
}

/// A chip would print little of this or nothing; an emulator prints it, so we do, and report it.
#[test]
fn careless_programs_print_too_and_are_reported() {
    for (program, board) in [("careless-mps2", "mps2-an385"), ("careless-lm3s6965", "lm3s6965evb")]
    {
        let (text, ran) = serial(program, board);
        assert_eq!(text, expected("careless"), "{program}");
        let warnings = warnings(&ran).concat();
        assert!(warnings.contains("the hardware would lose it"), "{warnings}");
    }
    let (_, ran) = serial("careless-lm3s6965", "lm3s6965evb");
    let warnings = warnings(&ran).concat();
    assert!(warnings.contains("it answers all the same, the chip would not"), "{warnings}");
    assert!(warnings.contains("SYSCTL_RCGC1.UART0"), "{warnings}");
}

/// 50 MHz from the PLL, after the internal oscillator and the crystal.
#[test]
fn the_clock_of_the_evaluation_board_is_followed() {
    let (_, ran) = serial("tour-lm3s6965", "lm3s6965evb");
    let hz = hertz(&ran);
    assert_eq!((hz.first(), hz.last()), (Some(&12_000_000), Some(&50_000_000)), "{hz:?}");
}
