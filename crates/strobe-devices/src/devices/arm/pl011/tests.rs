//! The PL011, register by register (DDI 0183 3.3).

use super::*;
use crate::rig::{Rig, apb_device};
use strobe_sim::kernel::device::DeviceId;

const BASE: u32 = 0x4000_c000;
/// Core cycles of a frame of ten bits with the divisor that [`rig`] sets: 2.5.
const FRAME: u64 = 400;

fn bare(options: &str) -> Rig {
    let uart = apb_device(("UART0", "arm-pl011"), BASE, &[5], options);
    Rig::new(&uart.replace("size = 0x400\n", "size = 0x1000\n"))
}

/// 8N1 with FIFOs.
fn rig() -> Rig {
    let mut rig = bare("");
    rig.write32(BASE + IBRD, 2);
    rig.write32(BASE + FBRD, 32);
    rig.write32(BASE + LCRH, 0x70);
    rig.write32(BASE + CR, 0x301);
    rig
}

fn sent(rig: &Rig) -> Vec<(u64, u16)> {
    let frames = rig.bus.outputs.frames.iter().filter(|f| f.direction == Direction::Transmit);
    frames.map(|f| (f.cycle, f.value)).collect()
}

#[test]
fn reset_values() {
    let mut rig = bare("identity = [0, 0, 0, 0, 0x11, 0, 0x18, 1, 0x0d, 0xf0, 0x05, 0xb1]");
    for (register, value) in [(CR, 0x300), (IFLS, 0x12), (FR, 0x90), (RIS, 0), (0xfe0, 0x11)] {
        assert_eq!(rig.read32(BASE + register), value, "register {register:#x}");
    }
}

#[test]
fn frames_leave_one_after_the_other() {
    let mut rig = rig();
    rig.write32(BASE + DR, u32::from(b'a'));
    rig.write32(BASE + DR, u32::from(b'b'));
    assert_eq!(rig.read32(BASE + FR), fr::BUSY | fr::RX_EMPTY);
    rig.advance(2 * FRAME);
    assert_eq!(sent(&rig), [(FRAME, b'a'.into()), (2 * FRAME, b'b'.into())]);
    assert_eq!(rig.read32(BASE + FR), fr::TX_EMPTY | fr::RX_EMPTY);
}

#[test]
fn length_parity_and_stop_bits_take_time() {
    let mut rig = rig();
    // Seven bits, parity, two stop bits: eleven in all.
    rig.write32(BASE + LCRH, 0b0101_1010);
    rig.write32(BASE + DR, 1);
    rig.advance(1_000);
    assert_eq!(sent(&rig), [(440, 1)]);
}

#[test]
fn the_fifo_fills_and_its_interrupt_comes_at_half() {
    let mut rig = rig();
    rig.write32(BASE + IMSC, interrupt::TX);
    (0..17).for_each(|i| rig.write32(BASE + DR, i));
    assert!(rig.read32(BASE + FR) & fr::TX_FULL != 0 && !rig.irq(5));
    assert_eq!(rig.run_to_irq(5, 100_000), Some(8 * FRAME), "eight have followed the first");
    rig.write32(BASE + ICR, interrupt::TX);
    assert!(!rig.irq(5));
    rig.advance(100_000);
    assert_eq!(sent(&rig).len(), 17);
}

#[test]
fn without_fifos_one_byte_waits() {
    let mut rig = rig();
    rig.write32(BASE + LCRH, 0x60);
    rig.write32(BASE + IMSC, interrupt::TX);
    (0..3).for_each(|i| rig.write32(BASE + DR, i));
    rig.advance(10 * FRAME);
    assert_eq!(sent(&rig).len(), 2);
    assert!(rig.irq(5));
    assert!(rig.warnings().contains("FIFO was full: it is lost"), "{}", rig.warnings());
}

#[test]
fn switched_off_it_keeps_what_it_is_given() {
    let mut rig = rig();
    rig.write32(BASE + CR, 0x300);
    rig.write32(BASE + DR, 7);
    rig.advance(10 * FRAME);
    assert_eq!(sent(&rig), []);
    rig.write32(BASE + CR, 0x301);
    rig.advance(FRAME);
    assert_eq!(sent(&rig).len(), 1);
}

#[test]
fn a_forgiving_one_sends_everything() {
    let mut rig = bare("forgiving = true");
    (0..100).for_each(|i| rig.write32(BASE + DR, i));
    rig.advance(1_000_000);
    assert_eq!(sent(&rig).len(), 100);
    assert!(rig.warnings().contains("switched off: the hardware would lose it"));
}

#[test]
fn the_level_and_the_timeout_report_received_bytes() {
    let mut rig = rig();
    rig.write32(BASE + IMSC, interrupt::RX | interrupt::TIMEOUT);
    (0..9).for_each(|i| rig.bus.host_byte(DeviceId(0), b'0' + i));
    assert_eq!(rig.run_to_irq(5, 100_000), Some(8 * FRAME));
    assert_eq!(rig.read32(BASE + MIS), interrupt::RX);
    assert_eq!(rig.read32(BASE + DR), u32::from(b'0'));
    assert!(!rig.irq(5), "below the level");
    // 32 bit times after the last byte.
    assert_eq!(rig.run_to_irq(5, 100_000), Some(9 * FRAME));
    let rest: Vec<u32> = (0..8).map(|_| rig.read32(BASE + DR)).collect();
    assert_eq!(rest, (b'1'..=b'8').map(u32::from).collect::<Vec<_>>());
    assert!(!rig.irq(5));
    assert_eq!(rig.read32(BASE + FR) & fr::RX_EMPTY, fr::RX_EMPTY);
    rig.bus.host_byte(DeviceId(0), b'x');
    rig.advance(FRAME);
    assert!(!rig.irq(5));
    rig.advance(32 * 40);
    assert_eq!(rig.read32(BASE + MIS), interrupt::TIMEOUT);
}

#[test]
fn an_overrun_marks_the_next_byte() {
    let mut rig = rig();
    rig.write32(BASE + LCRH, 0x60);
    rig.bus.host_byte(DeviceId(0), b'a');
    rig.bus.host_byte(DeviceId(0), b'b');
    rig.advance(2 * FRAME);
    assert_eq!(rig.read32(BASE + RIS) & interrupt::OVERRUN, interrupt::OVERRUN);
    assert_eq!(rig.read32(BASE + DR), u32::from(b'a'));
    rig.bus.host_byte(DeviceId(0), b'c');
    rig.advance(FRAME);
    assert_eq!(rig.read32(BASE + DR), u32::from(b'c') | 1 << 11);
    assert_eq!(rig.read32(BASE + RSR), 8);
    rig.write32(BASE + RSR, 0);
    assert_eq!(rig.read32(BASE + RSR), 0);
}

#[test]
fn looped_back_nothing_leaves() {
    let mut rig = rig();
    rig.write32(BASE + CR, 0x381);
    rig.write32(BASE + DR, u32::from(b'q'));
    rig.advance(FRAME);
    assert_eq!((sent(&rig).len(), rig.read32(BASE + DR)), (0, u32::from(b'q')));
}
