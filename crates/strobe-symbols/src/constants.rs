//! The constants that Thumb code puts into registers: where a peripheral's address in the code
//! gives away which chip it was written for.
//!
//! Literal pools (`LDR Rt, [PC, #imm]`), `MOVW`/`MOVT` pairs, `MOV` with a modified immediate, and
//! `MOVS`/`LSLS`, by which compilers make round addresses on a Cortex-M0. The code is read straight
//! through, without following branches, so a constant may belong to code that never runs.

use std::collections::BTreeMap;

use strobe_isa::thumb::insn::{Insn, Reg};
use strobe_isa::thumb::op::DataOp;

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
                let Some(code) = self.thumb_at(at) else { break };
                if let Some(value) = scan.step(code.insn) {
                    all.entry(value).or_insert(at);
                }
                scan.turn += 1;
                let Some(next) = at.checked_add(code.size) else { break };
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
    fn set(&mut self, register: Reg, value: u32) {
        self.parts[usize::from(register)] = Some((value, self.turn));
    }

    fn take(&mut self, register: Reg) -> Option<u32> {
        let part = self.parts[usize::from(register)].take();
        part.filter(|(_, turn)| self.turn - turn <= MOST_APART).map(|(value, _)| value)
    }

    /// The constant that an instruction completes.
    fn step(&mut self, insn: Insn) -> Option<u32> {
        use Insn::*;
        match insn {
            MovImm { d, imm } => {
                self.set(d, imm.into());
                None
            }
            LslImm { d, m, imm } => {
                let shifted = self.take(m)? << imm;
                self.set(d, shifted);
                Some(shifted)
            }
            // Of no more than 16 bits it is the first half of a pair, or too small for an address.
            MovConst { d, value }
            | DataImmS { op: DataOp::Mov, d, value, .. }
            | DataImmSc { op: DataOp::Mov, d, value, .. } => {
                self.set(d, value);
                (value > 0xffff).then_some(value)
            }
            Movt { d, imm } => Some(u32::from(imm) << 16 | self.take(d)? & 0xffff),
            // The second half of an address to which a computed offset was added.
            DataImm { op: DataOp::Add, d, n, value }
            | DataImmS { op: DataOp::Add, d, n, value }
            | DataImmSc { op: DataOp::Add, d, n, value } => {
                let known = self.take(n);
                let is_base = value >= LEAST_BASE;
                let sum = known.or(is_base.then_some(0))?.wrapping_add(value);
                self.set(d, sum);
                known.map(|_| sum)
            }
            other => other.literal().and_then(|(_, at)| self.firmware.word_at(at)),
        }
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
