//! Errors of the founding documents that simulated boards and plans find (docs/founding.md): each
//! is a test by its number.

use crate::common::figures::*;
use crate::common::{prebuilt, recorded, strobe};

/// "About 10 MHz" of samples is 10.25 kHz, and the link carries a fifth of it.
#[test]
fn e3_ten_megahertz_of_samples_are_ten_kilohertz() {
    let plan = recorded::recorded(&[
        "plan",
        "--clock=168MHz",
        "--baud=115200",
        "--period=16384",
        "--target=stm32f4",
        "--insist",
    ]);
    let (required, available) =
        (recorded::figure(&plan, "required"), recorded::figure(&plan, "available"));
    // Five bytes for each of 10,254 samples, beside what synchronises.
    assert_eq!(required / 5, 10_266);
    assert_eq!(required * 10 / available, 44, "4.4 times as much as the link carries");
}

/// The model of 1,023 cycles counted whole functions; pins change 1,022 cycles apart.
#[test]
fn e9_avr_loop_is_1022_cycles_between_pins() {
    let (code, ran) = run(&[&prebuilt("loop-avr"), "--mark", "PD1"]);
    assert_eq!(code, 0);
    assert_eq!(widths(&ran, "PD1 high"), [1022; 20]);
    assert!((1022.0_f64 / 16.0 - 63.88).abs() < 0.01, "microseconds, as the analyser said");
}

/// One cycle for each taken branch leaves 124 of the measured 2,169 cycles unexplained; the bounds
/// of the simulated board hold them.
#[test]
fn e10_one_branch_cycle_does_not_explain_the_loop() {
    let measured = 2169;
    let pulses = |program: &str| {
        let (code, ran) = run(&[&prebuilt(program), "--mark", "PB8"]);
        assert_eq!(code, 0);
        (widths(&ran, "PB8 high")[0], bounds(&ran, "PB8 high").first().copied())
    };
    let (plain, bounds) = pulses("loop-0ws");
    assert_eq!((plain, bounds), (1790, None));
    assert_eq!(measured - (plain + 255), 124);
    let (_, bounds) = pulses("loop-48mhz");
    let (low, high) = bounds.expect("a wait state is not known to the cycle");
    assert!(low <= measured && measured <= high, "{low} to {high}");
}

/// Counted by hand: 63 cycles for two outputs. A load through X takes two cycles, and there are
/// four of them.
#[test]
fn the_cubes_63_cycles_are_67() {
    let program = prebuilt("cube");
    let ran = strobe(&["cycles", &program, "shift_out"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("67"), "{}", ran.stdout);
    let (_, ran) = run(&[&program, "--board", "arduino-uno", "--until", "3ms", "--mark", "pair"]);
    let pairs = widths(&ran, "pair to pair");
    assert!(pairs.iter().filter(|cycles| **cycles == 67).count() >= 63, "{pairs:?}");
    assert!(!pairs.contains(&63), "{pairs:?}");
}
