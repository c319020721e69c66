//! The system control space (DDI 0419 and DDI 0403, B3): what its registers show of the interrupt
//! controller, SysTick, the fault status, the memory protection unit and the floating-point
//! context.
//!
//! How the core moves in and out of handlers is `exception.rs`; the debug blocks around this space
//! are `debug.rs`.

use super::arch::Architecture;
use super::bit_band::BitBand;
use super::core::{CoreOptions, TraceGate};
use super::debug::Debug;
use super::fault_status::{FaultStatus, cfsr, hfsr};
use super::ids;
use super::mpu::Mpu;
use super::nvic::Nvic;
use super::systick::SysTick;
use crate::kernel::bus::{IRQ_WORDS, IRQS, Interrupts};
use crate::kernel::device::Size;

pub use crate::kernel::core::number;

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

/// Bits of CCR (B3.2.8).
mod ccr {
    pub(super) const NONBASETHRDENA: u32 = 1;
    pub(super) const USERSETMPEND: u32 = 1 << 1;
    pub(super) const UNALIGN_TRP: u32 = 1 << 3;
    pub(super) const DIV_0_TRP: u32 = 1 << 4;
    pub(super) const BFHFNMIGN: u32 = 1 << 8;
    pub(super) const STKALIGN: u32 = 1 << 9;
    pub(super) const ALL: u32 =
        NONBASETHRDENA | USERSETMPEND | UNALIGN_TRP | DIV_0_TRP | BFHFNMIGN | STKALIGN;
}

/// Bits of FPCCR (B3.2.21).
pub(crate) mod fpccr {
    pub(crate) const LSPACT: u32 = 1;
    pub(crate) const USER: u32 = 1 << 1;
    pub(crate) const THREAD: u32 = 1 << 3;
    pub(crate) const HFRDY: u32 = 1 << 4;
    pub(crate) const MMRDY: u32 = 1 << 5;
    pub(crate) const BFRDY: u32 = 1 << 6;
    pub(crate) const MONRDY: u32 = 1 << 8;
    pub(crate) const LSPEN: u32 = 1 << 30;
    pub(crate) const ASPEN: u32 = 1 << 31;
    pub(crate) const ALL: u32 =
        LSPACT | USER | THREAD | HFRDY | MMRDY | BFRDY | MONRDY | LSPEN | ASPEN;
}

/// ACTLR.DISDEFWBUF.
const DISDEFWBUF: u32 = 1 << 1;

/// Who reads or writes a system register.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) ipsr: u16,
    /// The priority that BASEPRI and FAULTMASK leave.
    pub(crate) masked: i16,
}

/// What AIRCR was asked to reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResetRequest {
    /// SYSRESETREQ: the whole chip.
    System,
    /// VECTRESET: the core alone.
    Core,
}

/// A store in the write buffer that nothing will answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LostStore {
    pub(crate) address: u32,
    pub(crate) size: Size,
    /// The instruction that stored.
    pub(crate) pc: u32,
    /// When the bus asks for it.
    pub(crate) due: u64,
}

/// The registers and what is behind them.
#[derive(Debug, Clone)]
pub(crate) struct System {
    pub(crate) nvic: Nvic,
    pub(crate) systick: SysTick,
    /// Ticks at which SysTick's exception was still pending.
    pub(crate) lost_ticks: u64,
    pub(crate) mpu: Mpu,
    pub(crate) debug: Debug,
    /// Fault status registers.
    pub(crate) status: FaultStatus,
    pub(crate) scr: u32,
    pub(crate) vtor: u32,
    /// Bits of VTOR that exist; 0 on a Cortex-M0.
    vtor_mask: u32,
    cpuid: u32,
    pub(super) bit_band: BitBand,
    /// The event register of WFE.
    pub(crate) event: bool,
    /// AIRCR was asked for a reset.
    pub(crate) reset_requested: Option<ResetRequest>,
    arch: Architecture,
    ccr: u32,
    actlr: u32,
    /// CPACR: access to the floating-point unit.
    cpacr: u32,
    pub(crate) fpccr: u32,
    pub(crate) fpcar: u32,
    fpdscr: u32,
    /// In the write buffer.
    pub(crate) lost_store: Option<LostStore>,
    /// The store behind an imprecise fault that is pending.
    pub(crate) imprecise: Option<LostStore>,
    /// What lets the trace pin out.
    pub(crate) trace_gate: Option<TraceGate>,
}

impl System {
    pub(crate) fn new(options: &CoreOptions) -> Self {
        let arch = options.timing.kind.architecture();
        System {
            nvic: Nvic::new(options.irq_lines, options.priority_bits),
            systick: SysTick::new(options.systick_reference_divider, options.systick_calibration),
            lost_ticks: 0,
            mpu: Mpu::new(options.mpu_regions),
            debug: Debug::new(arch.dsp, options.trace_gate.is_none()),
            status: FaultStatus::default(),
            scr: 0,
            vtor: 0,
            vtor_mask: options.vtor_mask,
            cpuid: options.cpuid,
            bit_band: BitBand(options.bit_band),
            event: false,
            reset_requested: None,
            arch,
            ccr: ccr::STKALIGN,
            actlr: 0,
            cpacr: 0,
            fpccr: if arch.fp { fpccr::ASPEN | fpccr::LSPEN } else { 0 },
            fpcar: 0,
            fpdscr: 0,
            lost_store: None,
            imprecise: None,
            trace_gate: options.trace_gate,
        }
    }

    /// Back to the reset state, keeping what the chip's maker chose, and what belongs to the
    /// debugger.
    pub(crate) fn reset(&mut self) {
        self.nvic.reset();
        self.mpu.reset();
        self.debug.reset();
        let SysTick { reference_divider, calibration, .. } = self.systick;
        self.systick = SysTick::new(reference_divider, calibration);
        self.status = FaultStatus::default();
        (self.scr, self.vtor, self.ccr, self.actlr, self.cpacr) = (0, 0, ccr::STKALIGN, 0, 0);
        self.fpccr = if self.arch.fp { fpccr::ASPEN | fpccr::LSPEN } else { 0 };
        (self.fpcar, self.fpdscr) = (0, 0);
        (self.event, self.reset_requested) = (false, None);
        (self.lost_store, self.imprecise) = (None, None);
    }

    /// Whether the vector table can be moved.
    pub(crate) fn has_vtor(&self) -> bool {
        self.vtor_mask != 0
    }

    pub(crate) fn arch(&self) -> Architecture {
        self.arch
    }

    /// Whether every unaligned access faults: always on ARMv6-M, else by CCR.UNALIGN_TRP.
    pub(crate) fn traps_unaligned(&self) -> bool {
        !self.arch.v7m || self.ccr & ccr::UNALIGN_TRP != 0
    }

    /// CCR.DIV_0_TRP.
    pub(crate) fn traps_division_by_zero(&self) -> bool {
        self.ccr & ccr::DIV_0_TRP != 0
    }

    /// CCR.NONBASETHRDENA.
    pub(crate) fn threads_may_nest(&self) -> bool {
        self.ccr & ccr::NONBASETHRDENA != 0
    }

    /// CCR.BFHFNMIGN: handlers of HardFault and NMI may probe for what does not answer.
    pub(crate) fn ignores_bus_faults(&self) -> bool {
        self.ccr & ccr::BFHFNMIGN != 0
    }

    /// CCR.STKALIGN, which is fixed on ARMv6-M: frames are stacked at multiples of eight.
    pub(crate) fn aligns_frames(&self) -> bool {
        self.ccr & ccr::STKALIGN != 0
    }

    /// ACTLR.DISDEFWBUF: no write buffer.
    pub(crate) fn buffers_nothing(&self) -> bool {
        self.actlr & DISDEFWBUF != 0
    }

    /// ACTLR.DISMCYCINT: transfers of several registers are not interrupted.
    pub(crate) fn finishes_transfers(&self) -> bool {
        self.actlr & 1 != 0
    }

    /// Whether CPACR lets the running code use the floating-point unit.
    pub(crate) fn fp_enabled(&self, privileged: bool) -> bool {
        match self.cpacr >> 20 & 3 {
            3 => true,
            1 => privileged,
            _ => false,
        }
    }

    /// What a new floating-point context starts with in FPSCR.
    pub(crate) fn new_fpscr(&self) -> u32 {
        self.fpdscr
    }

    /// Takes over the interrupt lines.
    pub(crate) fn update_lines(&mut self, lines: &Interrupts) {
        let any = self.nvic.update_lines(&lines.levels, &lines.since, &lines.drifts);
        self.note_event(any);
    }

    /// SEVONPEND: an exception that becomes pending is an event, enabled or not.
    fn note_event(&mut self, pended: bool) {
        self.event |= pended && self.scr & 0x10 != 0;
    }

    /// The non-maskable interrupt line has risen.
    pub(crate) fn pend_nmi(&mut self, now: u64) {
        self.nvic.pending.set(number::NMI, true);
        self.nvic.note_pended(number::NMI, now);
    }

    /// A handler has ended.
    pub(crate) fn deactivate(&mut self, exception: u16, now: u64) {
        let again = self.nvic.deactivate(exception, now);
        self.note_event(again);
    }

    /// The cycle at which something becomes pending by itself.
    pub(crate) fn due(&self) -> u64 {
        self.systick.due().min(self.lost_store.map_or(u64::MAX, |store| store.due))
    }

    /// Up to `now`: SysTick pends its exception when it reached 0 with TICKINT set, and a store
    /// that nothing answered is a fault.
    pub(crate) fn tick(&mut self, now: u64) {
        let due = self.systick.due();
        if self.systick.sync(now) && self.systick.control & 2 != 0 {
            let before = std::mem::replace(&mut self.nvic.drift, self.systick.drift);
            let new = self.nvic.pend(number::SYSTICK, due.min(now));
            self.nvic.drift = before;
            self.lost_ticks += self.systick.passed.saturating_sub(new.into());
            self.note_event(true);
        }
        if let Some(store) = self.lost_store.filter(|store| store.due <= now) {
            self.lost_store = None;
            self.lose(store);
        }
    }

    /// An imprecise bus fault: pending until its priority lets it be taken.
    fn lose(&mut self, store: LostStore) {
        self.status.cfsr |= cfsr::IMPRECISERR;
        self.imprecise.get_or_insert(store);
        if self.nvic.enabled.contains(number::BUS_FAULT) {
            self.nvic.pend(number::BUS_FAULT, store.due);
        } else {
            self.status.hfsr |= hfsr::FORCED;
            self.nvic.pend(number::HARD_FAULT, store.due);
        }
    }

    /// A bus fault that CCR.BFHFNMIGN has ignored: the handler that probes reads it here.
    pub(crate) fn note_ignored(&mut self, address: u32) {
        self.status.cfsr |= cfsr::PRECISERR | cfsr::BFARVALID;
        self.status.bfar = address;
    }

    /// Whether code without privilege may access a register of the private peripheral bus (B3.1.3).
    pub(crate) fn is_for_everybody(&self, address: u32, write: bool) -> bool {
        match address {
            // STIR.
            0xe000_ef00 => write && self.ccr & ccr::USERSETMPEND != 0,
            // Stimulus ports.
            0xe000_0000..=0xe000_007f => true,
            _ => false,
        }
    }

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
        let bits = |set: &super::nvic::Set, bits: &[(u32, u16)]| {
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
            0x010..=0x01c => {
                if self.systick.write(offset, word, now) {
                    self.systick.drift = self.nvic.drift;
                }
            }
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

#[cfg(test)]
mod tests;
