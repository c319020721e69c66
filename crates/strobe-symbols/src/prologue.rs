//! The frame of a function without unwind information, from its own instructions.
//!
//! Assembly of C libraries often has neither call frame information nor exception index tables.
//! What such a function has on the stack is what it has pushed up to where it is: instructions are
//! looked at one after another, and behind a return the frame is what it was before it was taken
//! down.

use crate::constants::thumb_expand_imm;
use crate::firmware::Firmware;

const SP: u32 = 13;
/// Bytes of code that are looked at.
const LONGEST: u32 = 4096;

/// What a function has on the stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Bytes.
    pub(crate) depth: u32,
    /// Registers that have been pushed, each with its place: so many bytes below the caller's
    /// stack pointer.
    pub(crate) saved: Vec<(usize, u32)>,
    /// The register that calls preserve into which LR has been copied: handlers in assembly keep
    /// EXC_RETURN so while they call.
    pub(crate) link: Option<usize>,
}

/// The frame of the function from its first instruction up to the one at `pc`; `None` if it moves
/// its stack pointer in another way.
pub(crate) fn frame(firmware: &Firmware, start: u32, pc: u32) -> Option<Frame> {
    if pc.checked_sub(start)? > LONGEST {
        return None;
    }
    let half = |at: u32| firmware.half_at(at).map(u32::from);
    let (mut frame, mut body) = (Frame::default(), Frame::default());
    let mut at = start;
    while at < pc {
        let n = half(at)?;
        let is_wide = n >> 11 >= 0b11101;
        let second = if is_wide { half(at.wrapping_add(2))? } else { 0 };
        match effect(n, second)? {
            Effect::Push(list) => {
                frame.push(list);
                body = frame.clone();
            }
            Effect::Down(bytes) => {
                frame.depth = frame.depth.checked_add(bytes)?;
                body = frame.clone();
            }
            Effect::Up(bytes) => {
                frame.depth = frame.depth.checked_sub(bytes)?;
                let depth = frame.depth;
                frame.saved.retain(|(_, below)| *below <= depth);
            }
            Effect::Link(register) => {
                frame.link = Some(register);
                body.link = frame.link;
            }
            Effect::Away => frame = body.clone(),
            Effect::None => {}
        }
        at = at.wrapping_add(if is_wide { 4 } else { 2 });
    }
    Some(frame)
}

/// Whether a function selects its stack (MSR CONTROL, ARMv7-M manual, B5.2.3) before a place in it.
pub(crate) fn switches_stack(firmware: &Firmware, start: u32, pc: u32) -> bool {
    let size = pc.saturating_sub(start).min(LONGEST) as usize;
    let code = firmware.bytes_at(start, size).unwrap_or_default();
    code.windows(4).step_by(2).any(|four| {
        let first = u16::from_le_bytes([four[0], four[1]]);
        first & 0xfff0 == 0xf380 && four[2..] == [0x14, 0x88]
    })
}

/// The function that the BL before a return address calls (ARMv7-M manual, A7.7.18).
pub(crate) fn called(firmware: &Firmware, back: u32) -> Option<u32> {
    let half = |before: u32| firmware.half_at(back.wrapping_sub(before)).map(u32::from);
    let (first, second) = (half(4)?, half(2)?);
    if first & 0xf800 != 0xf000 || second & 0xd000 != 0xd000 {
        return None;
    }
    let (s, j1, j2) = (first >> 10 & 1, second >> 13 & 1, second >> 11 & 1);
    let (i1, i2) = (!(j1 ^ s) & 1, !(j2 ^ s) & 1);
    let low = (first & 0x3ff) << 12 | (second & 0x7ff) << 1;
    let offset = s << 24 | i1 << 23 | i2 << 22 | low;
    Some(back.wrapping_add_signed((offset << 7) as i32 >> 7))
}

impl Frame {
    fn push(&mut self, list: u32) {
        self.depth = self.depth.saturating_add(4 * list.count_ones());
        let registers = (0..16).filter(|register| list >> register & 1 == 1);
        for (place, register) in (0..).zip(registers) {
            let is_known = self.saved.iter().any(|(known, _)| *known == register);
            if !is_known {
                self.saved.push((register, self.depth - 4 * place));
            }
        }
    }
}

/// What an instruction does to the stack pointer.
enum Effect {
    None,
    Push(u32),
    Down(u32),
    Up(u32),
    /// It copies LR into a register that calls preserve.
    Link(usize),
    /// Control does not go on behind it.
    Away,
}

/// `None` for what moves the stack pointer otherwise (ARMv7-M manual, A5.2 and A5.3).
fn effect(n: u32, second: u32) -> Option<Effect> {
    Some(match n {
        _ if n & 0xfe00 == 0xb400 => Effect::Push(n & 0xff | (n >> 8 & 1) << 14),
        _ if n & 0xff00 == 0xbd00 => Effect::Away,
        _ if n & 0xff00 == 0xbc00 => Effect::Up(4 * (n & 0xff).count_ones()),
        _ if n & 0xff80 == 0xb080 => Effect::Down((n & 0x7f) * 4),
        _ if n & 0xff80 == 0xb000 => Effect::Up((n & 0x7f) * 4),
        // MOV from LR to R4-R11 (A7.7.77, encoding T1).
        _ if n & 0xff78 == 0x4670 && (4..=11).contains(&moved_to(n)) => Effect::Link(moved_to(n)),
        // BX, B, MOV to PC.
        _ if n & 0xff80 == 0x4700 || n & 0xf800 == 0xe000 || n & 0xff87 == 0x4687 => Effect::Away,
        // MOV and ADD to the stack pointer.
        _ if n & 0xfd87 == 0x4485 => return None,
        0xe92d => Effect::Push(second & 0x5fff),
        0xe8bd if second & 0x8000 != 0 => Effect::Away,
        0xe8bd => Effect::Up(4 * second.count_ones()),
        // STRD and LDRD of two registers (A7.7.50, A7.7.166).
        0xe96d if second & 0xff == 2 && second >> 12 < second >> 8 & 15 => {
            Effect::Push(1 << (second >> 12) | 1 << (second >> 8 & 15))
        }
        0xe8fd => Effect::Up((second & 0xff) * 4),
        0xf84d if second & 0xfff == 0xd04 => Effect::Push(1 << (second >> 12)),
        0xf85d if second & 0xfff == 0xb04 => Effect::Up(4),
        0xed2d | 0xed6d => Effect::Down((second & 0xff) * 4),
        0xecbd | 0xecfd => Effect::Up((second & 0xff) * 4),
        0xf1ad | 0xf5ad if second & 0x8f00 == SP << 8 => Effect::Down(number(n, second)),
        0xf10d | 0xf50d if second & 0x8f00 == SP << 8 => Effect::Up(number(n, second)),
        _ if n & 0xf800 == 0xf000 && second & 0xd000 == 0x9000 => Effect::Away,
        _ => Effect::None,
    })
}

/// The register that MOV between registers writes.
fn moved_to(n: u32) -> usize {
    (n >> 4 & 8 | n & 7) as usize
}

fn number(first: u32, second: u32) -> u32 {
    thumb_expand_imm((first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xff)
}
