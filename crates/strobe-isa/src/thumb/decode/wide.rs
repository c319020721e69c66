//! 32-bit encodings of ARMv7-M (DDI 0403, A5.3): which class, and the branches and system
//! instructions.
//!
//! UNPREDICTABLE encodings: register 15 where the manual forbids it, lists that contradict
//! themselves, and should-be bits that are not so are undefined here, as in QEMU. So are a base
//! that is loaded or stored and written back, both halves of a result in one register, and one
//! operand encoded twice but differently, all of which QEMU executes. Register 13 where the manual
//! forbids it works like any other.

use super::{bl_target, pc};
use super::{data, float, memory, multiply};
use crate::thumb::arch::Architecture;
use crate::thumb::insn::{Condition, Insn, Reg};

/// Four bits of a halfword: mostly a register.
pub(super) fn nibble(halfword: u16, at: u32) -> Reg {
    (halfword >> at & 15) as Reg
}

/// The instruction of two halfwords at `address`.
pub(super) fn decode(arch: Architecture, address: u32, h: u16, k: u16) -> Insn {
    match (h >> 11 & 3, h >> 4 & 0x7f) {
        (1, 0x00..=0x1f) if h & 0x40 == 0 => memory::multiple(h, k),
        (1, 0x00..=0x1f) => memory::dual_or_exclusive(address, h, k),
        (1, 0x20..=0x3f) => data::shifted_register(arch, h, k),
        (2, op) if k & 0x8000 == 0 => {
            if op & 0x20 == 0 {
                data::modified_immediate(h, k)
            } else {
                data::plain_immediate(arch, address, h, k)
            }
        }
        (2, _) => branch_or_system(arch, address, h, k),
        (3, 0x00..=0x1f) => memory::single(address, h, k),
        (3, 0x20..=0x2f) => data::register(arch, h, k),
        (3, 0x30..=0x37) => multiply::multiply(arch, h, k),
        (3, 0x38..=0x3f) => multiply::long_multiply(arch, h, k),
        _ => float::coprocessor(arch, address, h, k),
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
    let (n, d) = (nibble(h, 0), nibble(k, 8));
    match h >> 4 & 0x7f {
        0x38 if n != 15 && k & 0x300 == 0 => {
            let mask = (k >> 10 & 3) as u8;
            // GE exists with the DSP extension only.
            match mask {
                0 => Insn::Undefined,
                1 | 3 if !arch.dsp => Insn::Undefined,
                _ => Insn::Msr { n, sysm: k as u8, mask },
            }
        }
        0x3a if n == 15 && d == 0 => match k & 0xff {
            2 => Insn::Wfe,
            3 => Insn::Wfi,
            4 => Insn::Sev,
            // NOP, YIELD, DBG and reserved hints do nothing.
            _ => Insn::Nop,
        },
        0x3b if n == 15 && d == 15 => match k >> 4 & 15 {
            2 if k & 15 == 15 => Insn::Clrex,
            4 => Insn::Dsb,
            5 => Insn::Dmb,
            6 => Insn::Isb,
            _ => Insn::Undefined,
        },
        0x3e if n == 15 && d != 15 => Insn::Mrs { d, sysm: k as u8 },
        _ => Insn::Undefined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thumb::decode::decode;

    /// Every first halfword with second ones from a small generator.
    fn each(mut look: impl FnMut(u16, u16)) {
        let mut state = 1u32;
        for h in 0xe800..=0xffff {
            for _ in 0..64 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                look(h, (state >> 16) as u16);
            }
        }
    }

    #[test]
    fn armv6m_has_none_of_these() {
        each(|h, k| {
            let (insn, size) = decode(Architecture::V6M, 0x100, h, k);
            assert_eq!(size, 4);
            let known = matches!(
                insn,
                Insn::Bl { .. }
                    | Insn::Msr { mask: 2, .. }
                    | Insn::Mrs { .. }
                    | Insn::Dsb
                    | Insn::Dmb
                    | Insn::Isb
                    | Insn::Undefined
            );
            assert!(known, "{h:04x} {k:04x}: {insn:?}");
        });
        for h in 0..0xe800 {
            let (v6m, _) = decode(Architecture::V6M, 0x100, h, 0);
            let (v7m, _) = decode(Architecture::V7M, 0x100, h, 0);
            // CBZ, IT and CPS of FAULTMASK are all that 16 bits gained.
            let gained = matches!(v7m, Insn::Cbz { .. } | Insn::It { .. } | Insn::Cps { .. });
            assert!(v6m == v7m || gained && v6m == Insn::Undefined, "{h:04x}: {v7m:?}");
        }
    }

    /// What a core lacks is undefined there, and nothing else changes.
    #[test]
    fn extensions_only_add() {
        each(|h, k| {
            let on = |arch| decode(arch, 0x100, h, k).0;
            let (m3, m4, m4f) =
                (on(Architecture::V7M), on(Architecture::V7EM), on(Architecture::V7EM_FP));
            assert!(m3 == m4 || m3 == Insn::Undefined, "{h:04x} {k:04x}: {m3:?} and {m4:?}");
            assert!(m4 == m4f || m4 == Insn::NoCoprocessor, "{h:04x} {k:04x}: {m4f:?}");
            assert!(!m4.is_fp(), "{h:04x} {k:04x}");
        });
    }
}
