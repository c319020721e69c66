//! The core clock over time, and the gates that switch peripheral clocks.
//!
//! Simulated time is counted in core clock cycles; the clock's history turns them into seconds.

use std::collections::BTreeMap;

/// From `cycle` on, the core runs at `hz`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockChange {
    /// Core cycles since reset.
    pub cycle: u64,
    /// Core clock frequency from then on, in hertz.
    pub hz: u32,
}

/// A peripheral clock's enable bit, as (register offset in the clock controller, bit).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// Byte offset of the enable register in the clock controller.
    pub register: u16,
    /// Bit in it.
    pub bit: u8,
}

impl Gate {
    fn mask(self) -> u32 {
        1u32.checked_shl(self.bit.into()).unwrap_or(0)
    }
}

/// Which clocks a sleep mode has stopped, where it stops some of them (ATmega328P data sheet, table
/// 10-1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SleepDepth {
    /// None: awake, or idle.
    #[default]
    Idle,
    /// That of input and output; the converter's goes on.
    NoiseReduction,
    /// All but the watchdog's own.
    PowerDown,
}

/// The clock tree's state, as far as other parts need it.
#[derive(Debug, Clone)]
pub struct Clocks {
    history: Vec<ClockChange>,
    /// Simulated time at each change, in picoseconds.
    starts_ps: Vec<u128>,
    /// Oscillators and system clock before the AHB prescaler, in hertz.
    pub sysclk_hz: u32,
    /// Core cycles per peripheral bus (APB) cycle.
    pub apb_divider: u32,
    /// Core cycles per timer kernel clock cycle (the APB clock, doubled when it is divided).
    pub timer_divider: u32,
    /// The same two for the second peripheral bus (APB2), on parts that have one.
    pub apb2_divider: u32,
    /// Core cycles per kernel clock cycle of the timers on the second peripheral bus.
    pub apb2_timer_divider: u32,
    /// Open gates: for each enable register its bits.
    open_gates: Vec<(u16, u32)>,
    kernel_hz: BTreeMap<String, u32>,
    /// Which clocks sleep has stopped.
    pub sleep: SleepDepth,
}

impl Clocks {
    /// A clock tree that starts at `hz` with all buses undivided.
    pub fn new(hz: u32) -> Self {
        Clocks {
            history: vec![ClockChange { cycle: 0, hz: hz.max(1) }],
            starts_ps: vec![0],
            sysclk_hz: hz.max(1),
            apb_divider: 1,
            timer_divider: 1,
            apb2_divider: 1,
            apb2_timer_divider: 1,
            open_gates: Vec::new(),
            kernel_hz: BTreeMap::new(),
            sleep: SleepDepth::Idle,
        }
    }

    /// Whether sleep leaves the clock of timers and serial interfaces running.
    pub fn io_runs(&self) -> bool {
        self.sleep == SleepDepth::Idle
    }

    /// The core clock now, in hertz.
    pub fn core_hz(&self) -> u32 {
        self.history.last().expect("never empty").hz
    }

    /// Every change of the core clock, oldest first; the first is at cycle 0.
    pub fn history(&self) -> &[ClockChange] {
        &self.history
    }

    /// The core clock becomes `hz` at `cycle`.
    pub fn set_core_hz(&mut self, cycle: u64, hz: u32) {
        let hz = hz.max(1);
        if hz == self.core_hz() {
            return;
        }
        let start_ps = self.picoseconds_at(cycle);
        if self.history.last().is_some_and(|last| last.cycle == cycle) {
            self.history.pop();
            self.starts_ps.pop();
        }
        if self.history.last().is_none_or(|last| last.hz != hz) {
            self.history.push(ClockChange { cycle, hz });
            self.starts_ps.push(start_ps);
        }
    }

    /// The core clock at a cycle, in hertz.
    pub fn hz_at(&self, cycle: u64) -> u32 {
        let at = self.history.partition_point(|change| change.cycle <= cycle);
        self.history[at.saturating_sub(1)].hz
    }

    /// Simulated time at a cycle, in picoseconds since reset (rounded down).
    pub fn picoseconds_at(&self, cycle: u64) -> u128 {
        // The first change is at cycle 0, so there is always one at or before `cycle`.
        let at = self.history.partition_point(|change| change.cycle <= cycle) - 1;
        let ClockChange { cycle: since, hz } = self.history[at];
        self.starts_ps[at] + u128::from(cycle - since) * 1_000_000_000_000 / u128::from(hz)
    }

    /// Simulated time at a cycle, in nanoseconds since reset (rounded down).
    pub fn nanoseconds_at(&self, cycle: u64) -> u64 {
        (self.picoseconds_at(cycle) / 1000) as u64
    }

    /// The cycle at which simulated time reaches `ns`, if the clock stays as it is now.
    pub fn cycle_at_nanoseconds(&self, ns: u64) -> u64 {
        let last = self.history.last().expect("never empty");
        let done = self.nanoseconds_at(last.cycle);
        let left = u128::from(ns.saturating_sub(done)) * u128::from(last.hz);
        last.cycle + left.div_ceil(1_000_000_000) as u64
    }

    /// The first cycle at which [`Clocks::nanoseconds_at`] gives `ns` or more, if the clock stays
    /// as it is now.
    pub fn first_cycle_at(&self, ns: u64) -> u64 {
        // Both functions round, each by less than a nanosecond: at most five cycles of a clock
        // whose frequency fits into 32 bits.
        let earliest = self.cycle_at_nanoseconds(ns).saturating_sub(5);
        (earliest..earliest.saturating_add(10))
            .find(|&cycle| self.nanoseconds_at(cycle) >= ns)
            .unwrap_or(earliest)
    }

    /// Opens or closes a peripheral's clock gate.
    pub fn set_gate(&mut self, gate: Gate, open: bool) {
        let at = self.open_gates.iter().position(|(register, _)| *register == gate.register);
        let at = at.unwrap_or_else(|| {
            self.open_gates.push((gate.register, 0));
            self.open_gates.len() - 1
        });
        let bits = &mut self.open_gates[at].1;
        *bits = *bits & !gate.mask() | if open { gate.mask() } else { 0 };
    }

    /// Gives a device a kernel clock of its own in hertz, or puts it back on its bus clock.
    pub fn set_kernel_hz(&mut self, device: &str, hz: Option<u32>) {
        match hz {
            Some(hz) => self.kernel_hz.insert(device.to_owned(), hz.max(1)),
            None => self.kernel_hz.remove(device),
        };
    }

    /// The kernel clock of a device that does not run from its bus clock.
    pub fn kernel_hz(&self, device: &str) -> Option<u32> {
        self.kernel_hz.get(device).copied()
    }

    /// Whether a peripheral behind `gate` is clocked.
    pub fn gate_open(&self, gate: Gate) -> bool {
        let of_register = |&&(register, _): &&(u16, u32)| register == gate.register;
        self.open_gates.iter().find(of_register).is_some_and(|(_, bits)| bits & gate.mask() != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_follows_the_clock_history() {
        let mut clocks = Clocks::new(8_000_000);
        clocks.set_core_hz(8_000, 48_000_000);
        assert_eq!(clocks.nanoseconds_at(8_000), 1_000_000);
        assert_eq!(clocks.nanoseconds_at(8_000 + 48_000), 2_000_000);
        assert_eq!(clocks.cycle_at_nanoseconds(2_000_000), 56_000);
    }
}
