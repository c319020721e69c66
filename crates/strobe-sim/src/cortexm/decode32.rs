//! 32-bit encodings of ARMv7-M (DDI 0403, A5.3): which class, and the branches and system instructions.
//!
//! UNPREDICTABLE encodings: register 15 where the manual forbids it, lists and writebacks that contradict
//! themselves are undefined here, as in QEMU; register 13 where the manual forbids it works like any other.
//! Should-be-zero bits are ignored where no other instruction lies behind them.

use super::arch::Architecture;
use super::decode::{bl_target, pc};
use super::insn::{Condition, Insn, Reg};
use super::{decode_data, decode_fp, decode_mem, decode_mul};

/// Four bits of a halfword: mostly a register.
pub(super) fn nibble(halfword: u16, at: u32) -> Reg {
    (halfword >> at & 15) as Reg
}

/// The instruction of two halfwords at `address`.
pub(super) fn wide(arch: Architecture, address: u32, h: u16, k: u16) -> Insn {
    match (h >> 11 & 3, h >> 4 & 0x7f) {
        (1, 0x00..=0x1f) if h & 0x40 == 0 => decode_mem::multiple(h, k),
        (1, 0x00..=0x1f) => decode_mem::dual_or_exclusive(address, h, k),
        (1, 0x20..=0x3f) => decode_data::shifted_register(arch, h, k),
        (2, op) if k & 0x8000 == 0 => {
            if op & 0x20 == 0 {
                decode_data::modified_immediate(h, k)
            } else {
                decode_data::plain_immediate(arch, address, h, k)
            }
        }
        (2, _) => branch_or_system(arch, address, h, k),
        (3, 0x00..=0x1f) => decode_mem::single(address, h, k),
        (3, 0x20..=0x2f) => decode_data::register(arch, h, k),
        (3, 0x30..=0x37) => decode_mul::multiply(arch, h, k),
        (3, 0x38..=0x3f) => decode_mul::long_multiply(arch, h, k),
        _ => decode_fp::coprocessor(arch, address, h, k),
    }
}

/// A5.3.4: branches and miscellaneous control.
fn branch_or_system(arch: Architecture, address: u32, h: u16, k: u16) -> Insn {
    match k >> 12 & 7 {
        5 | 7 => Insn::Bl { target: bl_target(address, h, k) },
        // B, encoding T4, has BL's offset.
        1 | 3 => Insn::B { target: bl_target(address, h, k) },
        0 | 2 => match Condition::from_bits(h >> 6 & 15) {
            Some(condition) => {
                Insn::BCond { condition, target: pc(address).wrapping_add_signed(near(h, k)) }
            }
            None if k & 0x5000 == 0 && k & 0x2000 == 0 => system(arch, h, k),
            // UDF among them.
            None => Insn::Undefined,
        },
        _ => Insn::Undefined,
    }
}

/// The offset of B, encoding T3: S:J2:J1:imm6:imm11:0.
fn near(h: u16, k: u16) -> i32 {
    let s = u32::from(h >> 10 & 1);
    let (j1, j2) = (u32::from(k >> 13 & 1), u32::from(k >> 11 & 1));
    let offset =
        s << 20 | j2 << 19 | j1 << 18 | u32::from(h & 0x3f) << 12 | u32::from(k & 0x7ff) << 1;
    ((offset << 11) as i32) >> 11
}

fn system(arch: Architecture, h: u16, k: u16) -> Insn {
    match h >> 4 & 0x7f {
        0x38 if nibble(h, 0) != 15 => {
            let mask = (k >> 10 & 3) as u8;
            // GE exists with the DSP extension only.
            match mask {
                0 => Insn::Undefined,
                1 | 3 if !arch.dsp => Insn::Undefined,
                _ => Insn::Msr { n: nibble(h, 0), sysm: k as u8, mask },
            }
        }
        0x3a if k & 0x700 == 0 => match k & 0xff {
            2 => Insn::Wfe,
            3 => Insn::Wfi,
            4 => Insn::Sev,
            // NOP, YIELD, DBG and reserved hints do nothing.
            _ => Insn::Nop,
        },
        0x3b => match k >> 4 & 15 {
            2 => Insn::Clrex,
            4 => Insn::Dsb,
            5 => Insn::Dmb,
            6 => Insn::Isb,
            _ => Insn::Undefined,
        },
        0x3e if nibble(k, 8) != 15 => Insn::Mrs { d: nibble(k, 8), sysm: k as u8 },
        _ => Insn::Undefined,
    }
}
