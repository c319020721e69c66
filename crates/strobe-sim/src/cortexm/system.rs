//! The system control space of ARMv6-M (DDI 0419, B3): NVIC, SysTick and system control block.
//!
//! Holds what is pending, enabled and active, and with which priority; how the core moves in and out of
//! handlers is `exception.rs`.

use super::arch::Architecture;
use crate::bus::IRQ_WORDS;
use crate::device::Size;

/// Exception numbers with a meaning of their own (B1.5.2).
pub mod number {
    /// Reset.
    pub const RESET: u16 = 1;
    /// Non-maskable interrupt.
    pub const NMI: u16 = 2;
    /// HardFault.
    pub const HARD_FAULT: u16 = 3;
    /// Supervisor call.
    pub const SVCALL: u16 = 11;
    /// Pendable service request.
    pub const PENDSV: u16 = 14;
    /// System tick timer.
    pub const SYSTICK: u16 = 15;
    /// External interrupt 0.
    pub const IRQ0: u16 = 16;
}

/// A human's name for an exception number.
pub fn exception_name(exception: u16) -> String {
    match exception {
        number::RESET => "Reset".to_owned(),
        number::NMI => "NMI".to_owned(),
        number::HARD_FAULT => "HardFault".to_owned(),
        number::SVCALL => "SVCall".to_owned(),
        number::PENDSV => "PendSV".to_owned(),
        number::SYSTICK => "SysTick".to_owned(),
        n if n >= number::IRQ0 => format!("IRQ{}", n - number::IRQ0),
        n => format!("exception {n}"),
    }
}

/// Priority of the running code when nothing is active: below every exception.
pub(crate) const IDLE_PRIORITY: i16 = 256;

/// SysTick (B3.3). Counts core clock cycles, or the reference clock's, down to 0 and reloads.
#[derive(Debug, Clone, Default)]
pub(crate) struct SysTick {
    control: u32,
    reload: u32,
    /// Counter value at `since`.
    value: u32,
    since: u64,
    pub(crate) count_flag: bool,
    /// Core cycles per reference clock cycle (board data; STM32F0: 8); 0 says there is none.
    pub(crate) reference_divider: u32,
    /// SYST_CALIB as the chip's maker set it.
    pub(crate) calibration: u32,
}

impl SysTick {
    fn enabled(&self) -> bool {
        self.control & 1 != 0
    }

    fn step(&self) -> u64 {
        if self.control & 4 != 0 || self.reference_divider == 0 {
            1
        } else {
            u64::from(self.reference_divider)
        }
    }

    /// Brings the counter up to `now`; returns whether it reached 0 on the way.
    pub(crate) fn sync(&mut self, now: u64) -> bool {
        if !self.enabled() {
            self.since = now;
            return false;
        }
        let ticks = now.saturating_sub(self.since) / self.step();
        self.since += ticks * self.step();
        if ticks == 0 {
            return false;
        }
        let value = u64::from(self.value);
        let reload = u64::from(self.reload);
        // From 0 the counter first takes the reload value: `value` ticks to reach 0 if it is not 0.
        let (reached, left) = if value != 0 && ticks < value {
            (false, value - ticks)
        } else {
            // The tick on which it reached 0 now; what remains counts whole periods of reload + 1.
            let over = ticks - value;
            let period = reload + 1;
            let at = over % period;
            let reached = value != 0 || (reload != 0 && over >= period);
            (reached, if at == 0 { 0 } else { period - at })
        };
        self.value = left as u32;
        self.count_flag |= reached;
        reached
    }

    /// The cycle at which the counter next reaches 0, if it runs.
    pub(crate) fn due(&self) -> u64 {
        if !self.enabled() || (self.value == 0 && self.reload == 0) {
            return u64::MAX;
        }
        let ticks =
            if self.value != 0 { u64::from(self.value) } else { u64::from(self.reload) + 1 };
        self.since + ticks * self.step()
    }

    fn read(&mut self, offset: u32, now: u64) -> u32 {
        self.sync(now);
        match offset {
            0x10 => {
                let flag = std::mem::take(&mut self.count_flag);
                self.control | u32::from(flag) << 16
            }
            0x14 => self.reload,
            0x18 => self.value,
            _ => self.calibration,
        }
    }

    fn write(&mut self, offset: u32, value: u32, now: u64) {
        self.sync(now);
        match offset {
            0x10 => {
                // Without a reference clock CLKSOURCE reads as one and ignores writes.
                let forced = if self.reference_divider == 0 { 4 } else { 0 };
                self.control = value & 7 | forced;
                self.since = now;
            }
            0x14 => self.reload = value & 0xff_ffff,
            0x18 => {
                // Any write clears the counter and the flag; it reloads on the next tick.
                self.value = 0;
                self.count_flag = false;
                self.since = now;
            }
            _ => {}
        }
    }
}

/// NVIC and SCB state.
#[derive(Debug, Clone)]
pub(crate) struct System {
    pub(crate) enabled: u32,
    pub(crate) pending: u32,
    /// Interrupt lines as last seen, to find rising edges.
    lines: u32,
    /// NVIC_IPR: two bits each, in bits 7:6 of a byte.
    priority: [u8; 32],
    /// SHPR2 and SHPR3, the bytes of exceptions 11, 14 and 15.
    svcall_priority: u8,
    pendsv_priority: u8,
    systick_priority: u8,
    pub(crate) nmi_pending: bool,
    pub(crate) svcall_pending: bool,
    pub(crate) pendsv_pending: bool,
    pub(crate) systick_pending: bool,
    /// Active exceptions, bit by number (16-47 are interrupts).
    pub(crate) active: u64,
    pub(crate) systick: SysTick,
    pub(crate) scr: u32,
    pub(crate) vtor: u32,
    /// Bits of VTOR that exist; 0 on a Cortex-M0.
    pub(crate) vtor_mask: u32,
    pub(crate) cpuid: u32,
    pub(crate) irq_mask: u32,
    /// The event register of WFE.
    pub(crate) event: bool,
    /// Cycle at which each exception last became pending.
    pended_at: [u64; 48],
    /// AIRCR.SYSRESETREQ was written.
    pub(crate) reset_requested: bool,
    arch: Architecture,
    /// Bits of a priority that exist.
    priority_mask: u8,
    /// CCR's writable bits: DIV_0_TRP, UNALIGN_TRP and others without effect here. ARMv7-M only.
    ccr: u32,
    /// CPACR: access to the floating-point unit.
    cpacr: u32,
}

impl System {
    pub(crate) fn new(irq_lines: u32, cpuid: u32, vtor_mask: u32) -> Self {
        System {
            enabled: 0,
            pending: 0,
            lines: 0,
            priority: [0; 32],
            svcall_priority: 0,
            pendsv_priority: 0,
            systick_priority: 0,
            nmi_pending: false,
            svcall_pending: false,
            pendsv_pending: false,
            systick_pending: false,
            active: 0,
            systick: SysTick::default(),
            scr: 0,
            vtor: 0,
            vtor_mask,
            cpuid,
            irq_mask: if irq_lines >= 32 { u32::MAX } else { (1 << irq_lines) - 1 },
            event: false,
            pended_at: [0; 48],
            reset_requested: false,
            arch: Architecture::V6M,
            priority_mask: 0xc0,
            ccr: 0,
            cpacr: 0,
        }
    }

    /// What kind of core this is part of, if not ARMv6-M.
    pub(crate) fn set_core(&mut self, arch: Architecture, priority_bits: u8) {
        self.arch = arch;
        self.priority_mask = !(0xffu16 >> priority_bits.min(8)) as u8;
    }

    pub(crate) fn arch(&self) -> Architecture {
        self.arch
    }

    pub(crate) fn priority_mask(&self) -> u8 {
        self.priority_mask
    }

    /// Whether every unaligned access faults: always on ARMv6-M, else by CCR.UNALIGN_TRP.
    pub(crate) fn traps_unaligned(&self) -> bool {
        !self.arch.v7m || self.ccr & 8 != 0
    }

    /// CCR.DIV_0_TRP.
    pub(crate) fn traps_division_by_zero(&self) -> bool {
        self.ccr & 0x10 != 0
    }

    /// Whether CPACR lets the running code use the floating-point unit.
    pub(crate) fn fp_enabled(&self, privileged: bool) -> bool {
        match self.cpacr >> 20 & 3 {
            3 => true,
            1 => privileged,
            _ => false,
        }
    }

    /// Back to the reset state, keeping what the chip's maker chose.
    pub(crate) fn reset(&mut self) {
        let (reference_divider, calibration) =
            (self.systick.reference_divider, self.systick.calibration);
        *self = System {
            irq_mask: self.irq_mask,
            arch: self.arch,
            priority_mask: self.priority_mask,
            ..System::new(32, self.cpuid, self.vtor_mask)
        };
        self.systick.reference_divider = reference_divider;
        self.systick.calibration = calibration;
    }

    /// Takes over the interrupt lines: a rising level becomes pending (B3.4.1).
    pub(crate) fn update_lines(&mut self, levels: &[u32; IRQ_WORDS], since: &[u64; 32]) {
        let levels = levels[0] & self.irq_mask;
        let mut rising = levels & !self.lines;
        self.lines = levels;
        while rising != 0 {
            let bit = rising & rising.wrapping_neg();
            self.set_pending(bit, since[rising.trailing_zeros() as usize]);
            rising ^= bit;
        }
    }

    /// The non-maskable interrupt line has risen.
    pub(crate) fn pend_nmi(&mut self, now: u64) {
        self.nmi_pending = true;
        self.note_pended(number::NMI, now);
    }

    /// When `exception` last became pending.
    pub(crate) fn pended_at(&self, exception: u16) -> u64 {
        self.pended_at.get(usize::from(exception)).copied().unwrap_or(0)
    }

    fn set_pending(&mut self, bits: u32, now: u64) {
        let new = bits & self.irq_mask & !self.pending;
        (0..32).filter(|i| new >> i & 1 != 0).for_each(|i| self.pended_at[16 + i] = now);
        // SEVONPEND: an interrupt that becomes pending is an event, enabled or not.
        if new != 0 && self.scr & 0x10 != 0 {
            self.event = true;
        }
        self.pending |= bits & self.irq_mask;
    }

    /// A handler has ended: an interrupt line that is still high becomes pending again.
    pub(crate) fn deactivate(&mut self, exception: u16, now: u64) {
        self.active &= !(1 << exception);
        if exception >= number::IRQ0 {
            self.set_pending(self.lines & 1 << (exception - number::IRQ0), now);
        }
    }

    /// The priority of an exception: lower goes first; negative ones are fixed.
    pub(crate) fn priority_of(&self, exception: u16) -> i16 {
        match exception {
            number::RESET => -3,
            number::NMI => -2,
            number::HARD_FAULT => -1,
            number::SVCALL => i16::from(self.svcall_priority),
            number::PENDSV => i16::from(self.pendsv_priority),
            number::SYSTICK => i16::from(self.systick_priority),
            n => self.priority.get(usize::from(n - number::IRQ0)).copied().map_or(0, i16::from),
        }
    }

    /// An SVC instruction or a fault makes its exception pending at once.
    pub(crate) fn note_pended(&mut self, exception: u16, now: u64) {
        if let Some(at) = self.pended_at.get_mut(usize::from(exception)) {
            *at = now;
        }
    }

    /// The running code's priority without PRIMASK (ExecutionPriority, B1.5.4).
    pub(crate) fn active_priority(&self) -> i16 {
        let mut rest = self.active;
        let mut best = IDLE_PRIORITY;
        while rest != 0 {
            best = best.min(self.priority_of(rest.trailing_zeros() as u16));
            rest &= rest - 1;
        }
        best
    }

    /// The pending and enabled exception with the best priority; ties go to the lower number.
    pub(crate) fn best_pending(&self) -> Option<(u16, i16)> {
        let mut best: Option<(u16, i16)> = None;
        let mut offer = |exception: u16, pending: bool| {
            if pending {
                let priority = self.priority_of(exception);
                if best.is_none_or(|(_, p)| priority < p) {
                    best = Some((exception, priority));
                }
            }
        };
        offer(number::NMI, self.nmi_pending);
        offer(number::SVCALL, self.svcall_pending);
        offer(number::PENDSV, self.pendsv_pending);
        offer(number::SYSTICK, self.systick_pending);
        let mut rest = self.pending & self.enabled;
        while rest != 0 {
            offer(number::IRQ0 + rest.trailing_zeros() as u16, true);
            rest &= rest - 1;
        }
        best
    }

    /// An exception is being entered: no longer pending, now active.
    pub(crate) fn activate(&mut self, exception: u16) {
        match exception {
            number::NMI => self.nmi_pending = false,
            number::SVCALL => self.svcall_pending = false,
            number::PENDSV => self.pendsv_pending = false,
            number::SYSTICK => self.systick_pending = false,
            n if n >= number::IRQ0 => self.pending &= !(1 << (n - number::IRQ0)),
            _ => {}
        }
        self.active |= 1 << exception;
    }

    /// SysTick up to `now`: pends its exception when it reached 0 with TICKINT set.
    pub(crate) fn tick(&mut self, now: u64) {
        let due = self.systick.due();
        if self.systick.sync(now) && self.systick.control & 2 != 0 {
            if !self.systick_pending {
                self.pended_at[usize::from(number::SYSTICK)] = due.min(now);
            }
            self.systick_pending = true;
            if self.scr & 0x10 != 0 {
                self.event = true;
            }
        }
    }

    /// Reads the system control space; words only, narrower reads take their lane.
    pub(crate) fn read(&mut self, address: u32, size: Size, now: u64, ipsr: u16) -> u32 {
        self.tick(now);
        let word = self.read_word(address & 0xfff & !3, now, ipsr);
        word >> (8 * (address & 3)) & size.mask()
    }

    fn read_word(&mut self, offset: u32, now: u64, ipsr: u16) -> u32 {
        match offset {
            0x010..=0x01c => self.systick.read(offset, now),
            0x100 | 0x180 => self.enabled,
            0x200 | 0x280 => self.pending,
            0x400..=0x41c => {
                let at = (offset - 0x400) as usize;
                u32::from_le_bytes([0, 1, 2, 3].map(|i| self.priority[at + i]))
            }
            0xd00 => self.cpuid,
            0xd04 => self.icsr(ipsr),
            0xd08 => self.vtor,
            0xd0c => 0xfa05_0000,
            0xd10 => self.scr,
            // CCR: STKALIGN is fixed at one, and on ARMv6-M UNALIGN_TRP.
            0xd14 if self.arch.v7m => 0x200 | self.ccr,
            0xd14 => 0x208,
            0xd88 => self.cpacr,
            0xd1c => u32::from(self.svcall_priority) << 24,
            0xd20 => u32::from(self.systick_priority) << 24 | u32::from(self.pendsv_priority) << 16,
            // SHCSR: SVCALLPENDED, for debuggers.
            0xd24 => u32::from(self.svcall_pending) << 15,
            _ => 0,
        }
    }

    fn icsr(&self, ipsr: u16) -> u32 {
        let vect_pending = self.best_pending().map_or(0, |(n, _)| u32::from(n));
        u32::from(self.nmi_pending) << 31
            | u32::from(self.pendsv_pending) << 28
            | u32::from(self.systick_pending) << 26
            | u32::from(self.pending != 0) << 22
            | vect_pending << 12
            | u32::from(ipsr)
    }

    /// Writes the system control space. Only word writes are defined on ARMv6-M (B3.1.1); narrower ones
    /// to priority bytes, which many programs make, take effect on their byte as on real cores.
    pub(crate) fn write(&mut self, address: u32, size: Size, value: u32, now: u64) {
        self.tick(now);
        let offset = address & 0xfff;
        if (0x400..0x420).contains(&offset) {
            for i in 0..size.bytes() {
                let byte = (value >> (8 * i)) as u8 & self.priority_mask;
                if let Some(slot) = self.priority.get_mut((offset - 0x400 + i) as usize) {
                    *slot = byte;
                }
            }
            return;
        }
        match offset & !3 {
            0x010..=0x01c => self.systick.write(offset & !3, value, now),
            0x100 => self.enabled |= value & self.irq_mask,
            0x180 => self.enabled &= !value,
            0x200 => self.set_pending(value, now),
            // A line that is still high keeps its interrupt pending (DUI 0497A 4.2.9), unless its handler runs.
            0x280 => self.pending &= !value | self.lines & !((self.active >> 16) as u32),
            0xd04 => self.write_icsr(value, now),
            0xd08 => self.vtor = value & self.vtor_mask,
            0xd0c if value >> 16 == 0x05fa => self.write_aircr(value),
            0xd10 => self.scr = value & 0x16,
            0xd14 if self.arch.v7m => self.ccr = value & 0x11b,
            0xd1c => self.svcall_priority = (value >> 24) as u8 & self.priority_mask,
            0xd20 => {
                self.systick_priority = (value >> 24) as u8 & self.priority_mask;
                self.pendsv_priority = (value >> 16) as u8 & self.priority_mask;
            }
            0xd88 if self.arch.fp => self.cpacr = value & 0x00f0_0000,
            _ => {}
        }
    }

    fn write_icsr(&mut self, value: u32, now: u64) {
        let asks = [(31, number::NMI), (28, number::PENDSV), (26, number::SYSTICK)];
        for (_, exception) in asks.into_iter().filter(|(bit, _)| value >> bit & 1 != 0) {
            self.pended_at[usize::from(exception)] = now;
        }
        self.nmi_pending |= value & 1 << 31 != 0;
        // Setting wins over clearing when both bits are written: the manual leaves it open.
        self.pendsv_pending = value & 1 << 28 != 0 || (self.pendsv_pending && value & 1 << 27 == 0);
        self.systick_pending =
            value & 1 << 26 != 0 || (self.systick_pending && value & 1 << 25 == 0);
    }

    fn write_aircr(&mut self, value: u32) {
        if value & 4 != 0 {
            self.reset_requested = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DUI 0497A 4.2.9: software cannot clear what the peripheral still asks for.
    #[test]
    fn a_high_line_stays_pending_when_cleared() {
        let mut system = System::new(32, 0, 0);
        let levels = |bits| [bits, 0, 0, 0, 0, 0, 0, 0];
        system.update_lines(&levels(1 << 20), &[0; 32]);
        system.write(0xe000_e280, Size::Word, 1 << 20, 0);
        assert_eq!(system.pending, 1 << 20);
        system.activate(36);
        system.write(0xe000_e280, Size::Word, 1 << 20, 0);
        assert_eq!(system.pending, 0, "its handler runs");
        system.update_lines(&levels(0), &[0; 32]);
        system.deactivate(36, 0);
        assert_eq!(system.pending, 0);
    }

    fn running(reload: u32) -> SysTick {
        let mut tick = SysTick { reference_divider: 8, ..SysTick::default() };
        tick.write(0x14, reload, 0);
        tick.write(0x18, 0, 0);
        tick.write(0x10, 7, 0);
        tick
    }

    #[test]
    fn systick_counts_reload_plus_one_cycles() {
        let mut tick = running(99);
        assert_eq!(tick.due(), 100);
        assert!(!tick.sync(99));
        assert!(tick.sync(100));
        assert_eq!(tick.due(), 200);
        assert_eq!(tick.read(0x18, 150), 50);
        assert!(tick.sync(200));
    }

    #[test]
    fn systick_syncs_the_same_in_one_step_or_many() {
        for reload in [1u32, 2, 7, 100] {
            let mut fine = running(reload);
            for now in 1..1000u64 {
                let mut coarse = running(reload);
                fine.sync(now);
                coarse.sync(now);
                assert_eq!(fine.value, coarse.value, "reload {reload} at {now}");
                assert_eq!(fine.due(), coarse.due(), "reload {reload} at {now}");
            }
        }
    }

    #[test]
    fn ties_go_to_the_lower_exception_number() {
        let mut system = System::new(32, 0, 0);
        system.enabled = u32::MAX;
        system.pending = 1 << 5 | 1 << 9;
        assert_eq!(system.best_pending(), Some((21, 0)));
        system.write(0xe000_e404, Size::Word, 0x0000_4000, 0);
        assert_eq!(system.best_pending(), Some((25, 0)));
    }
}
