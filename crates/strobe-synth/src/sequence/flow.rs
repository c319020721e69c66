//! Control flow of ARMv7-M: IT blocks, compare and branch, table branches, loads of the PC.

use super::{Gen, bit};
use crate::asm::Value;
use crate::insn::{AddSub, DataOp, Extend, Imm8Op, Insn, LoadStore, Reg, Reverse, Shift};
use crate::wide::Form;

impl Gen {
    pub(super) fn flow(&mut self) {
        match self.rng.below(8) {
            0..4 => self.it_block(),
            4 => self.compare_and_branch(),
            5 => self.table_branch(),
            6 => self.load_pc(),
            _ => self.load_multiple_pc(),
        }
    }

    /// One to four instructions under a condition or its opposite, each of them possibly skipped.
    pub(super) fn it_block(&mut self) {
        let base = self.dest();
        let target = self.scratch(64, 4);
        self.load(base, target);
        let length = 1 + self.rng.below(4);
        let cond = if self.rng.one_in(16) { 14 } else { self.rng.below(14) as u8 };
        // "Always" has no opposite.
        let letters = if cond == 14 { 0 } else { self.rng.below(8) as u8 };
        let stop = 8 >> (length - 1);
        let mask = letters << 1 & !(stop | (stop - 1)) & 15 | stop;
        // Exceptions from inside: the frame holds the remaining IT state.
        let may_pend = self.options.exceptions && self.may_call && self.rng.one_in(3);
        let pend = may_pend.then(|| self.keeping_for(bit(base), Self::ready_to_pend));
        let kept = pend.map_or(0, |(rn, rt)| bit(rn) | bit(rt)) | bit(base);
        self.keeping(kept, |this| {
            this.emit(Insn::It { cond, mask });
            for left in (0..length).rev() {
                match pend {
                    Some((rn, rt)) if this.rng.one_in(3) => {
                        this.emit(Insn::MemImm { op: LoadStore::Str, rt, rn, units: 0 });
                    }
                    _ if left == 0 && this.rng.one_in(4) => this.conditional_jump(),
                    _ => this.conditional(base),
                }
            }
        });
    }

    /// Exactly one instruction that may be anywhere in an IT block.
    fn conditional(&mut self, base: Reg) {
        match self.rng.below(8) {
            0..3 => {
                let insn = self.narrow();
                self.emit(insn);
            }
            3..5 => {
                let insn = self.some_plain();
                self.emit(insn);
            }
            5 => {
                let op = self.rng.pick(&[LoadStore::Ldr, LoadStore::Str, LoadStore::Ldrb]);
                let rt = self.dest();
                self.emit(Insn::MemImm { op, rt, rn: base, units: 1 });
            }
            6 => {
                let name = self.rng.pick(&["LDR imm12", "STR imm12", "LDRSB imm12"]);
                let t = self.any_dest_besides(&[base]);
                let fields =
                    [('n', u32::from(base.number())), ('t', u32::from(t.number())), ('i', 9)];
                self.emit(Insn::Wide(Form::named(name).with(&fields, 0)));
            }
            _ if self.options.exceptions && self.may_call => {
                let imm8 = self.rng.next_u32() as u8;
                self.emit(Insn::Svc { imm8 });
            }
            _ => {
                let (rt, word) = (self.dest(), self.edge_value());
                self.load(rt, word);
            }
        }
    }

    /// A 16-bit data-processing instruction with any register contents.
    fn narrow(&mut self) -> Insn {
        let (rd, rn, rm) = (self.dest(), self.low(), self.low());
        let imm8 = self.rng.next_u32() as u8;
        match self.rng.below(10) {
            0 => Insn::ShiftImm { op: self.rng.pick(Shift::ALL), rd, rm, amount: 1 + imm8 % 31 },
            1 => Insn::AddSubReg { op: self.rng.pick(AddSub::ALL), rd, rn, rm },
            2 => Insn::AddSubImm3 { op: self.rng.pick(AddSub::ALL), rd, rn, imm3: imm8 & 7 },
            3 | 4 => Insn::Imm8 { op: self.rng.pick(Imm8Op::ALL), rdn: rd, imm8 },
            5 => Insn::Extend { op: self.rng.pick(Extend::ALL), rd, rm },
            6 => Insn::Reverse { op: self.rng.pick(Reverse::ALL), rd, rm },
            _ => Insn::Data { op: self.rng.pick(DataOp::ALL), rdn: rd, rm },
        }
    }

    /// The last instruction of an IT block may jump: over some code.
    fn conditional_jump(&mut self) {
        let over = self.asm.label();
        match self.rng.below(3) {
            0 => self.asm.b(over),
            1 => self.asm.b_wide(over),
            // Returns to the next instruction, or was never called.
            _ => {
                if self.lr_free {
                    self.asm.bl(over);
                } else {
                    self.asm.b(over);
                }
            }
        }
        self.arith();
        self.asm.bind(over);
    }

    fn compare_and_branch(&mut self) {
        let over = self.asm.label();
        let (nonzero, rn) = (self.rng.one_in(2), self.low());
        if self.rng.one_in(2) && self.free & bit(rn) != 0 {
            self.mov(rn, 0);
        }
        self.asm.cbz(nonzero, rn, over);
        // The nearest target is the instruction after the next.
        for _ in 0..=self.rng.below(2) {
            self.arith();
        }
        self.asm.bind(over);
    }

    /// One of four cases, by a table after the instruction or in memory.
    fn table_branch(&mut self) {
        const CASES: u32 = 4;
        let half = self.rng.one_in(2);
        let form = Form::named(if half { "TBH" } else { "TBB" });
        let (index, result) = self.two_dests();
        let behind = self.rng.one_in(2);
        // In halfwords after the instruction: each case is two of them, after the table if that is
        // here.
        let table_halfwords = if half { CASES } else { CASES / 2 };
        let first = if behind { table_halfwords } else { 0 };
        let entries: Vec<u16> = (0..CASES).map(|i| (first + 2 * i) as u16).collect();
        let table: Vec<u16> = if half {
            entries
        } else {
            entries.chunks(2).map(|pair| pair[0] | pair[1] << 8).collect()
        };
        let mut base = Reg::PC;
        if !behind {
            base = self.dest_besides(bit(index) | bit(result));
            let target = self.scratch(8, 4);
            self.load(base, target);
            for (units, pair) in (0..).zip(table.chunks(2)) {
                self.load(result, u32::from(pair[0]) | u32::from(pair[1]) << 16);
                self.emit(Insn::MemImm { op: LoadStore::Str, rt: result, rn: base, units });
            }
        }
        let case = self.rng.below(CASES) as u8;
        self.mov(index, case);
        let fields = [('n', u32::from(base.number())), ('m', u32::from(index.number()))];
        self.emit(Insn::Wide(form.with(&fields, 0)));
        if behind {
            self.asm.data(&table);
        }
        let out = self.asm.label();
        for imm8 in 0..CASES as u8 {
            self.mov(result, imm8);
            self.asm.b(out);
        }
        self.asm.bind(out);
    }

    /// LDR of the PC from the scratch window or from after the instruction.
    fn load_pc(&mut self) {
        let name = self.rng.pick(&[
            "LDR pc imm12",
            "LDR pc down",
            "LDR pc pre",
            "LDR pc post",
            "LDR pc reg",
            "LDR pc lit",
        ]);
        let form = Form::named(name);
        if name == "LDR pc lit" {
            return self.load_pc_literal(form);
        }
        let target = self.asm.label();
        let (base, value) = self.two_dests();
        let index = self.dest_besides(bit(base) | bit(value));
        let at = self.scratch(4, 4);
        self.asm.load(value, Value::Thumb(target));
        self.load(base, at);
        self.emit(Insn::MemImm { op: LoadStore::Str, rt: value, rn: base, units: 0 });
        let mut fields = vec![('n', u32::from(base.number()))];
        if name == "LDR pc reg" {
            let (shift, offset) = (self.rng.below(4), self.rng.below(64));
            self.load(index, offset);
            self.load(base, at - (offset << shift));
            fields.extend([('m', u32::from(index.number())), ('s', shift)]);
        } else {
            let (imm, up) = (self.rng.below(256), self.rng.one_in(2));
            let up = match name {
                "LDR pc imm12" => true,
                "LDR pc down" => false,
                _ => up,
            };
            let offset = if up { imm } else { imm.wrapping_neg() };
            let start = if name == "LDR pc post" { at } else { at.wrapping_sub(offset) };
            self.load(base, start);
            fields.push(('i', imm));
            if form.has('U') {
                fields.push(('U', u32::from(up)));
            }
        }
        self.emit(Insn::Wide(form.with(&fields, 0)));
        self.arith();
        self.asm.bind(target);
    }

    /// The word is at the next multiple of four after the instruction, the target after that.
    fn load_pc_literal(&mut self, form: &'static Form) {
        let here = self.asm.here();
        let pad = !here.is_multiple_of(4);
        let imm = if pad { 4 } else { 0 };
        self.emit(Insn::Wide(form.with(&[('U', 1), ('i', imm)], 0)));
        if pad {
            self.asm.data(&[0]);
        }
        let target = (self.asm.here() + 4) | 1;
        self.asm.data(&[target as u16, (target >> 16) as u16]);
    }

    /// LDM with the PC, which is loaded from the highest address.
    fn load_multiple_pc(&mut self) {
        let down = self.rng.one_in(2);
        let form = Form::named(if down { "LDMDB pc" } else { "LDMIA pc" });
        let target = self.asm.label();
        let (base, value) = self.two_dests();
        let list = self.wide_list(true, Some(base)) & 0x1fff | 1 << value.number();
        let words = list.count_ones() + 1;
        let at = self.scratch(64, 4);
        self.asm.load(value, Value::Thumb(target));
        self.load(base, at);
        let units = (words - 1) as u8;
        self.emit(Insn::MemImm { op: LoadStore::Str, rt: value, rn: base, units });
        if down {
            self.load(base, at + 4 * words);
        }
        let writeback = self.rng.below(2);
        let fields = [('n', u32::from(base.number())), ('W', writeback), ('r', list)];
        self.emit(Insn::Wide(form.with(&fields, 0)));
        self.arith();
        self.asm.bind(target);
    }
}
