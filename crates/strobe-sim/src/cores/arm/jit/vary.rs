//! Instructions that do or cost something else from run to run: conditional ones, divisions; and
//! those that the interpreter executes.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, InstBuilder, SigRef, Signature, Type, Value, types};

use super::build::{Build, trusted};
use super::code;
use super::flags::{self, Flags};
use super::region::{Place, Variation};
use super::{Event, effect};
use crate::cores::arm::cpu::Cpu;
use crate::cores::arm::timing::{MOST_FOR_OPERANDS, SKIPPED, most_for_long_multiply};
use crate::kernel::model::Model;
use strobe_isa::thumb::insn::{Condition, Insn};
use strobe_isa::thumb::op::LongOp;

impl Build<'_> {
    /// An instruction in an IT block.
    pub(super) fn conditional(&mut self, condition: Condition, insn: Insn) {
        let passes = self.condition(condition);
        let sets_flags = effect::flags(insn).writes != 0;
        if sets_flags {
            // Both ways must leave them in the same place.
            self.keep_flags(flags::ALL);
            self.flags = Flags::unchanged();
            self.forget_tails();
        }
        let (flags, fp_checked, unstored) = (self.flags, self.fp_checked, self.unstored);
        let [execute, skip, on] = std::array::from_fn(|_| self.b.create_block());
        self.b.ins().brif(passes, execute, &[], skip, &[]);
        self.b.switch_to_block(skip);
        self.skip();
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(execute);
        self.insn(insn);
        self.pay_first_wait();
        if sets_flags {
            self.keep_flags(flags::ALL);
        }
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(on);
        // Whatever one way has not stored is stored behind both.
        self.unstored |= unstored;
        self.flags = flags;
        self.fp_checked = fp_checked;
        self.forget_tails();
    }

    /// The instruction's condition has failed: it takes a cycle and waits for no literal.
    pub(super) fn skip(&mut self) {
        let meta = &self.plan.blocks[self.at.0].block.meta[self.at.1];
        let saved = i64::from(meta.straight()) - i64::from(SKIPPED);
        let budget = self.b.use_var(self.state.budget);
        let budget = self.b.ins().iadd_imm_s(budget, saved);
        self.b.def_var(self.state.budget, budget);
        let event = self.event(Variation::Skipped);
        self.add_to(self.events, event + offset_of!(Event, count), 1);
    }

    /// Where in the region's events the instruction being built counts.
    fn event(&self, otherwise: Variation) -> usize {
        let (block, at) = self.at;
        let wanted = Place { block, at, otherwise };
        let number = self.plan.events.iter().position(|e| *e == wanted);
        number.unwrap_or_default() * size_of::<Event>()
    }

    /// The instruction being built takes so many cycles more than it must, at most `most`.
    fn pay_longer(&mut self, cycles: Value, most: u32) {
        let cycles = match self.model {
            Model::Low => self.b.ins().iconst(types::I64, 0),
            Model::Likely => self.b.ins().uextend(types::I64, cycles),
            Model::High => self.b.ins().iconst(types::I64, i64::from(most)),
        };
        self.pay_event(Variation::Longer(most), cycles);
    }

    /// Takes cycles (64 bits) and counts them.
    fn pay_event(&mut self, otherwise: Variation, cycles: Value) {
        let budget = self.b.use_var(self.state.budget);
        let budget = self.b.ins().isub(budget, cycles);
        self.b.def_var(self.state.budget, budget);
        let event = self.event(otherwise);
        self.add_to(self.events, event + offset_of!(Event, count), 1);
        self.add_value_to(self.events, event + offset_of!(Event, likely), cycles);
    }

    /// Notes whether an access of the instruction being built waits because RAM answers late at
    /// first: to be paid for when nothing can keep the instruction from retiring.
    pub(super) fn note_first_wait(&mut self, address: Value) {
        let (block, at) = self.at;
        if self.plan.blocks[block].block.meta[at].first_wait > 0 {
            let late = self.bus.first_wait;
            let start = self.constant(late.start);
            let offset = self.b.ins().isub(address, start);
            let below = IntCC::UnsignedLessThan;
            self.waits_first = Some(self.b.ins().icmp_imm_u(below, offset, i64::from(late.length)));
        }
    }

    /// Pays for what was noted.
    pub(super) fn pay_first_wait(&mut self) {
        let Some(waits) = self.waits_first.take() else { return };
        let first = self.plan.blocks[self.at.0].block.meta[self.at.1].first_wait;
        let waits = self.b.ins().uextend(types::I64, waits);
        let each = self.b.ins().iconst(types::I64, i64::from(first));
        let cycles = self.b.ins().imul(waits, each);
        let budget = self.b.use_var(self.state.budget);
        let budget = self.b.ins().isub(budget, cycles);
        self.b.def_var(self.state.budget, budget);
        let event = self.event(Variation::WaitsFirst(first));
        self.add_value_to(self.events, event + offset_of!(Event, count), waits);
    }

    /// What a division's operands add to the least: as
    /// [`timing_v7m::extra`](crate::cores::arm::timing_v7m), which is the model.
    pub(super) fn pay_for_division(&mut self, dividend: Value, divisor: Value) {
        let (n, m) = (self.b.ins().clz(dividend), self.b.ins().clz(divisor));
        let bits = self.b.ins().isub(m, n);
        let more = self.b.ins().ushr_imm_u(bits, 2);
        let more = self.b.ins().iadd_imm_s(more, 2);
        let none = self.constant(0);
        let smaller = self.b.ins().icmp(IntCC::UnsignedLessThan, dividend, divisor);
        let cycles = self.b.ins().select(smaller, none, more);
        self.pay_longer(cycles, MOST_FOR_OPERANDS);
    }

    /// What a long multiplication's operands add to the least, where they do; likewise.
    pub(super) fn pay_for_multiplication(&mut self, op: LongOp, n: Value, m: Value) {
        let signed = matches!(op, LongOp::Smull | LongOp::Smlal);
        let accumulates = matches!(op, LongOp::Smlal | LongOp::Umlal);
        let most = most_for_long_multiply(op);
        let wide = |build: &mut Self, value: Value| {
            let bits = if signed {
                let doubled = build.b.ins().ishl_imm_u(value, 1);
                build.b.ins().bxor(value, doubled)
            } else {
                value
            };
            let top = build.b.ins().ushr_imm_u(bits, 16);
            let wide = build.b.ins().icmp_imm_s(IntCC::NotEqual, top, 0);
            build.b.ins().uextend(types::I32, wide)
        };
        let (n, m) = (wide(self, n), wide(self, m));
        let passes = if accumulates { self.b.ins().iadd(n, m) } else { self.b.ins().bor(n, m) };
        let cycles = self.b.ins().iadd_imm_s(passes, i64::from(signed));
        self.pay_longer(cycles, most);
    }

    /// What arriving at a block of the region by the computed jump being built costs:
    /// `Machine::arrive_at`.
    pub(super) fn pay_for_arrival(&mut self, to: usize) {
        let arrival = self.plan.blocks[to].block.arrival;
        if !arrival.wait.is_zero() {
            let cycles = self.target_wait(arrival.wait);
            self.pay_event(Variation::Arrives(to), cycles);
        }
        if arrival.late > 0 {
            let cycles = self.b.ins().iconst(types::I64, i64::from(arrival.late));
            self.pay_event(Variation::ArrivesLate, cycles);
        }
    }

    /// Has the interpreter execute the instruction being built, on the registers in memory.
    pub(super) fn call_interpreter(&mut self) {
        let insn = &raw const self.plan.blocks[self.at.0].block.insns[self.at.1];
        let insn = self.b.ins().iconst(types::I64, insn as i64);
        let function = self.b.ins().iconst(types::I64, code::ALONE as usize as i64);
        let signature = self.signature(&[types::I64, types::I64], None);
        self.b.ins().call_indirect(signature, function, &[self.cpu, insn]);
    }

    /// The signature of a function of the host.
    pub(super) fn signature(&mut self, takes: &[Type], gives: Option<Type>) -> SigRef {
        let known = self.signatures.iter().find(|(types, _)| types == takes);
        if let Some(&(_, signature)) = known {
            return signature;
        }
        let mut signature = Signature::new(self.call_convention);
        signature.params.extend(takes.iter().copied().map(AbiParam::new));
        signature.returns.extend(gives.map(AbiParam::new));
        let signature = self.b.import_signature(signature);
        self.signatures.push((takes.to_vec(), signature));
        signature
    }

    /// Floating-point instructions need care until one has gone that way.
    pub(super) fn check_fp(&mut self) {
        if !std::mem::replace(&mut self.fp_checked, true) {
            let offset = offset_of!(Cpu, fp_ready) as i32;
            let ready = self.b.ins().uload8(types::I32, trusted(), self.cpu, offset);
            self.or_miss(ready);
        }
    }
}
