//! Port behaviour, register by register (RM0360 8.3 and 8.4).

use super::*;
use crate::rig::Rig;

const BASE: u32 = 0x4800_0000;

fn rig() -> Rig {
    Rig::new(
        "[[device]]\nname = 'GPIOA'\nmodel = 'stm32-gpio'\nbase = 0x4800_0000\nsize = 0x400\n\
         bus = 'ahb'\n[device.options]\nport = 'A'\npins = [0, 1, 2, 3, 9, 10, 13, 14]\n\
         moder = 0x2800_0000\npupdr = 0x2400_0000\n\
         alternate = { 9 = ['', 'USART1_TX'], 10 = ['', '<USART1_RX'], 2 = ['USART1_TX'] }",
    )
}

#[test]
fn outputs_follow_the_set_and_reset_register() {
    let mut rig = rig();
    rig.write32(BASE + MODER, 0b01_01);
    rig.write32(BASE + BSRR, 0b11);
    assert!(rig.level("PA0") && rig.level("PA1"));
    rig.write32(BASE + BSRR, 1 << 16 | 1 << 17 | 1 << 1);
    assert_eq!((rig.level("PA0"), rig.level("PA1")), (false, true), "set wins");
    rig.write32(BASE + BRR, 0b10);
    assert_eq!(rig.read32(BASE + ODR), 0);
    rig.write(BASE + BSRR, Size::Byte, 1);
    rig.write(BASE + ODR, Size::Half, 2);
    assert_eq!((rig.level("PA0"), rig.level("PA1")), (false, true));
    rig.write(BASE + BSRR + 2, Size::Half, 2);
    assert!(!rig.level("PA1"));
}

/// RM0090 8.4.11: ports of the STM32F4 end with AFRH.
#[test]
fn not_every_port_has_a_bit_reset_register() {
    let mut rig = Rig::new(
        "[[device]]\nname = 'GPIOA'\nmodel = 'stm32-gpio'\nbase = 0x4800_0000\nsize = 0x400\n\
         bus = 'ahb'\n[device.options]\nport = 'A'\npins = [0]\nbrr = false",
    );
    rig.write32(BASE + BSRR, 1);
    rig.write32(BASE + BRR, 1);
    assert_eq!((rig.read32(BASE + ODR), rig.bus.unmodelled.touched().count()), (1, 1));
}

#[test]
fn edges_carry_their_cycle() {
    let mut rig = rig();
    rig.bus.outputs.record_edges = true;
    rig.write32(BASE + MODER, 1);
    rig.advance(100);
    rig.write32(BASE + BSRR, 1);
    rig.write32(BASE + BSRR, 1);
    rig.advance(7);
    rig.write32(BASE + BRR, 1);
    let pa0 = rig.bus.signals.find("PA0").unwrap();
    let edges: Vec<_> =
        rig.bus.outputs.edges.iter().filter(|e| e.pin == pa0).map(|e| e.cycle).collect();
    assert_eq!(edges, [100, 107]);
}

#[test]
fn inputs_see_the_world_then_the_pull_resistor() {
    let mut rig = rig();
    assert_eq!(rig.read32(BASE + IDR) & 1, 0);
    rig.write32(BASE + PUPDR, 0b01);
    assert_eq!(rig.read32(BASE + IDR) & 1, 1);
    rig.drive("PA0", Some(false));
    assert_eq!(rig.read(BASE + IDR, Size::Half) & 1, 0);
    rig.drive("PA0", None);
    assert_eq!(rig.read(BASE + IDR, Size::Byte) & 1, 1);
    // 8.3.12: analog pins read zero and have no pull resistor.
    rig.write32(BASE + MODER, 0b11);
    assert_eq!((rig.read32(BASE + IDR) & 1, rig.level("PA0")), (0, false));
}

#[test]
fn open_drain_only_pulls_down() {
    let mut rig = rig();
    rig.write32(BASE + OTYPER, 1);
    rig.write32(BASE + MODER, 1);
    assert!(!rig.level("PA0"));
    rig.write32(BASE + BSRR, 1);
    assert!(rig.level("PA0"), "pulled up on the circuit board");
    rig.drive("PA0", Some(false));
    assert_eq!(rig.read32(BASE + IDR) & 1, 0, "another chip holds it low");
    // A push-pull output wins over what is outside.
    rig.write32(BASE + OTYPER, 0);
    assert!(rig.level("PA0"));
}

#[test]
fn alternate_functions_join_pins_and_peripherals() {
    let mut rig = rig();
    assert!(rig.level("USART1_RX"), "idle while no pin is routed");
    rig.write32(BASE + AFRH, 1 << 4 | 1 << 8);
    rig.set("USART1_TX", true);
    assert!(!rig.level("PA9"));
    rig.set_bits(BASE + MODER, 0b10 << 18 | 0b10 << 20);
    assert!(rig.level("PA9"));
    assert!(rig.level("USART1_RX"), "nothing is connected");
    rig.drive("PA10", Some(false));
    assert!(!rig.level("USART1_RX"));
    rig.set("USART1_TX", false);
    assert!(!rig.level("PA9") && !rig.level("PA2"));
    rig.drive("PA10", Some(true));
    assert!(rig.level("USART1_RX"));
    rig.write32(BASE + AFRH, 0);
    rig.set("USART1_TX", true);
    assert!(!rig.level("PA9"), "another function is selected");
}

#[test]
fn reset_leaves_the_debug_pins_alternate() {
    let mut rig = rig();
    assert_eq!(rig.read32(BASE + MODER), 0x2800_0000);
    rig.write32(BASE + MODER, 0);
    rig.bus.reset();
    assert_eq!(rig.read32(BASE + MODER), 0x2800_0000);
    assert!(rig.level("PA13") && !rig.level("PA14"), "SWDIO is pulled up, SWCLK down");
}

/// 8.4.8.
#[test]
fn the_lock_sequence_freezes_the_configuration() {
    let mut rig = rig();
    for value in [LOCK_KEY | 1, 1, LOCK_KEY | 1] {
        rig.write32(BASE + LCKR, value);
    }
    assert_eq!(rig.read32(BASE + LCKR), LOCK_KEY | 1);
    rig.write32(BASE + MODER, 0b0101);
    rig.write32(BASE + AFRL, 0x22);
    assert_eq!((rig.read32(BASE + MODER), rig.read32(BASE + AFRL)), (0b0100, 0x20));
    rig.write32(BASE + BSRR, 1);
    assert_eq!(rig.read32(BASE + ODR), 1, "data is not locked");
}

#[test]
fn a_broken_lock_sequence_locks_nothing() {
    let mut rig = rig();
    for value in [LOCK_KEY | 1, 3, LOCK_KEY | 1] {
        rig.write32(BASE + LCKR, value);
    }
    rig.write32(BASE + MODER, 1);
    assert_eq!(rig.read32(BASE + MODER), 1);
}

#[test]
fn a_pin_that_the_package_lacks_is_reported() {
    let mut rig = rig();
    rig.write32(BASE + MODER, 0b11 << 10);
    assert_eq!(rig.warnings(), "", "analog is how unused pins are set");
    rig.write32(BASE + MODER, 0b01 << 10);
    assert!(rig.warnings().contains("PA5 is used as an output, but this package has no such pin"));
}
