//! The constants that Thumb code puts into registers: where a peripheral's address in the code
//! gives away which chip it was written for.
//!
//! Literal pools (`LDR Rt, [PC, #imm]`), `MOVW`/`MOVT` pairs, `MOV` with a modified immediate, and
//! `MOVS`/`LSLS`, by which compilers make round addresses on a Cortex-M0. The code is read straight
//! through, without following branches, so a constant may belong to code that never runs.

use std::collections::BTreeMap;

use crate::code::CodeKind;
use crate::firmware::Firmware;

/// Instructions between the halves of a constant, at most.
const MOST_APART: u32 = 12;
/// Distinct constants kept, at most.
const MOST_CONSTANTS: usize = 1 << 16;

impl Firmware {
    /// Constants of 32 bits that code puts into registers, each with the address of the first
    /// instruction that does; at most 65,536.
    pub fn constants(&self) -> BTreeMap<u32, u32> {
        let mut all = BTreeMap::new();
        for piece in self.code.pieces_in(0..1 << 32).filter(|p| p.value == CodeKind::Thumb) {
            let mut scan = Scan { firmware: self, turn: 0, parts: [None; 16] };
            let mut at = piece.start as u32;
            while u64::from(at) + 2 <= piece.end && all.len() < MOST_CONSTANTS {
                let Some(first) = self.half_at(at).map(u32::from) else { break };
                let wide = first >> 11 >= 0b11101;
                let second = if wide { self.half_at(at.wrapping_add(2)) } else { Some(0) };
                let Some(second) = second.map(u32::from) else { break };
                let found =
                    if wide { scan.wide(at, first, second) } else { scan.narrow(at, first) };
                if let Some(value) = found {
                    all.entry(value).or_insert(at);
                }
                scan.turn += 1;
                let Some(next) = at.checked_add(if wide { 4 } else { 2 }) else { break };
                at = next;
            }
        }
        all
    }

    /// All words of the image at multiples of four, of data as of code: tables name peripherals
    /// for code that reaches them by whatever it finds there.
    pub fn words(&self) -> impl Iterator<Item = u32> {
        self.segments().iter().flat_map(|segment| {
            let skip = (segment.load_address.0.wrapping_neg() & 3) as usize;
            let data = segment.data().get(skip..).unwrap_or_default();
            let word = |word: &[u8]| u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            data.chunks_exact(4).map(word)
        })
    }
}

/// Where peripherals begin (the memory map of ARMv7-M, B3.1).
const LEAST_BASE: u32 = 0x4000_0000;

/// A walk through one piece of code.
struct Scan<'a> {
    firmware: &'a Firmware,
    /// Instructions so far.
    turn: u32,
    /// What a register was last set to by half of a pair, and when.
    parts: [Option<(u32, u32)>; 16],
}

impl Scan<'_> {
    fn set(&mut self, register: u32, value: u32) {
        self.parts[register as usize & 15] = Some((value, self.turn));
    }

    fn take(&mut self, register: u32) -> Option<u32> {
        let part = self.parts[register as usize & 15].take();
        part.filter(|(_, turn)| self.turn - turn <= MOST_APART).map(|(value, _)| value)
    }

    fn literal(&self, at: u32, offset: i64) -> Option<u32> {
        let place = i64::from(at & !3) + 4 + offset;
        self.firmware.word_at(u32::try_from(place).ok()?)
    }

    /// A 16-bit instruction (DDI 0403, A5.2).
    fn narrow(&mut self, at: u32, code: u32) -> Option<u32> {
        match code >> 11 {
            // LDR (literal)
            0b01001 => self.literal(at, i64::from((code & 0xff) << 2)),
            // MOV (immediate)
            0b00100 => {
                self.set(code >> 8 & 7, code & 0xff);
                None
            }
            // LSL (immediate)
            0b00000 => {
                let shifted = self.take(code >> 3 & 7)? << (code >> 6 & 31);
                self.set(code & 7, shifted);
                Some(shifted)
            }
            _ => None,
        }
    }

    /// A 32-bit instruction (DDI 0403, A5.3).
    fn wide(&mut self, at: u32, first: u32, second: u32) -> Option<u32> {
        let register = second >> 8 & 15;
        let immediate = first >> 10 & 1;
        let low = || (first & 15) << 12 | immediate << 11 | (second >> 12 & 7) << 8 | second & 0xff;
        match first & !0x040f {
            // MOVW, MOVT
            0xf240 if second >> 15 == 0 => {
                let value = low();
                self.set(register, value);
                None
            }
            0xf2c0 if second >> 15 == 0 => {
                let half = self.take(register)? & 0xffff;
                Some(low() << 16 | half)
            }
            // MOV (modified immediate)
            _ if first & !0x0410 == 0xf04f && second >> 15 == 0 => {
                let value =
                    thumb_expand_imm(immediate << 11 | (second >> 12 & 7) << 8 | second & 0xff);
                self.set(register, value);
                Some(value)
            }
            // ADD (immediate): the second half of an address to which a computed offset was added.
            _ if first & 0xfbe0 == 0xf100 && second >> 15 == 0 => {
                let code = immediate << 11 | (second >> 12 & 7) << 8 | second & 0xff;
                let added = thumb_expand_imm(code);
                let known = self.take(first & 15);
                let is_base = added >= LEAST_BASE;
                let value = known.or(is_base.then_some(0))?.wrapping_add(added);
                self.set(register, value);
                known.map(|_| value)
            }
            // LDR (literal)
            _ if first & !0x80 == 0xf85f => {
                let offset = i64::from(second & 0xfff);
                self.literal(at, if first & 0x80 != 0 { offset } else { -offset })
            }
            _ => None,
        }
    }
}

/// The constant of a 12-bit modified immediate, of which only the low 12 bits count
/// (ThumbExpandImm, DDI 0403, A5.3.2).
pub fn thumb_expand_imm(code: u32) -> u32 {
    let (code, byte) = (code & 0xfff, code & 0xff);
    match code >> 8 {
        0 => byte,
        1 => byte << 16 | byte,
        2 => byte << 24 | byte << 8,
        3 => byte << 24 | byte << 16 | byte << 8 | byte,
        _ => (0x80 | byte & 0x7f).rotate_right(code >> 7),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_synth::ElfBuilder;

    fn constants(code: &[u16], pool: &[u32]) -> Vec<u32> {
        let bytes = code.iter().flat_map(|half| half.to_le_bytes());
        let bytes: Vec<u8> = bytes.chain(pool.iter().flat_map(|word| word.to_le_bytes())).collect();
        let mut elf = ElfBuilder::new();
        elf.code(0x100, &bytes);
        let firmware = Firmware::parse(elf.build()).expect("a sound file");
        firmware.constants().into_keys().collect()
    }

    /// Encodings from the manual, by hand.
    #[test]
    fn each_way_to_make_a_constant_is_seen() {
        // ldr r0, [pc, #0]; b .
        assert!(constants(&[0x4800, 0xe7fe], &[0x5000_0400]).contains(&0x5000_0400));
        // ldr.w r0, [pc, #4]; b .; nop
        let wide = [0xf8df, 0x0004, 0xe7fe, 0xbf00];
        assert!(constants(&wide, &[0x4002_1000]).contains(&0x4002_1000));
        // movw r3, #0x3800; movs r0, #1; movt r3, #0x4002
        assert!(constants(&[0xf643, 0x0300, 0x2001, 0xf2c4, 0x0302], &[]).contains(&0x4002_3800));
        // mov.w r2, #0x50000000
        assert!(constants(&[0xf04f, 0x42a0], &[]).contains(&0x5000_0000));
        // lsrs r3, r0, #5; add.w r3, r3, #0x40000000; add.w r3, r3, #0x23800
        let sum = [0x0943, 0xf103, 0x4380, 0xf503, 0x330e];
        assert!(constants(&sum, &[]).contains(&0x4002_3800));
        // movs r3, #0x90; lsls r3, r3, #23
        assert!(constants(&[0x2390, 0x05db], &[]).contains(&0x4800_0000));
    }

    #[test]
    fn halves_of_different_registers_make_nothing() {
        // movw r3, #0x3800; movt r4, #0x4002
        assert_eq!(constants(&[0xf643, 0x0300, 0xf2c4, 0x0402], &[]), []);
    }
}
