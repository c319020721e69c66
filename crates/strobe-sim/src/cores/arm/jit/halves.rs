//! Products of halfwords, as filters and matrices are made of. Mirrors `cortexm::exec_dsp`.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::build::{Build, trusted};
use crate::cores::arm::cpu::Cpu;
use crate::kernel::device::Size;
use strobe_isa::thumb::insn::{Insn, Reg};

/// Whether an instruction is one of those.
pub(super) fn is_compiled(insn: Insn) -> bool {
    matches!(insn, Insn::Smla { .. } | Insn::Smlaw { .. } | Insn::Smlad { .. })
}

impl Build<'_> {
    /// Builds one of those instructions.
    pub(super) fn halves(&mut self, insn: Insn) {
        match insn {
            Insn::Smla { halves, d, n, m, a } => {
                let (n, m) = (self.get(n), self.get(m));
                let (n, m) = (self.half(n, halves & 2 != 0), self.half(m, halves & 1 != 0));
                let product = self.b.ins().imul(n, m);
                let product = self.b.ins().sextend(types::I64, product);
                self.accumulate(d, product, a);
            }
            Insn::Smlaw { top, d, n, m, a } => {
                let (n, m) = (self.get(n), self.get(m));
                let m = self.half(m, top);
                let [n, m] = [n, m].map(|value| self.b.ins().sextend(types::I64, value));
                let product = self.b.ins().imul(n, m);
                let product = self.b.ins().sshr_imm_u(product, 16);
                self.accumulate(d, product, a);
            }
            Insn::Smlad { subtract, swap, d, n, m, a } => {
                let (n, m) = (self.get(n), self.get(m));
                let [low, high] = [false, true].map(|top| {
                    let (n, m) = (self.half(n, top), self.half(m, top != swap));
                    let product = self.b.ins().imul(n, m);
                    self.b.ins().sextend(types::I64, product)
                });
                let products = if subtract {
                    self.b.ins().isub(low, high)
                } else {
                    self.b.ins().iadd(low, high)
                };
                self.accumulate(d, products, a);
            }
            _ => unreachable!("{insn:?} is none of them"),
        }
    }

    fn half(&mut self, value: Value, top: bool) -> Value {
        if top { self.b.ins().sshr_imm_u(value, 16) } else { self.sign_extend(value, Size::Half) }
    }

    /// Adds what a register holds to a product of 64 bits, wrapping; Q is set if the sum does not
    /// fit.
    fn accumulate(&mut self, d: Reg, product: Value, a: Reg) {
        let addend = self.get(a);
        let addend = self.b.ins().sextend(types::I64, addend);
        let sum = self.b.ins().iadd(product, addend);
        let result = self.b.ins().ireduce(types::I32, sum);
        let wrapped = self.b.ins().sextend(types::I64, result);
        let lost = self.b.ins().icmp(IntCC::NotEqual, wrapped, sum);
        let offset = offset_of!(Cpu, q) as i32;
        let q = self.b.ins().load(types::I8, trusted(), self.cpu, offset);
        let q = self.b.ins().bor(q, lost);
        self.b.ins().store(trusted(), q, self.cpu, offset);
        self.set_any(d, result);
    }
}
