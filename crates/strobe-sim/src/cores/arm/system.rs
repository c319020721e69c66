//! The system control space (DDI 0419 and DDI 0403, B3): what its registers show of the interrupt
//! controller, SysTick, the fault status, the memory protection unit and the floating-point
//! context.
//!
//! The map of the registers is `system/registers.rs`. How the core moves in and out of handlers is
//! `exception.rs`; the debug blocks around this space are `debug.rs`.

mod registers;

use super::bit_band::BitBand;
use super::core::{CoreOptions, TraceGate};
use super::debug::Debug;
use super::fault_status::{FaultStatus, cfsr, hfsr};
use super::mpu::Mpu;
use super::nvic::Nvic;
use super::systick::SysTick;
use crate::kernel::bus::Interrupts;
use crate::kernel::device::Size;
use strobe_isa::thumb::arch::Architecture;

pub use crate::kernel::core::number;

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
        let any = self.nvic.update_lines(&lines.levels, &lines.since);
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
            let new = self.nvic.pend(number::SYSTICK, due.min(now));
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
}

#[cfg(test)]
mod tests;
