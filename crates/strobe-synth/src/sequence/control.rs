//! Control flow: every branch in both directions, calls, computed jumps and counted loops.

use super::{Gen, bit, layout};
use crate::asm::{Assembler, Label, Value};
use crate::insn::{AddSub, Cond, DataOp, Imm8Op, Insn, Reg};
use crate::rng::Rng;

/// Subroutines at a large distance from the code: their addresses, bytes and listing.
pub(super) fn far_subroutines(rng: &mut Rng) -> (Vec<u32>, Vec<u8>, Vec<(u32, Insn)>) {
    let mut asm = Assembler::new(layout::FAR_CODE);
    let mut entries = Vec::new();
    for _ in 0..16 {
        entries.push(asm.here());
        let rdn = Reg::new(8 + rng.below(5) as u8);
        asm.emit(Insn::AddHigh { rdn, rm: Reg::LR });
        for _ in 0..rng.below(3) {
            asm.emit(Insn::MovHigh { rd: rdn, rm: Reg::PC });
        }
        asm.emit(Insn::Bx { rm: Reg::LR });
    }
    let (code, listing) = asm.finish();
    (entries, code, listing)
}

impl Gen {
    pub(super) fn control(&mut self) {
        match self.rng.below(8) {
            0 => self.skip(),
            1 | 2 => self.dance(),
            3 => self.counted_loop(),
            4 => self.call(),
            5 => self.jump(),
            6 => self.far_call(),
            _ => self.pop_pc(),
        }
    }

    /// A branch to a label, unconditional or on some condition; on ARMv7-M it may be a wide one.
    fn branch(&mut self, to: Label) {
        let wide = self.is_v7m() && self.rng.one_in(2);
        let cond = if self.rng.one_in(4) { None } else { Some(self.cond()) };
        match (cond, wide) {
            (None, false) => self.asm.b(to),
            (None, true) => self.asm.b_wide(to),
            (Some(cond), false) => self.asm.b_cond(cond, to),
            (Some(cond), true) => self.asm.b_cond_wide(cond, to),
        }
    }

    fn cond(&mut self) -> Cond {
        self.rng.pick(Cond::ALL)
    }

    /// A forward branch over some code.
    fn skip(&mut self) {
        let over = self.asm.label();
        self.branch(over);
        self.body();
        self.asm.bind(over);
    }

    /// Forward, then sometimes backward, then forward: each branch runs at most once, so any
    /// condition is valid.
    fn dance(&mut self) {
        let [back, test, out] = [(); 3].map(|()| self.asm.label());
        self.asm.b(test);
        self.asm.bind(back);
        self.body();
        self.asm.b(out);
        self.asm.bind(test);
        self.arith();
        self.branch(back);
        self.body();
        self.asm.bind(out);
    }

    /// A loop that counts a small register down, closed by any of the conditions that end it.
    fn counted_loop(&mut self) {
        let counter = self.dest();
        let turns = 1 + self.rng.below(6) as u8;
        self.mov(counter, turns);
        let again = self.asm.label_here();
        self.keeping(bit(counter), Self::body);
        if self.rng.one_in(2) {
            self.emit(Insn::Imm8 { op: Imm8Op::Sub, rdn: counter, imm8: 1 });
        } else {
            let (rd, rn, op) = (counter, counter, AddSub::Sub);
            self.emit(Insn::AddSubImm3 { op, rd, rn, imm3: 1 });
        }
        if self.rng.one_in(4) {
            let out = self.asm.label();
            let cond = self.rng.pick(&[Cond::Eq, Cond::Le, Cond::Ls, Cond::Mi, Cond::Cc, Cond::Lt]);
            self.asm.b_cond(cond, out);
            self.asm.b(again);
            self.asm.bind(out);
        } else {
            let cond = self.rng.pick(&[Cond::Ne, Cond::Gt, Cond::Hi, Cond::Pl, Cond::Cs, Cond::Ge]);
            self.asm.b_cond(cond, again);
        }
    }

    /// A subroutine, before or after its call by BL or BLX.
    fn call(&mut self) {
        let [routine, over] = [(); 2].map(|()| self.asm.label());
        let behind = self.rng.one_in(2);
        if behind {
            self.call_it(routine);
        }
        self.asm.b(over);
        self.asm.bind(routine);
        self.routine();
        self.asm.bind(over);
        if !behind {
            self.call_it(routine);
        }
    }

    fn call_it(&mut self, routine: Label) {
        if self.rng.one_in(2) {
            self.asm.bl(routine);
        } else {
            let rm = self.dest();
            self.asm.load(rm, Value::Thumb(routine));
            self.emit(Insn::Blx { rm });
        }
    }

    fn routine(&mut self) {
        if self.rng.one_in(2) {
            let before = std::mem::replace(&mut self.lr_free, false);
            self.body();
            self.lr_free = before;
            self.emit(Insn::Bx { rm: Reg::LR });
        } else {
            let list = self.rng.next_u32() as u8 & self.free;
            self.emit(Insn::Push { list, lr: true });
            self.body();
            self.emit(Insn::Pop { list, pc: true });
        }
    }

    fn far_call(&mut self) {
        let far = self.rng.pick(&self.far);
        self.asm.bl_to(far);
    }

    /// A computed jump over some code; MOV and ADD ignore the lowest bit of the target, BX requires
    /// it.
    fn jump(&mut self) {
        let target = self.asm.label();
        let rm = if self.rng.one_in(4) { Reg::LR } else { self.dest() };
        let low = if rm == Reg::LR { self.dest() } else { rm };
        match self.rng.below(4) {
            0 => {
                self.asm.load(low, Value::Thumb(target));
                self.copy(rm, low);
                self.emit(Insn::Bx { rm });
            }
            1 => {
                let value = self.rng.pick(&[Value::Thumb(target), Value::Address(target)]);
                self.asm.load(low, value);
                self.copy(rm, low);
                self.emit(Insn::MovHigh { rd: Reg::PC, rm });
            }
            2 => {
                let here = self.asm.label();
                self.asm.load(low, Value::Distance(target, here));
                self.copy(rm, low);
                self.asm.bind(here);
                self.emit(Insn::AddHigh { rdn: Reg::PC, rm });
            }
            _ => {
                self.asm.load(low, Value::Thumb(target));
                self.copy(rm, low);
                self.emit(Insn::Blx { rm });
            }
        }
        self.body();
        self.asm.bind(target);
    }

    fn copy(&mut self, rd: Reg, rm: Reg) {
        if rd != rm {
            self.emit(Insn::MovHigh { rd, rm });
        }
    }

    /// POP {pc} of an address pushed before, with other registers in the list.
    fn pop_pc(&mut self) {
        let target = self.asm.label();
        let highest = Reg::new(7 - self.free.leading_zeros() as u8);
        self.asm.load(highest, Value::Thumb(target));
        // The highest register is pushed to the highest address, from which PC is popped.
        let below = self.free & (bit(highest) - 1);
        let others = self.rng.below(below.count_ones() + 1);
        let list = self.take(below, others);
        self.emit(Insn::Push { list: list | bit(highest), lr: false });
        self.emit(Insn::Data { op: DataOp::Cmp, rdn: highest, rm: Reg::new(0) });
        let list = self.take(self.free, others);
        self.emit(Insn::Pop { list, pc: true });
        self.body();
        self.asm.bind(target);
    }
}
