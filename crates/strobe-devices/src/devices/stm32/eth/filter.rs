//! Which frames the MAC takes from the wire (RM0090 33.5.4), and how it describes them.

use super::checksum;
use super::registers::{MACA0HR, MACCR, MACFFR, MACHTHR, MACHTLR, Registers, maccr, macffr};
use crate::devices::common::ethernet::frame_check;
use crate::devices::common::register::bit;

/// Bits of a receive descriptor's status, without those of its place in the ring.
mod status {
    /// Payload checksum error, frame type, IP header checksum error: by threes they mean what
    /// 33.6.8 lists.
    pub(super) const PCE: u32 = 1 << 0;
    pub(super) const FT: u32 = 1 << 5;
    pub(super) const IPHCE: u32 = 1 << 7;
}

/// Longest payload that a length frame can announce and still be stripped (RM0090 33.6.2).
const LONGEST: u16 = 1500;
/// Type fields from here on are types; below they are lengths.
const FIRST_TYPE: u16 = 0x600;

/// Whether the filters let a frame pass.
pub(super) fn accepts(registers: &Registers, frame: &[u8]) -> bool {
    let filter = registers.get(MACFFR);
    let Some(destination) = frame.first_chunk::<6>() else { return false };
    if bit(filter, macffr::RA) || bit(filter, macffr::PM) {
        return true;
    }
    if *destination == [0xff; 6] {
        return !bit(filter, macffr::BFD);
    }
    let group = destination[0] & 1 != 0;
    if group && bit(filter, macffr::PAM) {
        return true;
    }
    let hashed = bit(filter, if group { macffr::HM } else { macffr::HU });
    let hit =
        if hashed { in_table(registers, destination) } else { is_own(registers, destination) };
    hit != bit(filter, macffr::DAIF)
}

/// One of the four addresses; the first is always on.
fn is_own(registers: &Registers, destination: &[u8; 6]) -> bool {
    (0..4).any(|n| {
        let (high, low) = (registers.get(MACA0HR + 8 * n), registers.get(MACA0HR + 8 * n + 4));
        let mut own = [0; 6];
        own[..4].copy_from_slice(&low.to_le_bytes());
        own[4..].copy_from_slice(&(high as u16).to_le_bytes());
        bit(high, 31) && own == *destination
    })
}

/// The upper six bits of the bit-reversed CRC select a bit of the hash table.
fn in_table(registers: &Registers, destination: &[u8; 6]) -> bool {
    let crc = u32::from_le_bytes(frame_check(destination)).reverse_bits();
    let place = crc >> 26;
    bit(registers.get(if place < 32 { MACHTLR } else { MACHTHR }), place % 32)
}

/// The frame as it goes into memory, with its check sequence unless that is stripped, and its
/// status.
pub(super) fn finish(registers: &Registers, mut frame: Vec<u8>) -> (Vec<u8>, u32) {
    let control = registers.get(MACCR);
    let kind = frame.get(12..14).map_or(0, |k| u16::from_be_bytes([k[0], k[1]]));
    let when = |condition: bool, flag: u32| if condition { flag } else { 0 };
    let typed = kind >= FIRST_TYPE;
    let status = match (bit(control, maccr::IPCO), kind) {
        (true, 0x0800) => {
            let (header, payload) = checksum::errors(&frame);
            status::FT | when(header, status::IPHCE) | when(payload, status::PCE)
        }
        // IPv6: taken, its payload not checked. Others: bypassed.
        (true, 0x86dd) => status::PCE,
        (true, _) if typed => status::IPHCE | status::PCE,
        _ => when(typed, status::FT),
    };
    // Length frames lose padding and check sequence together (APCS), type frames the check sequence
    // (CSTF).
    let unpadded = bit(control, maccr::APCS) && kind <= LONGEST;
    if unpadded {
        frame.truncate(14 + usize::from(kind));
    } else if !(typed && bit(control, maccr::CSTF)) {
        let check = frame_check(&frame);
        frame.extend(check);
    }
    (frame, status)
}
