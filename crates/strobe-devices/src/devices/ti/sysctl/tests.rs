//! System control, register by register (LM3S6965 data sheet, 5.4).

use super::*;
use crate::rig::{Rig, apb_device};

const BASE: u32 = 0x400f_e000;

fn rig() -> Rig {
    let options = "did = [0x1001_0002, 0x1073_402e]\n\
         dc = [0x00ff_007f, 0x0011_33ff, 0x030f_5317, 0x0f0f_87ff, 0x5000_007f]\n\
         gates_reset = [0x40, 0, 0]\ncrystal_hz = 8_000_000\nmax_hz = 50_000_000\n\
         pll_lock_us = 500";
    let sysctl = apb_device(("SYSCTL", "stellaris-sysctl"), BASE, &[28], options);
    let gated = apb_device(("TIMER0", "cmsdk-timer"), 0x4003_0000, &[19], "").replace(
        "[device.options]",
        "gate = { register = 0x104, bit = 16 }\n\
         reset = { register = 0x44, bit = 16 }\n[device.options]",
    );
    Rig::new(&(sysctl.replace("size = 0x400\n", "size = 0x1000\n") + &gated))
}

#[test]
fn reset_values() {
    let mut rig = rig();
    for (register, value) in [
        (DID0, 0x1001_0002),
        (DC1, 0x0011_33ff),
        (DC4, 0x5000_007f),
        (RIS, 0),
        (RESC, RESC_POR),
        (RCGC.start, 0x40),
        (RCC2, 0x0780_2800),
    ] {
        assert_eq!(rig.read32(BASE + register), value, "register {register:#x}");
    }
    assert_eq!(rig.bus.clocks.core_hz(), 12_000_000);
}

/// What SysCtlClockSet of the vendor's library does.
#[test]
fn the_pll_locks_and_takes_over() {
    let mut rig = rig();
    // On the crystal of 8 MHz, bypassed; then the PLL is powered with its divider.
    rig.write32(BASE + RCC, 0x078e_3ad1 & !0x3f0 | 0xe << 6 | 1 << 11 | 1 << 13);
    assert_eq!(rig.bus.clocks.core_hz(), 8_000_000);
    rig.write32(BASE + MISC, PLL_LOCKED);
    rig.write32(BASE + IMC, PLL_LOCKED);
    let rcc = 3 << 23 | 1 << 22 | 0xe << 6 | 1 << 11;
    rig.write32(BASE + RCC, rcc);
    assert_eq!(rig.read32(BASE + RIS) & PLL_LOCKED, 0);
    let from = rig.bus.now;
    assert_eq!(rig.run_to_irq(28, u64::MAX), Some(from + 500 * 8 / 4), "8 MHz divided by 4");
    rig.write32(BASE + RCC, rcc & !(1 << 11));
    assert_eq!(rig.bus.clocks.core_hz(), 50_000_000);
    assert_eq!(rig.warnings(), "");
    rig.write32(BASE + MISC, PLL_LOCKED);
    assert!(!rig.irq(28));
}

#[test]
fn the_pll_needs_power_and_the_right_crystal() {
    let mut rig = rig();
    // 6 MHz by XTAL; still powered down.
    rig.write32(BASE + RCC, 3 << 23 | 1 << 22 | 0xb << 6 | 1 << 13);
    rig.advance(100_000);
    assert_eq!(rig.bus.clocks.core_hz(), 2_000_000, "the crystal by 4");
    assert!(rig.warnings().contains("XTAL selects 6,000,000 Hz"), "{}", rig.warnings());
    assert!(rig.warnings().contains("while it is off"), "{}", rig.warnings());
}

#[test]
fn gates_and_resets_reach_their_devices() {
    let mut rig = rig();
    let reload = 0x4003_0008;
    rig.write32(reload, 5);
    assert_eq!(rig.read32(reload), 0);
    rig.write32(BASE + RCGC.start + 4, 1 << 16);
    rig.write32(reload, 5);
    assert_eq!(rig.read32(reload), 5);
    rig.write32(BASE + SRCR.start + 4, 1 << 16);
    rig.write32(BASE + SRCR.start + 4, 0);
    assert_eq!(rig.read32(reload), 0);
}

#[test]
fn a_reset_leaves_its_cause() {
    let mut rig = rig();
    rig.write32(BASE + RESC, 0);
    rig.bus.requests.reset = Some(ResetCause::Watchdog);
    rig.bus.reset();
    assert_eq!(rig.read32(BASE + RESC), RESC_WDT);
}
