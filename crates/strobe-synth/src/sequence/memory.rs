//! Loads and stores into the scratch window, and pushes, pops and frames on the stack, always
//! balanced.

use super::{Gen, bit, layout};
use crate::insn::{AddSub, Insn, LoadStore, Reg};

/// The size of the access and of the unit that an immediate offset counts.
pub(super) fn size(op: LoadStore) -> u32 {
    match op {
        LoadStore::Str | LoadStore::Ldr => 4,
        LoadStore::Strh | LoadStore::Ldrh | LoadStore::Ldrsh => 2,
        LoadStore::Strb | LoadStore::Ldrb | LoadStore::Ldrsb => 1,
    }
}

fn is_store(op: LoadStore) -> bool {
    matches!(op, LoadStore::Str | LoadStore::Strh | LoadStore::Strb)
}

impl Gen {
    /// One snippet of loads and stores that leaves SP as it was.
    pub(super) fn memory(&mut self) {
        match self.rng.below(8) {
            0..3 => self.register_offset(),
            3..5 => self.immediate_offset(),
            5 => self.multiple(),
            6 => self.push_pop(),
            _ => self.frame(),
        }
    }

    /// An address in the scratch window with room for `bytes`, aligned to `align`.
    pub(super) fn scratch(&mut self, bytes: u32, align: u32) -> u32 {
        let offset = self.rng.below(layout::SCRATCH_BYTES - bytes + 1);
        layout::SCRATCH + (offset & !(align - 1))
    }

    fn register_offset(&mut self) {
        let op = self.rng.pick(LoadStore::ALL);
        let target = self.scratch(4, size(op));
        let (rn, rm) = self.two_dests();
        let (rn, rm) = if self.rng.one_in(8) && target.is_multiple_of(2) {
            self.load(rn, target / 2);
            (rn, rn)
        } else {
            let offset = match self.rng.below(3) {
                0 => self.rng.below(64) * 4,
                1 => (self.rng.below(64) * 4).wrapping_neg(),
                _ => self.rng.next_u32(),
            };
            self.load(rn, target.wrapping_sub(offset));
            self.load(rm, offset);
            (rn, rm)
        };
        let rt = if is_store(op) { self.low() } else { self.dest() };
        self.emit(Insn::MemReg { op, rt, rn, rm });
    }

    fn immediate_offset(&mut self) {
        use LoadStore::{Ldr, Ldrb, Ldrh, Str, Strb, Strh};
        let op = self.rng.pick(&[Str, Ldr, Strb, Ldrb, Strh, Ldrh]);
        let units = self.rng.below(32);
        let target = self.scratch(4, size(op));
        let rn = self.dest();
        self.load(rn, target - units * size(op));
        let rt = if is_store(op) { self.low() } else { self.dest() };
        self.emit(Insn::MemImm { op, rt, rn, units: units as u8 });
    }

    fn multiple(&mut self) {
        let rn = self.dest();
        let target = self.scratch(32, 4);
        self.load(rn, target);
        let list = self.some_of(0xff);
        if self.rng.one_in(2) {
            let list = list & self.free;
            let base_too = if self.rng.one_in(3) || list == 0 { bit(rn) } else { 0 };
            self.emit(Insn::Ldm { rn, list: list | base_too });
        } else {
            // Storing a base that is not the lowest register in the list stores an UNKNOWN value.
            let lowest = list & list.wrapping_neg();
            let list = if lowest == bit(rn) { list } else { list & !bit(rn) };
            self.emit(Insn::Stm { rn, list });
        }
    }

    /// A random non-empty subset.
    fn some_of(&mut self, mask: u8) -> u8 {
        match self.rng.next_u32() as u8 & mask {
            0 => mask,
            some => some,
        }
    }

    /// Pushes some registers, does something, and pops as many into other registers.
    fn push_pop(&mut self) {
        let most = self.free.count_ones();
        let count = 1 + self.rng.below(most);
        let lr = count > 1 && self.rng.one_in(3);
        let list = self.take(0xff, count - u32::from(lr));
        self.emit(Insn::Push { list, lr });
        for _ in 0..self.rng.below(3) {
            self.arith();
        }
        let list = self.take(self.free, count);
        self.emit(Insn::Pop { list, pc: false });
    }

    /// `count` random bits of the mask.
    pub(super) fn take(&mut self, mask: u8, count: u32) -> u8 {
        let mut taken = mask;
        while taken.count_ones() > count {
            taken &= !(1 << self.rng.below(8));
        }
        taken
    }

    /// Reserves room on the stack, stores and loads relative to SP, and frees it, by immediate or
    /// by register.
    fn frame(&mut self) {
        let words = 1 + self.rng.below(127) as u8;
        let twice = self.rng.one_in(3);
        let back = AddSub::Add;
        self.emit(Insn::AdjustSp { op: AddSub::Sub, words });
        if twice {
            self.emit(Insn::AdjustSp { op: AddSub::Sub, words });
        }
        let room = u32::from(words) << u8::from(twice);
        for _ in 0..=self.rng.below(2) {
            let slot = self.rng.below(room) as u8;
            let (from, to) = (self.low(), self.dest());
            self.emit(Insn::MemSp { load: false, rt: from, words: slot });
            self.arith();
            self.emit(Insn::MemSp { load: true, rt: to, words: slot });
        }
        if twice {
            self.emit(Insn::AdjustSp { op: back, words });
        }
        if self.rng.one_in(3) {
            let rm = self.dest();
            self.load(rm, u32::from(words) * 4);
            self.emit(Insn::AddHigh { rdn: Reg::SP, rm });
        } else {
            self.emit(Insn::AdjustSp { op: back, words });
        }
    }

    /// Runs on a spare stack for a while: MOV to SP, whose two low bits are ignored.
    pub(super) fn spare_stack(&mut self) {
        let (saved, other) = self.two_dests();
        let stray_bits = self.rng.below(4);
        self.emit(Insn::MovHigh { rd: saved, rm: Reg::SP });
        self.load(other, layout::SPARE_STACK | stray_bits);
        self.emit(Insn::MovHigh { rd: Reg::SP, rm: other });
        self.keeping(bit(saved), Self::body);
        self.emit(Insn::MovHigh { rd: Reg::SP, rm: saved });
    }
}
