//! Clock sources that take their time to start, each with a flag and an interrupt.

use crate::devices::common::register::bit;
use strobe_sim::kernel::device::Context;

/// The clock sources, in the order of their bits in the clock interrupt register (RM0360 7.4.3,
/// RM0090 7.3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Lsi,
    Lse,
    Hsi,
    Hse,
    Pll,
    /// HSI14 of an STM32F0, PLLI2S of an STM32F4; an STM32F1 has none.
    Own,
}

impl Source {
    pub(super) const ALL: [Source; 6] =
        [Source::Lsi, Source::Lse, Source::Hsi, Source::Hse, Source::Pll, Source::Own];
}

/// One source's state. Times are nanoseconds since the start of the run, so that a changed core
/// clock does not change them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Off,
    /// Ready at that time.
    Starting(u64),
    Ready,
}

impl State {
    /// The state after its enable bit has been looked at, at time `now`.
    fn switched(self, on: bool, now: u64, startup_ns: u64) -> State {
        match (self, on) {
            (_, false) => State::Off,
            (State::Off, true) => State::Starting(now.saturating_add(startup_ns)),
            (state, true) => state,
        }
    }

    /// The state at time `now`; one nanosecond is lost to rounding between cycles and time.
    fn at(self, now: u64) -> State {
        match self {
            State::Starting(ready) if ready <= now + 1 => State::Ready,
            state => state,
        }
    }
}

/// All sources, and CIR.
pub(super) struct Sources {
    states: [State; Source::ALL.len()],
    /// The bits of CIR that a family has.
    flags: u32,
    /// Flags from bit 0, enables from bit 8.
    pub(super) cir: u32,
}

impl Sources {
    /// So many, all off.
    pub(super) fn new(count: usize) -> Self {
        Sources { states: [State::Off; Source::ALL.len()], flags: (1 << count) - 1, cir: 0 }
    }

    pub(super) fn is_ready(&self, source: Source) -> bool {
        self.states[source as usize] == State::Ready
    }

    /// A source runs without having been started.
    pub(super) fn force_ready(&mut self, source: Source) {
        self.states[source as usize] = State::Ready;
    }

    pub(super) fn all_off(&mut self) {
        self.states.fill(State::Off);
    }

    /// A source's enable bit has been looked at, or time has come, at `now` nanoseconds.
    pub(super) fn switch(&mut self, source: Source, (on, startup_ns): (bool, u64), now: u64) {
        let number = source as u32;
        let before = self.states[source as usize];
        let after = before.switched(on, now, startup_ns).at(now);
        self.states[source as usize] = after;
        // The flag is set when the clock becomes stable while its interrupt is enabled.
        let becomes_ready = after == State::Ready && before != State::Ready;
        if becomes_ready && bit(self.cir, 8 + number) {
            self.cir |= 1 << number;
        }
    }

    pub(super) fn interrupts(&self) -> bool {
        self.cir & self.cir >> 8 & self.flags != 0
    }

    /// Bits 16 and up clear the flags.
    pub(super) fn write_cir(&mut self, value: u32) {
        let flags = self.cir & self.flags & !(value >> 16);
        self.cir = value & self.flags << 8 | flags;
    }

    /// Asks to be called when the next source is ready.
    pub(super) fn schedule(&self, cx: &mut Context) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_once_and_takes_its_time() {
        let starting = State::Off.switched(true, 1_000, 2_000);
        assert_eq!(starting, State::Starting(3_000));
        assert_eq!(starting.switched(true, 2_000, 2_000), starting, "written again");
        assert_ne!(starting.at(2_900), State::Ready);
        assert_eq!(starting.at(3_000), State::Ready);
        assert_eq!(State::Ready.switched(false, 9, 9), State::Off);
    }
}
