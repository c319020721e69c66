//! Data processing: every operation on random registers, with operands biased towards edge cases.

use super::Gen;
use crate::insn::{AddSub, DataOp, Extend, Imm8Op, Insn, Reg, Reverse, Shift};

impl Gen {
    /// One data-processing instruction, sometimes after one that sets up an operand.
    pub(super) fn arith(&mut self) {
        match self.rng.below(12) {
            0 => {
                let (rt, word) = (self.dest(), self.edge_value());
                self.load(rt, word);
            }
            1 => self.shift_imm(),
            2 => self.add_sub(),
            3 => self.imm8(),
            4..8 => self.data(),
            8 | 9 => self.high(),
            _ => self.extend_or_address(),
        }
    }

    fn shift_imm(&mut self) {
        let op = self.rng.pick(Shift::ALL);
        let range = self.rng.below(32) as u8;
        let edge = self.rng.pick(&[0, 1, 31]);
        let amount = if self.rng.one_in(3) { edge } else { range };
        let amount = amount + u8::from(op != Shift::Lsl);
        let (rd, rm) = (self.dest(), self.low());
        self.emit(Insn::ShiftImm { op, rd, rm, amount });
    }

    fn add_sub(&mut self) {
        let op = self.rng.pick(AddSub::ALL);
        let (rd, rn, rm) = (self.dest(), self.low(), self.low());
        if self.rng.one_in(2) {
            self.emit(Insn::AddSubReg { op, rd, rn, rm });
        } else {
            self.emit(Insn::AddSubImm3 { op, rd, rn, imm3: rm.number() });
        }
    }

    fn imm8(&mut self) {
        let op = self.rng.pick(Imm8Op::ALL);
        let rdn = if op == Imm8Op::Cmp { self.low() } else { self.dest() };
        let imm8 = self.rng.next_u32() as u8;
        self.emit(Insn::Imm8 { op, rdn, imm8 });
    }

    fn data(&mut self) {
        let op = self.rng.pick(DataOp::ALL);
        let only_flags = matches!(op, DataOp::Cmp | DataOp::Cmn | DataOp::Tst);
        let rdn = if only_flags { self.low() } else { self.dest() };
        let mut rm = self.low();
        if matches!(op, DataOp::Lsl | DataOp::Lsr | DataOp::Asr | DataOp::Ror) {
            rm = self.dest();
            // Shifts take the bottom byte: around 32, far above it, and with bits set above the
            // byte.
            let amount = self.rng.pick(&[0, 1, 4, 31, 32, 33, 63, 64, 128, 224, 255]);
            if self.rng.one_in(4) {
                let high = self.rng.next_u32() & !0xff;
                self.load(rm, high | u32::from(amount));
            } else {
                self.mov(rm, amount);
            }
        }
        self.emit(Insn::Data { op, rdn, rm });
    }

    /// The forms that reach all registers. SP and PC are only read here: `control` and `memory`
    /// write them.
    fn high(&mut self) {
        let rm = Reg::new(self.rng.below(16) as u8);
        match self.rng.below(3) {
            0 => {
                let rdn = self.high_dest();
                self.emit(Insn::AddHigh { rdn, rm });
            }
            1 => {
                let rd = self.high_dest();
                self.emit(Insn::MovHigh { rd, rm });
            }
            _ => {
                // Two low registers or PC would be UNPREDICTABLE.
                let high = Reg::new(8 + self.rng.below(7) as u8);
                let other = Reg::new(self.rng.below(15) as u8);
                let (rn, rm) = if self.rng.one_in(2) { (high, other) } else { (other, high) };
                self.emit(Insn::CmpHigh { rn, rm });
            }
        }
    }

    fn high_dest(&mut self) -> Reg {
        match self.rng.below(3) {
            0 => self.dest(),
            1 if self.lr_free => Reg::LR,
            _ => Reg::new(8 + self.rng.below(5) as u8),
        }
    }

    fn extend_or_address(&mut self) {
        let (rd, rm) = (self.dest(), self.low());
        let words = self.rng.next_u32() as u8;
        let insn = match self.rng.below(4) {
            0 => Insn::Extend { op: self.rng.pick(Extend::ALL), rd, rm },
            1 => Insn::Reverse { op: self.rng.pick(Reverse::ALL), rd, rm },
            2 => Insn::Adr { rd, words },
            _ => Insn::AddRdSp { rd, words },
        };
        self.emit(insn);
    }
}
