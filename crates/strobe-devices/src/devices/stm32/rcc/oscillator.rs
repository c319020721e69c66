//! Oscillators and the PLL: on, starting, ready.

/// The clock sources, in the order of their bits in the clock interrupt register (RM0360 7.4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::devices::stm32) enum Source {
    Lsi,
    Lse,
    Hsi,
    Hse,
    Pll,
    Hsi14,
}

impl Source {
    pub(super) const ALL: [Source; 6] =
        [Source::Lsi, Source::Lse, Source::Hsi, Source::Hse, Source::Pll, Source::Hsi14];
}

/// One source's state. Times are nanoseconds since the start of the run, so that a changed core
/// clock does not change them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::devices::stm32) enum State {
    #[default]
    Off,
    /// Ready at that time.
    Starting(u64),
    Ready,
}

impl State {
    /// The state after its enable bit has been looked at, at time `now`.
    pub(in crate::devices::stm32) fn switched(self, on: bool, now: u64, startup_ns: u64) -> State {
        match (self, on) {
            (_, false) => State::Off,
            (State::Off, true) => State::Starting(now.saturating_add(startup_ns)),
            (state, true) => state,
        }
    }

    /// The state at time `now`; one nanosecond is lost to rounding between cycles and time.
    pub(in crate::devices::stm32) fn at(self, now: u64) -> State {
        match self {
            State::Starting(ready) if ready <= now + 1 => State::Ready,
            state => state,
        }
    }

    pub(in crate::devices::stm32) fn is_ready(self) -> bool {
        self == State::Ready
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
        assert!(!starting.at(2_900).is_ready());
        assert!(starting.at(3_000).is_ready());
        assert_eq!(State::Ready.switched(false, 9, 9), State::Off);
    }
}
