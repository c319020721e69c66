//! Floating point as compiled code: transfers and moves; arithmetic calls the interpreter. Mirrors
//! `cortexm::exec_fp`.

use std::mem::offset_of;

use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::build::{Build, trusted};
use super::flags::Flags;
use super::memory::Span;
use crate::cores::arm::cpu::Cpu;
use crate::cores::arm::fp::Fpu;
use strobe_isa::thumb::insn::{Insn, NO_REG};

impl Build<'_> {
    pub(super) fn floating_point(&mut self, insn: Insn) {
        self.check_fp();
        match insn {
            Insn::FpImm { d, value } => {
                let value = self.constant(value);
                self.set_single(d, value);
            }
            Insn::FpToCore { t, n } => {
                let value = self.single(n);
                self.set_any(t, value);
            }
            Insn::FpFromCore { n, t } => {
                let value = self.get(t);
                self.set_single(n, value);
            }
            Insn::FpToCores { t, t2, m } => {
                let (low, high) = (self.single(m), self.single(m + 1));
                self.set_any(t, low);
                self.set_any(t2, high);
            }
            Insn::FpFromCores { m, t, t2 } => {
                let (low, high) = (self.get(t), self.get(t2));
                self.set_single(m, low);
                self.set_single(m + 1, high);
            }
            Insn::FpLoad { d, count, n, imm } => {
                let address = self.moved(n, imm);
                self.load_singles(address, d, count, n == 13);
            }
            Insn::FpLoadAt { d, count, address } => {
                let address = self.constant(address);
                self.load_singles(address, d, count, false);
            }
            Insn::FpStore { d, count, n, imm } => {
                let address = self.moved(n, imm);
                self.store_singles(address, d, count);
            }
            Insn::FpLoadMultiple { direction, writeback, n, d, count, words } => {
                let (start, base) = self.span(n, direction, words.into());
                self.load_singles(start, d, count, n == 13);
                if writeback {
                    self.set_any(n, base);
                }
            }
            Insn::FpStoreMultiple { direction, writeback, n, d, count, words } => {
                let (start, base) = self.span(n, direction, words.into());
                self.store_singles(start, d, count);
                if writeback {
                    self.set_any(n, base);
                }
            }
            Insn::Vmrs { t: NO_REG } => self.take_fp_flags(),
            _ => self.call(insn),
        }
    }

    /// VMRS APSR_nzcv, FPSCR.
    fn take_fp_flags(&mut self) {
        let offset = offset_of!(Cpu, fp) + offset_of!(Fpu, fpscr);
        let fpscr = self.b.ins().load(types::I32, trusted(), self.cpu, offset as i32);
        let z = self.b.ins().bnot(fpscr);
        let z = self.b.ins().band_imm_u(z, 1 << 30);
        let c = self.b.ins().ushr_imm_u(fpscr, 29);
        let c = self.b.ins().band_imm_u(c, 1);
        let v = self.b.ins().ishl_imm_u(fpscr, 3);
        let places =
            [offset_of!(Cpu, n), offset_of!(Cpu, z), offset_of!(Cpu, c), offset_of!(Cpu, v)];
        for (offset, value) in places.into_iter().zip([fpscr, z, c, v]) {
            self.b.ins().store(trusted(), value, self.cpu, offset as i32);
        }
        self.flags = Flags::unchanged();
        self.forget_tails();
    }

    fn single_at(n: u8) -> i32 {
        (offset_of!(Cpu, fp) + offset_of!(Fpu, s) + 4 * usize::from(n & 31)) as i32
    }

    fn single(&mut self, n: u8) -> Value {
        self.b.ins().load(types::I32, trusted(), self.cpu, Self::single_at(n))
    }

    fn set_single(&mut self, n: u8, value: Value) {
        self.b.ins().store(trusted(), value, self.cpu, Self::single_at(n));
    }

    fn load_singles(&mut self, start: Value, first: u8, count: u8, stack: bool) {
        let at = self.readable(start, Span::words(count.into()), stack);
        for i in 0..count {
            let value = self.load_word(at, i.into());
            self.set_single(first + i, value);
        }
    }

    fn store_singles(&mut self, start: Value, first: u8, count: u8) {
        let at = self.writable(start, Span::words(count.into()));
        for i in 0..count {
            let value = self.single(first + i);
            self.store_word(at, i.into(), value);
        }
    }
}
