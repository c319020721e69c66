//! The port, mode by mode (RM0008 9.1 and 9.2).

use super::*;
use crate::rig::{Rig, apb_device};

const BASE: u32 = 0x4001_0800;

/// A port with a serial port that can be moved from PA9 and PA10 to PA11 and PA12, and a timer on
/// PA9.
fn rig() -> Rig {
    let options = "port = 'A'\npins = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]\n\
         [device.options.alternate]\n9 = ['USART1_TX unless REMAP', 'TIM1_CH2']\n\
         10 = ['<USART1_RX unless REMAP']\n11 = ['USART1_TX when REMAP']\n\
         12 = ['<USART1_RX when REMAP']";
    let mut rig = Rig::new(
        &(apb_device(("GPIOA", "stm32f1-gpio"), BASE, &[], options)
            + &apb_device(("USART1", "unmodelled"), 0x4001_3800, &[], "")
            + &apb_device(("TIM1", "unmodelled"), 0x4001_2c00, &[], "")),
    );
    rig.set("USART1_TX", true);
    rig
}

fn configure(rig: &mut Rig, pin: u32, field: u32) {
    let register = BASE + if pin < 8 { CRL } else { CRH };
    let shift = 4 * (pin % 8);
    let old = rig.read32(register);
    rig.write32(register, old & !(0xf << shift) | field << shift);
}

#[test]
fn outputs_and_their_set_and_reset_registers() {
    let mut rig = rig();
    configure(&mut rig, 3, 0b0011);
    rig.write32(BASE + BSRR, 1 << 3);
    assert!(rig.level("PA3"));
    assert_eq!(rig.read32(BASE + IDR), 1 << 3);
    rig.write32(BASE + BRR, 1 << 3);
    assert!(!rig.level("PA3"));
    rig.write32(BASE + BSRR, 1 << 3 | 1 << 19);
    assert!(rig.level("PA3"), "set wins");
}

#[test]
fn inputs_are_pulled_by_the_output_register_or_driven() {
    let mut rig = rig();
    configure(&mut rig, 5, 0b1000);
    assert_eq!(rig.read32(BASE + IDR), 0);
    rig.write32(BASE + ODR, 1 << 5);
    assert_eq!(rig.read32(BASE + IDR), 1 << 5);
    rig.drive("PA5", Some(false));
    assert_eq!(rig.read32(BASE + IDR), 0);
    rig.drive("PA6", Some(true));
    assert_eq!(rig.read32(BASE + IDR), 1 << 6);
    configure(&mut rig, 6, 0);
    assert_eq!(rig.read32(BASE + IDR), 0, "analog");
}

#[test]
fn an_open_drain_output_lets_go() {
    let mut rig = rig();
    configure(&mut rig, 2, 0b0111);
    assert!(!rig.level("PA2"));
    rig.write32(BASE + ODR, 1 << 2);
    assert!(rig.level("PA2"));
    rig.drive("PA2", Some(false));
    assert!(!rig.level("PA2"));
}

#[test]
fn alternate_functions_follow_the_remap_bits() {
    let mut rig = rig();
    configure(&mut rig, 9, 0b1011);
    configure(&mut rig, 11, 0b1011);
    assert!(rig.level("PA9"));
    rig.set("USART1_TX", false);
    assert!(!rig.level("PA9"));
    rig.set("REMAP", true);
    rig.set("USART1_TX", true);
    assert!(rig.level("PA11"));
    assert!(!rig.level("PA9"), "the timer has it now, which is low");
    rig.set("TIM1_CH2", true);
    assert!(rig.level("PA9"));
}

#[test]
fn inputs_feed_their_peripheral() {
    let mut rig = rig();
    assert!(rig.level("USART1_RX"), "an open line is idle");
    rig.drive("PA10", Some(false));
    assert!(!rig.level("USART1_RX"));
    rig.set("REMAP", true);
    rig.drive("PA12", Some(true));
    assert!(rig.level("USART1_RX"));
}

#[test]
fn a_locked_pin_keeps_its_mode() {
    let mut rig = rig();
    configure(&mut rig, 1, 0b0010);
    for value in [LOCK_KEY | 2, 2, LOCK_KEY | 2] {
        rig.write32(BASE + LCKR, value);
    }
    assert_eq!(rig.read32(BASE + LCKR), LOCK_KEY | 2);
    configure(&mut rig, 1, 0b0100);
    configure(&mut rig, 0, 0b0011);
    assert_eq!(rig.read32(BASE + CRL), 0x4444_4423);
}

#[test]
fn pins_that_are_not_there_are_reported() {
    let mut rig = rig();
    configure(&mut rig, 15, 0b0011);
    assert!(rig.warnings().contains("PA15"));
}
