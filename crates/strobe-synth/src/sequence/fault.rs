//! Instructions that fault; the HardFault handler steps over them.

use super::{Gen, bit, layout};
use crate::asm::Value;
use crate::insn::{Hint, Insn, LoadStore};
use crate::wide::Extension;

impl Gen {
    pub(super) fn fault(&mut self) {
        match self.rng.below(5) {
            _ if self.is_v7m() && self.rng.one_in(4) => self.trapped(),
            _ if self.has(Extension::Fp) && self.rng.one_in(4) => self.fp_fault(),
            0 => {
                let imm8 = self.rng.next_u32() as u8;
                self.emit(Insn::Udf { imm8 });
            }
            1 => {
                let imm16 = self.rng.next_u32() as u16;
                self.emit(Insn::UdfW { imm16 });
            }
            2 => self.unaligned(),
            3 => self.no_memory(),
            _ => self.no_thumb(),
        }
    }

    fn unaligned(&mut self) {
        use LoadStore::{Ldr, Ldrh, Str, Strh};
        let (op, stray) =
            self.rng.pick(&[(Ldr, 2), (Ldr, 1), (Str, 2), (Str, 3), (Ldrh, 1), (Strh, 1)]);
        let (rn, rt) = self.two_dests();
        self.load(rn, layout::SCRATCH + stray);
        if self.rng.one_in(3) {
            // The base is not the lowest in the list of a store, or is in that of a load: only the fault may show.
            let list = bit(rt);
            let insn =
                if self.rng.one_in(2) { Insn::Ldm { rn, list } } else { Insn::Stm { rn, list } };
            self.emit(insn);
        } else {
            self.emit(Insn::MemImm { op, rt, rn, units: 0 });
        }
    }

    /// Behind any RAM this can have.
    fn no_memory(&mut self) {
        const NOWHERE: u32 = 0x3010_0000;
        let (rn, rt) = self.two_dests();
        self.load(rn, NOWHERE);
        let op = self.rng.pick(&[LoadStore::Ldr, LoadStore::Str, LoadStore::Ldrb, LoadStore::Strh]);
        self.emit(Insn::MemImm { op, rt, rn, units: 0 });
    }

    /// A jump that leaves Thumb state: its first instruction faults instead of running.
    fn no_thumb(&mut self) {
        let target = self.asm.label();
        let rm = self.dest();
        self.asm.load(rm, Value::Address(target));
        let insn = if self.rng.one_in(2) { Insn::Bx { rm } } else { Insn::Blx { rm } };
        self.emit(insn);
        self.body();
        self.asm.bind(target);
        self.emit(Insn::Hint { op: Hint::Nop });
    }
}
