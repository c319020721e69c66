//! Loads and stores of ARMv7-M in 32 bits (DDI 0403, A5.3.5 to A5.3.10).
//!
//! The unprivileged forms (LDRT and its kin) decode as ordinary ones: they differ only under a
//! memory protection unit.

use super::pc;
use super::wide::nibble;
use crate::Size;
use crate::thumb::insn::Insn;
use crate::thumb::op::{Direction, Index, Width};

/// A5.3.5: load multiple and store multiple, PUSH and POP among them.
pub(super) fn multiple(h: u16, k: u16) -> Insn {
    let (n, writeback, load) = (nibble(h, 0), h & 0x20 != 0, h & 0x10 != 0);
    let direction = match h >> 7 & 3 {
        1 => Direction::Up,
        2 => Direction::Down,
        _ => return Insn::Undefined,
    };
    let bad = n == 15 || k.count_ones() < 2 || k & 0x2000 != 0 || writeback && k >> n & 1 != 0;
    let both = k & 0xc000 == 0xc000;
    match (load, k & 0x8000 != 0) {
        _ if bad => Insn::Undefined,
        (true, true) if both => Insn::Undefined,
        (true, true) => Insn::LoadMultiplePc { direction, writeback, n, list: k & 0x7fff },
        (true, false) => Insn::LoadMultiple { direction, writeback, n, list: k },
        (false, true) => Insn::Undefined,
        (false, false) => Insn::StoreMultiple { direction, writeback, n, list: k },
    }
}

/// A5.3.6: load and store dual or exclusive, table branch.
pub(super) fn dual_or_exclusive(address: u32, h: u16, k: u16) -> Insn {
    let (n, t, t2) = (nibble(h, 0), nibble(k, 12), nibble(k, 8));
    let (p, u, w, load) = (h & 0x100 != 0, h & 0x80 != 0, h & 0x20 != 0, h & 0x10 != 0);
    if !p && !w {
        return exclusive_or_table(h, k);
    }
    let magnitude = (k & 0xff) as i16 * 4;
    let imm = if u { magnitude } else { -magnitude };
    let index = index(p, w);
    let clobbers = index != Index::Offset && (n == t || n == t2);
    if t == 15 || t2 == 15 || clobbers || load && t == t2 {
        return Insn::Undefined;
    }
    match (load, n) {
        (true, 15) if w => Insn::Undefined,
        (true, 15) => {
            let base = pc(address) & !3;
            Insn::LoadDualAt { t, t2, address: base.wrapping_add_signed(i32::from(imm)) }
        }
        (false, 15) => Insn::Undefined,
        (true, n) => Insn::LoadDual { t, t2, n, index, imm },
        (false, n) => Insn::StoreDual { t, t2, n, index, imm },
    }
}

fn index(p: bool, w: bool) -> Index {
    match (p, w) {
        (true, false) => Index::Offset,
        (true, true) => Index::Pre,
        (false, _) => Index::Post,
    }
}

fn exclusive_or_table(h: u16, k: u16) -> Insn {
    let (n, t, d, m) = (nibble(h, 0), nibble(k, 12), nibble(k, 8), nibble(k, 0));
    let load = h & 0x10 != 0;
    if h & 0x80 == 0 {
        let imm = (k & 0xff) * 4;
        return match load {
            true if n != 15 && t != 15 && d == 15 => {
                Insn::LoadExclusive { size: Size::Word, t, n, imm }
            }
            false => store_exclusive(Size::Word, d, t, n, imm),
            true => Insn::Undefined,
        };
    }
    let size = if k & 0x10 == 0 { Size::Byte } else { Size::Half };
    match (load, k >> 4 & 15) {
        // The base may be the PC: the table follows.
        (true, 0 | 1) if m != 15 && t == 15 && d == 0 => {
            Insn::TableBranch { n, m, half: size == Size::Half }
        }
        (true, 4 | 5) if n != 15 && t != 15 && d == 15 && m == 15 => {
            Insn::LoadExclusive { size, t, n, imm: 0 }
        }
        (false, 4 | 5) if d == 15 => store_exclusive(size, m, t, n, 0),
        _ => Insn::Undefined,
    }
}

fn store_exclusive(size: Size, d: u8, t: u8, n: u8, imm: u16) -> Insn {
    if d == 15 || t == 15 || n == 15 || d == n || d == t {
        return Insn::Undefined;
    }
    Insn::StoreExclusive { size, d, t, n, imm }
}

/// A5.3.7 to A5.3.10: load and store single, and the preload hints.
pub(super) fn single(address: u32, h: u16, k: u16) -> Insn {
    let (n, t) = (nibble(h, 0), nibble(k, 12));
    let (load, signed) = (h & 0x10 != 0, h & 0x100 != 0);
    let width = match (h >> 5 & 3, signed) {
        (0, false) => Width::Byte,
        (0, true) => Width::SignedByte,
        (1, false) => Width::Half,
        (1, true) => Width::SignedHalf,
        (2, false) => Width::Word,
        _ => return Insn::Undefined,
    };
    let imm12 = (k & 0xfff) as i16;
    if !load {
        let plain = h & 0x80 != 0;
        return match n {
            _ if signed || n == 15 || t == 15 => Insn::Undefined,
            n if plain => store(width, t, n, imm12),
            n => offset(k).map_or(Insn::Undefined, |o| store_by(width, t, n, o)),
        };
    }
    let insn = if n == 15 {
        let offset = if h & 0x80 != 0 { i32::from(imm12) } else { -i32::from(imm12) };
        load_at(width, t, (pc(address) & !3).wrapping_add_signed(offset))
    } else if h & 0x80 != 0 {
        load_from(width, t, n, Offset::Immediate(Index::Offset, imm12))
    } else {
        offset(k).map_or(Insn::Undefined, |o| load_from(width, t, n, o))
    };
    match (insn, width) {
        // PLD, PLI and unallocated hints do nothing.
        (Insn::Undefined, _) => Insn::Undefined,
        (_, Width::Word) => insn,
        _ if t == 15 && is_hint(h, k) => Insn::Nop,
        _ if t == 15 => Insn::Undefined,
        _ => insn,
    }
}

/// Hints have no writeback and are not unprivileged.
fn is_hint(h: u16, k: u16) -> bool {
    let eight_bits = h & 0x80 == 0 && h & 15 != 15 && k & 0x800 != 0;
    !eight_bits || k & 0x700 == 0x400
}

enum Offset {
    Immediate(Index, i16),
    Register(u8, u8),
}

/// The forms behind bit 11: an eight-bit immediate with P, U and W, or a register with a shift.
fn offset(k: u16) -> Option<Offset> {
    if k & 0x800 == 0 {
        let m = nibble(k, 0);
        return (k & 0x7c0 == 0 && m != 15).then_some(Offset::Register(m, (k >> 4 & 3) as u8));
    }
    let (p, u, w) = (k & 0x400 != 0, k & 0x200 != 0, k & 0x100 != 0);
    let magnitude = (k & 0xff) as i16;
    let imm = if u { magnitude } else { -magnitude };
    match (p, u, w) {
        (false, _, false) => None,
        // Unprivileged: the offset is positive and the base stays.
        (true, true, false) => Some(Offset::Immediate(Index::Offset, imm)),
        _ => Some(Offset::Immediate(index(p, w), imm)),
    }
}

fn store_by(width: Width, t: u8, n: u8, offset: Offset) -> Insn {
    match offset {
        Offset::Immediate(Index::Offset, imm) => store(width, t, n, imm),
        Offset::Immediate(..) if t == n => Insn::Undefined,
        Offset::Immediate(index, imm) => Insn::Store { width, t, n, index, imm },
        Offset::Register(m, 0) => match width {
            Width::Byte => Insn::StrbReg { t, n, m },
            Width::Half => Insn::StrhReg { t, n, m },
            _ => Insn::StrReg { t, n, m },
        },
        Offset::Register(m, by) => Insn::StoreReg { width, t, n, m, by },
    }
}

/// The 16-bit instructions' variants take what fits them.
fn store(width: Width, t: u8, n: u8, imm: i16) -> Insn {
    match (width, u8::try_from(imm)) {
        (Width::Word, _) if imm >= 0 => Insn::StrImm { t, n, imm: imm as u16 },
        (Width::Half, Ok(imm)) => Insn::StrhImm { t, n, imm },
        (Width::Byte, Ok(imm)) => Insn::StrbImm { t, n, imm },
        _ => Insn::Store { width, t, n, index: Index::Offset, imm },
    }
}

fn load_at(width: Width, t: u8, address: u32) -> Insn {
    match (width, t) {
        (Width::Word, 15) => Insn::LoadPcAt { address },
        (Width::Word, t) if t != 13 && address.is_multiple_of(4) => Insn::LdrLit { t, address },
        _ => Insn::LoadAt { width, t, address },
    }
}

fn load_from(width: Width, t: u8, n: u8, offset: Offset) -> Insn {
    let word = width == Width::Word;
    // The 16-bit variants do not load SP.
    let simple = t < 13 || t == 14;
    match offset {
        Offset::Immediate(index, _) if index != Index::Offset && n == t => Insn::Undefined,
        Offset::Immediate(index, imm) if word && t == 15 => Insn::LoadPc { n, index, imm },
        Offset::Register(m, by) if word && t == 15 => Insn::LoadPcReg { n, m, by },
        Offset::Immediate(Index::Offset, imm) if simple => load_offset(width, t, n, imm),
        Offset::Immediate(index, imm) => Insn::Load { width, t, n, index, imm },
        Offset::Register(m, 0) if simple => match width {
            Width::Word => Insn::LdrReg { t, n, m },
            Width::Half => Insn::LdrhReg { t, n, m },
            Width::Byte => Insn::LdrbReg { t, n, m },
            Width::SignedHalf => Insn::LdrshReg { t, n, m },
            Width::SignedByte => Insn::LdrsbReg { t, n, m },
        },
        Offset::Register(m, by) => Insn::LoadReg { width, t, n, m, by },
    }
}

fn load_offset(width: Width, t: u8, n: u8, imm: i16) -> Insn {
    match (width, u8::try_from(imm)) {
        (Width::Word, _) if imm >= 0 => Insn::LdrImm { t, n, imm: imm as u16 },
        (Width::Half, Ok(imm)) => Insn::LdrhImm { t, n, imm },
        (Width::Byte, Ok(imm)) => Insn::LdrbImm { t, n, imm },
        _ => Insn::Load { width, t, n, index: Index::Offset, imm },
    }
}
