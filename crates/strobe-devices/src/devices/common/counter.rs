//! A counter that steps down to 0 and starts again, as timers and watchdogs of several vendors have
//! it.
//!
//! It is computed when somebody looks, so one that merely runs costs nothing. It knows neither
//! registers nor interrupts.

use strobe_sim::kernel::device::Reading;

/// Counts `reload`, ..., 1, 0, `reload`, ...: a period has `reload + 1` steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::devices) struct DownCounter {
    /// Value at `since`.
    value: u32,
    /// Cycle at which the counter came to its value.
    since: u64,
    /// Core cycles per step.
    step: u64,
    running: bool,
    /// What follows 0.
    pub(in crate::devices) reload: u32,
}

impl DownCounter {
    /// A stopped counter.
    pub(in crate::devices) fn new(value: u32, reload: u32) -> Self {
        DownCounter { value, since: 0, step: 1, running: false, reload }
    }

    /// Brings the counter up to `now`; returns how often it has come to 0 since the last time.
    pub(in crate::devices) fn advance(&mut self, now: u64) -> u64 {
        if !self.running {
            self.since = now;
            return 0;
        }
        let steps = now.saturating_sub(self.since) / self.step;
        self.since += steps * self.step;
        let value = u64::from(self.value);
        if steps < value {
            self.value -= steps as u32;
            return 0;
        }
        // Staying at 0 is not coming to it.
        let first = u64::from(value != 0);
        let period = u64::from(self.reload) + 1;
        let past = steps - value;
        self.value = match past % period {
            0 => 0,
            left => (period - left) as u32,
        };
        let again = if self.reload == 0 { 0 } else { past / period };
        first + again
    }

    /// The value at the last [`advance`](Self::advance).
    pub(in crate::devices) fn value(&self) -> u32 {
        self.value
    }

    /// The counter goes on from another value.
    pub(in crate::devices) fn set(&mut self, value: u32, now: u64) {
        self.value = value;
        self.since = now;
    }

    /// Goes down by so many steps at once, no further than to 0, which is not coming to it. Returns
    /// the core cycles that they would have taken.
    pub(in crate::devices) fn skip(&mut self, steps: u32) -> u64 {
        let steps = steps.min(self.value);
        self.value -= steps;
        u64::from(steps).saturating_mul(self.step)
    }

    /// Starts or stops it, `step` core cycles a step; call [`advance`](Self::advance) before.
    pub(in crate::devices) fn run(&mut self, on: bool, step: u64, now: u64) {
        let step = step.max(1);
        if self.running && !on || self.step != step || !self.running && on {
            self.since = now;
        }
        self.running = on;
        self.step = step;
    }

    /// The value as time passes, from the last [`advance`](Self::advance) on.
    pub(in crate::devices) fn reading(&self) -> Reading {
        if !self.running || (self.value, self.reload) == (0, 0) {
            return Reading::FIXED;
        }
        let next = self.since + self.step;
        let until = next.saturating_add(u64::from(self.value).saturating_mul(self.step));
        Reading::Counting { period: self.step, next, down: true, until }
    }

    /// The cycle at which it next comes to 0.
    pub(in crate::devices) fn due(&self) -> Option<u64> {
        let steps = match (self.value, self.reload) {
            (0, 0) => return None,
            (0, reload) => u64::from(reload) + 1,
            (value, _) => u64::from(value),
        };
        self.running.then(|| self.since.saturating_add(steps * self.step))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn period_is_the_reload_value_plus_one_step() {
        let mut counter = DownCounter::new(0, 9);
        counter.run(true, 2, 100);
        assert_eq!(counter.due(), Some(120), "0 first takes the reload value");
        assert_eq!((counter.advance(102), counter.value()), (0, 9));
        assert_eq!((counter.advance(119), counter.value()), (0, 1));
        assert_eq!((counter.advance(120), counter.value()), (1, 0));
        assert_eq!(counter.due(), Some(140));
        assert_eq!((counter.advance(200), counter.value()), (4, 0));
    }

    #[test]
    fn with_nothing_to_reload_it_stays_at_zero() {
        let mut counter = DownCounter::new(3, 0);
        counter.run(true, 1, 0);
        assert_eq!(counter.advance(1_000), 1);
        assert_eq!((counter.advance(2_000), counter.value(), counter.due()), (0, 0, None));
    }

    proptest! {
        /// Looking more often changes nothing, and what is due comes when it is due.
        #[test]
        fn every_look_sees_the_same_counter(
            value in 0u32..50, reload in 0u32..20, step in 1u64..4,
            looks in prop::collection::vec(0u64..30, 1..30),
        ) {
            let mut often = DownCounter::new(value, reload);
            let mut once = often;
            often.run(true, step, 0);
            once.run(true, step, 0);
            let (mut now, mut zeros) = (0, 0);
            for look in looks {
                let due = often.due();
                let before = now;
                now += look;
                let seen = often.advance(now);
                let expected = due.is_some_and(|due| due > before && due <= now);
                prop_assert_eq!(seen > 0, expected, "due {:?}, from {} to {}", due, before, now);
                zeros += seen;
            }
            prop_assert_eq!(once.advance(now), zeros);
            prop_assert_eq!(once.value(), often.value());
        }
    }
}
