//! What the DSP extension does: parallel, saturating and dual multiply arithmetic (DDI 0403, A7.7).

use super::cpu::Cpu;
use super::exec::write_any;
use super::exec_data::{signed_saturate, unsigned_saturate};
use strobe_isa::thumb::insn::{Insn, Reg};
use strobe_isa::thumb::op::{LaneResult, Lanes, SaturatingOp};

fn half(value: u32, top: bool) -> i32 {
    i32::from((if top { value >> 16 } else { value }) as i16)
}

/// Executes an instruction of the extension; returns whether it was one.
pub(super) fn exec(cpu: &mut Cpu, insn: Insn) -> bool {
    let r = |cpu: &Cpu, r: Reg| cpu.r[usize::from(r & 15)];
    let (d, result) = match insn {
        Insn::Pkh { top, d, n, m, by } => (d, pack(top, r(cpu, n), r(cpu, m), by)),
        Insn::Saturating { op, d, n, m } => (d, saturating(cpu, op, r(cpu, n), r(cpu, m))),
        Insn::Sel { d, n, m } => {
            let mask = (0..4).filter(|i| cpu.ge >> i & 1 != 0).fold(0, |m, i| m | 0xff << (8 * i));
            (d, r(cpu, n) & mask | r(cpu, m) & !mask)
        }
        Insn::Parallel { lanes, result, d, n, m } => {
            (d, parallel(cpu, lanes, result, r(cpu, n), r(cpu, m)))
        }
        Insn::Smla { halves, d, n, m, a } => {
            let product = half(r(cpu, n), halves & 2 != 0) * half(r(cpu, m), halves & 1 != 0);
            (d, accumulate(cpu, i64::from(product), r(cpu, a)))
        }
        Insn::Smlaw { top, d, n, m, a } => {
            let product = i64::from(r(cpu, n) as i32) * i64::from(half(r(cpu, m), top));
            (d, accumulate(cpu, product >> 16, r(cpu, a)))
        }
        Insn::Smlad { subtract, swap, d, n, m, a } => {
            let (n, m) = (r(cpu, n), r(cpu, m).rotate_left(if swap { 16 } else { 0 }));
            let low = i64::from(half(n, false) * half(m, false));
            let high = i64::from(half(n, true) * half(m, true));
            let products = if subtract { low - high } else { low + high };
            (d, accumulate(cpu, products, r(cpu, a)))
        }
        Insn::Smmla { subtract, round, d, n, m, a } => {
            let product = i64::from(r(cpu, n) as i32) * i64::from(r(cpu, m) as i32);
            let sum = i64::from(r(cpu, a) as i32) << 32;
            let sum = if subtract { sum.wrapping_sub(product) } else { sum.wrapping_add(product) };
            let sum = if round { sum.wrapping_add(0x8000_0000) } else { sum };
            (d, (sum >> 32) as u32)
        }
        Insn::Usada8 { d, n, m, a } => {
            let bytes = r(cpu, n).to_le_bytes().into_iter().zip(r(cpu, m).to_le_bytes());
            let sum: u32 = bytes.map(|(x, y)| u32::from(x.abs_diff(y))).sum();
            (d, r(cpu, a).wrapping_add(sum))
        }
        Insn::Ssat16 { d, n, to } => {
            let n = r(cpu, n);
            let [low, high] =
                [false, true].map(|top| signed_saturate(cpu, i64::from(half(n, top)), to) as u32);
            (d, high << 16 | low & 0xffff)
        }
        Insn::Usat16 { d, n, to } => {
            let n = r(cpu, n);
            let [low, high] = [false, true].map(|top| unsigned_saturate(cpu, half(n, top), to));
            (d, high << 16 | low)
        }
        _ => return false,
    };
    write_any(cpu, d, result);
    true
}

/// PKHBT shifts left, PKHTB arithmetically right, by 32 if by 0.
fn pack(top: bool, n: u32, m: u32, by: u8) -> u32 {
    if top {
        let by = if by == 0 { 32 } else { by };
        n & 0xffff_0000 | (i64::from(m as i32) >> by) as u32 & 0xffff
    } else {
        m << by & 0xffff_0000 | n & 0xffff
    }
}

fn saturating(cpu: &mut Cpu, op: SaturatingOp, n: u32, m: u32) -> u32 {
    let (n, m) = (i64::from(n as i32), i64::from(m as i32));
    let result = match op {
        SaturatingOp::Qadd => m + n,
        SaturatingOp::Qsub => m - n,
        SaturatingOp::Qdadd => m + i64::from(signed_saturate(cpu, 2 * n, 32)),
        SaturatingOp::Qdsub => m - i64::from(signed_saturate(cpu, 2 * n, 32)),
    };
    signed_saturate(cpu, result, 32) as u32
}

/// Adds, wrapping; Q is set if the sum did not fit.
fn accumulate(cpu: &mut Cpu, product: i64, addend: u32) -> u32 {
    let sum = product + i64::from(addend as i32);
    cpu.q |= sum != i64::from(sum as i32);
    sum as u32
}

/// Parallel addition and subtraction: each lane's exact result, then what the prefix makes of it.
fn parallel(cpu: &mut Cpu, lanes: Lanes, result: LaneResult, n: u32, m: u32) -> u32 {
    use LaneResult::*;
    let unsigned = matches!(result, Unsigned | UnsignedSaturating | UnsignedHalving);
    let bits = if matches!(lanes, Lanes::Add8 | Lanes::Sub8) { 8 } else { 16 };
    let lane = |value: u32, at: u32| {
        let value = value >> (at * bits) & (u32::MAX >> (32 - bits));
        let sign = if unsigned { 0 } else { value >> (bits - 1) };
        value as i32 - ((sign << bits) as i32)
    };
    let (mut word, mut ge) = (0u32, 0u8);
    for at in 0..32 / bits {
        // ASX and SAX exchange the second operand's halves.
        let (other, adds) = match lanes {
            Lanes::Add16 | Lanes::Add8 => (at, true),
            Lanes::Sub16 | Lanes::Sub8 => (at, false),
            Lanes::Asx => (1 - at, at == 1),
            Lanes::Sax => (1 - at, at == 0),
        };
        let (x, y) = (lane(n, at), lane(m, other));
        let exact = if adds { x + y } else { x - y };
        let value = match result {
            Signed | Unsigned => exact,
            SignedHalving | UnsignedHalving => exact >> 1,
            SignedSaturating => exact.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            UnsignedSaturating => exact.clamp(0, (1 << bits) - 1),
        };
        // Unsigned sums set GE by their carry, everything else by its sign.
        let greater = if unsigned && adds { exact >> bits != 0 } else { exact >= 0 };
        if greater {
            ge |= (if bits == 8 { 1 } else { 3 }) << (at * bits / 8);
        }
        word |= (value as u32 & u32::MAX >> (32 - bits)) << (at * bits);
    }
    if matches!(result, Signed | Unsigned) {
        cpu.ge = ge;
    }
    word
}
