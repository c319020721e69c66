//! The registers that Thumb code reads and writes: loads and stores at an address that the code
//! itself puts into their base, such as `LDR r2, =0x40023800` and then `STR r3, [r2, #0x1c]`.
//! Where two chips have a block at the same address, its registers distinguish them.
//!
//! The code is read straight through. What a register holds is followed until anything may change
//! it, so each address is true where the code runs on from above; code behind a jump may get
//! there with other values in its bases, which are not seen. Encodings: DDI 0403, A5.2 and A5.3.

use std::collections::BTreeSet;

use crate::code::CodeKind;
use crate::constants::thumb_expand_imm;
use crate::firmware::Firmware;

/// Distinct addresses kept, at most.
const MOST_ADDRESSES: usize = 1 << 16;
/// Where peripherals begin (the memory map of ARMv7-M, B3.1).
const LEAST: u32 = 0x4000_0000;
/// Registers that a call may change (AAPCS, 6.1.1).
const CALL: [u32; 6] = [0, 1, 2, 3, 12, 14];

impl Firmware {
    /// Addresses from 0x40000000 on that loads and stores name, as far as bases are known; at
    /// most 65,536.
    pub fn accesses(&self) -> BTreeSet<u32> {
        let mut values = Values { firmware: self, known: [None; 16], found: BTreeSet::new() };
        for piece in self.code.pieces_in(0..1 << 32).filter(|p| p.value == CodeKind::Thumb) {
            values.known = [None; 16];
            let mut next = piece.start;
            while next + 2 <= piece.end && values.found.len() < MOST_ADDRESSES {
                let Some(size) = u32::try_from(next).ok().and_then(|at| values.step(at)) else {
                    break;
                };
                next += size;
            }
        }
        values.found
    }
}

/// What the registers hold, as far as it is known.
struct Values<'a> {
    firmware: &'a Firmware,
    known: [Option<u32>; 16],
    found: BTreeSet<u32>,
}

impl Values<'_> {
    /// Follows the instruction at an address; its size.
    fn step(&mut self, at: u32) -> Option<u64> {
        let first = self.half(at)?;
        if first >> 11 < 0b11101 {
            self.narrow(at, first);
            return Some(2);
        }
        let second = self.half(at.wrapping_add(2))?;
        self.wide(at, first, second);
        Some(4)
    }

    fn half(&self, at: u32) -> Option<u32> {
        self.firmware.half_at(at).map(u32::from)
    }

    fn get(&self, register: u32) -> Option<u32> {
        self.known[register as usize & 15]
    }

    fn set(&mut self, register: u32, value: Option<u32>) {
        self.known[register as usize & 15] = value;
    }

    fn forget(&mut self, registers: &[u32]) {
        for &register in registers {
            self.set(register, None);
        }
    }

    fn forget_list(&mut self, list: u32) {
        for register in (0..16).filter(|n| list >> n & 1 == 1) {
            self.set(register, None);
        }
    }

    /// What is behind an instruction that always jumps is reached from elsewhere.
    fn jump(&mut self) {
        self.known = [None; 16];
    }

    fn access(&mut self, base: u32, offset: u32) {
        let at = self.get(base).map(|base| base.wrapping_add(offset));
        self.found.extend(at.filter(|at| *at >= LEAST));
    }

    fn literal(&self, at: u32, offset: i64) -> Option<u32> {
        let place = i64::from(at & !3) + 4 + offset;
        self.firmware.word_at(u32::try_from(place).ok()?)
    }

    fn narrow(&mut self, at: u32, code: u32) {
        let (low, high) = (code & 7, code >> 8 & 7);
        let (base, five) = (code >> 3 & 7, code >> 6 & 31);
        match code >> 11 {
            // LSL (immediate)
            0b00000 => self.set(low, self.get(base).map(|value| value << five)),
            // MOV, CMP, ADD, SUB (immediate)
            0b00100 => self.set(high, Some(code & 0xff)),
            0b00101 => {}
            0b00110 => self.set(high, self.get(high).map(|v| v.wrapping_add(code & 0xff))),
            0b00111 => self.set(high, self.get(high).map(|v| v.wrapping_sub(code & 0xff))),
            // Data processing, special data instructions, branch and exchange
            0b01000 if code & 0xff87 == 0x4687 || code & 0xff87 == 0x4487 => self.jump(),
            0b01000 if code >> 8 == 0x46 => {
                self.set(low | code >> 4 & 8, self.get(code >> 3 & 15));
            }
            0b01000 if code >> 7 == 0x8e => self.jump(),
            0b01000 if code >> 7 == 0x8f => self.forget(&CALL),
            0b01000 => self.forget(&[low, low | 8]),
            // LDR (literal)
            0b01001 => self.set(high, self.literal(at, i64::from((code & 0xff) << 2))),
            // STR, LDR, STRB, LDRB, STRH, LDRH (immediate)
            kind @ (0b01100..=0b10001) => {
                let size = [4, 4, 1, 1, 2, 2][kind as usize - 0b01100];
                self.access(base, five * size);
                if kind & 1 == 1 {
                    self.set(low, None);
                }
            }
            // SP-relative, ADR
            0b10010..=0b10101 => self.set(high, None),
            // POP
            0b10111 if code >> 9 & 3 == 0b10 && code & 0x100 != 0 => self.jump(),
            0b10111 if code >> 9 & 3 == 0b10 => self.forget_list(code & 0xff),
            // STM, LDM
            0b11000 => self.set(high, None),
            0b11001 => self.forget_list(code & 0xff | 1 << high),
            // B<c>, SVC
            0b11010 | 0b11011 => {}
            // B
            0b11100 => self.jump(),
            _ => self.set(low, None),
        }
    }

    fn wide(&mut self, at: u32, first: u32, second: u32) {
        let (base, target, result) = (first & 15, second >> 12, second >> 8 & 15);
        let code = (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xff;
        match first {
            // Branches and calls, then immediates: the upper half of the encodings with 11110.
            _ if first >> 11 == 0b11110 && second >> 15 == 1 => match second >> 12 & 5 {
                0b101 | 0b100 => self.forget(&CALL),
                0b001 => self.jump(),
                // MRS
                _ if first == 0xf3ef => self.set(result, None),
                _ => {}
            },
            // MOVW, MOVT, MOV, ADD, SUB (immediate)
            _ if first & 0xfbf0 == 0xf240 => self.set(result, Some(base << 12 | code)),
            _ if first & 0xfbf0 == 0xf2c0 => {
                let high = (base << 12 | code) << 16;
                self.set(result, self.get(result).map(|low| low & 0xffff | high));
            }
            _ if first & 0xfbef == 0xf04f => self.set(result, Some(thumb_expand_imm(code))),
            _ if first & 0xfbe0 == 0xf100 => self.add(result, base, thumb_expand_imm(code)),
            _ if first & 0xfbe0 == 0xf1a0 => {
                self.add(result, base, thumb_expand_imm(code).wrapping_neg());
            }
            _ if first & 0xfbf0 == 0xf200 => self.add(result, base, code),
            _ if first & 0xfbf0 == 0xf2a0 => self.add(result, base, code.wrapping_neg()),
            // LDR to PC, TBB, TBH, LDM
            _ if first >> 9 == 0b111_1100 && first & 0x10 != 0 && target == 15 => self.jump(),
            _ if first & 0xfff0 == 0xe8d0 && second & 0xffe0 == 0xf000 => self.jump(),
            _ if first & 0xfe50 == 0xe810 => self.jump(),
            // LDR (literal)
            0xf85f | 0xf8df => {
                let offset = i64::from(second & 0xfff);
                let signed = if first & 0x80 != 0 { offset } else { -offset };
                self.set(target, self.literal(at, signed));
            }
            // Loads and stores with an offset of 12 bits, STRD and LDRD with one of 8
            _ if first & 0xfe80 == 0xf880 => {
                self.access(base, second & 0xfff);
                self.set(target, None);
            }
            _ if first & 0xffe0 == 0xe9c0 => {
                self.access(base, (second & 0xff) << 2);
                self.forget(&[target, result]);
            }
            // Whatever else may write its base: indexed loads and stores, coprocessors, exclusives.
            _ if matches!(first >> 9, 0b111_1100 | 0b111_0100) || first >> 10 & 59 == 59 => {
                self.forget(&[base, target, result, second & 15]);
            }
            _ => self.forget(&[target, result]),
        }
    }

    fn add(&mut self, result: u32, base: u32, by: u32) {
        self.set(result, self.get(base).map(|base| base.wrapping_add(by)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_synth::ElfBuilder;

    fn accesses(code: &[u16], pool: &[u32]) -> Vec<u32> {
        let bytes = code.iter().flat_map(|half| half.to_le_bytes());
        let bytes: Vec<u8> = bytes.chain(pool.iter().flat_map(|word| word.to_le_bytes())).collect();
        let mut elf = ElfBuilder::new();
        elf.code(0x100, &bytes);
        let firmware = Firmware::parse(elf.build()).expect("a sound file");
        firmware.accesses().into_iter().collect()
    }

    /// Encodings from the manual, by hand.
    #[test]
    fn addresses_are_bases_and_offsets() {
        // ldr r2, [pc, #4]; ldr r3, [r2, #0x1c]; strb r3, [r2, #1]; b .
        let code = [0x4a01, 0x69d3, 0x7053, 0xe7fe];
        assert_eq!(accesses(&code, &[0x4002_3800]), [0x4002_3801, 0x4002_381c]);
        // movw r3, #0x3800; movt r3, #0x4002; str.w r0, [r3, #0x84]; strd r0, r1, [r3, #8]
        let code = [0xf643, 0x0300, 0xf2c4, 0x0302, 0xf8c3, 0x0084, 0xe9c3, 0x0102];
        assert_eq!(accesses(&code, &[]), [0x4002_3808, 0x4002_3884]);
        // mov.w r3, #0x40000000; add.w r3, r3, #0x23800; movs r1, #1; ldrh r0, [r3, #2]
        let code = [0xf04f, 0x4380, 0xf503, 0x330e, 0x2101, 0x8858];
        assert_eq!(accesses(&code, &[]), [0x4002_3802]);
        // movs r3, #0x90; lsls r3, r3, #23; mov r8, r3; mov r1, r8; str r0, [r1]
        assert_eq!(accesses(&[0x2390, 0x05db, 0x4698, 0x4641, 0x6008], &[]), [0x4800_0000]);
    }

    #[test]
    fn a_base_that_may_have_changed_is_not_known() {
        let behind = |change: &[u16]| {
            // mov.w r2, #0x40000000; ...; ldr r3, [r2, #4]
            let code: Vec<u16> = [0xf04f, 0x4280].iter().chain(change).copied().collect();
            accesses(&[code, vec![0x6853]].concat(), &[]).len()
        };
        assert_eq!(behind(&[]), 1);
        // bl; b.n; b.w; pop {r2}; pop {pc}; bx lr; ldr r2, [r1]; mov r2, r1; adds r2, r1, r0
        let changes: [&[u16]; 9] = [
            &[0xf000, 0xf800],
            &[0xe000],
            &[0xf000, 0xb800],
            &[0xbc04],
            &[0xbd00],
            &[0x4770],
            &[0x680a],
            &[0x460a],
            &[0x180a],
        ];
        for change in changes {
            assert_eq!(behind(change), 0, "{change:04x?}");
        }
        // ldr.w r0, [r2], #4; ldm r2!, {r0}; ldmia.w r0, {r2}; vmov r0, r2, d0; umull r0, r2
        let changes: [&[u16]; 5] =
            [&[0xf852, 0x0b04], &[0xca01], &[0xe890, 0x0004], &[0xec52, 0x0b10], &[0xfba0, 0x0201]];
        for change in changes {
            assert_eq!(behind(change), 0, "{change:04x?}");
        }
        // b<c>; cmp r2, #0; push {r2}; str r2, [r1]
        for change in [0xd000, 0x2a00, 0xb404, 0x600a] {
            assert_eq!(behind(&[change]), 1, "{change:04x}");
        }
    }
}
