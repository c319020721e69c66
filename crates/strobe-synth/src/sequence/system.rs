//! Special registers, masking, the second stack, hints, and exceptions pended by software.

use super::{Gen, IRQS, bit, layout};
use crate::insn::{Barrier, Hint, Insn, LoadStore, Reg, Special};
use crate::wide::{Extension, Form};

/// System control space (B3.2, B3.4).
mod scs {
    pub(super) const ISER: u32 = 0xe000_e100;
    pub(super) const ICER: u32 = 0xe000_e180;
    pub(super) const ISPR: u32 = 0xe000_e200;
    pub(super) const ICPR: u32 = 0xe000_e280;
    pub(super) const IPR0: u32 = 0xe000_e400;
    pub(super) const IABR: u32 = 0xe000_e300;
    pub(super) const ICSR: u32 = 0xe000_ed04;
    pub(super) const AIRCR: u32 = 0xe000_ed0c;
    pub(super) const VECTKEY: u32 = 0x05fa_0000;
    pub(super) const SHPR1: u32 = 0xe000_ed18;
    pub(super) const SHPR2: u32 = 0xe000_ed1c;
    pub(super) const SHPR3: u32 = 0xe000_ed20;
    pub(super) const SHCSR: u32 = 0xe000_ed24;
    pub(super) const STIR: u32 = 0xe000_ef00;
    pub(super) const NMIPENDSET: u32 = 1 << 31;
    pub(super) const PENDSVSET: u32 = 1 << 28;
    pub(super) const PENDSVCLR: u32 = 1 << 27;
    pub(super) const PENDSTSET: u32 = 1 << 26;
    pub(super) const PENDSTCLR: u32 = 1 << 25;
}

impl Gen {
    /// MRS of any register, MSR where it changes only flags or nothing.
    pub(super) fn special_register(&mut self) {
        use Special::{Apsr, Eapsr, Epsr, Iapsr, Iepsr, Ipsr, Xpsr};
        if self.rng.one_in(2) {
            let from = self.rng.pick(Special::ALL);
            let rd = if self.rng.one_in(4) {
                Reg::new(8 + self.rng.below(5) as u8)
            } else {
                self.dest()
            };
            self.emit(Insn::Mrs { rd, from });
        } else {
            let to = self.rng.pick(&[Apsr, Iapsr, Eapsr, Xpsr, Ipsr, Epsr, Iepsr]);
            // ARMv6-M has no Q flag (B1.4.2 reserves bit 27), but QEMU 7.2 keeps one and returns it
            // to MRS.
            const Q: u32 = 1 << 27;
            let missing = if self.is_v7m() { 0 } else { Q };
            let (low, word) = (self.dest(), self.edge_value() & !missing);
            self.load(low, word);
            let rn = if self.rng.one_in(4) { Reg::new(8 + self.rng.below(5) as u8) } else { low };
            if rn != low {
                self.emit(Insn::MovHigh { rd: rn, rm: low });
            }
            self.emit(Insn::Msr { to, rn });
        }
    }

    /// Hints have no visible effect; WFE follows SEV so that it does not sleep.
    pub(super) fn hint_or_barrier(&mut self) {
        if self.is_v7m() && self.rng.one_in(3) {
            return self.wide_hint();
        }
        match self.rng.below(5) {
            0 => {
                let op = self.rng.pick(&[Hint::Nop, Hint::Yield, Hint::Sev]);
                self.emit(Insn::Hint { op });
            }
            1 => {
                self.emit(Insn::Hint { op: Hint::Sev });
                self.emit(Insn::Hint { op: Hint::Wfe });
            }
            2 if self.options.exceptions => {
                // WFI wakes for a pending exception that PRIMASK keeps from being taken.
                self.emit(Insn::Cps { disable: true });
                self.write(scs::ICSR, scs::PENDSVSET);
                self.emit(Insn::Hint { op: Hint::Wfi });
                self.arith();
                self.emit(Insn::Cps { disable: false });
            }
            _ => {
                let op = self.rng.pick(Barrier::ALL);
                self.emit(Insn::Barrier { op });
            }
        }
    }

    fn wide_hint(&mut self) {
        let name = self.rng.pick(&["NOP W", "YIELD W", "SEV W", "WFE W", "WFI W", "DBG"]);
        let form = Form::named(name);
        let filler = self.rng.next_u32();
        match name {
            "WFE W" => self.emit(Insn::Wide(Form::named("SEV W").with(&[], 0))),
            "WFI W" if !self.options.exceptions => return,
            "WFI W" => {
                self.emit(Insn::Cps { disable: true });
                self.write(scs::ICSR, scs::PENDSVSET);
            }
            _ => {}
        }
        self.emit(Insn::Wide(form.with(&[], filler)));
        if name == "WFI W" {
            self.emit(Insn::Cps { disable: false });
        }
    }

    /// Some code with BASEPRI or FAULTMASK set, sometimes with exceptions pended meanwhile.
    fn masked_v7m(&mut self) {
        let name = self.rng.pick(&["MSR BASEPRI", "MSR BASEPRI_MAX", "MSR FAULTMASK", "CPS"]);
        let (rn, word) = (self.dest(), self.rng.next_u32());
        let msr = |name: &str, rn: Reg| {
            Insn::Wide(Form::named(name).with(&[('n', u32::from(rn.number()))], 0))
        };
        if name == "CPS" {
            let interrupts = self.rng.one_in(2);
            self.emit(Insn::CpsFault { disable: true, interrupts });
        } else {
            self.load(rn, word);
            self.emit(msr(name, rn));
        }
        // A second attempt to raise the priority, which may not lower it.
        if name == "MSR BASEPRI" && self.rng.one_in(2) {
            let (rn, word) = (self.dest(), self.rng.next_u32());
            self.load(rn, word);
            self.emit(msr("MSR BASEPRI_MAX", rn));
        }
        let may_call = std::mem::replace(&mut self.may_call, false);
        self.body();
        // A fault that is masked escalates; with FAULTMASK it would lock up.
        let faultmask = matches!(name, "CPS" | "MSR FAULTMASK");
        if self.options.faults && !faultmask && self.rng.one_in(3) {
            self.fault();
        }
        self.may_call = may_call;
        if self.options.exceptions {
            for _ in 0..self.rng.below(3) {
                self.pend();
            }
        }
        for name in ["MRS BASEPRI", "MRS FAULTMASK"] {
            let insn = self.plain(Form::named(name));
            self.emit(insn);
        }
        self.emit(Insn::CpsFault { disable: false, interrupts: true });
        let rn = self.dest();
        self.mov(rn, 0);
        self.emit(msr("MSR BASEPRI", rn));
    }

    /// Some code with interrupts masked, by CPS or by MSR, sometimes with exceptions pended
    /// meanwhile.
    pub(super) fn masked(&mut self) {
        if self.is_v7m() && self.rng.one_in(2) {
            return self.masked_v7m();
        }
        if self.rng.one_in(2) {
            self.emit(Insn::Cps { disable: true });
        } else {
            let (rn, word) = (self.dest(), self.rng.next_u32() | 1);
            self.load(rn, word);
            self.emit(Insn::Msr { to: Special::Primask, rn });
        }
        let may_call = std::mem::replace(&mut self.may_call, false);
        self.body();
        self.may_call = may_call;
        if self.options.exceptions {
            for _ in 0..self.rng.below(3) {
                self.pend();
            }
        }
        let rd = self.dest();
        self.emit(Insn::Mrs { rd, from: Special::Primask });
        if self.rng.one_in(2) {
            self.emit(Insn::Cps { disable: false });
        } else {
            let (rn, word) = (self.dest(), self.rng.next_u32() & !1);
            self.load(rn, word);
            self.emit(Insn::Msr { to: Special::Primask, rn });
        }
    }

    /// Some code on another stack: the process stack, or the main stack pointer moved by MSR or
    /// MOV.
    pub(super) fn other_stack(&mut self) {
        match self.rng.below(3) {
            0 => self.spare_stack(),
            1 => {
                let (saved, other) = self.two_dests();
                self.emit(Insn::Mrs { rd: saved, from: Special::Msp });
                self.load(other, layout::SPARE_STACK);
                self.emit(Insn::Msr { to: Special::Msp, rn: other });
                self.keeping(bit(saved), Self::body);
                self.emit(Insn::Msr { to: Special::Msp, rn: saved });
            }
            _ => self.process_stack(),
        }
    }

    fn process_stack(&mut self) {
        let rn = self.dest();
        // Doubleword-aligned or not: in the latter case the frame needs padding, which the return
        // must undo.
        let misaligned = self.rng.below(2) * 4;
        self.load(rn, layout::PROCESS_STACK + misaligned);
        self.emit(Insn::Msr { to: Special::Psp, rn });
        self.select_stack(2);
        self.body();
        if self.options.exceptions {
            self.exception();
        }
        let (rd, from) = (self.dest(), self.rng.pick(&[Special::Control, Special::Psp]));
        self.emit(Insn::Mrs { rd, from });
        self.select_stack(0);
    }

    pub(super) fn select_stack(&mut self, control: u8) {
        let rn = self.dest();
        self.mov(rn, control);
        self.emit(Insn::Msr { to: Special::Control, rn });
        self.emit(Insn::Barrier { op: Barrier::Isb });
    }

    /// Some code without privilege, which cannot mask anything nor read most special registers. The
    /// handler of SVC restores privilege.
    pub(super) fn unprivileged(&mut self) {
        self.select_stack(1);
        let may_call = std::mem::replace(&mut self.may_call, false);
        self.body();
        self.may_call = may_call;
        for _ in 0..=self.rng.below(3) {
            match self.rng.below(6) {
                0 => self.emit(Insn::Cps { disable: true }),
                1 => self.emit(Insn::CpsFault { disable: true, interrupts: true }),
                2 => self.select_stack(0),
                3 => {
                    let insn = self.plain(Form::named("MRS BASEPRI"));
                    self.emit(insn);
                }
                4 => {
                    let name = self.rng.pick(&["MSR BASEPRI", "MSR FAULTMASK"]);
                    let n = u32::from(self.any_source().number());
                    self.emit(Insn::Wide(Form::named(name).with(&[('n', n)], 0)));
                }
                _ => {
                    let to = self.rng.pick(&[Special::Primask, Special::Msp, Special::Psp]);
                    let rn = self.dest();
                    self.emit(Insn::Msr { to, rn });
                }
            }
            let (rd, from) = (self.dest(), self.rng.pick(Special::ALL));
            self.emit(Insn::Mrs { rd, from });
        }
        self.emit(Insn::Svc { imm8: 0 });
        let rd = self.dest();
        self.emit(Insn::Mrs { rd, from: Special::Control });
    }

    /// In a handler: makes threads privileged.
    pub(super) fn give_privilege(&mut self) {
        self.select_stack(0);
    }

    /// An exception from thread mode.
    pub(super) fn exception(&mut self) {
        if self.rng.one_in(2) {
            let imm8 = self.rng.next_u32() as u8;
            self.emit(Insn::Svc { imm8 });
        } else {
            self.pend();
        }
    }

    fn pend(&mut self) {
        match self.rng.below(6) {
            0 => self.write(scs::ICSR, scs::NMIPENDSET),
            1 => self.write(scs::ICSR, scs::PENDSTSET),
            2 | 3 => self.write(scs::ICSR, scs::PENDSVSET),
            _ => {
                // Several at once: the first by priority, the others chained or preempting.
                let irqs = self.rng.next_u32() & self.rng.next_u32() & ((1 << IRQS) - 1);
                self.write(scs::ISPR, irqs | 1);
            }
        }
    }

    /// The state of active and pending exceptions that a handler can read.
    pub(super) fn handler_registers(&mut self) {
        for register in [scs::SHCSR, scs::IABR, scs::ISPR] {
            self.read(register);
        }
        if self.has(Extension::Fp) {
            self.fp_context();
        }
    }

    /// Address and value in registers, of a store that pends interrupts.
    pub(super) fn ready_to_pend(&mut self) -> (Reg, Reg) {
        let (rn, rt) = self.two_dests();
        self.load(rn, scs::ISPR);
        let irqs = self.rng.next_u32() & ((1 << IRQS) - 1);
        self.load(rt, irqs);
        (rn, rt)
    }

    /// Pends an interrupt from a handler, so that handlers nest or chain.
    pub(super) fn pend_irq(&mut self, irq: u32) {
        self.write(scs::ISPR, 1 << irq);
    }

    pub(super) fn enable_interrupts(&mut self) {
        self.write(scs::ISER, (1 << IRQS) - 1);
    }

    /// Reads and writes of interrupt controller registers, from thread mode, where nothing is
    /// active.
    pub(super) fn nvic_registers(&mut self) {
        let word = self.rng.next_u32();
        match self.rng.below(5) {
            0 | 1 => {
                // Only the fields that ARMv6-M defines: QEMU 7.2 keeps reserved ones of SHPR3.
                let (register, fields) = self.rng.pick(&[
                    (scs::IPR0, u32::MAX),
                    (scs::IPR0 + 4, u32::MAX),
                    (scs::SHPR2, 0xff00_0000),
                    (scs::SHPR3, 0xffff_0000),
                ]);
                self.write(register, word & fields);
                self.read(register);
            }
            2 if self.is_v7m() && self.rng.one_in(2) => {
                // Priority groups, and priorities of faults.
                let (register, word) =
                    self.rng.pick(&[(scs::AIRCR, scs::VECTKEY | word & 0x700), (scs::SHPR1, word)]);
                self.write(register, word);
                self.read(register);
                self.read(scs::ICSR);
            }
            3 if self.is_v7m() && self.rng.one_in(2) => {
                let irq = self.rng.below(IRQS);
                self.write(scs::STIR, irq);
            }
            2 => {
                // Disabled interrupts stay pending until they are enabled again.
                self.write(scs::ICER, 0xff);
                self.write(scs::ISPR, word & 0xff);
                self.read(scs::ISPR);
                self.read(scs::ISER);
                self.write(scs::ICPR, word >> 8 & 0xff);
                self.enable_interrupts();
            }
            3 => {
                self.emit(Insn::Cps { disable: true });
                self.write(scs::ICSR, scs::PENDSVSET | scs::PENDSTSET);
                let clear = self.rng.pick(&[scs::PENDSVCLR, scs::PENDSTCLR]);
                self.write(scs::ICSR, clear);
                self.emit(Insn::Cps { disable: false });
            }
            _ => {
                // Not ICSR: QEMU 7.2 sets its RETTOBASE, which ARMv6-M reserves.
                let register = self.rng.pick(&[scs::ISER, scs::ICER, scs::ISPR, scs::ICPR]);
                self.read(register);
            }
        }
    }

    fn write(&mut self, address: u32, word: u32) {
        let (rn, rt) = self.two_dests();
        self.load(rn, address);
        self.load(rt, word);
        self.emit(Insn::MemImm { op: LoadStore::Str, rt, rn, units: 0 });
    }

    fn read(&mut self, address: u32) {
        let (rn, rt) = (self.dest(), self.dest());
        self.load(rn, address);
        self.emit(Insn::MemImm { op: LoadStore::Ldr, rt, rn, units: 0 });
    }
}
