//! The PL022, register by register (DDI 0194 3.3).

use super::*;
use crate::rig::{Rig, apb_device};

const BASE: u32 = 0x4000_8000;
/// Core cycles of a bit with the prescaler that [`rig`] sets: 2 times 5.
const BIT: u64 = 10;

/// Frames of eight bits, first clock phase.
fn rig(options: &str) -> Rig {
    let port = apb_device(("SSI0", "arm-pl022"), BASE, &[7], options);
    let mut rig = Rig::new(&port.replace("size = 0x400\n", "size = 0x1000\n"));
    rig.write32(BASE + CPSR, 3);
    rig.write32(BASE + CR0, 0x0407);
    rig.write32(BASE + CR1, 1 << cr1::ENABLE);
    rig
}

fn sent(rig: &Rig) -> Vec<(u64, u16)> {
    rig.bus.outputs.frames.iter().map(|f| (f.cycle, f.value)).collect()
}

#[test]
fn reset_values() {
    let mut rig = rig("identity = [0, 0, 0, 0, 0x22, 0, 0x18, 1, 0x0d, 0xf0, 0x05, 0xb1]");
    let values = [(SR, 3), (CPSR, 2), (RIS, interrupt::TX), (MIS, 0), (IMSC, 0), (0xfe0, 0x22)];
    for (register, value) in values {
        assert_eq!(rig.read32(BASE + register), value, "register {register:#x}");
    }
}

#[test]
fn a_frame_takes_its_bits_and_the_select_pulse() {
    let mut rig = rig("");
    rig.write32(BASE + DR, 0x3a5);
    rig.write32(BASE + DR, 0x5a);
    assert_eq!(rig.read32(BASE + SR) & (sr::BUSY | sr::TX_EMPTY), sr::BUSY);
    rig.advance(18 * BIT);
    assert_eq!(sent(&rig), [(9 * BIT, 0xa5), (18 * BIT, 0x5a)], "eight bits of each word");
    rig.write32(BASE + CR0, 0x048f);
    rig.write32(BASE + DR, 0xbeef);
    rig.advance(100 * BIT);
    assert_eq!(sent(&rig)[2], (34 * BIT, 0xbeef), "sixteen bits, no pulse with the other phase");
}

#[test]
fn nobody_answers_but_the_resistor() {
    for (options, expected) in [("", 0), ("pull_up = true", 0xff)] {
        let mut rig = rig(options);
        rig.write32(BASE + DR, 0x12);
        assert_eq!(rig.read32(BASE + SR) & sr::RX_NOT_EMPTY, 0);
        rig.advance(9 * BIT);
        assert_ne!(rig.read32(BASE + SR) & sr::RX_NOT_EMPTY, 0);
        assert_eq!(rig.read32(BASE + DR), expected);
        assert_eq!(rig.read32(BASE + SR), sr::TX_EMPTY | sr::TX_NOT_FULL);
    }
}

#[test]
fn loopback_returns_what_was_sent_until_the_fifo_overruns() {
    let mut rig = rig("");
    rig.write32(BASE + CR1, 1 << cr1::ENABLE | 1 << cr1::LOOPBACK);
    rig.write32(BASE + IMSC, interrupt::RX | interrupt::OVERRUN);
    (0..8).for_each(|i| rig.write32(BASE + DR, i));
    assert_eq!(rig.run_to_irq(7, 10_000), Some(4 * 9 * BIT), "half full");
    rig.advance(4 * 9 * BIT);
    assert_eq!(rig.read32(BASE + SR) & sr::RX_FULL, sr::RX_FULL);
    rig.write32(BASE + DR, 8);
    rig.advance(9 * BIT);
    assert_eq!(rig.read32(BASE + MIS), interrupt::RX | interrupt::OVERRUN);
    rig.write32(BASE + ICR, u32::MAX);
    assert_eq!(
        (0..9).map(|_| rig.read32(BASE + DR)).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5, 6, 7, 0]
    );
    assert!(!rig.irq(7));
}

#[test]
fn unread_data_is_reported() {
    let mut rig = rig("");
    rig.write32(BASE + IMSC, interrupt::TIMEOUT);
    rig.write32(BASE + DR, 1);
    assert_eq!(rig.run_to_irq(7, 10_000), Some((9 + 32) * BIT));
    rig.read32(BASE + DR);
    assert!(!rig.irq(7), "reading all of it is enough");
}

#[test]
fn frame_waits_until_the_port_is_enabled_and_clocked() {
    let mut rig = rig("");
    rig.write32(BASE + CR1, 0);
    (0..9).for_each(|i| rig.write32(BASE + DR, i));
    assert!(rig.warnings().contains("FIFO was full: it is lost"), "{}", rig.warnings());
    rig.write32(BASE + CPSR, 0);
    rig.write32(BASE + CR1, 1 << cr1::ENABLE);
    rig.advance(1_000);
    assert_eq!(sent(&rig), []);
    rig.write32(BASE + CPSR, 2);
    rig.advance(9 * BIT);
    assert_eq!(sent(&rig).len(), 1);
}

#[test]
fn unmodelled_use_is_reported() {
    let mut rig = rig("");
    rig.write32(BASE + CR0, 0x27);
    rig.write32(BASE + CR1, 1 << cr1::SLAVE);
    rig.write32(BASE + DMACR, 3);
    for mode in ["Microwire format", "slave mode", "receiving by DMA", "sending by DMA"] {
        assert!(rig.warnings().contains(mode), "{mode}: {}", rig.warnings());
    }
}
