//! The controller as a driver sees it (LM3S6965 data sheet, sections 15.3 and 15.5).

use super::*;
use crate::rig::{Rig, apb_device};

const BASE: u32 = 0x4004_8000;

fn rig(options: &str) -> Rig {
    let device = apb_device(("ETHERNET", "stellaris-emac"), BASE, &[10], options);
    let mut rig = Rig::new(&device);
    rig.write32(BASE + IM, 0);
    rig
}

/// Everything on, with padding and check sequence, and a plug that returns frames.
fn started() -> Rig {
    let mut rig = rig("backend = 'loopback'");
    rig.write32(BASE + TCTL, 7);
    rig.write32(BASE + RCTL, 1 | rctl::AT_RESET);
    rig.write32(BASE + IA0, 0x0302_0100);
    rig.write32(BASE + IA1, 0x0504);
    rig
}

/// A frame to this address with that many bytes of payload, as firmware writes it.
fn write(rig: &mut Rig, destination: [u8; 6], payload: u16) -> Vec<u8> {
    let mut frame = destination.to_vec();
    frame.extend([2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    frame.extend((0..payload).map(|n| n as u8));
    let mut bytes = payload.to_le_bytes().to_vec();
    bytes.extend(&frame);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    for word in bytes.as_chunks::<4>().0 {
        rig.write32(BASE + DATA, u32::from_le_bytes(*word));
    }
    frame
}

/// The first frame in the FIFO with the length in front and its check sequence.
fn read(rig: &mut Rig) -> Vec<u8> {
    let first = rig.read32(BASE + DATA).to_le_bytes();
    let length = usize::from(u16::from_le_bytes([first[0], first[1]]));
    let mut bytes = first.to_vec();
    while bytes.len() < length {
        bytes.extend(rig.read32(BASE + DATA).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

const OWN: [u8; 6] = [0, 1, 2, 3, 4, 5];

#[test]
fn reset_values() {
    let mut rig = Rig::builtin("lm3s6965evb");
    let gates = 0x400f_e108;
    rig.set_bits(gates, 1 << 28);
    let values =
        [(RIS, 0), (IM, 0x7f), (RCTL, 8), (TCTL, 0), (THR, 0x3f), (MDV, 0x80), (NP, 0), (TR, 0)];
    for (register, value) in values {
        assert_eq!(rig.read32(BASE + register), value, "register {register:#x}");
    }
}

#[test]
fn a_frame_goes_round_at_the_wires_pace() {
    let mut rig = started();
    let mut frame = write(&mut rig, OWN, 86);
    rig.write32(BASE + IM, interrupt::RX);
    assert_eq!(rig.read32(BASE + TR), 0);
    rig.write32(BASE + TR, 1);
    assert_eq!(rig.read32(BASE + TR), 1);
    // 124 bytes with preamble, check sequence and gap at 100 Mbit/s; the core runs at 8 MHz.
    assert_eq!(rig.run_to_irq(10, 1_000), Some((124 * 8 * 8_u64).div_ceil(100)));
    assert_eq!(rig.read32(BASE + RIS), interrupt::RX | interrupt::TX_EMPTY);
    assert_eq!((rig.read32(BASE + TR), rig.read32(BASE + NP)), (0, 1));
    let got = read(&mut rig);
    assert_eq!(got[..2], 106_u16.to_le_bytes(), "with itself and the check sequence");
    frame.extend(frame_check(&frame));
    assert_eq!(got[2..], frame);
    assert_eq!((rig.read32(BASE + NP), rig.read32(BASE + DATA)), (0, 0));
    rig.write32(BASE + RIS, interrupt::RX);
    assert_eq!(rig.read32(BASE + RIS), interrupt::TX_EMPTY);
    assert!(!rig.irq(10));
}

#[test]
fn short_frames_are_padded_and_may_start_by_themselves() {
    let mut rig = started();
    rig.write32(BASE + THR, 0);
    write(&mut rig, [0xff; 6], 3);
    rig.advance(1_000);
    assert_eq!(read(&mut rig).len(), 2 + 60 + 4);
}

#[test]
fn the_filter_passes_what_is_asked_for() {
    let group = [1, 0, 0x5e, 0, 0, 1];
    for (control, expected) in [(1, [1, 0, 0]), (3, [1, 1, 0]), (5, [1, 1, 1]), (0, [0, 0, 0])] {
        let mut rig = started();
        rig.write32(BASE + RCTL, control);
        for (destination, expected) in [OWN, group, [0, 9, 9, 9, 9, 9]].into_iter().zip(expected) {
            write(&mut rig, destination, 46);
            rig.write32(BASE + TR, 1);
            rig.advance(1_000);
            assert_eq!(rig.read32(BASE + NP), expected, "{control:#x} {destination:x?}");
            rig.write32(BASE + RCTL, control | 1 << rctl::RESET_FIFO);
        }
    }
}

#[test]
fn unread_data_overruns_the_fifo() {
    let mut rig = started();
    for _ in 0..2 {
        write(&mut rig, OWN, 1_400);
        rig.write32(BASE + TR, 1);
        rig.advance(2_000);
    }
    assert_eq!(rig.read32(BASE + NP), 1);
    assert_ne!(rig.read32(BASE + RIS) & interrupt::OVERRUN, 0);
    for _ in 0..600 {
        rig.write32(BASE + DATA, 0xffff_ffff);
    }
    rig.write32(BASE + TR, 1);
    let warnings = rig.warnings();
    assert!(warnings.contains("the transmit FIFO was full"), "{warnings}");
    assert!(warnings.contains("before all of it was written"), "{warnings}");
}

#[test]
fn the_transceiver_answers_after_its_time() {
    let mut rig = rig("phy = { id = 0x000e_7237, negotiation_us = 1000 }");
    rig.write32(BASE + MDV, 1);
    rig.write32(BASE + IM, interrupt::MANAGEMENT);
    rig.write32(BASE + MCTL, 2 << 3 | 1);
    assert_eq!(rig.read32(BASE + MCTL) & 1, 1);
    assert_eq!(rig.run_to_irq(10, 10_000), Some(64 * 4));
    assert_eq!((rig.read32(BASE + MCTL) & 1, rig.read32(BASE + MRXD)), (0, 0x000e));
    rig.run_to(9_000);
    rig.write32(BASE + MCTL, 1 << 3 | 1);
    assert_eq!(rig.read32(BASE + MRXD) & 1 << 2, 1 << 2, "the link is up");
    rig.advance(300);
    rig.write32(BASE + MTXD, 0x2100);
    rig.write32(BASE + MCTL, 1 << mctl::WRITE | 1);
    rig.advance(300);
    rig.write32(BASE + MCTL, 1);
    assert_eq!(rig.read32(BASE + MRXD), 0x2100);
}
