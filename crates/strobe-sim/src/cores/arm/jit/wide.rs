//! What ARMv7-M adds, as compiled code: data processing. Mirrors `cortexm::exec_data`.
//!
//! What is rare or long (the DSP and floating-point instructions) calls the interpreter's own
//! function.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::build::{Build, trusted};
use super::flags::Carry;
use super::halves;
use super::lanes;
use super::region;
use crate::cores::arm::cpu::Cpu;
use crate::kernel::device::Size;
use strobe_isa::thumb::insn::{Insn, NO_REG, Reg};
use strobe_isa::thumb::op::{DataOp, Extension, LongOp, Shift};

/// Whether an instruction runs by calling the interpreter, and then the core registers that it
/// reads and writes; it does nothing to N, Z, C and V and does not use memory.
pub(super) fn called(insn: Insn) -> Option<(Vec<Reg>, Vec<Reg>)> {
    use Insn::*;
    if lanes::is_compiled(insn) || halves::is_compiled(insn) {
        return None;
    }
    Some(match insn {
        Ssat { d, n, .. } | Usat { d, n, .. } | Ssat16 { d, n, .. } | Usat16 { d, n, .. } => {
            (vec![n], vec![d])
        }
        Pkh { d, n, m, .. }
        | Saturating { d, n, m, .. }
        | Sel { d, n, m }
        | Parallel { d, n, m, .. } => (vec![n, m], vec![d]),
        Extend { op: Extension::Sxtb16 | Extension::Uxtb16, d, n, m, .. } => (vec![n, m], vec![d]),
        Smmla { d, n, m, a, .. } | Usada8 { d, n, m, a } => (vec![n, m, a], vec![d]),
        LongMul { op, lo, hi, n, m } if !is_plain_long(op) => (vec![lo, hi, n, m], vec![lo, hi]),
        Fp { .. } | FpConvert { .. } | FpFixed { .. } => (vec![], vec![]),
        Vmrs { t } if t != NO_REG => (vec![], vec![t]),
        Vmsr { t } => (vec![t], vec![]),
        _ => return None,
    })
}

fn is_plain_long(op: LongOp) -> bool {
    matches!(op, LongOp::Smull | LongOp::Umull | LongOp::Smlal | LongOp::Umlal | LongOp::Umaal)
}

/// Operations whose result goes nowhere.
fn only_compares(op: DataOp) -> bool {
    matches!(op, DataOp::Tst | DataOp::Teq | DataOp::Cmn | DataOp::Cmp)
}

/// What a data-processing instruction does with the flags.
enum Setting {
    Nothing,
    /// All by arithmetic; otherwise N, Z and, if there is one, this carry.
    Flags(Option<Carry>),
}

impl Build<'_> {
    /// Builds an instruction of ARMv7-M that stays in its block.
    pub(super) fn wide(&mut self, insn: Insn) {
        use Insn::*;
        match insn {
            It { .. } => {}
            DataImm { op, d, n, value } => {
                let value = self.constant(value);
                self.data(op, d, n, value, Setting::Nothing);
            }
            DataImmS { op, d, n, value } => {
                let value = self.constant(value);
                self.data(op, d, n, value, Setting::Flags(None));
            }
            DataImmSc { op, d, n, value } => {
                let carry = self.constant(value >> 31);
                let value = self.constant(value);
                self.data(op, d, n, value, Setting::Flags(Some(Carry::Value(carry))));
            }
            DataReg { op, set, d, n, m, shift, by } => {
                let (value, carry) = self.shifted(m, shift, by);
                let setting = if set { Setting::Flags(carry) } else { Setting::Nothing };
                self.data(op, d, n, value, setting);
            }
            ShiftReg { shift, set, d, n, m } => self.shift_register(shift, set, d, n, m),
            Movt { d, imm } => {
                let low = self.get(d);
                let low = self.b.ins().band_imm_u(low, 0xffff);
                let value = self.b.ins().bor_imm_u(low, i64::from(imm) << 16);
                self.set_any(d, value);
            }
            Bfi { .. } | Ubfx { .. } | Sbfx { .. } => self.bit_field(insn),
            Rbit { d, m } => {
                let value = self.get(m);
                let value = self.b.ins().bitrev(value);
                self.set_any(d, value);
            }
            Clz { d, m } => {
                let value = self.get(m);
                let value = self.b.ins().clz(value);
                self.set_any(d, value);
            }
            Extend { op, d, n, m, rotate } if called(insn).is_none() => {
                self.extend_wide(op, d, n, m, rotate);
            }
            Mla { d, n, m, a } | Mls { d, n, m, a } => {
                let (n, m, a) = (self.get(n), self.get(m), self.get(a));
                let product = self.b.ins().imul(n, m);
                let value = match insn {
                    Mla { .. } => self.b.ins().iadd(a, product),
                    _ => self.b.ins().isub(a, product),
                };
                self.set_any(d, value);
            }
            LongMul { op, lo, hi, n, m } if is_plain_long(op) => {
                self.long_multiply(op, lo, hi, n, m);
            }
            Divide { signed, d, n, m } => self.divide(signed, d, n, m),
            _ if insn.is_fp() => self.floating_point(insn),
            _ if lanes::is_compiled(insn) => self.lanes(insn),
            _ if halves::is_compiled(insn) => self.halves(insn),
            _ if called(insn).is_some() => self.call(insn),
            _ => self.transfer_wide(insn),
        }
    }

    fn data(&mut self, op: DataOp, d: Reg, n: Reg, b: Value, setting: Setting) {
        let result = match setting {
            Setting::Nothing => self.compute(op, n, b),
            Setting::Flags(carry) => self.compute_setting(op, n, b, carry),
        };
        if !only_compares(op) {
            self.set_any(d, result);
        }
    }

    /// An operation that leaves the flags alone.
    fn compute(&mut self, op: DataOp, n: Reg, b: Value) -> Value {
        use DataOp::*;
        if let Mov | Mvn = op {
            return if op == Mov { b } else { self.b.ins().bnot(b) };
        }
        let a = self.get(n);
        if let Adc | Sbc = op {
            let b = if op == Sbc { self.b.ins().bnot(b) } else { b };
            let carry = self.carry();
            let sum = self.b.ins().iadd(a, b);
            return self.b.ins().iadd(sum, carry);
        }
        let ins = self.b.ins();
        match op {
            And | Tst => ins.band(a, b),
            Bic => ins.band_not(a, b),
            Orr => ins.bor(a, b),
            Orn => ins.bor_not(a, b),
            Eor | Teq => ins.bxor(a, b),
            Add | Cmn => ins.iadd(a, b),
            Rsb => ins.isub(b, a),
            _ => ins.isub(a, b),
        }
    }

    fn compute_setting(&mut self, op: DataOp, n: Reg, b: Value, carry: Option<Carry>) -> Value {
        use DataOp::*;
        match op {
            Add | Cmn => {
                let a = self.get(n);
                self.add(a, b, None)
            }
            Adc | Sbc => {
                let (a, carry) = (self.get(n), self.carry());
                let b = if op == Sbc { self.b.ins().bnot(b) } else { b };
                self.add(a, b, Some(carry))
            }
            Sub | Cmp => {
                let a = self.get(n);
                self.sub(a, b)
            }
            Rsb => {
                let a = self.get(n);
                self.sub(b, a)
            }
            _ => {
                let result = self.compute(op, n, b);
                self.set_nz(result);
                if let Some(carry) = carry {
                    self.set_carry(carry);
                }
                result
            }
        }
    }

    /// Shift_C by a constant: the value, and what the carry becomes if it changes.
    fn shifted(&mut self, m: Reg, shift: Shift, by: u8) -> (Value, Option<Carry>) {
        let value = self.get(m);
        let amount = i64::from(by);
        if by == 0 {
            return (value, None);
        }
        let (result, carry) = match shift {
            Shift::Lsl => (self.b.ins().ishl_imm_u(value, amount), Carry::Bit(value, 32 - by)),
            Shift::Lsr if by == 32 => (self.constant(0), Carry::Bit(value, 31)),
            Shift::Lsr => (self.b.ins().ushr_imm_u(value, amount), Carry::Bit(value, by - 1)),
            Shift::Asr => {
                (self.b.ins().sshr_imm_u(value, amount.min(31)), Carry::Bit(value, by - 1))
            }
            Shift::Ror => {
                let result = self.b.ins().rotr_imm_u(value, amount);
                (result, Carry::Bit(result, 31))
            }
            Shift::Rrx => {
                let top = self.carry();
                let top = self.b.ins().ishl_imm_u(top, 31);
                let rest = self.b.ins().ushr_imm_u(value, 1);
                (self.b.ins().bor(top, rest), Carry::Bit(value, 0))
            }
        };
        (result, Some(carry))
    }

    fn shift_register(&mut self, shift: Shift, set: bool, d: Reg, n: Reg, m: Reg) {
        let (value, by) = (self.get(n), self.get(m));
        let (result, carry) = self.shift_by(shift, value, by);
        if set {
            self.set_nz(result);
            self.set_carry(Carry::Value(carry));
        }
        self.set_any(d, result);
    }

    fn bit_field(&mut self, insn: Insn) {
        let (Insn::Bfi { d, n, lsb, width }
        | Insn::Ubfx { d, n, lsb, width }
        | Insn::Sbfx { d, n, lsb, width }) = insn
        else {
            unreachable!("{insn:?}")
        };
        let mask = u32::MAX >> ((32 - u32::from(width)) & 31);
        let (lsb, spare) = (i64::from(lsb & 31), 32 - i64::from(width));
        let source = self.get(n);
        let result = match insn {
            Insn::Bfi { .. } => {
                let mask = mask << lsb;
                let old = self.get(d);
                let old = self.b.ins().band_imm_u(old, i64::from(!mask));
                let new = self.b.ins().ishl_imm_u(source, lsb);
                let new = self.b.ins().band_imm_u(new, i64::from(mask));
                self.b.ins().bor(old, new)
            }
            Insn::Ubfx { .. } => {
                let value = self.b.ins().ushr_imm_u(source, lsb);
                self.b.ins().band_imm_u(value, i64::from(mask))
            }
            _ => {
                let value = self.b.ins().ushr_imm_u(source, lsb);
                let value = self.b.ins().ishl_imm_u(value, spare);
                self.b.ins().sshr_imm_u(value, spare)
            }
        };
        self.set_any(d, result);
    }

    fn extend_wide(&mut self, op: Extension, d: Reg, n: Reg, m: Reg, rotate: u8) {
        let value = self.get(m);
        let value =
            if rotate == 0 { value } else { self.b.ins().rotr_imm_u(value, i64::from(rotate)) };
        let value = match op {
            Extension::Sxth => self.sign_extend(value, Size::Half),
            Extension::Sxtb => self.sign_extend(value, Size::Byte),
            Extension::Uxth => self.b.ins().band_imm_u(value, 0xffff),
            _ => self.b.ins().band_imm_u(value, 0xff),
        };
        let base = self.get(n);
        let value = self.b.ins().iadd(base, value);
        self.set_any(d, value);
    }

    fn long_multiply(&mut self, op: LongOp, lo: Reg, hi: Reg, n: Reg, m: Reg) {
        let signed = matches!(op, LongOp::Smull | LongOp::Smlal);
        let widen = |build: &mut Self, r: Reg| {
            let value = build.get(r);
            if signed {
                build.b.ins().sextend(types::I64, value)
            } else {
                build.b.ins().uextend(types::I64, value)
            }
        };
        let block = self.plan.blocks[self.at.0].block;
        if region::most_for_operands(block, block.insns[self.at.1]).is_some() {
            let (n, m) = (self.get(n), self.get(m));
            self.pay_for_multiplication(op, n, m);
        }
        let (n, m) = (widen(self, n), widen(self, m));
        let mut product = self.b.ins().imul(n, m);
        let (low, high) = (self.get(lo), self.get(hi));
        let low = self.b.ins().uextend(types::I64, low);
        let high = self.b.ins().uextend(types::I64, high);
        match op {
            LongOp::Umaal => {
                let addends = self.b.ins().iadd(low, high);
                product = self.b.ins().iadd(product, addends);
            }
            LongOp::Smlal | LongOp::Umlal => {
                let high = self.b.ins().ishl_imm_u(high, 32);
                let sum = self.b.ins().bor(low, high);
                product = self.b.ins().iadd(product, sum);
            }
            _ => {}
        }
        let low = self.b.ins().ireduce(types::I32, product);
        let high = self.b.ins().ushr_imm_u(product, 32);
        let high = self.b.ins().ireduce(types::I32, high);
        self.set_any(lo, low);
        self.set_any(hi, high);
    }

    /// Division by zero needs care: it may be trapped.
    fn divide(&mut self, signed: bool, d: Reg, n: Reg, m: Reg) {
        let (n, m) = (self.get(n), self.get(m));
        let divides = self.b.ins().icmp_imm_s(IntCC::NotEqual, m, 0);
        self.or_miss(divides);
        let (dividend, divisor) =
            if signed { (self.b.ins().iabs(n), self.b.ins().iabs(m)) } else { (n, m) };
        self.pay_for_division(dividend, divisor);
        let quotient = self.b.ins().udiv(dividend, divisor);
        let result = if signed {
            // Towards zero; the smallest number by -1 stays what it is.
            let signs = self.b.ins().bxor(n, m);
            let negated = self.b.ins().ineg(quotient);
            let differ = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, signs, 0);
            self.b.ins().select(differ, negated, quotient)
        } else {
            quotient
        };
        self.set_any(d, result);
    }

    /// Calls the interpreter for an instruction that neither branches nor uses memory.
    pub(super) fn call(&mut self, insn: Insn) {
        let (reads, writes) = called(insn).unwrap_or_default();
        let reads = reads.into_iter().filter(|&r| r != NO_REG);
        self.store_registers(reads.fold(0, |set, r| set | 1 << r));
        self.call_interpreter();
        for r in writes {
            let offset = offset_of!(Cpu, r) + 4 * usize::from(r);
            let value = self.b.ins().load(types::I32, trusted(), self.cpu, offset as i32);
            self.set(r, value);
        }
    }
}
