//! The timer module, mode by mode (LM3S6965 data sheet, 9.3).

use super::*;
use crate::rig::{Rig, apb_device};

const BASE: u32 = 0x4003_0000;

fn rig() -> Rig {
    Rig::new(&apb_device(("TIMER0", "stellaris-gptm"), BASE, &[19, 20], ""))
}

#[test]
fn periodic_with_32_bits() {
    let mut rig = rig();
    rig.write32(BASE + TAMR, 2);
    rig.write32(BASE + TAILR, 0x1_ffff);
    rig.write32(BASE + IMR, 1);
    rig.write32(BASE + CTL, 1);
    assert_eq!(rig.run_to_irq(19, u64::MAX), Some(0x1_ffff));
    rig.write32(BASE + ICR, 1);
    assert!(!rig.irq(19));
    assert_eq!(rig.run_to_irq(19, u64::MAX), Some(0x3_ffff));
    assert_eq!(rig.read32(BASE + TAR), 0);
}

#[test]
fn one_shot_switches_itself_off() {
    let mut rig = rig();
    rig.write32(BASE + TAMR, 1);
    rig.write32(BASE + TAILR, 99);
    rig.write32(BASE + CTL, 1);
    rig.advance(1_000);
    assert_eq!((rig.read32(BASE + RIS), rig.read32(BASE + CTL)), (1, 0));
    assert_eq!(rig.read32(BASE + TAR), 99, "ready for the next shot");
    rig.write32(BASE + ICR, 1);
    rig.advance(1_000);
    assert_eq!(rig.read32(BASE + RIS), 0);
}

#[test]
fn two_timers_of_16_bits_with_prescalers() {
    let mut rig = rig();
    rig.write32(BASE + CFG, 4);
    rig.write32(BASE + TAMR, 2);
    rig.write32(BASE + TBMR, 2);
    rig.write32(BASE + TAILR, 0xabcd_0063);
    rig.write32(BASE + TBILR, 9);
    rig.write32(BASE + TBPR, 1);
    rig.write32(BASE + IMR, 0x101);
    rig.write32(BASE + CTL, 0x101);
    assert_eq!(rig.run_to_irq(20, 1_000), Some(18), "9 steps of 2 cycles");
    assert_eq!(rig.run_to_irq(19, 1_000), Some(0x63));
    assert_eq!(rig.read32(BASE + MIS), 0x101);
    assert_eq!(rig.read32(BASE + TAILR), 0x63);
}

/// The rig runs at 8 MHz.
#[test]
fn the_real_time_counter_counts_seconds() {
    let mut rig = rig();
    rig.write32(BASE + CFG, 1);
    rig.write32(BASE + TAMATCHR, 3);
    rig.write32(BASE + TAILR, 0);
    rig.write32(BASE + IMR, RTC_MATCH);
    rig.write32(BASE + CTL, 1);
    rig.advance(8_000_000 * 2);
    assert_eq!(rig.read32(BASE + TAR), 2);
    assert_eq!(rig.run_to_irq(19, u64::MAX), Some(8_000_000 * 3));
    rig.write32(BASE + ICR, RTC_MATCH);
    rig.advance(8_000_000);
    assert_eq!((rig.read32(BASE + TAR), rig.irq(19)), (0, false));
}

#[test]
fn capture_and_pwm_are_reported() {
    let mut rig = rig();
    rig.write32(BASE + CFG, 4);
    rig.write32(BASE + TAMR, 0xa);
    rig.write32(BASE + CTL, 1);
    assert!(rig.warnings().contains("not modelled"));
    rig.advance(1_000_000);
    assert_eq!(rig.read32(BASE + RIS), 0);
}

#[test]
fn shift_keeps_period_and_timeouts_while_pending_are_lost() {
    let mut rig = rig();
    let timer = rig.bus.device_named("TIMER0").expect("the rig has one");
    rig.write32(BASE + TAMR, 2);
    rig.write32(BASE + TAILR, 99);
    rig.write32(BASE + IMR, 1);
    assert_eq!(rig.bus.shift_timer(timer, 1, 2), Shift::Idle, "it stands");
    rig.write32(BASE + CTL, 1);
    rig.run_to(19);
    assert_eq!(rig.bus.shift_timer(timer, 1, 2), Shift::Earlier(40));
    assert_eq!(rig.run_to_irq(19, 1_000), Some(59));
    rig.run_to(400);
    rig.bus.catch_up_timers();
    assert_eq!(rig.bus.lost_requests(19), 3, "at 159, 259 and 359");
    rig.write32(BASE + TAMR, 1);
    assert_eq!(rig.bus.shift_timer(timer, 1, 2), Shift::Unfit("it counts one period only"));
}
