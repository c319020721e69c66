//! Comparing bytes four at a time, as string functions for the DSP extension do. Mirrors
//! `cortexm::exec_dsp`.

use std::mem::offset_of;

use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::build::{Build, trusted};
use crate::cores::arm::cpu::Cpu;
use strobe_isa::thumb::insn::Insn;
use strobe_isa::thumb::op::{LaneResult, Lanes};

/// The highest bit of each byte, and all below.
const TOPS: i64 = 0x8080_8080;
const BELOW: i64 = 0x7f7f_7f7f;

/// Whether there is code for an instruction of parallel arithmetic.
pub(super) fn is_compiled(insn: Insn) -> bool {
    let sum = (Lanes::Add8, LaneResult::Unsigned);
    match insn {
        Insn::Sel { .. } => true,
        Insn::Parallel { lanes, result, .. } => (lanes, result) == sum,
        _ => false,
    }
}

impl Build<'_> {
    /// Builds one of those instructions.
    pub(super) fn lanes(&mut self, insn: Insn) {
        let (d, result) = match insn {
            Insn::Sel { d, n, m } => {
                let (n, m) = (self.get(n), self.get(m));
                (d, self.select_bytes(n, m))
            }
            Insn::Parallel { d, n, m, .. } => {
                let (n, m) = (self.get(n), self.get(m));
                (d, self.add_bytes(n, m))
            }
            _ => unreachable!("{insn:?} is called"),
        };
        self.set_any(d, result);
    }

    /// UADD8: byte by byte, each carry into its bit of GE.
    fn add_bytes(&mut self, n: Value, m: Value) -> Value {
        let low = [n, m].map(|value| self.b.ins().band_imm_u(value, BELOW));
        let low = self.b.ins().iadd(low[0], low[1]);
        let tops = self.b.ins().bxor(n, m);
        let tops = self.b.ins().band_imm_u(tops, TOPS);
        let sum = self.b.ins().bxor(low, tops);
        let (both, any) = (self.b.ins().band(n, m), self.b.ins().bor(n, m));
        let lost = self.b.ins().band_not(any, sum);
        let carries = self.b.ins().bor(both, lost);
        let carries = self.b.ins().band_imm_u(carries, TOPS);
        // Bits 7, 15, 23 and 31 become bits 24 to 27 of the product.
        let carries = self.b.ins().ushr_imm_u(carries, 7);
        let gathered = self.b.ins().imul_imm_u(carries, 0x0102_0408);
        let ge = self.b.ins().ushr_imm_u(gathered, 24);
        let ge = self.b.ins().band_imm_u(ge, 0xf);
        let offset = offset_of!(Cpu, ge) as i32;
        self.b.ins().istore8(trusted(), ge, self.cpu, offset);
        sum
    }

    /// SEL: bytes of `n` where GE is set, of `m` elsewhere.
    fn select_bytes(&mut self, n: Value, m: Value) -> Value {
        let offset = offset_of!(Cpu, ge) as i32;
        let ge = self.b.ins().uload8(types::I32, trusted(), self.cpu, offset);
        // Bits 0 to 3 become the lowest bits of the bytes.
        let spread = self.b.ins().imul_imm_u(ge, 0x0020_4081);
        let spread = self.b.ins().band_imm_u(spread, 0x0101_0101);
        let mask = self.b.ins().imul_imm_u(spread, 0xff);
        let (n, m) = (self.b.ins().band(n, mask), self.b.ins().band_not(m, mask));
        self.b.ins().bor(n, m)
    }
}
