//! References of AVR instructions (AVR instruction set manual, DS40002198): calls and jumps, LDS
//! and STS, and addresses that are made of two bytes by LDI, or added by SUBI and SBCI.

use super::resolve::AVR_DATA;
use super::words::{Run, Swept};
use super::{How, Sighting, To};

/// Instructions between the halves of an address, at most.
const MOST_BETWEEN: usize = 6;

/// A byte that an instruction has put into a register or subtracted from it.
#[derive(Debug, Clone, Copy)]
struct Byte {
    value: u8,
    /// The number of the instruction.
    at: usize,
    is_subtracted: bool,
}

/// Looks at instructions one after another. With relocations addresses need not be put together.
pub(super) fn sweep(run: &Run<'_>, has_relocations: bool) -> Swept {
    let mut out = Swept::default();
    let word = |at: usize| {
        Some(u32::from(u16::from_le_bytes([*run.bytes.get(at)?, *run.bytes.get(at + 1)?])))
    };
    let mut bytes: [Option<Byte>; 32] = [None; 32];
    let (mut at, mut number) = (0, 0);
    while let Some(n) = word(at) {
        let site = run.start.wrapping_add(at as u32);
        let size = if is_wide(n) { 4 } else { 2 };
        let second = word(at + 2).unwrap_or(0);
        out.goes_on = goes_on(n);
        if let Some((target, how)) = branch(site, n, second) {
            out.sightings.push(Sighting { site, to: To::Address(target), how });
        }
        // LDS and STS have an address of the data space.
        if n & 0xfc0f == 0x9000 {
            let to = To::Address(AVR_DATA | second);
            out.sightings.push(Sighting { site, to, how: How::Takes });
        }
        let pair = half(n, number, &mut bytes).filter(|_| !has_relocations);
        let is_frame = n >> 4 & 0xe == 0xc;
        out.sightings.extend(pair.map(|number| Sighting {
            site,
            to: To::Pair { number, is_frame },
            how: How::Takes,
        }));
        at += size;
        number += 1;
    }
    out
}

/// The address that an instruction completes, with the one that has the other half.
fn half(n: u32, number: usize, bytes: &mut [Option<Byte>; 32]) -> Option<u16> {
    let register = 16 + (n >> 4 & 15) as usize;
    let value = (n >> 4 & 0xf0 | n & 15) as u8;
    let is_subtracted = match n >> 12 {
        0xe => false,
        0x4 | 0x5 => true,
        _ => return None,
    };
    bytes[register] = Some(Byte { value, at: number, is_subtracted });
    let (low, high) = (bytes[register & !1]?, bytes[register | 1]?);
    let is_near = low.at.abs_diff(high.at) <= MOST_BETWEEN;
    if !is_near || low.is_subtracted != high.is_subtracted {
        return None;
    }
    (bytes[register & !1], bytes[register | 1]) = (None, None);
    let pair = u16::from_le_bytes([low.value, high.value]);
    // An address is added by subtracting its negative.
    Some(if low.is_subtracted { pair.wrapping_neg() } else { pair })
}

fn branch(site: u32, n: u32, second: u32) -> Option<(u32, How)> {
    let far = ((n >> 3 & 0x3e | n & 1) << 16 | second) * 2;
    let near = |bits: u32, value: u32| {
        let words = (value << (32 - bits)) as i32 >> (32 - bits);
        site.wrapping_add(2).wrapping_add_signed(words * 2)
    };
    match n >> 12 {
        0x9 if n & 0xfe0e == 0x940c => Some((far, How::Jumps)),
        0x9 if n & 0xfe0e == 0x940e => Some((far, How::Calls)),
        0xc => Some((near(12, n & 0xfff), How::Jumps)),
        0xd if n & 0xfff != 0 => Some((near(12, n & 0xfff), How::Calls)),
        0xf if n & 0x0800 == 0 => Some((near(7, n >> 3 & 0x7f), How::Jumps)),
        _ => None,
    }
}

/// Whether control may go on behind an instruction at a symbol's end.
fn goes_on(n: u32) -> bool {
    let leaves = matches!(n, 0x9508 | 0x9518 | 0x9409 | 0x9419 | 0xffff)
        || n & 0xfe0c == 0x940c
        || n >> 12 == 0xc
        || n >> 12 == 0xd && n & 0xfff != 0;
    !leaves
}

/// LDS, STS, JMP and CALL have a second word.
fn is_wide(n: u32) -> bool {
    n & 0xfc0f == 0x9000 || n & 0xfe0c == 0x940c
}
