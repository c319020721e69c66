//! What the reset and clock controllers of all families have in common: sources that take their
//! time to start, each with a flag and an interrupt; a bit for each gate and reset; a protected
//! backup domain; why the last reset was.

use super::oscillator::State;
use crate::devices::common::register::bit;
use strobe_sim::kernel::clock::Gate;
use strobe_sim::kernel::device::{Context, ResetCause};
use strobe_sim::kernel::signal::SignalId;

/// Clock control: the internal oscillator, the crystal, its bypass by an external clock, and the
/// PLL are on.
pub(in crate::devices::stm32) const CR_HSION: u32 = 1 << 0;
pub(in crate::devices::stm32) const CR_HSEON: u32 = 1 << 16;
pub(in crate::devices::stm32) const CR_HSEBYP: u32 = 1 << 18;
pub(in crate::devices::stm32) const CR_PLLON: u32 = 1 << 24;
const BDCR_BDRST: u32 = 1 << 16;
const CSR_LSION: u32 = 1 << 0;
pub(in crate::devices::stm32) const CSR_RMVF: u32 = 1 << 24;
/// Reset flags: by pin (the internal resets drive it too), power-on, software, watchdogs.
pub(in crate::devices::stm32) const CSR_PINRSTF: u32 = 1 << 26;
pub(in crate::devices::stm32) const CSR_PORRSTF: u32 = 1 << 27;
pub(in crate::devices::stm32) const CSR_SFTRSTF: u32 = 1 << 28;
pub(in crate::devices::stm32) const CSR_IWDGRSTF: u32 = 1 << 29;
pub(in crate::devices::stm32) const CSR_WWDGRSTF: u32 = 1 << 30;

/// The bits of CR that cannot be cleared while the system clock comes from the PLL or not, and in
/// the end from the crystal or not.
pub(in crate::devices::stm32) fn needed(pll: bool, crystal: bool) -> u32 {
    let root = if crystal { CR_HSEON } else { CR_HSION };
    if pll { CR_PLLON | root } else { root }
}

/// Clock sources by number, which is that of their bits in CIR, and CIR.
pub(in crate::devices::stm32) struct Sources<const N: usize> {
    states: [State; N],
    /// Flags from bit 0, enables from bit 8.
    pub(in crate::devices::stm32) cir: u32,
}

impl<const N: usize> Sources<N> {
    const FLAGS: u32 = (1 << N) - 1;

    /// All off.
    pub(in crate::devices::stm32) fn new() -> Self {
        Sources { states: [State::Off; N], cir: 0 }
    }

    pub(in crate::devices::stm32) fn is_ready(&self, number: usize) -> bool {
        self.states[number].is_ready()
    }

    /// A source runs without having been started.
    pub(in crate::devices::stm32) fn force_ready(&mut self, number: usize) {
        self.states[number] = State::Ready;
    }

    pub(in crate::devices::stm32) fn all_off(&mut self) {
        self.states = [State::Off; N];
    }

    /// A source's enable bit has been looked at, or time has come, at `now` nanoseconds.
    pub(in crate::devices::stm32) fn switch(
        &mut self,
        number: usize,
        (on, startup_ns): (bool, u64),
        now: u64,
    ) {
        let before = self.states[number];
        let after = before.switched(on, now, startup_ns).at(now);
        self.states[number] = after;
        // The flag is set when the clock becomes stable while its interrupt is enabled.
        if after.is_ready() && !before.is_ready() && bit(self.cir, 8 + number as u32) {
            self.cir |= 1 << number;
        }
    }

    pub(in crate::devices::stm32) fn interrupts(&self) -> bool {
        self.cir & self.cir >> 8 & Self::FLAGS != 0
    }

    /// Bits 16 and up clear the flags.
    pub(in crate::devices::stm32) fn write_cir(&mut self, value: u32) {
        let flags = self.cir & Self::FLAGS & !(value >> 16);
        self.cir = value & Self::FLAGS << 8 | flags;
    }

    /// Asks to be called when the next source is ready.
    pub(in crate::devices::stm32) fn schedule(&self, cx: &mut Context) {
        let starting = self.states.iter().filter_map(|state| match state {
            State::Starting(ready) => Some(*ready),
            _ => None,
        });
        match starting.min() {
            Some(ns) => cx.wake_at(cx.clocks().cycle_at_nanoseconds(ns)),
            None => cx.sleep(),
        }
    }
}

/// An enable register has changed from `old` to `new`.
pub(in crate::devices::stm32) fn switch_gates(register: u32, old: u32, new: u32, cx: &mut Context) {
    for number in (0..32u8).filter(|&n| bit(old ^ new, n.into())) {
        let gate = Gate { register: register as u16, bit: number };
        cx.set_gate(gate, bit(new, number.into()));
    }
}

/// A reset register has changed from `old` to `new`: a reset lasts, but happens when its bit is
/// set.
pub(in crate::devices::stm32) fn reset_devices(
    register: u32,
    old: u32,
    new: u32,
    cx: &mut Context,
) {
    for number in (0..32u8).filter(|&n| bit(new & !old, n.into())) {
        cx.reset_devices(register as u16, number);
    }
}

/// BDCR after `value` was written, which its protection in PWR_CR may prevent.
pub(in crate::devices::stm32) fn write_bdcr(
    bdcr: &mut u32,
    value: u32,
    writable: u32,
    unprotected: SignalId,
    cx: &mut Context,
) {
    if cx.level(unprotected) {
        *bdcr = if value & BDCR_BDRST != 0 { BDCR_BDRST } else { value & writable };
    } else if value & writable != *bdcr {
        cx.warn_of(
            "write-without-effect",
            "RCC_BDCR was written while PWR_CR.DBP protected it: the write had no effect",
        );
    }
}

/// CSR after `value` was written: RMVF clears the reset flags, LSION is kept.
pub(in crate::devices::stm32) fn written_csr(csr: u32, value: u32) -> u32 {
    let flags = if value & CSR_RMVF != 0 { 0 } else { csr & !CSR_LSION };
    flags | value & CSR_LSION
}

/// CSR after a reset; power-on also sets `power_on` beside its own flag.
pub(in crate::devices::stm32) fn reset_csr(csr: u32, cause: ResetCause, power_on: u32) -> u32 {
    let (kept, flag) = match cause {
        ResetCause::PowerOn => (0, CSR_PORRSTF | power_on),
        ResetCause::Software => (csr, CSR_SFTRSTF),
        ResetCause::IndependentWatchdog => (csr, CSR_IWDGRSTF),
        ResetCause::WindowWatchdog | ResetCause::Watchdog => (csr, CSR_WWDGRSTF),
    };
    kept & !CSR_LSION | flag | CSR_PINRSTF
}
