//! Instructions of an image whose core is not known.
//!
//! They are decoded with every extension there is: those of one core are a subset. What remains
//! undefined then may be data, or an instruction of a later core (FPv5, ARMv8-M), of which a few
//! facts follow from where it lies among the encodings.

use super::arch::Architecture;
use super::decode::{decode, is_wide};
use super::insn::Insn;
use super::registers::Registers;

/// An instruction, with the halfwords that it was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// The instruction.
    pub insn: Insn,
    /// Bytes of its encoding.
    pub size: u32,
    first: u16,
    second: u16,
}

impl Code {
    /// The instruction at an address, from the halfwords there; `None` where one is missing.
    pub fn read(address: u32, half: impl Fn(u32) -> Option<u16>) -> Option<Code> {
        let first = half(address)?;
        let second = if is_wide(first) { half(address.wrapping_add(2))? } else { 0 };
        let (insn, size) = decode(Architecture::V7EM_FP, address, first, second);
        Some(Code { insn, size, first, second })
    }

    /// Whether it is undefined on every core and for ever (UDF, A7.7.194).
    pub fn is_udf(self) -> bool {
        self.first & 0xff00 == 0xde00
            || self.first & 0xfff0 == 0xf7f0 && self.second & 0xf000 == 0xa000
    }

    /// Whether it puts an address into a register that it counts from the program counter (ADR,
    /// A7.7.7), where others have the number as such.
    pub fn is_adr(self) -> bool {
        let (first, second) = (self.first, self.second);
        first >> 11 == 0b10100 || matches!(first & 0xfbff, 0xf20f | 0xf2af) && second >> 15 == 0
    }

    /// Whether it uses the floating-point unit; also those of FPv5.
    pub fn is_fp(self) -> bool {
        self.insn.is_fp() || self.is_coprocessor() && self.second & 0x0e00 == 0x0a00
    }

    /// The core registers that it changes: of one that is undefined, all that it may name.
    pub fn writes(self) -> Registers {
        if !matches!(self.insn, Insn::Undefined | Insn::NoCoprocessor) {
            return self.insn.writes();
        }
        let (first, second) = (self.first, self.second);
        match first {
            _ if !is_wide(first) => Registers::NONE,
            // Loads of several registers: a list.
            _ if first & 0xfe50 == 0xe810 => Registers(second | 1 << (first & 15)),
            // Data processing of coprocessors, FPv5's among it, has registers of its own.
            _ if self.is_coprocessor() && first & 0x0f00 == 0x0e00 && second & 0x10 == 0 => {
                Registers::NONE
            }
            _ => {
                let fields = [first & 15, second >> 12, second >> 8 & 15, second & 15];
                Registers(fields.iter().fold(0, |set, register| set | 1 << register))
            }
        }
    }

    /// A5.3.18.
    fn is_coprocessor(self) -> bool {
        self.first & 0xec00 == 0xec00
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(halves: [u16; 2]) -> Code {
        Code::read(0x100, |at| Some(halves[(at as usize - 0x100) / 2])).unwrap()
    }

    #[test]
    fn an_instruction_is_whole_or_none() {
        let half = |at| (at == 0).then_some(0xf000);
        assert_eq!(Code::read(0, half), None);
        assert_eq!(Code::read(0, |at| (at == 0).then_some(0x4770)).map(|code| code.size), Some(2));
    }

    #[test]
    fn addresses_of_code_are_no_numbers() {
        // adr r0, .+8; adr.w r0, .+8; sub.w r0, pc, #8
        for halves in [[0xa001, 0], [0xf20f, 0x0004], [0xf2af, 0x0008]] {
            assert!(code(halves).is_adr(), "{halves:04x?}");
        }
        // movw r0, #8; movs r0, #8; add r0, sp, #4
        for halves in [[0xf240, 0x0008], [0x2008, 0], [0xa801, 0]] {
            assert!(!code(halves).is_adr(), "{halves:04x?}");
        }
    }

    #[test]
    fn literals_of_a_word_have_a_register() {
        // ldr r1, [pc, #4]; ldr.w r2, [pc, #-4]; ldr pc, [pc, #8]
        for (halves, literal) in [
            ([0x4901, 0], (1, 0x108)),
            ([0xf85f, 0x2004], (2, 0x100)),
            ([0xf8df, 0xf008], (15, 0x10c)),
        ] {
            assert_eq!(code(halves).insn.literal(), Some(literal), "{halves:04x?}");
        }
        // ldrb.w r1, [pc, #4]; ldrd r0, r1, [pc, #8]; vldr s0, [pc, #8]
        for halves in [[0xf89f, 0x1004], [0xe9df, 0x0102], [0xed9f, 0x0a02]] {
            assert_eq!(code(halves).insn.literal(), None, "{halves:04x?}");
        }
    }

    #[test]
    fn little_is_known_of_undefined_ones() {
        // udf #0; udf.w #0
        assert!(code([0xde00, 0]).is_udf() && code([0xf7f0, 0xa000]).is_udf());
        // vadd.f64 d0, d1, d2, of FPv5
        let double = code([0xee31, 0x0b02]);
        assert!(double.insn == Insn::Undefined && !double.is_udf() && double.is_fp());
        assert!(double.writes().is_empty());
        // lda r2, [r1], of ARMv8-M; mrc p0, 0, r3, c1, c2, 0; ldmia.w r0, {r2}
        for (halves, register) in [([0xe8d1, 0x2faf], 2), ([0xee11, 0x3012], 3), ([0xe890, 4], 2)] {
            let code = code(halves);
            assert!(code.writes().contains(register) && !code.is_fp(), "{halves:04x?}");
        }
        // adds r1, r2, r3
        assert_eq!(code([0x18d1, 0]).writes(), Registers(1 << 1));
    }
}
