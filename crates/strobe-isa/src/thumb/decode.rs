//! Halfwords to instructions: the 16-bit Thumb encodings, and all of ARMv6-M (DDI 0419, A5 and
//! A6.7).
//!
//! The 32-bit encodings that ARMv7-M adds are those of `wide`.

mod data;
mod float;
mod memory;
mod multiply;
mod wide;

use super::arch::Architecture;
use super::insn::{Condition, Insn, Reg};

/// Whether a halfword starts a 32-bit instruction (A5.1).
pub fn is_wide(first: u16) -> bool {
    first >= 0xe800
}

/// Decodes the instruction at `address`. `second` is the following halfword; pass anything when it
/// cannot be read, it only matters for 32-bit encodings. Returns the instruction and its bytes.
///
/// Inside an IT block, 16-bit instructions go through [`Insn::inside_it_block`] as well.
pub fn decode(arch: Architecture, address: u32, first: u16, second: u16) -> (Insn, u32) {
    match (is_wide(first), arch.v7m) {
        (false, _) => (narrow(arch, address, first), 2),
        (true, false) => (wide_v6m(address, first, second), 4),
        (true, true) => (wide::decode(arch, address, first, second), 4),
    }
}

fn reg(bits: u16, at: u32) -> Reg {
    (bits >> at & 7) as Reg
}

/// The value an instruction reads from the PC: its address plus 4.
fn pc(address: u32) -> u32 {
    address.wrapping_add(4)
}

fn narrow(arch: Architecture, address: u32, h: u16) -> Insn {
    match h >> 10 {
        0x00..=0x0f => shift_add_move(h),
        0x10 => data_processing(h),
        0x11 => special(address, h),
        0x12..=0x13 => Insn::LdrLit {
            t: reg(h, 8),
            address: (pc(address) & !3).wrapping_add(u32::from(h & 0xff) * 4),
        },
        0x14..=0x17 => load_store_register(h),
        0x18..=0x27 => load_store_immediate(h),
        0x28..=0x29 => Insn::MovConst {
            d: reg(h, 8),
            value: (pc(address) & !3).wrapping_add(u32::from(h & 0xff) * 4),
        },
        0x2a..=0x2b => Insn::AddSpImm { d: reg(h, 8), imm: (h & 0xff) * 4 },
        0x2c..=0x2f => miscellaneous(arch, address, h),
        0x30..=0x31 => Insn::Stm { n: reg(h, 8), list: h as u8 },
        0x32..=0x33 => Insn::Ldm { n: reg(h, 8), list: h as u8 },
        0x34..=0x37 => conditional(address, h),
        _ => {
            let offset = (i32::from(h & 0x7ff) << 21) >> 20;
            Insn::B { target: pc(address).wrapping_add_signed(offset) }
        }
    }
}

/// A5.2.1: shift (immediate), add, subtract, move and compare.
fn shift_add_move(h: u16) -> Insn {
    let (d, m) = (reg(h, 0), reg(h, 3));
    let imm5 = (h >> 6 & 31) as u8;
    let (d8, imm8) = (reg(h, 8), h as u8);
    match h >> 9 & 31 {
        0..=3 => Insn::LslImm { d, m, imm: imm5 },
        // A shift right by 0 encodes 32.
        4..=7 => Insn::LsrImm { d, m, imm: if imm5 == 0 { 32 } else { imm5 } },
        8..=11 => Insn::AsrImm { d, m, imm: if imm5 == 0 { 32 } else { imm5 } },
        12 => Insn::AddReg { d, n: m, m: reg(h, 6) },
        13 => Insn::SubReg { d, n: m, m: reg(h, 6) },
        14 => Insn::AddImm { d, n: m, imm: reg(h, 6) },
        15 => Insn::SubImm { d, n: m, imm: reg(h, 6) },
        16..=19 => Insn::MovImm { d: d8, imm: imm8 },
        20..=23 => Insn::CmpImm { n: d8, imm: imm8 },
        24..=27 => Insn::AddImm { d: d8, n: d8, imm: imm8 },
        _ => Insn::SubImm { d: d8, n: d8, imm: imm8 },
    }
}

/// A5.2.2: data processing.
fn data_processing(h: u16) -> Insn {
    let (d, m) = (reg(h, 0), reg(h, 3));
    match h >> 6 & 15 {
        0 => Insn::And { d, m },
        1 => Insn::Eor { d, m },
        2 => Insn::LslReg { d, m },
        3 => Insn::LsrReg { d, m },
        4 => Insn::AsrReg { d, m },
        5 => Insn::Adc { d, m },
        6 => Insn::Sbc { d, m },
        7 => Insn::RorReg { d, m },
        8 => Insn::Tst { n: d, m },
        9 => Insn::Rsb { d, n: m },
        10 => Insn::CmpReg { n: d, m },
        11 => Insn::Cmn { n: d, m },
        12 => Insn::Orr { d, m },
        13 => Insn::Mul { d, m },
        14 => Insn::Bic { d, m },
        _ => Insn::Mvn { d, m },
    }
}

/// A5.2.3: special data instructions and branch and exchange.
fn special(address: u32, h: u16) -> Insn {
    let d = (h & 7 | h >> 4 & 8) as Reg;
    let m = (h >> 3 & 15) as Reg;
    let value = pc(address);
    match (h >> 8 & 3, d, m) {
        // ADD PC, PC is unpredictable.
        (0, 15, 15) => Insn::Undefined,
        (0, 15, m) => Insn::AddPc { m, value },
        (0, d, 15) => Insn::AddConst { d, value },
        (0, d, m) => Insn::AddHi { d, m },
        (1, 15, _) => Insn::Undefined,
        (1, n, 15) => Insn::CmpConst { n, value },
        (1, n, m) => Insn::CmpReg { n, m },
        (2, 15, 15) => Insn::Undefined,
        (2, 15, m) => Insn::MovPc { m },
        (2, d, 15) => Insn::MovConst { d, value },
        (2, d, m) => Insn::MovHi { d, m },
        (_, _, 15) => Insn::Undefined,
        (_, _, m) if h & 0x80 == 0 => Insn::Bx { m },
        (_, _, m) => Insn::Blx { m },
    }
}

/// A5.2.4: load/store single, register offset.
fn load_store_register(h: u16) -> Insn {
    let (t, n, m) = (reg(h, 0), reg(h, 3), reg(h, 6));
    match h >> 9 & 7 {
        0 => Insn::StrReg { t, n, m },
        1 => Insn::StrhReg { t, n, m },
        2 => Insn::StrbReg { t, n, m },
        3 => Insn::LdrsbReg { t, n, m },
        4 => Insn::LdrReg { t, n, m },
        5 => Insn::LdrhReg { t, n, m },
        6 => Insn::LdrbReg { t, n, m },
        _ => Insn::LdrshReg { t, n, m },
    }
}

/// A5.2.4: load/store single, immediate offset.
fn load_store_immediate(h: u16) -> Insn {
    let (t, n) = (reg(h, 0), reg(h, 3));
    let imm5 = h >> 6 & 31;
    let (t8, imm8) = (reg(h, 8), (h & 0xff) * 4);
    match h >> 11 {
        0b01100 => Insn::StrImm { t, n, imm: imm5 * 4 },
        0b01101 => Insn::LdrImm { t, n, imm: imm5 * 4 },
        0b01110 => Insn::StrbImm { t, n, imm: imm5 as u8 },
        0b01111 => Insn::LdrbImm { t, n, imm: imm5 as u8 },
        0b10000 => Insn::StrhImm { t, n, imm: (imm5 * 2) as u8 },
        0b10001 => Insn::LdrhImm { t, n, imm: (imm5 * 2) as u8 },
        0b10010 => Insn::StrImm { t: t8, n: 13, imm: imm8 },
        _ => Insn::LdrImm { t: t8, n: 13, imm: imm8 },
    }
}

/// A5.2.5: miscellaneous 16-bit instructions.
fn miscellaneous(arch: Architecture, address: u32, h: u16) -> Insn {
    let (d, m) = (reg(h, 0), reg(h, 3));
    if arch.v7m && h & 0x0500 == 0x0100 {
        let offset = u32::from(h >> 3 & 0x40 | h >> 2 & 0x3e);
        let target = pc(address).wrapping_add(offset);
        return Insn::Cbz { n: reg(h, 0), nonzero: h & 0x800 != 0, target };
    }
    match h >> 5 & 0x7f {
        0x00..=0x03 => Insn::AdjustSp { imm: (h & 0x7f) as i16 * 4 },
        0x04..=0x07 => Insn::AdjustSp { imm: -((h & 0x7f) as i16 * 4) },
        0x10..=0x17 => extend(h, d, m),
        0x20..=0x2f => Insn::Push { list: h & 0xff | (h & 0x100) << 6 },
        0x33 if h & 0xffef == 0xb662 => Insn::Cps { disable: h & 0x10 != 0, masks: 2 },
        0x33 if arch.v7m && h & 0xffec == 0xb660 && h & 3 != 0 => {
            Insn::Cps { disable: h & 0x10 != 0, masks: (h & 3) as u8 }
        }
        0x50..=0x57 => match h >> 6 & 3 {
            0 => Insn::Rev { d, m },
            1 => Insn::Rev16 { d, m },
            3 => Insn::Revsh { d, m },
            _ => Insn::Undefined,
        },
        0x60..=0x67 => Insn::Pop { list: h as u8 },
        0x68..=0x6f => Insn::PopPc { list: h as u8 },
        0x70..=0x77 => Insn::Bkpt { imm: h as u8 },
        0x78..=0x7f => match (h & 15, h >> 4 & 15) {
            (0, 2) => Insn::Wfe,
            (0, 3) => Insn::Wfi,
            (0, 4) => Insn::Sev,
            // NOP, YIELD and reserved hints do nothing.
            (0, _) => Insn::Nop,
            // IT is not in ARMv6-M. Condition 15, and 14 with an "else" (which is 15), are
            // unpredictable.
            (_, 15) => Insn::Undefined,
            (mask, 14) if !mask.is_power_of_two() => Insn::Undefined,
            _ if arch.v7m => Insn::It { state: h as u8 },
            _ => Insn::Undefined,
        },
        _ => Insn::Undefined,
    }
}

fn extend(h: u16, d: Reg, m: Reg) -> Insn {
    match h >> 6 & 3 {
        0 => Insn::Sxth { d, m },
        1 => Insn::Sxtb { d, m },
        2 => Insn::Uxth { d, m },
        _ => Insn::Uxtb { d, m },
    }
}

/// A5.2.6: conditional branch, UDF and SVC.
fn conditional(address: u32, h: u16) -> Insn {
    match (Condition::from_bits(h >> 8 & 15), h >> 8 & 15) {
        (Some(condition), _) => {
            let offset = i32::from(h as u8 as i8) * 2;
            Insn::BCond { condition, target: pc(address).wrapping_add_signed(offset) }
        }
        (None, 15) => Insn::Svc { imm: h as u8 },
        _ => Insn::Undefined,
    }
}

/// A5.3: 32-bit instructions; ARMv6-M has BL, MSR, MRS, the barriers and UDF.W.
fn wide_v6m(address: u32, first: u16, second: u16) -> Insn {
    if first & 0xf800 != 0xf000 || second & 0x8000 == 0 {
        return Insn::Undefined;
    }
    if second & 0xd000 == 0xd000 {
        return Insn::Bl { target: bl_target(address, first, second) };
    }
    if second & 0xd000 != 0x8000 {
        return Insn::Undefined;
    }
    match first {
        0xf380..=0xf38f if second & 0xff00 == 0x8800 => match first & 15 {
            13 | 15 => Insn::Undefined,
            n => Insn::Msr { n: n as Reg, sysm: second as u8, mask: 2 },
        },
        0xf3ef if second & 0xf000 == 0x8000 => match second >> 8 & 15 {
            13 | 15 => Insn::Undefined,
            d => Insn::Mrs { d: d as Reg, sysm: second as u8 },
        },
        0xf3bf if second & 0xff00 == 0x8f00 => match second >> 4 & 15 {
            4 => Insn::Dsb,
            5 => Insn::Dmb,
            6 => Insn::Isb,
            _ => Insn::Undefined,
        },
        _ => Insn::Undefined,
    }
}

/// BL, encoding T1 (A6.7.13).
fn bl_target(address: u32, first: u16, second: u16) -> u32 {
    let s = u32::from(first >> 10 & 1);
    let i1 = !(u32::from(second >> 13 & 1) ^ s) & 1;
    let i2 = !(u32::from(second >> 11 & 1) ^ s) & 1;
    let offset = s << 24
        | i1 << 23
        | i2 << 22
        | u32::from(first & 0x3ff) << 12
        | u32::from(second & 0x7ff) << 1;
    let signed = ((offset << 7) as i32) >> 7;
    pc(address).wrapping_add_signed(signed)
}
