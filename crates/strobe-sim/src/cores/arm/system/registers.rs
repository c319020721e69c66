//! The register map of the system control space: what each address reads as, and what a write to it
//! does.

use super::super::ids;
use super::super::nvic::{Nvic, Set};
use super::{Caller, ResetRequest, System, ccr, fpccr, number};
use crate::kernel::bus::{IRQ_WORDS, IRQS};
use crate::kernel::device::{Reading, Size};

/// SHCSR (B3.2.13): which bit shows which exception as active, pending, enabled.
const ACTIVE_BITS: [(u32, u16); 7] = [
    (0, number::MEM_MANAGE),
    (1, number::BUS_FAULT),
    (3, number::USAGE_FAULT),
    (7, number::SVCALL),
    (8, number::DEBUG_MONITOR),
    (10, number::PENDSV),
    (11, number::SYSTICK),
];
const PENDING_BITS: [(u32, u16); 4] = [
    (12, number::USAGE_FAULT),
    (13, number::MEM_MANAGE),
    (14, number::BUS_FAULT),
    (15, number::SVCALL),
];
const ENABLE_BITS: [(u32, u16); 3] =
    [(16, number::MEM_MANAGE), (17, number::BUS_FAULT), (18, number::USAGE_FAULT)];

impl System {
    /// Reads the system control space; narrower reads take their lane.
    pub(crate) fn read(&mut self, address: u32, size: Size, now: u64, caller: Caller) -> u32 {
        self.tick(now);
        let offset = address & 0xfff & !3;
        let word = match (self.read_word(offset, now, caller), self.arch.v7m) {
            (Some(word), _) => word,
            (None, true) => self.read_v7m(offset),
            (None, false) => 0,
        };
        word >> (8 * (address & 3)) & size.mask()
    }

    /// What reading a register of the system control space again shows; asked right after
    /// [`System::read`] of it.
    pub(crate) fn reading(&self, address: u32, size: Size) -> Reading {
        match address & 0xfff & !3 {
            offset @ 0x010..=0x01c => {
                let value = self.systick.value();
                self.systick.reading(offset).part(value, address, size)
            }
            // What becomes pending by itself shows in several registers.
            _ => Reading::FIXED.before(self.due()),
        }
    }

    /// What ARMv6-M has, and ARMv7-M in the same place.
    fn read_word(&mut self, offset: u32, now: u64, caller: Caller) -> Option<u32> {
        let nvic = &self.nvic;
        Some(match offset {
            0x010..=0x01c => self.systick.read(offset, now),
            0x100..=0x11c | 0x180..=0x19c => nvic.enabled.irqs(register(offset)),
            0x200..=0x21c | 0x280..=0x29c => nvic.pending.irqs(register(offset)),
            0x400..=0x4ec => self.priorities(irq_of(offset)),
            0xd00 => self.cpuid,
            0xd04 => self.icsr(caller),
            0xd08 if self.has_vtor() => self.vtor,
            0xd08 => 0,
            0xd0c => 0xfa05_0000 | u32::from(nvic.group) << 8,
            0xd10 => self.scr,
            // On ARMv6-M, UNALIGN_TRP is fixed at one.
            0xd14 => self.ccr | if self.arch.v7m { 0 } else { ccr::UNALIGN_TRP },
            0xd1c | 0xd20 => self.priorities(system_of(offset)),
            0xd24 => self.shcsr(),
            _ => return None,
        })
    }

    fn read_v7m(&mut self, offset: u32) -> u32 {
        match offset {
            0x004 => self.nvic.register_count(),
            0x008 => self.actlr,
            0x300..=0x31c => self.nvic.active.irqs(register(offset)),
            0xd18 => self.priorities(system_of(offset)),
            0xd28 => self.status.cfsr,
            0xd2c => self.status.hfsr,
            0xd30 => self.status.dfsr,
            0xd34 => self.status.mmfar,
            0xd38 => self.status.bfar,
            0xd40..=0xd70 => ids::feature(self.arch, offset),
            0xd88 => self.cpacr,
            0xd90..=0xdb8 => self.mpu.read(offset),
            0xdfc => self.debug.demcr,
            0xf34..=0xf44 if self.arch.fp => match offset {
                0xf34 => self.fpccr,
                0xf38 => self.fpcar,
                0xf3c => self.fpdscr,
                _ => ids::feature(self.arch, offset),
            },
            _ => self.debug.identification(0xe000_e000 | offset).unwrap_or(0),
        }
    }

    /// Four bytes of priorities.
    fn priorities(&self, first: u16) -> u32 {
        u32::from_le_bytes([0, 1, 2, 3].map(|i| self.nvic.priority_byte(first + i)))
    }

    fn icsr(&self, caller: Caller) -> u32 {
        let nvic = &self.nvic;
        let pending = |exception, bit: u32| u32::from(nvic.pending.contains(exception)) << bit;
        // ARMv7-M shows only what BASEPRI and FAULTMASK let through (DUI 0552A, 4.3.3).
        let best = nvic.best_pending().filter(|&(_, p)| !self.arch.v7m || p < caller.masked);
        let at_base = self.arch.v7m && nvic.active.len() < 2;
        pending(number::NMI, 31)
            | pending(number::PENDSV, 28)
            | pending(number::SYSTICK, 26)
            | u32::from(nvic.pending.any_irq()) << 22
            | best.map_or(0, |(exception, _)| u32::from(exception)) << 12
            | u32::from(at_base) << 11
            | u32::from(caller.ipsr)
    }

    fn shcsr(&self) -> u32 {
        let Nvic { active, pending, enabled, .. } = &self.nvic;
        if !self.arch.v7m {
            // SVCALLPENDED, for debuggers.
            return u32::from(pending.contains(number::SVCALL)) << 15;
        }
        let bits = |set: &Set, bits: &[(u32, u16)]| {
            let on = bits.iter().filter(|&&(_, exception)| set.contains(exception));
            on.fold(0, |word, (bit, _)| word | 1 << bit)
        };
        bits(active, &ACTIVE_BITS) | bits(pending, &PENDING_BITS) | bits(enabled, &ENABLE_BITS)
    }

    /// Writes the system control space. Words are what the manuals define for most registers;
    /// narrower writes, which many programs make to priorities, take effect on their bytes.
    pub(crate) fn write(&mut self, address: u32, size: Size, value: u32, now: u64) {
        self.tick(now);
        let (offset, shift) = (address & 0xfff & !3, 8 * (address & 3));
        let (word, mask) = ((value & size.mask()) << shift, size.mask() << shift);
        if !self.write_word(offset, word, mask, now) && self.arch.v7m {
            self.write_v7m(offset, word, mask, now);
        }
    }

    /// What ARMv6-M has, and ARMv7-M in the same place. Returns whether it was that.
    fn write_word(&mut self, offset: u32, word: u32, mask: u32, now: u64) -> bool {
        match offset {
            0x010..=0x01c => self.systick.write(offset, word, now),
            0x100..=0x11c => self.nvic.enable_irqs(register(offset), word, true),
            0x180..=0x19c => self.nvic.enable_irqs(register(offset), word, false),
            0x200..=0x21c => {
                let any = self.nvic.pend_irqs(register(offset), word, now);
                self.note_event(any);
            }
            0x280..=0x29c => self.nvic.unpend_irqs(register(offset), word),
            0x400..=0x4ec => self.set_priorities(irq_of(offset), word, mask),
            0xd04 => self.write_icsr(word, now),
            0xd08 => self.vtor = merge(self.vtor, word, mask) & self.vtor_mask,
            0xd0c if word >> 16 == 0x05fa => self.write_aircr(word),
            0xd10 => self.scr = merge(self.scr, word, mask) & 0x16,
            0xd14 if self.arch.v7m => self.ccr = merge(self.ccr, word, mask) & ccr::ALL,
            0xd1c => self.set_priorities(system_of(offset), word, mask & 0xff00_0000),
            0xd20 => self.set_priorities(system_of(offset), word, mask & 0xffff_0000),
            _ => return false,
        }
        true
    }

    fn write_v7m(&mut self, offset: u32, word: u32, mask: u32, now: u64) {
        let status = &mut self.status;
        match offset {
            0x008 => self.actlr = merge(self.actlr, word, mask) & 0x307,
            0xd18 => self.set_priorities(system_of(offset), word, mask & 0x00ff_ffff),
            0xd24 => self.write_shcsr(merge(self.shcsr(), word, mask), now),
            // Bits of status are cleared by writing ones.
            0xd28 => status.cfsr &= !word,
            0xd2c => status.hfsr &= !word,
            0xd30 => status.dfsr &= !word,
            0xd34 => status.mmfar = merge(status.mmfar, word, mask),
            0xd38 => status.bfar = merge(status.bfar, word, mask),
            0xd88 if self.arch.fp => self.cpacr = merge(self.cpacr, word, mask) & 0x00f0_0000,
            0xd90..=0xdb8 => self.mpu.write(offset, word),
            0xdfc => self.write_demcr(merge(self.debug.demcr, word, mask), now),
            0xf00 => {
                let irq = word & 0x1ff;
                if irq < IRQS as u32 {
                    let any = self.nvic.pend_irqs(irq as usize / 32, 1 << (irq % 32), now);
                    self.note_event(any);
                }
            }
            0xf34 if self.arch.fp => self.fpccr = merge(self.fpccr, word, mask) & fpccr::ALL,
            0xf38 if self.arch.fp => self.fpcar = merge(self.fpcar, word, mask) & !7,
            0xf3c if self.arch.fp => self.fpdscr = merge(self.fpdscr, word, mask) & 0x07c0_0000,
            _ => {}
        }
    }

    fn set_priorities(&mut self, first: u16, word: u32, mask: u32) {
        for (i, (byte, mask)) in (0..).zip(word.to_le_bytes().into_iter().zip(mask.to_le_bytes())) {
            if mask != 0 {
                self.nvic.set_priority_byte(first + i, byte);
            }
        }
    }

    fn write_icsr(&mut self, value: u32, now: u64) {
        let nvic = &mut self.nvic;
        // Setting wins over clearing when both bits are written: the manual leaves it open.
        for (bit, exception) in [(27, number::PENDSV), (25, number::SYSTICK)] {
            if value >> bit & 1 != 0 {
                nvic.pending.set(exception, false);
            }
        }
        for (bit, exception) in [(31, number::NMI), (28, number::PENDSV), (26, number::SYSTICK)] {
            if value >> bit & 1 != 0 {
                nvic.pending.set(exception, true);
                nvic.note_pended(exception, now);
            }
        }
    }

    fn write_aircr(&mut self, value: u32) {
        if value & 4 != 0 {
            self.reset_requested = Some(ResetRequest::System);
        }
        if self.arch.v7m {
            self.nvic.group = (value >> 8 & 7) as u8;
            if value & 1 != 0 {
                self.reset_requested.get_or_insert(ResetRequest::Core);
            }
        }
    }

    fn write_shcsr(&mut self, value: u32, now: u64) {
        let nvic = &mut self.nvic;
        let on = |bit: u32| value >> bit & 1 != 0;
        ACTIVE_BITS.into_iter().for_each(|(bit, e)| nvic.active.set(e, on(bit)));
        ENABLE_BITS.into_iter().for_each(|(bit, e)| nvic.enabled.set(e, on(bit)));
        for (bit, exception) in PENDING_BITS {
            if on(bit) {
                nvic.pend(exception, now);
            } else {
                nvic.pending.set(exception, false);
            }
        }
    }

    fn write_demcr(&mut self, value: u32, now: u64) {
        self.debug.write_demcr(value, now);
        // MON_EN and MON_PEND.
        self.nvic.enabled.set(number::DEBUG_MONITOR, value & 1 << 16 != 0);
        if value & 1 << 17 != 0 {
            self.nvic.pend(number::DEBUG_MONITOR, now);
        } else {
            self.nvic.pending.set(number::DEBUG_MONITOR, false);
        }
    }
}

/// The number of one of the NVIC's registers for 32 interrupts.
fn register(offset: u32) -> usize {
    offset as usize / 4 % IRQ_WORDS
}

/// The first interrupt in a word of NVIC_IPR.
fn irq_of(offset: u32) -> u16 {
    number::IRQ0 + (offset - 0x400) as u16
}

/// The first exception in a word of SHPR1 to SHPR3.
fn system_of(offset: u32) -> u16 {
    4 + (offset - 0xd18) as u16
}

/// The bytes of `word` that are written, and those of `old` that are not.
fn merge(old: u32, word: u32, mask: u32) -> u32 {
    old & !mask | word
}
