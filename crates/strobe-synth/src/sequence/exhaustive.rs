//! Every 16-bit encoding that is not a branch, once: each operation with each register and each
//! immediate.
//!
//! Random programs reach every form but not every bit pattern, and decoder bugs may affect single
//! patterns. Only UNPREDICTABLE encodings are left out, and writes of PC, which `control` does.

use super::memory::size;
use super::{Gen, Options, Sequence, bit, layout};
use crate::asm::Value;
use crate::insn::{AddSub, DataOp, Extend, Imm8Op, Insn, LoadStore, Reg, Reverse, Shift};
use crate::rng::Rng;

impl Sequence {
    /// Programs which together execute every 16-bit encoding except branches, with operands from
    /// the seed.
    pub fn exhaustive(seed: u64) -> Vec<Sequence> {
        let parts: [fn(&mut Gen); 4] = [
            Gen::every_data,
            Gen::every_immediate_offset,
            Gen::every_register_offset,
            Gen::every_stack,
        ];
        let options =
            Options { snippets: 0, exceptions: false, faults: false, ..Options::default() };
        let program = |(n, part): (usize, &fn(&mut Gen))| {
            Self::of(Rng::new(seed.wrapping_add(n as u64)), &options, part)
        };
        parts.iter().enumerate().map(program).collect()
    }
}

fn lows() -> impl Iterator<Item = Reg> + Clone {
    (0..8).map(Reg::new)
}

impl Gen {
    /// Emitted between two instructions of an exhaustive list: sometimes fresh operands, and the
    /// literals.
    fn refresh(&mut self) {
        if self.rng.one_in(6) {
            let (rt, word) = (self.low(), self.edge_value());
            self.load(rt, word);
        }
        if self.asm.pool_due() {
            self.asm.pool_behind_branch();
        }
    }

    fn every_data(&mut self) {
        for insn in data() {
            self.emit(insn);
            self.refresh();
        }
    }

    fn every_immediate_offset(&mut self) {
        use LoadStore::{Ldr, Ldrb, Ldrh, Str, Strb, Strh};
        for op in [Str, Ldr, Strb, Ldrb, Strh, Ldrh] {
            for (units, rn, rt) in triples(0..32, lows(), lows()) {
                let target = self.scratch(4, size(op));
                self.load(rn, target - u32::from(units) * size(op));
                self.emit(Insn::MemImm { op, rt, rn, units });
                self.refresh();
            }
        }
    }

    fn every_register_offset(&mut self) {
        for &op in LoadStore::ALL {
            for (rm, rn, rt) in triples(lows(), lows(), lows()) {
                let target = self.scratch(4, 4);
                let offset = if rm == rn { target / 2 } else { self.rng.next_u32() };
                self.load(rm, offset);
                self.load(rn, target.wrapping_sub(offset));
                self.emit(Insn::MemReg { op, rt, rn, rm });
                self.refresh();
            }
        }
        for rn in lows() {
            for list in 1..=0xff {
                self.every_multiple(rn, list);
            }
        }
    }

    fn every_multiple(&mut self, rn: Reg, list: u8) {
        let target = self.scratch(32, 4);
        self.load(rn, target);
        self.emit(Insn::Ldm { rn, list });
        let lowest = list & list.wrapping_neg();
        if lowest == bit(rn) || list & bit(rn) == 0 {
            let target = self.scratch(32, 4);
            self.load(rn, target);
            self.emit(Insn::Stm { rn, list });
        }
        self.refresh();
    }

    /// Instructions that use SP, which points into the scratch window meanwhile: its content is
    /// known.
    fn every_stack(&mut self) {
        for (load, rt, words) in triples([false, true].into_iter(), lows(), 0..=255) {
            self.point_sp(0, 1024);
            self.emit(Insn::MemSp { load, rt, words });
            self.refresh();
        }
        for (op, words) in AddSub::ALL.iter().flat_map(|&op| (0..128).map(move |w| (op, w))) {
            self.point_sp(512, 512);
            self.emit(Insn::AdjustSp { op, words });
            self.emit(Insn::MovHigh { rd: Reg::new(words & 7), rm: Reg::SP });
            self.refresh();
        }
        for list in 0..=255 {
            self.every_push_and_pop(list);
        }
    }

    fn every_push_and_pop(&mut self, list: u8) {
        self.point_sp(64, 64);
        if list != 0 {
            self.emit(Insn::Push { list, lr: false });
        }
        self.emit(Insn::Push { list, lr: true });
        self.point_sp(64, 64);
        if list != 0 {
            self.emit(Insn::Pop { list, pc: false });
        }
        self.point_sp(64, 64);
        let target = self.asm.label();
        let rt = self.low();
        self.asm.load(rt, Value::Thumb(target));
        self.emit(Insn::Push { list: bit(rt), lr: false });
        self.emit(Insn::AdjustSp { op: AddSub::Sub, words: list.count_ones() as u8 });
        self.emit(Insn::Pop { list, pc: true });
        self.arith();
        self.asm.bind(target);
        self.refresh();
    }

    /// Points SP into the scratch window with room on both sides.
    fn point_sp(&mut self, below: u32, above: u32) {
        let rm = self.low();
        let target = self.scratch(below + above, 4) + below;
        debug_assert!(target + above <= layout::SCRATCH + layout::SCRATCH_BYTES);
        self.load(rm, target);
        self.emit(Insn::MovHigh { rd: Reg::SP, rm });
    }
}

/// All combinations.
fn triples<A: Copy, B: Copy, C>(
    a: impl Iterator<Item = A>,
    b: impl Iterator<Item = B> + Clone,
    c: impl Iterator<Item = C> + Clone,
) -> impl Iterator<Item = (A, B, C)> {
    a.flat_map(move |a| {
        let c = c.clone();
        b.clone().flat_map(move |b| c.clone().map(move |c| (a, b, c)))
    })
}

/// All data processing. SP may have any value meanwhile: nothing uses it as a stack.
fn data() -> Vec<Insn> {
    let mut all = Vec::new();
    for (amount, rm, rd) in triples(0..32, lows(), lows()) {
        for &op in Shift::ALL {
            let amount = if op != Shift::Lsl && amount == 0 { 32 } else { amount };
            all.push(Insn::ShiftImm { op, rd, rm, amount });
        }
    }
    for (rm, rn, rd) in triples(lows(), lows(), lows()) {
        for &op in AddSub::ALL {
            all.push(Insn::AddSubReg { op, rd, rn, rm });
            all.push(Insn::AddSubImm3 { op, rd, rn, imm3: rm.number() });
        }
    }
    for (imm8, rd) in (0..=255).flat_map(|imm8| lows().map(move |rd| (imm8, rd))) {
        all.extend(Imm8Op::ALL.iter().map(|&op| Insn::Imm8 { op, rdn: rd, imm8 }));
        // Literal loads read the code at their address.
        all.push(Insn::LdrLiteral { rt: rd, words: imm8 });
        all.extend([Insn::Adr { rd, words: imm8 }, Insn::AddRdSp { rd, words: imm8 }]);
    }
    for (rm, rd) in lows().flat_map(|rm| lows().map(move |rd| (rm, rd))) {
        all.extend(DataOp::ALL.iter().map(|&op| Insn::Data { op, rdn: rd, rm }));
        all.extend(Extend::ALL.iter().map(|&op| Insn::Extend { op, rd, rm }));
        all.extend(Reverse::ALL.iter().map(|&op| Insn::Reverse { op, rd, rm }));
    }
    for (d, m) in (0..15).flat_map(|d| (0..16).map(move |m| (Reg::new(d), Reg::new(m)))) {
        all.extend([Insn::AddHigh { rdn: d, rm: m }, Insn::MovHigh { rd: d, rm: m }]);
        if m != Reg::PC && !(d.is_low() && m.is_low()) {
            all.push(Insn::CmpHigh { rn: d, rm: m });
        }
    }
    all
}
