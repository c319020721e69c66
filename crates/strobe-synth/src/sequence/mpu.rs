//! Memory protection: random regions over the scratch window, and permitted and forbidden accesses.

use super::{Gen, layout};
use crate::insn::{Insn, LoadStore};
use crate::wide::Form;

/// MPU_CTRL, MPU_RBAR and MPU_RASR (DDI 0403, B3.5).
const CTRL: u32 = 0xe000_ed94;
const RBAR: u32 = 0xe000_ed9c;
const RASR: u32 = 0xe000_eda0;
/// RBAR.VALID: the region's number is written with its address.
const VALID: u32 = 0x10;

/// RASR of a region of 2^size bytes without disabled subregions.
const fn region(size: u32, access: u32) -> u32 {
    access << 24 | (size - 1) << 1 | 1
}

const FULL_ACCESS: u32 = 3;
const READ_ONLY: u32 = 6;

impl Gen {
    /// Some accesses under protection; the fault handler steps over forbidden ones.
    pub(super) fn protected(&mut self) {
        // Code and stacks stay accessible at every privilege.
        self.region(0, 0, region(22, READ_ONLY));
        self.region(1, 0x2000_0000, region(16, FULL_ACCESS));
        let regions = self.rng.below(7);
        for number in 2..2 + regions {
            let size = 5 + self.rng.below(8);
            let base = self.scratch(4, 4) >> size << size;
            let (never, access) = (self.rng.below(2) << 28, self.rng.below(8));
            let disabled = self.rng.next_u32() & self.rng.next_u32() & 0xff00;
            let attributes = region(size, access) | never | disabled;
            // One in eight is off.
            let off = u32::from(self.rng.one_in(8));
            self.region(number, base, attributes & !off);
        }
        let control = 1 | self.rng.below(4) << 1;
        self.store_word(CTRL, control);
        self.barriers();
        for _ in 0..2 + self.rng.below(8) {
            // QEMU 7.2 caches permissions for 1 KiB that a disabled subregion would change, until a
            // register is written.
            self.store_word(CTRL, control);
            self.access();
        }
        self.store_word(CTRL, 0);
        self.barriers();
    }

    fn region(&mut self, number: u32, base: u32, attributes: u32) {
        self.store_word(RBAR, base | VALID | number);
        self.store_word(RASR, attributes);
    }

    /// One access, in half of the cases as if unprivileged.
    fn access(&mut self) {
        use LoadStore::{Ldr, Ldrb, Ldrh, Str, Strb, Strh};
        let outside = self.rng.one_in(16);
        let target = if outside { layout::SPARE_STACK } else { self.scratch(4, 4) };
        let (rn, rt) = self.two_dests();
        self.load(rn, target);
        if self.rng.one_in(2) {
            let op = self.rng.pick(&[Ldr, Ldrb, Ldrh, Str, Strb, Strh]);
            self.emit(Insn::MemImm { op, rt, rn, units: 0 });
        } else {
            let names = ["LDRT", "LDRBT", "LDRHT", "LDRSHT", "STRT", "STRBT", "STRHT"];
            let form = Form::named(self.rng.pick(&names));
            let [t, n] = [rt, rn].map(|r| u32::from(r.number()));
            self.emit(Insn::Wide(form.with(&[('t', t), ('n', n), ('i', 0)], 0)));
        }
    }
}
