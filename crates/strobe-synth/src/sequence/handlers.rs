//! The vector table and the handlers. Handlers restore what they use: the interrupted code may be

use super::{Gen, IRQS, layout};
use crate::insn::{AddSub, Cond, DataOp, Imm8Op, Insn, LoadStore, Reg, Shift, Special};

impl Gen {
    /// Emits all handlers and returns the vector table.
    pub(super) fn handlers(&mut self, reset: u32) -> Vec<u8> {
        let unexpected = self.unexpected();
        let hard_fault = if self.options.faults { self.step_over() } else { unexpected };
        let mut table = [unexpected; 48];
        table[3] = hard_fault;
        if self.is_v7m() {
            table[4..7].fill(hard_fault);
        }
        if self.options.exceptions {
            for vector in [2, 11, 14, 15] {
                table[vector] = self.handler(None, vector == 11);
            }
            for irq in 0..IRQS {
                table[16 + irq as usize] = self.handler(Some(irq), false);
            }
        }
        table[1] = reset;
        let mut words = table.map(|handler| handler | 1);
        words[0] = layout::INITIAL_SP;
        let faults: &[usize] = if self.is_v7m() { &[] } else { &[4, 5, 6] };
        for &reserved in faults.iter().chain(&[7, 8, 9, 10, 12, 13]) {
            words[reserved] = 0;
        }
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    /// Ends the program with a failure.
    fn unexpected(&mut self) -> u32 {
        const RUN_TIME_ERROR: u32 = 0x2_0023;
        let entry = self.asm.here();
        self.exit(RUN_TIME_ERROR);
        self.asm.pool();
        entry
    }

    /// A handler with random content (that of SVC also restores privilege), which returns by POP or
    /// by BX, and sometimes pends the next interrupt.
    fn handler(&mut self, irq: Option<u32>, supervisor: bool) -> u32 {
        let entry = self.asm.here();
        self.may_call = false;
        self.emit(Insn::Push { list: 0xf0, lr: true });
        if supervisor && self.is_v7m() {
            self.give_privilege();
        }
        self.body();
        if let Some(next) = irq.map(|n| n + 1).filter(|n| *n < IRQS)
            && self.rng.one_in(2)
        {
            self.pend_irq(next);
        }
        if self.rng.one_in(2) {
            // A handler always runs on the main stack: selecting the other one is ignored.
            self.select_stack(2);
            let rd = self.dest();
            self.emit(Insn::Mrs { rd, from: Special::Control });
        }
        let rd = self.dest();
        self.emit(Insn::Mrs { rd, from: Special::Ipsr });
        if self.is_v7m() && self.rng.one_in(2) {
            self.handler_registers();
        }
        if self.rng.one_in(2) {
            self.emit(Insn::Pop { list: 0xf0, pc: true });
        } else {
            self.emit(Insn::Pop { list: 0xf0, pc: false });
            self.emit(Insn::Pop { list: 0b1000, pc: false });
            self.emit(Insn::Bx { rm: Reg::new(3) });
        }
        self.asm.pool();
        entry
    }

    /// A handler of faults that skips the faulting instruction and sets Thumb state.
    fn step_over(&mut self) -> u32 {
        let entry = self.asm.here();
        let [frame, pc, tmp, one] = [0, 1, 2, 3].map(Reg::new);
        if self.is_v7m() {
            self.fault_registers();
        }
        let (on_psp, go) = (self.asm.label(), self.asm.label());
        // EXC_RETURN bit 2 selects the stack with the frame.
        self.emit(Insn::MovHigh { rd: tmp, rm: Reg::LR });
        self.emit(Insn::ShiftImm { op: Shift::Lsr, rd: tmp, rm: tmp, amount: 3 });
        self.asm.b_cond(Cond::Cs, on_psp);
        self.emit(Insn::Mrs { rd: frame, from: Special::Msp });
        self.asm.b(go);
        self.asm.bind(on_psp);
        self.emit(Insn::Mrs { rd: frame, from: Special::Psp });
        self.asm.bind(go);
        self.emit(Insn::MemImm { op: LoadStore::Ldr, rt: pc, rn: frame, units: 6 });
        self.emit(Insn::MemImm { op: LoadStore::Ldrh, rt: tmp, rn: pc, units: 0 });
        self.emit(Insn::ShiftImm { op: Shift::Lsr, rd: tmp, rm: tmp, amount: 11 });
        let narrow = self.asm.label();
        self.emit(Insn::Imm8 { op: Imm8Op::Cmp, rdn: tmp, imm8: 0b11101 });
        self.asm.b_cond(Cond::Cc, narrow);
        self.emit(Insn::AddSubImm3 { op: AddSub::Add, rd: pc, rn: pc, imm3: 2 });
        self.asm.bind(narrow);
        self.emit(Insn::Imm8 { op: Imm8Op::Add, rdn: pc, imm8: 2 });
        self.emit(Insn::MemImm { op: LoadStore::Str, rt: pc, rn: frame, units: 6 });
        self.emit(Insn::MemImm { op: LoadStore::Ldr, rt: tmp, rn: frame, units: 7 });
        self.mov(one, 1);
        self.emit(Insn::ShiftImm { op: Shift::Lsl, rd: one, rm: one, amount: 24 });
        self.emit(Insn::Data { op: DataOp::Orr, rdn: tmp, rm: one });
        self.emit(Insn::MemImm { op: LoadStore::Str, rt: tmp, rn: frame, units: 7 });
        self.emit(Insn::Bx { rm: Reg::LR });
        entry
    }
}
