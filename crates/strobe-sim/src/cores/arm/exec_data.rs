//! What data processing in 32 bits does to registers and flags (DDI 0403, A7.7).

use super::cpu::Cpu;
use super::exec::{Port, Work, write_any};
use strobe_isa::thumb::insn::{Insn, Reg};
use strobe_isa::thumb::op::{DataOp, Extension, LongOp, Shift};

fn at(r: Reg) -> usize {
    usize::from(r & 15)
}

/// The low `width` bits (1-32) set.
#[inline(always)]
pub(super) fn low_bits(width: u8) -> u32 {
    u32::MAX >> ((32 - u32::from(width)) & 31)
}

/// Shift_C (A2.2.1): the result and the carry out. Amounts are those of [`Shift`].
#[inline(always)]
fn shift_c(value: u32, shift: Shift, by: u8, carry: u32) -> (u32, u32) {
    let by = u32::from(by);
    match shift {
        _ if by == 0 => (value, carry),
        Shift::Lsl => (value << (by & 31), value >> ((32 - by) & 31) & 1),
        Shift::Lsr => ((u64::from(value) >> by) as u32, value >> (by - 1) & 1),
        Shift::Asr => {
            ((i64::from(value as i32) >> by) as u32, ((value as i32) >> (by - 1)) as u32 & 1)
        }
        Shift::Ror => {
            let result = value.rotate_right(by);
            (result, result >> 31)
        }
        Shift::Rrx => (carry << 31 | value >> 1, value & 1),
    }
}

/// An operation that leaves the flags alone.
#[inline(always)]
fn compute(op: DataOp, a: u32, b: u32, carry: u32) -> u32 {
    match op {
        DataOp::And | DataOp::Tst => a & b,
        DataOp::Bic => a & !b,
        DataOp::Orr => a | b,
        DataOp::Orn => a | !b,
        DataOp::Eor | DataOp::Teq => a ^ b,
        DataOp::Add | DataOp::Cmn => a.wrapping_add(b),
        DataOp::Adc => a.wrapping_add(b).wrapping_add(carry),
        DataOp::Sbc => a.wrapping_add(!b).wrapping_add(carry),
        DataOp::Sub | DataOp::Cmp => a.wrapping_sub(b),
        DataOp::Rsb => b.wrapping_sub(a),
        DataOp::Mov => b,
        DataOp::Mvn => !b,
    }
}

/// An operation that sets the flags; C is `carry` (the shifter's) unless by arithmetic.
#[inline(always)]
fn compute_setting(cpu: &mut Cpu, op: DataOp, a: u32, b: u32, carry: u32) -> u32 {
    match op {
        DataOp::Add | DataOp::Cmn => cpu.add(a, b, 0),
        DataOp::Adc => cpu.add(a, b, cpu.c),
        DataOp::Sbc => cpu.add(a, !b, cpu.c),
        DataOp::Sub | DataOp::Cmp => cpu.sub(a, b),
        DataOp::Rsb => cpu.sub(b, a),
        _ => {
            let result = compute(op, a, b, 0);
            cpu.set_nz(result);
            cpu.c = carry;
            result
        }
    }
}

fn only_compares(op: DataOp) -> bool {
    matches!(op, DataOp::Tst | DataOp::Teq | DataOp::Cmn | DataOp::Cmp)
}

#[inline(always)]
pub(super) fn immediate(cpu: &mut Cpu, op: DataOp, d: Reg, n: Reg, value: u32) {
    let result = compute(op, cpu.r[at(n)], value, cpu.c);
    write_any(cpu, d, result);
}

#[inline(always)]
pub(super) fn immediate_setting(cpu: &mut Cpu, op: DataOp, d: Reg, n: Reg, value: u32, carry: u32) {
    let result = compute_setting(cpu, op, cpu.r[at(n)], value, carry);
    if !only_compares(op) {
        write_any(cpu, d, result);
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments)] // As many as the instruction has fields.
pub(super) fn register(
    cpu: &mut Cpu,
    op: DataOp,
    set: bool,
    d: Reg,
    n: Reg,
    m: Reg,
    shift: Shift,
    by: u8,
) {
    let (b, carry) = shift_c(cpu.r[at(m)], shift, by, cpu.c);
    let a = cpu.r[at(n)];
    if set {
        let result = compute_setting(cpu, op, a, b, carry);
        if !only_compares(op) {
            write_any(cpu, d, result);
        }
    } else {
        let result = compute(op, a, b, cpu.c);
        write_any(cpu, d, result);
    }
}

/// Those that are less common. Returns whether it was one of them.
pub(super) fn exec<P: Port>(cpu: &mut Cpu, port: &mut P, insn: Insn) -> Result<bool, P::Stop> {
    macro_rules! r {
        ($i:expr) => {
            cpu.r[at($i)]
        };
    }
    let (d, result) = match insn {
        Insn::ShiftReg { shift, set, d, n, m } => {
            (d, shift_register(cpu, shift, set, r!(n), r!(m)))
        }
        Insn::Movt { d, imm } => (d, r!(d) & 0xffff | u32::from(imm) << 16),
        Insn::Bfi { d, n, lsb, width } => {
            let mask = low_bits(width) << (lsb & 31);
            (d, r!(d) & !mask | r!(n) << (lsb & 31) & mask)
        }
        Insn::Sbfx { d, n, lsb, width } => {
            let spare = 32 - u32::from(width);
            (d, ((r!(n) >> (lsb & 31) << spare) as i32 >> spare) as u32)
        }
        Insn::Ssat { d, n, to, shift, by } => {
            let (value, _) = shift_c(r!(n), shift, by, 0);
            (d, signed_saturate(cpu, i64::from(value as i32), to) as u32)
        }
        Insn::Usat { d, n, to, shift, by } => {
            let (value, _) = shift_c(r!(n), shift, by, 0);
            (d, unsigned_saturate(cpu, value as i32, to))
        }
        Insn::Rbit { d, m } => (d, r!(m).reverse_bits()),
        Insn::Clz { d, m } => (d, r!(m).leading_zeros()),
        Insn::Extend { op, d, n, m, rotate } => {
            (d, extend(op, r!(n), r!(m).rotate_right(u32::from(rotate))))
        }
        Insn::LongMul { op, lo, hi, n, m } => {
            long_multiply(cpu, port, op, lo, hi, r!(n), r!(m));
            return Ok(true);
        }
        Insn::Divide { signed, d, n, m } => (d, divide(port, signed, r!(n), r!(m))?),
        _ => return Ok(false),
    };
    write_any(cpu, d, result);
    Ok(true)
}

fn shift_register(cpu: &mut Cpu, shift: Shift, set: bool, value: u32, by: u32) -> u32 {
    if set {
        return match shift {
            Shift::Lsl => cpu.lsl_reg(value, by),
            Shift::Lsr => cpu.lsr_reg(value, by),
            Shift::Asr => cpu.asr_reg(value, by),
            Shift::Ror | Shift::Rrx => cpu.ror_reg(value, by),
        };
    }
    let by = by & 0xff;
    match shift {
        Shift::Lsl => value.checked_shl(by).unwrap_or(0),
        Shift::Lsr => value.checked_shr(by).unwrap_or(0),
        Shift::Asr => ((value as i32) >> by.min(31)) as u32,
        Shift::Ror | Shift::Rrx => value.rotate_right(by & 31),
    }
}

/// SignedSatQ to `to` bits, setting Q.
pub(super) fn signed_saturate(cpu: &mut Cpu, value: i64, to: u8) -> i32 {
    let limit = 1i64 << (to - 1);
    let result = value.clamp(-limit, limit - 1);
    cpu.q |= result != value;
    result as i32
}

/// UnsignedSatQ to `to` bits, setting Q.
pub(super) fn unsigned_saturate(cpu: &mut Cpu, value: i32, to: u8) -> u32 {
    let result = i64::from(value).clamp(0, (1i64 << to) - 1);
    cpu.q |= result != i64::from(value);
    result as u32
}

/// SXTAB and its kin, the operand already rotated; without a base that reads as zero.
fn extend(op: Extension, base: u32, value: u32) -> u32 {
    let pair = |low: u32, high: u32| {
        let low = base.wrapping_add(low) & 0xffff;
        let high = (base >> 16).wrapping_add(high) << 16;
        high | low
    };
    match op {
        Extension::Sxth => base.wrapping_add(value as i16 as u32),
        Extension::Uxth => base.wrapping_add(value & 0xffff),
        Extension::Sxtb => base.wrapping_add(value as i8 as u32),
        Extension::Uxtb => base.wrapping_add(value & 0xff),
        Extension::Sxtb16 => pair(value as i8 as u32, (value >> 16) as i8 as u32),
        Extension::Uxtb16 => pair(value & 0xff, value >> 16 & 0xff),
    }
}

fn divide<P: Port>(port: &mut P, signed: bool, n: u32, m: u32) -> Result<u32, P::Stop> {
    if m == 0 {
        port.divide_by_zero()?;
        return Ok(0);
    }
    let (dividend, divisor) =
        if signed { ((n as i32).unsigned_abs(), (m as i32).unsigned_abs()) } else { (n, m) };
    port.spend(Work::Divide { dividend, divisor });
    Ok(if signed { (n as i32).wrapping_div(m as i32) as u32 } else { n / m })
}

fn long_multiply<P: Port>(
    cpu: &mut Cpu,
    port: &mut P,
    op: LongOp,
    lo: Reg,
    hi: Reg,
    n: u32,
    m: u32,
) {
    let sum = u64::from(cpu.r[at(hi)]) << 32 | u64::from(cpu.r[at(lo)]);
    let signed_product = |n: u32, m: u32| (i64::from(n as i32) * i64::from(m as i32)) as u64;
    let half = |x: u32, top: bool| i64::from((if top { x >> 16 } else { x }) as i16);
    let halves = |n_top, m_top| (half(n, n_top) * half(m, m_top)) as u64;
    let dual = |m: u32, subtract: bool| {
        let low = half(n, false) * half(m, false);
        let high = half(n, true) * half(m, true);
        (if subtract { low - high } else { low + high }) as u64
    };
    let result = match op {
        LongOp::Smull => signed_product(n, m),
        LongOp::Umull => u64::from(n) * u64::from(m),
        LongOp::Smlal => sum.wrapping_add(signed_product(n, m)),
        LongOp::Umlal => sum.wrapping_add(u64::from(n) * u64::from(m)),
        LongOp::Umaal => {
            let addends = u64::from(cpu.r[at(hi)]) + u64::from(cpu.r[at(lo)]);
            u64::from(n) * u64::from(m) + addends
        }
        LongOp::Smlalbb => sum.wrapping_add(halves(false, false)),
        LongOp::Smlalbt => sum.wrapping_add(halves(false, true)),
        LongOp::Smlaltb => sum.wrapping_add(halves(true, false)),
        LongOp::Smlaltt => sum.wrapping_add(halves(true, true)),
        LongOp::Smlald => sum.wrapping_add(dual(m, false)),
        LongOp::Smlaldx => sum.wrapping_add(dual(m.rotate_left(16), false)),
        LongOp::Smlsld => sum.wrapping_add(dual(m, true)),
        LongOp::Smlsldx => sum.wrapping_add(dual(m.rotate_left(16), true)),
    };
    port.spend(Work::LongMultiply {
        n,
        m,
        signed: matches!(op, LongOp::Smull | LongOp::Smlal),
        accumulates: matches!(op, LongOp::Smlal | LongOp::Umlal),
    });
    write_any(cpu, lo, result as u32);
    write_any(cpu, hi, (result >> 32) as u32);
}
