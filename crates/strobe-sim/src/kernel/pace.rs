//! How far the low and the high model would be from the likely time line, path by path.
//!
//! The likely model runs; two clocks run beside it, which take of each modelled wait the least and
//! the most. Whoever acts has a [`Drift`] from them. A device that counts its own time keeps the
//! drift of the write that started it, and passes it to its pins and interrupts; code that waits
//! for such a device takes over the device's drift, whatever its own was.

use strobe_model::Bounds;

use super::device::DeviceId;

/// By how much something would have happened sooner in the low model, and later in the high one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drift {
    /// Cycles sooner in the low model; less than nothing where waiting made it later.
    pub sooner: i64,
    /// Cycles later in the high model.
    pub later: i64,
    /// Cycles before and behind that of which no model decides: at which instruction an interrupt
    /// finds the code, at which turn of a loop a flag does.
    pub jitter: (u32, u32),
    /// Which [`Drift::jitter`] it is: equal numbers are one and the same.
    pub epoch: u32,
}

impl Drift {
    /// Bounds of the `likely` cycles from a moment with one drift to one with another.
    pub fn between(from: Drift, to: Drift, likely: u64) -> Bounds {
        let least = -(to.sooner - from.sooner);
        let most = to.later - from.later;
        let (mut low, mut high) = (least.min(most).min(0), least.max(most).max(0));
        if from.epoch != to.epoch {
            low -= i64::from(to.jitter.0) + i64::from(from.jitter.1);
            high += i64::from(to.jitter.1) + i64::from(from.jitter.0);
        }
        Bounds {
            low: likely.saturating_sub(low.unsigned_abs()),
            likely,
            high: likely.saturating_add(high.unsigned_abs()),
        }
    }

    /// The same with a wait more.
    pub(crate) fn and(self, (sooner, later): (i64, i64)) -> Drift {
        Drift { sooner: self.sooner + sooner, later: self.later + later, ..self }
    }

    /// What holds for this and for the other.
    fn join(self, other: Drift) -> Drift {
        let newer = if self.epoch > other.epoch { self } else { other };
        Drift { sooner: self.sooner.max(other.sooner), later: self.later.max(other.later), ..newer }
    }
}

/// Which of a model's three figures the simulated time line takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Model {
    /// The least of each wait.
    Low,
    /// The figures that reports are made of.
    #[default]
    Likely,
    /// The most of each wait.
    High,
}

impl Model {
    /// The figure of this model, as one that is known.
    pub(crate) fn of(self, bounds: Bounds) -> Bounds {
        match self {
            Model::Low => Bounds::exact(bounds.low),
            Model::Likely => bounds,
            Model::High => Bounds::exact(bounds.high),
        }
    }
}

/// The drift of whatever happens on a board.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Of what happens now: an access of the core, or a device's event.
    pub(crate) now: Drift,
    /// Of each device's own time.
    devices: Vec<Own>,
    skew: (i64, i64),
}

/// A device's own time.
#[derive(Debug, Clone, Copy, Default)]
struct Own {
    drift: Drift,
    /// When its last event was.
    event: Option<u64>,
    /// It counts between accesses: only [`Pace::restart`] changes its time.
    counts: bool,
}

impl Pace {
    /// One more device.
    pub(crate) fn add(&mut self, counts: bool) {
        self.devices.push(Own { counts, ..Own::default() });
    }

    /// A device's event happens at a cycle: what comes of it has the device's drift. Returns what
    /// held until now.
    pub(crate) fn begin_event(&mut self, device: usize, cycle: u64) -> Drift {
        let own = &mut self.devices[device];
        own.event = Some(cycle);
        std::mem::replace(&mut self.now, own.drift)
    }

    /// A device asks for an event, instead of the one that was `due` before, if there was one.
    pub(crate) fn schedule(&mut self, device: DeviceId, due: Option<u64>) {
        let now = self.now;
        let own = &mut self.devices[usize::from(device.0)];
        match due {
            _ if own.counts => {}
            None => own.drift = now,
            Some(_) => own.drift = own.drift.join(now),
        }
    }

    /// The core's clock changes from one frequency to another, now. A model in which that is
    /// sooner has more of the faster cycles up to any time.
    pub(crate) fn change_clock(&mut self, before: u32, after: u32) {
        let more = |cycles: i64| {
            let change = i128::from(after) - i128::from(before);
            (i128::from(cycles) * change / i128::from(before.max(1))) as i64
        };
        self.skew.0 -= more(self.now.sooner);
        self.skew.1 -= more(self.now.later);
    }

    /// The drift of a moment that a clock on the wall gives.
    pub(crate) fn on_the_wall(&self) -> Drift {
        Drift { sooner: self.skew.0, later: self.skew.1, ..Drift::default() }
    }

    /// A device begins to count.
    pub(crate) fn restart(&mut self, device: DeviceId) {
        self.devices[usize::from(device.0)].drift = self.now;
    }

    /// A device's time, the cycle of its last event, and whether it counts between accesses.
    pub(crate) fn of(&self, device: usize) -> (Drift, Option<u64>, bool) {
        let own = self.devices[device];
        (own.drift, own.event, own.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_shared_by_two_moments_cancels() {
        let from = Drift { sooner: 10, later: 30, jitter: (2, 3), epoch: 1 };
        assert_eq!(Drift::between(from, from, 100), Bounds::exact(100));
        let to = Drift { sooner: 12, later: 35, ..from };
        assert_eq!(Drift::between(from, to, 100), Bounds { low: 98, likely: 100, high: 105 });
        let other = Drift { epoch: 2, ..from };
        assert_eq!(Drift::between(from, other, 100), Bounds { low: 95, likely: 100, high: 105 });
    }

    #[test]
    fn bounds_hold_where_waiting_turned_models_round() {
        // The low model came to a wait so early that it missed a turn less.
        let to = Drift { sooner: -4, later: -2, ..Drift::default() };
        let bounds = Drift::between(Drift::default(), to, 100);
        assert_eq!(bounds, Bounds { low: 98, likely: 100, high: 104 });
    }

    #[test]
    fn a_device_keeps_the_drift_of_what_started_it() {
        let mut pace = Pace::default();
        (0..2).for_each(|n| pace.add(n == 1));
        let write = Drift { sooner: 5, later: 9, ..Drift::default() };
        pace.now = write;
        pace.schedule(DeviceId(0), None);
        pace.schedule(DeviceId(1), None);
        pace.now = Drift { sooner: 50, later: 90, ..Drift::default() };
        let before = pace.begin_event(0, 7);
        assert_eq!((before.later, pace.now), (90, write));
        pace.schedule(DeviceId(0), None);
        assert_eq!(pace.of(0), (write, Some(7), false));
        assert_eq!(pace.of(1), (Drift::default(), None, true), "nothing has started it");
        pace.restart(DeviceId(1));
        assert_eq!(pace.of(1).0, write);
    }
}
