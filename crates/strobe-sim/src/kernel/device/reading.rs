//! How long a register reads the same, as devices state it.
//!
//! Cores skip polling loops by these answers, so a wrong one is a wrong figure.

use super::Size;

/// What a register shows when it is read again, while nothing but time passes: no event of the
/// board, no access that changes the device, no change of a wire or clock.
///
/// Cores skip loops that poll (`kernel/turns.rs`) by this alone, so a model that is not sure
/// answers [`Reading::Unknown`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Reading may change the device, or nothing is known.
    Unknown,
    /// The same value at every cycle before this one, and reading changes nothing; `u64::MAX` for
    /// a register that only an event, an access or a wire changes.
    Steady {
        /// The first cycle at which the value may be another.
        until: u64,
    },
    /// A counter: the value changes by one step with each tick, and reading changes nothing.
    Counting {
        /// Cycles of a tick, at least 1.
        period: u64,
        /// The first cycle at which a read shows the next value.
        next: u64,
        /// Down instead of up.
        down: bool,
        /// The first cycle at which the counter may wrap, reload or turn.
        until: u64,
    },
}

impl Reading {
    /// Only an event, an access, a wire or a clock changes the register.
    pub const FIXED: Reading = Reading::Steady { until: u64::MAX };

    /// What a register that reads `value` now reads at a later cycle, as far as that is stated; a
    /// narrow register has the low bits of it.
    pub fn value_at(self, value: u32, cycle: u64) -> Option<u32> {
        match self {
            Reading::Steady { until } if cycle < until => Some(value),
            Reading::Counting { period, next, down, until } if cycle < until => {
                let steps = if cycle < next { 0 } else { 1 + (cycle - next) / period } as u32;
                Some(if down { value.wrapping_sub(steps) } else { value.wrapping_add(steps) })
            }
            _ => None,
        }
    }

    /// The same, with nothing known from `cycle` on.
    #[must_use]
    pub fn before(self, cycle: u64) -> Reading {
        match self {
            Reading::Unknown => Reading::Unknown,
            Reading::Steady { until } => Reading::Steady { until: until.min(cycle) },
            Reading::Counting { period, next, down, until } => {
                Reading::Counting { period, next, down, until: until.min(cycle) }
            }
        }
    }

    /// A register that two devices have bits of.
    #[must_use]
    pub fn and(self, other: Reading) -> Reading {
        match (self, other) {
            (Reading::Steady { until }, Reading::Steady { until: other }) => {
                Reading::Steady { until: until.min(other) }
            }
            _ => Reading::Unknown,
        }
    }

    /// The bits of a register under `mask`, a number of low bits; the register holds `value` now.
    #[must_use]
    pub fn masked(self, value: u32, mask: u32) -> Reading {
        let Reading::Counting { period, next, down, .. } = self else { return self };
        let low = value & mask;
        let steps = u64::from(if down { low } else { mask - low });
        self.before(next.saturating_add(steps.saturating_mul(period)))
    }

    /// The part that an access at `offset` reads of a register that holds `value` now.
    #[must_use]
    pub fn part(self, value: u32, offset: u32, size: Size) -> Reading {
        match self {
            // Upper lanes change once in many ticks.
            Reading::Counting { .. } if offset & 3 != 0 => Reading::Unknown,
            _ => self.masked(value, size.mask()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: Reading = Reading::Counting { period: 10, next: 105, down: false, until: u64::MAX };

    #[test]
    fn part_of_counter_ends_at_its_carry() {
        let Reading::Counting { until, .. } = UP.part(0x1_fffd, 0, Size::Half) else { panic!() };
        assert_eq!(until, 125, "0xfffe at 105, 0xffff at 115");
        assert_eq!(UP.part(7, 2, Size::Half), Reading::Unknown);
        assert_eq!(Reading::FIXED.part(7, 2, Size::Half), Reading::FIXED);
    }

    #[test]
    fn part_of_falling_counter_ends_at_its_borrow() {
        let down = Reading::Counting { period: 10, next: 105, down: true, until: u64::MAX };
        let Reading::Counting { until, .. } = down.masked(0x102, 0xff) else { panic!() };
        assert_eq!(until, 125, "1 at 105, 0 at 115");
    }
}
