//! Floating point: interesting operands, every mode, and loads and stores of several registers.

use super::{Gen, bit};
use crate::insn::{Insn, LoadStore, Reg};
use crate::wide::Form;

/// Coprocessor access control and floating-point context control registers (B3.2.20, B3.2.21 of DDI
/// 0403).
const CPACR: u32 = 0xe000_ed88;
const FPCCR: u32 = 0xe000_ef34;
const FPCAR: u32 = 0xe000_ef38;
const FULL_ACCESS: u32 = 0xf0_0000;

impl Gen {
    /// Enables the unit. In some programs exceptions leave its registers alone; in the others they
    /// save them when a handler uses the unit, which is the setting at reset.
    pub(super) fn enable_fp(&mut self) {
        if self.rng.one_in(3) {
            self.store_word(FPCCR, 0);
        }
        self.store_word(CPACR, FULL_ACCESS);
    }

    /// The address where a handler's frame has room for the registers. Not FPCCR: QEMU 7.2 sets
    /// bits there that ARMv8-M has.
    pub(super) fn fp_context(&mut self) {
        let (rn, rt) = (self.dest(), self.dest());
        self.load(rn, FPCAR);
        self.emit(Insn::MemImm { op: LoadStore::Ldr, rt, rn, units: 0 });
    }

    pub(super) fn store_word(&mut self, address: u32, word: u32) {
        let (rn, rt) = self.two_dests();
        self.load(rn, address);
        self.load(rt, word);
        self.emit(Insn::MemImm { op: LoadStore::Str, rt, rn, units: 0 });
    }

    pub(super) fn fp(&mut self) {
        match self.rng.below(4) {
            0 => self.fp_modes(),
            1 | 2 => self.fp_multiple(),
            _ => self.fp_operands(),
        }
    }

    /// A single whose neighbourhood is interesting.
    fn fp_value(&mut self) -> u32 {
        const EDGES: [u32; 20] = [
            0x0000_0000, // zero
            0x0000_0001, // the smallest denormal
            0x007f_ffff, // the largest denormal
            0x0080_0000, // the smallest normal number
            0x0080_0001,
            0x3380_0000, // half a unit in the last place of one
            0x3f00_0000,
            0x3f7f_ffff,
            0x3f80_0000, // one
            0x3f80_0001,
            0x4b00_0000, // where integers begin
            0x4eff_ffff,
            0x4f00_0000, // two to the 31
            0x4f80_0000, // two to the 32
            0x7f7f_ffff, // the largest number
            0x7f80_0000, // infinity
            0x7f80_0001, // a signalling NaN
            0x7fbf_ffff,
            0x7fc0_0000, // the default NaN
            0x7fc1_2345,
        ];
        let sign = self.rng.next_u32() & 1 << 31;
        let magnitude = match self.rng.below(6) {
            0 | 1 => self.rng.pick(&EDGES),
            // Around one, where sums lose bits and cancel.
            2 => (100 + self.rng.below(56)) << 23 | self.rng.next_u32() >> 9,
            // A half-precision number's range and its limits.
            3 => (96 + self.rng.below(48)) << 23 | (self.rng.next_u32() & 0x7f) << 16,
            // Denormals.
            4 => self.rng.next_u32() >> (9 + self.rng.below(20)),
            _ => self.rng.next_u32() >> 1,
        };
        sign | magnitude
    }

    /// New values in a few registers.
    pub(super) fn fp_operands(&mut self) {
        for _ in 0..=self.rng.below(2) {
            let (rt, word) = (self.dest(), self.fp_value());
            self.load(rt, word);
            let fields = [('m', u32::from(rt.number()))];
            let filler = self.rng.next_u32();
            self.emit(Insn::Wide(Form::named("VMOV from core").with(&fields, filler)));
        }
    }

    /// Rounding mode, flush to zero, default NaN, alternative half precision; flags cleared or set.
    fn fp_modes(&mut self) {
        let rt = self.dest();
        let modes = self.rng.next_u32() & 0x07c0_0000;
        // In half of the cases the common modes.
        let modes = if self.rng.one_in(2) { 0 } else { modes };
        let flags = if self.rng.one_in(2) { 0 } else { self.rng.next_u32() & 0xf000_009f };
        // Reserved bits are ignored.
        let stray = self.rng.next_u32() & 0x0000_e060;
        self.load(rt, modes | flags | stray);
        let fields = [('t', u32::from(rt.number()))];
        self.emit(Insn::Wide(Form::named("VMSR").with(&fields, 0)));
    }

    /// VLDM and VSTM, including VPUSH and VPOP.
    fn fp_multiple(&mut self) {
        let name = self.rng.pick(&[
            "VLDMIA",
            "VLDMDB",
            "VLDMIA double",
            "VLDMDB double",
            "VSTMIA",
            "VSTMDB",
            "VSTMIA double",
            "VSTMDB double",
        ]);
        let (form, double) = (Form::named(name), name.ends_with("double"));
        let (first, words) = if double {
            let first = self.rng.below(16);
            (first, 2 * (1 + self.rng.below(16 - first)))
        } else {
            let first = self.rng.below(32);
            (first, 1 + self.rng.below(32 - first))
        };
        let n = self.any_dest();
        let target = self.scratch(128, 4);
        let base = if name.contains("DB") { target + 4 * words } else { target };
        self.put(n, base, &[]);
        let mut fields = vec![('n', u32::from(n.number())), ('i', words)];
        if double {
            fields.push(('v', first));
        } else {
            fields.extend([('v', first >> 1), ('D', first & 1)]);
        }
        let filler = self.rng.next_u32();
        self.emit(Insn::Wide(form.with(&fields, filler)));
    }

    /// Without access, the unit's instructions fault.
    pub(super) fn fp_fault(&mut self) {
        self.store_word(CPACR, 0);
        self.barriers();
        let rd = self.dest();
        let names = ["VADD", "VLDR", "VMRS", "VCVTB to half", "VMOV to core"];
        let form = Form::named(self.rng.pick(&names));
        let fields: Vec<(char, u32)> = ['d', 'n']
            .into_iter()
            .filter(|&l| form.has(l))
            .map(|l| (l, u32::from(rd.number())))
            .collect();
        let filler = self.rng.next_u32();
        self.emit(Insn::Wide(form.with(&fields, filler)));
        self.store_word(CPACR, FULL_ACCESS);
        self.barriers();
    }

    pub(super) fn barriers(&mut self) {
        for op in [crate::insn::Barrier::Dsb, crate::insn::Barrier::Isb] {
            self.emit(Insn::Barrier { op });
        }
    }

    /// With CCR's traps on, division by zero and any unaligned access fault.
    pub(super) fn trapped(&mut self) {
        const CCR: u32 = 0xe000_ed14;
        const STKALIGN: u32 = 1 << 9;
        self.store_word(CCR, STKALIGN | 0x18);
        self.barriers();
        let (rd, rn) = self.two_dests();
        if self.rng.one_in(2) {
            self.mov(rn, 0);
            let form = Form::named(self.rng.pick(&["UDIV", "SDIV"]));
            let [d, m] = [rd, rn].map(|r: Reg| u32::from(r.number()));
            self.emit(Insn::Wide(form.with(&[('d', d), ('n', d), ('m', m)], 0)));
        } else {
            let target = self.scratch(8, 4) + 1;
            self.load(rn, target);
            let op = self.rng.pick(&[LoadStore::Ldr, LoadStore::Str, LoadStore::Ldrh]);
            self.emit(Insn::MemImm { op, rt: rd, rn, units: 0 });
        }
        self.store_word(CCR, STKALIGN);
        self.barriers();
        debug_assert!(bit(rd) != bit(rn));
    }
}
