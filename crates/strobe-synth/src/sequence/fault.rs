//! Instructions that fault; the HardFault handler steps over them.

use super::{Gen, bit, layout};
use crate::asm::Value;
use crate::insn::{Hint, Insn, LoadStore, Reg};
use crate::wide::Extension;

/// Auxiliary control, system handler control and fault status registers (B3.2).
const ACTLR: u32 = 0xe000_e008;
const SHCSR: u32 = 0xe000_ed24;
const CFSR: u32 = 0xe000_ed28;
const HFSR: u32 = 0xe000_ed2c;
const MMFAR: u32 = 0xe000_ed34;
const BFAR: u32 = 0xe000_ed38;

impl Gen {
    /// Disables the write buffer: QEMU has none, and knows no imprecise faults.
    pub(super) fn disable_write_buffer(&mut self) {
        self.store_word(ACTLR, 2);
    }

    /// In a handler: reads and clears the fault status. R0 to R3 are free.
    pub(super) fn fault_registers(&mut self) {
        let [rn, rt] = [0, 1].map(Reg::new);
        for register in [MMFAR, BFAR, HFSR, CFSR] {
            self.load(rn, register);
            self.emit(Insn::MemImm { op: LoadStore::Ldr, rt, rn, units: 0 });
            if matches!(register, HFSR | CFSR) && self.rng.one_in(2) {
                self.emit(Insn::MemImm { op: LoadStore::Str, rt, rn, units: 0 });
            }
        }
        self.load(rn, SHCSR);
        self.emit(Insn::MemImm { op: LoadStore::Ldr, rt, rn, units: 0 });
    }

    /// Which faults have handlers of their own.
    pub(super) fn fault_handlers(&mut self) {
        let enabled = self.rng.below(8) << 16;
        self.store_word(SHCSR, enabled);
    }

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
            // In the list of a store the base is not the lowest register, or it is in that of a
            // load: only the fault may be visible.
            let list = bit(rt);
            let insn =
                if self.rng.one_in(2) { Insn::Ldm { rn, list } } else { Insn::Stm { rn, list } };
            self.emit(insn);
        } else {
            self.emit(Insn::MemImm { op, rt, rn, units: 0 });
        }
    }

    /// After the end of any RAM in use.
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
        // QEMU 7.2 reports an unaligned access where the target is not that of an Arm instruction.
        if self.is_v7m() && !self.asm.here().is_multiple_of(4) {
            self.emit(Insn::Hint { op: Hint::Nop });
        }
        self.asm.bind(target);
        self.emit(Insn::Hint { op: Hint::Nop });
    }
}
