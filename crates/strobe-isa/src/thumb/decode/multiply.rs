//! Multiplication and division of ARMv7-M (DDI 0403, A5.3.16, A5.3.17).

use super::wide::nibble;
use crate::thumb::arch::Architecture;
use crate::thumb::insn::Insn;
use crate::thumb::op::LongOp;

/// A5.3.16: multiply, multiply accumulate, absolute difference. Without `a` nothing is added.
pub(super) fn multiply(arch: Architecture, h: u16, k: u16) -> Insn {
    let (d, n, m, a) = (nibble(k, 8), nibble(h, 0), nibble(k, 0), nibble(k, 12));
    let (op1, op2) = (h >> 4 & 7, k >> 4 & 15);
    if d == 15 || n == 15 || m == 15 {
        return Insn::Undefined;
    }
    match (op1, op2) {
        (0, 0) => Insn::Mla { d, n, m, a },
        (0, 1) if a != 15 => Insn::Mls { d, n, m, a },
        _ if !arch.dsp => Insn::Undefined,
        (1, 0..=3) => Insn::Smla { halves: op2 as u8, d, n, m, a },
        (2 | 4, 0 | 1) => Insn::Smlad { subtract: op1 == 4, swap: op2 == 1, d, n, m, a },
        (3, 0 | 1) => Insn::Smlaw { top: op2 == 1, d, n, m, a },
        (5, 0 | 1) => Insn::Smmla { subtract: false, round: op2 == 1, d, n, m, a },
        (6, 0 | 1) if a != 15 => Insn::Smmla { subtract: true, round: op2 == 1, d, n, m, a },
        (7, 0) => Insn::Usada8 { d, n, m, a },
        _ => Insn::Undefined,
    }
}

/// A5.3.17: long multiply, long multiply accumulate, divide.
pub(super) fn long_multiply(arch: Architecture, h: u16, k: u16) -> Insn {
    use LongOp::*;
    let (lo, hi, n, m) = (nibble(k, 12), nibble(k, 8), nibble(h, 0), nibble(k, 0));
    let (op1, op2) = (h >> 4 & 7, k >> 4 & 15);
    if hi == 15 || n == 15 || m == 15 {
        return Insn::Undefined;
    }
    if let (1 | 3, 15, 15) = (op1, op2, lo) {
        return Insn::Divide { signed: op1 == 1, d: hi, n, m };
    }
    let op = match (op1, op2) {
        (0, 0) => Smull,
        (2, 0) => Umull,
        (4, 0) => Smlal,
        (6, 0) => Umlal,
        _ if !arch.dsp => return Insn::Undefined,
        (4, 8) => Smlalbb,
        (4, 9) => Smlalbt,
        (4, 10) => Smlaltb,
        (4, 11) => Smlaltt,
        (4, 12) => Smlald,
        (4, 13) => Smlaldx,
        (5, 12) => Smlsld,
        (5, 13) => Smlsldx,
        (6, 6) => Umaal,
        _ => return Insn::Undefined,
    };
    // Both halves of the result in one register is unpredictable.
    if lo == 15 || lo == hi { Insn::Undefined } else { Insn::LongMul { op, lo, hi, n, m } }
}
