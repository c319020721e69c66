//! Data processing of ARMv7-M in 32 bits (DDI 0403, A5.3.1, A5.3.3, A5.3.11 to A5.3.15).

use super::pc;
use super::wide::nibble;
use crate::thumb::arch::Architecture;
use crate::thumb::insn::{Insn, NO_REG};
use crate::thumb::op::{DataOp, Extension, LaneResult, Lanes, SaturatingOp, Shift};

/// The five-bit amount of immediate shifts, imm3:imm2, or the low bits of a bit field.
fn imm5(k: u16) -> u8 {
    (k >> 10 & 0x1c | k >> 6 & 3) as u8
}

/// DecodeImmShift (A7.4.2).
fn immediate_shift(kind: u16, by: u8) -> (Shift, u8) {
    match (kind & 3, by) {
        (0, by) => (Shift::Lsl, by),
        (1, 0) => (Shift::Lsr, 32),
        (1, by) => (Shift::Lsr, by),
        (2, 0) => (Shift::Asr, 32),
        (2, by) => (Shift::Asr, by),
        (_, 0) => (Shift::Rrx, 1),
        (_, by) => (Shift::Ror, by),
    }
}

/// The operation of a four-bit opcode. With `d` or `n` absent (15) some are others.
fn operation(opcode: u16, set: bool, d: u8, n: u8) -> Option<DataOp> {
    use DataOp::*;
    let op = match opcode & 15 {
        0 => And,
        1 => Bic,
        2 if n == NO_REG => Mov,
        2 => Orr,
        3 if n == NO_REG => Mvn,
        3 => Orn,
        4 => Eor,
        8 => Add,
        10 => Adc,
        11 => Sbc,
        13 => Sub,
        14 => Rsb,
        _ => return None,
    };
    let op = match (op, d) {
        (And, 15) => Tst,
        (Eor, 15) => Teq,
        (Add, 15) => Cmn,
        (Sub, 15) => Cmp,
        (_, 15) => return None,
        _ => op,
    };
    let compares = d == NO_REG;
    let reads_pc = n == NO_REG && !matches!(op, Mov | Mvn);
    (!reads_pc && (set || !compares)).then_some(op)
}

/// A5.3.11: data processing (shifted register).
pub(super) fn shifted_register(arch: Architecture, h: u16, k: u16) -> Insn {
    let (d, n, m) = (nibble(k, 8), nibble(h, 0), nibble(k, 0));
    let (opcode, set) = (h >> 5 & 15, h & 0x10 != 0);
    let (shift, by) = immediate_shift(k >> 4, imm5(k));
    if m == 15 || k & 0x8000 != 0 {
        return Insn::Undefined;
    }
    if opcode == 6 {
        if !arch.dsp || set || k & 0x10 != 0 || d == 15 || n == 15 {
            return Insn::Undefined;
        }
        return Insn::Pkh { top: k & 0x20 != 0, d, n, m, by };
    }
    match operation(opcode, set, d, n) {
        Some(DataOp::Mov) if !set && by == 0 => Insn::MovHi { d, m },
        Some(op) => Insn::DataReg { op, set, d, n, m, shift, by },
        None => Insn::Undefined,
    }
}

/// ThumbExpandImm_C (A5.3.2): the constant, and whether it was rotated.
fn expand_immediate(h: u16, k: u16) -> (u32, bool) {
    let imm8 = u32::from(k & 0xff);
    let imm12 = h >> 10 & 1;
    let pattern = imm12 << 4 | k >> 11 & 0xe | k >> 7 & 1;
    match pattern {
        0 | 1 => (imm8, false),
        2 | 3 => (imm8 << 16 | imm8, false),
        4 | 5 => (imm8 << 24 | imm8 << 8, false),
        6 | 7 => (imm8 * 0x0101_0101, false),
        by => ((0x80 | imm8).rotate_right(u32::from(by)), true),
    }
}

/// A5.3.1: data processing (modified immediate).
pub(super) fn modified_immediate(h: u16, k: u16) -> Insn {
    let (d, n) = (nibble(k, 8), nibble(h, 0));
    let set = h & 0x10 != 0;
    let (value, rotated) = expand_immediate(h, k);
    match operation(h >> 5, set, d, n) {
        Some(DataOp::Mov) if !set => Insn::MovConst { d, value },
        Some(op) if !set => Insn::DataImm { op, d, n, value },
        Some(op) if rotated => Insn::DataImmSc { op, d, n, value },
        Some(op) => Insn::DataImmS { op, d, n, value },
        None => Insn::Undefined,
    }
}

/// A5.3.3: data processing (plain binary immediate).
pub(super) fn plain_immediate(arch: Architecture, address: u32, h: u16, k: u16) -> Insn {
    let (d, n) = (nibble(k, 8), nibble(h, 0));
    let imm12 = u32::from(h & 0x400) << 1 | u32::from(k >> 4 & 0x700) | u32::from(k & 0xff);
    let imm16 = u32::from(h & 15) << 12 | imm12;
    let (low, high) = (imm5(k), (k & 31) as u8);
    let base = pc(address) & !3;
    let op = h >> 4 & 31;
    // Saturation and bit fields have no use for i and the bit between their numbers.
    let stray = op & 0x10 != 0 && (h & 0x400 != 0 || k & 0x20 != 0);
    if d == 15 || stray {
        return Insn::Undefined;
    }
    match (op, n) {
        (0x00, 15) => Insn::MovConst { d, value: base.wrapping_add(imm12) },
        (0x00, n) => Insn::DataImm { op: DataOp::Add, d, n, value: imm12 },
        (0x04, _) => Insn::MovConst { d, value: imm16 },
        (0x0a, 15) => Insn::MovConst { d, value: base.wrapping_sub(imm12) },
        (0x0a, n) => Insn::DataImm { op: DataOp::Sub, d, n, value: imm12 },
        (0x0c, _) => Insn::Movt { d, imm: imm16 as u16 },
        (0x16, n) if high >= low => Insn::Bfi { d, n, lsb: low, width: high - low + 1 },
        (_, 15) => Insn::Undefined,
        (0x12, n) if low == 0 && high < 16 && arch.dsp => Insn::Ssat16 { d, n, to: high + 1 },
        (0x1a, n) if low == 0 && high < 16 && arch.dsp => Insn::Usat16 { d, n, to: high },
        (0x10, n) => Insn::Ssat { d, n, to: high + 1, shift: Shift::Lsl, by: low },
        (0x12, n) if low != 0 => Insn::Ssat { d, n, to: high + 1, shift: Shift::Asr, by: low },
        (0x18, n) => Insn::Usat { d, n, to: high, shift: Shift::Lsl, by: low },
        (0x1a, n) if low != 0 => Insn::Usat { d, n, to: high, shift: Shift::Asr, by: low },
        (0x14, n) if low + high < 32 => Insn::Sbfx { d, n, lsb: low, width: high + 1 },
        (0x1c, n) if low + high < 32 => Insn::Ubfx { d, n, lsb: low, width: high + 1 },
        _ => Insn::Undefined,
    }
}

/// A5.3.12: data processing (register).
pub(super) fn register(arch: Architecture, h: u16, k: u16) -> Insn {
    let (d, n, m) = (nibble(k, 8), nibble(h, 0), nibble(k, 0));
    let (op1, op2) = (h >> 4 & 15, k >> 4 & 15);
    if k & 0xf000 != 0xf000 || d == 15 || m == 15 {
        return Insn::Undefined;
    }
    match (op1, op2) {
        (0..=7, 0) if n != 15 => {
            let shift = [Shift::Lsl, Shift::Lsr, Shift::Asr, Shift::Ror][usize::from(op1 >> 1)];
            Insn::ShiftReg { shift, set: op1 & 1 != 0, d, n, m }
        }
        (0..=5, 8..=11) => extend(arch, op1, d, n, m, (k >> 4 & 3) as u8 * 8),
        (_, 0..=7) if op1 >= 8 && arch.dsp && n != 15 => parallel(op1, op2, d, n, m),
        (8..=11, 8..=11) => miscellaneous(arch, op1, op2, d, n, m),
        _ => Insn::Undefined,
    }
}

fn extend(arch: Architecture, op1: u16, d: u8, n: u8, m: u8, rotate: u8) -> Insn {
    use Extension::*;
    let op = [Sxth, Uxth, Sxtb16, Uxtb16, Sxtb, Uxtb][usize::from(op1)];
    match op {
        Sxth if n == NO_REG && rotate == 0 => Insn::Sxth { d, m },
        Uxth if n == NO_REG && rotate == 0 => Insn::Uxth { d, m },
        Sxtb if n == NO_REG && rotate == 0 => Insn::Sxtb { d, m },
        Uxtb if n == NO_REG && rotate == 0 => Insn::Uxtb { d, m },
        // Adding and the pairs of bytes are the DSP extension's.
        Sxtb16 | Uxtb16 if !arch.dsp => Insn::Undefined,
        _ if n != NO_REG && !arch.dsp => Insn::Undefined,
        _ => Insn::Extend { op, d, n, m, rotate },
    }
}

/// A5.3.13, A5.3.14: parallel addition and subtraction.
fn parallel(op1: u16, op2: u16, d: u8, n: u8, m: u8) -> Insn {
    use LaneResult::*;
    let lanes = match op1 & 7 {
        0 => Lanes::Add8,
        1 => Lanes::Add16,
        2 => Lanes::Asx,
        4 => Lanes::Sub8,
        5 => Lanes::Sub16,
        6 => Lanes::Sax,
        _ => return Insn::Undefined,
    };
    let result = match op2 {
        0 => Signed,
        1 => SignedSaturating,
        2 => SignedHalving,
        4 => Unsigned,
        5 => UnsignedSaturating,
        6 => UnsignedHalving,
        _ => return Insn::Undefined,
    };
    Insn::Parallel { lanes, result, d, n, m }
}

/// A5.3.15: miscellaneous operations. Those of one register have it twice.
fn miscellaneous(arch: Architecture, op1: u16, op2: u16, d: u8, n: u8, m: u8) -> Insn {
    use SaturatingOp::*;
    match (op1 & 3, op2 & 3) {
        (0, op) if arch.dsp && n != 15 => {
            Insn::Saturating { op: [Qadd, Qdadd, Qsub, Qdsub][usize::from(op)], d, n, m }
        }
        (2, 0) if arch.dsp && n != 15 => Insn::Sel { d, n, m },
        (1, _) | (3, _) if n != m => Insn::Undefined,
        (1, 0) => Insn::Rev { d, m },
        (1, 1) => Insn::Rev16 { d, m },
        (1, 2) => Insn::Rbit { d, m },
        (1, 3) => Insn::Revsh { d, m },
        (3, 0) => Insn::Clz { d, m },
        _ => Insn::Undefined,
    }
}
