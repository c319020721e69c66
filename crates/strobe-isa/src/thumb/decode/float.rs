//! Coprocessor instructions (DDI 0403, A5.3.18): FPv4-SP (A6), and coprocessors that are not there.
//!
//! Encodings for doubles in arithmetic are undefined on a single-precision unit.

use super::pc;
use super::wide::nibble;
use crate::thumb::arch::Architecture;
use crate::thumb::insn::{FpReg, Insn, NO_REG};
use crate::thumb::op::{Conversion, Direction, FpOp};

pub(super) fn coprocessor(arch: Architecture, address: u32, h: u16, k: u16) -> Insn {
    // 111x1111 is Advanced SIMD, which no Cortex-M has.
    if h & 0x0f00 == 0x0f00 {
        return Insn::Undefined;
    }
    let fp = k & 0x0e00 == 0x0a00;
    if !fp || !arch.fp {
        return Insn::NoCoprocessor;
    }
    // What bit 12 selects came with FPv5.
    if h & 0x1000 != 0 {
        return Insn::Undefined;
    }
    match (h >> 8 & 15, k & 0x10 != 0) {
        (0xe, false) => data_processing(h, k),
        (0xe, true) => transfer(h, k),
        _ if h & 0x1e0 == 0x040 => transfer_two(h, k),
        _ => load_store(address, h, k),
    }
}

fn is_double(k: u16) -> bool {
    k & 0x100 != 0
}

/// Destination: Vd:D for a single.
fn single_d(h: u16, k: u16) -> FpReg {
    nibble(k, 12) << 1 | (h >> 6 & 1) as u8
}

fn single_n(h: u16, k: u16) -> FpReg {
    nibble(h, 0) << 1 | (k >> 7 & 1) as u8
}

fn single_m(k: u16) -> FpReg {
    nibble(k, 0) << 1 | (k >> 5 & 1) as u8
}

/// The first single of a register list or of a double; of the latter there are 16.
fn first(h: u16, k: u16) -> Option<FpReg> {
    match (is_double(k), h & 0x40 != 0) {
        (false, _) => Some(single_d(h, k)),
        (true, false) => Some(nibble(k, 12) << 1),
        (true, true) => None,
    }
}

/// A6.4: floating-point data processing.
fn data_processing(h: u16, k: u16) -> Insn {
    if is_double(k) {
        return Insn::Undefined;
    }
    let (d, n, m) = (single_d(h, k), single_n(h, k), single_m(k));
    let second = k & 0x40 != 0;
    let op = match (h >> 4 & 0xb, second) {
        (0x0, false) => FpOp::Mla,
        (0x0, true) => FpOp::Mls,
        (0x1, false) => FpOp::Nmls,
        (0x1, true) => FpOp::Nmla,
        (0x2, false) => FpOp::Mul,
        (0x2, true) => FpOp::Nmul,
        (0x3, false) => FpOp::Add,
        (0x3, true) => FpOp::Sub,
        (0x8, false) => FpOp::Div,
        (0x9, false) => FpOp::Fnms,
        (0x9, true) => FpOp::Fnma,
        (0xa, false) => FpOp::Fma,
        (0xa, true) => FpOp::Fms,
        (0xb, false) if k & 0xa0 != 0 => return Insn::Undefined,
        (0xb, false) => return Insn::FpImm { d, value: expand_immediate(h, k) },
        (0xb, true) => return one_operand(h, k),
        _ => return Insn::Undefined,
    };
    Insn::Fp { op, d, n, m }
}

/// VFPExpandImm (A6.4.1): sign, three bits of exponent, four of fraction.
fn expand_immediate(h: u16, k: u16) -> u32 {
    let imm8 = u32::from(h & 15) << 4 | u32::from(k & 15);
    let exponent = if imm8 & 0x40 != 0 { 0x3e00_0000 } else { 0x4000_0000 };
    (imm8 & 0x80) << 24 | exponent | (imm8 & 0x3f) << 19
}

/// Those with opc2 in place of a register.
fn one_operand(h: u16, k: u16) -> Insn {
    let (d, m, high) = (single_d(h, k), single_m(k), k & 0x80 != 0);
    let op = |op| Insn::Fp { op, d, n: 0, m };
    let convert = |op| Insn::FpConvert { op, d, m };
    match (h & 15, high) {
        (0, false) => op(FpOp::Mov),
        (0, true) => op(FpOp::Abs),
        (1, false) => op(FpOp::Neg),
        (1, true) => op(FpOp::Sqrt),
        (2, false) => convert(Conversion::HalfBottomToSingle),
        (2, true) => convert(Conversion::HalfTopToSingle),
        (3, false) => convert(Conversion::SingleToHalfBottom),
        (3, true) => convert(Conversion::SingleToHalfTop),
        (4, false) => op(FpOp::Cmp),
        (4, true) => op(FpOp::CmpE),
        (5, _) if k & 0x2f != 0 => Insn::Undefined,
        (5, false) => op(FpOp::CmpZero),
        (5, true) => op(FpOp::CmpEZero),
        (8, false) => convert(Conversion::UnsignedToSingle),
        (8, true) => convert(Conversion::SignedToSingle),
        (12, false) => convert(Conversion::SingleToUnsignedRounded),
        (12, true) => convert(Conversion::SingleToUnsigned),
        (13, false) => convert(Conversion::SingleToSignedRounded),
        (13, true) => convert(Conversion::SingleToSigned),
        (10 | 11 | 14 | 15, half_or_word) => fixed(h, k, d, half_or_word),
        _ => Insn::Undefined,
    }
}

/// VCVT between floating and fixed point: imm4:i bits of the integer's size are not fraction.
fn fixed(h: u16, k: u16, d: FpReg, word: bool) -> Insn {
    let integer = nibble(k, 0) << 1 | (k >> 5 & 1) as u8;
    let Some(fraction) = (if word { 32u8 } else { 16 }).checked_sub(integer) else {
        return Insn::Undefined;
    };
    Insn::FpFixed { to_fixed: h & 4 != 0, signed: h & 1 == 0, half: !word, d, fraction }
}

/// A6.6: transfers between a core register and a single, a half of a double or FPSCR.
fn transfer(h: u16, k: u16) -> Insn {
    let (t, to_core) = (nibble(k, 12), h & 0x10 != 0);
    let op = h >> 5 & 7;
    let n = match (is_double(k), op) {
        _ if k & 0x6f != 0 => return Insn::Undefined,
        (false, 0) => single_n(h, k),
        (false, 7) if h & 15 == 1 && k & 0x80 == 0 => {
            return match (to_core, t) {
                (true, t) => Insn::Vmrs { t },
                (false, 15) => Insn::Undefined,
                (false, t) => Insn::Vmsr { t },
            };
        }
        // Dn[x]: D is bit 7 and must be 0, x bit 21.
        (true, 0 | 1) if k & 0x80 == 0 => nibble(h, 0) << 1 | op as u8,
        _ => return Insn::Undefined,
    };
    match (to_core, t) {
        (_, NO_REG) => Insn::Undefined,
        (true, t) => Insn::FpToCore { t, n },
        (false, t) => Insn::FpFromCore { n, t },
    }
}

/// A6.7: two core registers and a double or two singles.
fn transfer_two(h: u16, k: u16) -> Insn {
    let (t, t2, to_cores) = (nibble(k, 12), nibble(h, 0), h & 0x10 != 0);
    let m = match (is_double(k), k & 0x20 != 0) {
        (true, true) => return Insn::Undefined,
        (true, false) => nibble(k, 0) << 1,
        (false, _) => single_m(k),
    };
    if k & 0xd0 != 0x10 || t == 15 || t2 == 15 || m == 31 || to_cores && t == t2 {
        return Insn::Undefined;
    }
    if to_cores { Insn::FpToCores { t, t2, m } } else { Insn::FpFromCores { m, t, t2 } }
}

/// A6.5: loads and stores of one register or several.
fn load_store(address: u32, h: u16, k: u16) -> Insn {
    let (n, load) = (nibble(h, 0), h & 0x10 != 0);
    let (p, u, w) = (h & 0x100 != 0, h & 0x80 != 0, h & 0x20 != 0);
    let Some(d) = first(h, k) else { return Insn::Undefined };
    let words = (k & 0xff) as u8;
    if p && !w {
        let imm = if u { i16::from(words) * 4 } else { -(i16::from(words) * 4) };
        let count = if is_double(k) { 2 } else { 1 };
        return match (load, n) {
            (true, 15) => {
                let address = (pc(address) & !3).wrapping_add_signed(i32::from(imm));
                Insn::FpLoadAt { d, count, address }
            }
            (false, 15) => Insn::Undefined,
            (true, n) => Insn::FpLoad { d, count, n, imm },
            (false, n) => Insn::FpStore { d, count, n, imm },
        };
    }
    let (direction, writeback) = match (p, u, w) {
        (false, true, w) => (Direction::Up, w),
        (true, false, true) => (Direction::Down, true),
        _ => return Insn::Undefined,
    };
    // An odd number of words of doubles is FLDMX and FSTMX: as many doubles, one word left over.
    let count = if is_double(k) { words & !1 } else { words };
    if n == 15 || count == 0 || u16::from(d) + u16::from(count) > 32 {
        return Insn::Undefined;
    }
    if load {
        Insn::FpLoadMultiple { direction, writeback, n, d, count, words }
    } else {
        Insn::FpStoreMultiple { direction, writeback, n, d, count, words }
    }
}
