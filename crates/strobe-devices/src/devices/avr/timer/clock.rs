//! Where a timer's clocks come from (ATmega328P data sheet, chapter 17): the system clock through a
//! prescaler, whose phase is that of its last reset, or the edges of a pin.

/// A clock source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Stopped,
    /// Every so many core cycles.
    Prescaled(u64),
    /// The falling or rising edges of the clock pin.
    Pin {
        rising: bool,
    },
}

/// The prescaler and what is chosen of it.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) source: Source,
    /// Cycle of the prescaler's last reset.
    epoch: u64,
    /// The cycle up to which clocks have been taken.
    taken: u64,
    /// The prescaler is held in reset (TSM).
    held: bool,
    /// Neither the power reduction register nor a sleep mode stops the clock.
    runs: bool,
    stopped_at: u64,
    /// The prescaler stands still as well.
    prescaler_stands: bool,
}

impl Clock {
    pub(super) fn new() -> Self {
        Clock {
            source: Source::Stopped,
            epoch: 0,
            taken: 0,
            held: false,
            runs: true,
            stopped_at: 0,
            prescaler_stands: false,
        }
    }

    fn number(&self, period: u64, now: u64) -> u64 {
        now.saturating_sub(self.epoch) / period
    }

    /// Clocks since the last call.
    pub(super) fn take(&mut self, now: u64) -> u64 {
        let since = std::mem::replace(&mut self.taken, now);
        match self.source {
            // The system clock itself does not pass the prescaler.
            Source::Prescaled(1) if self.runs => now - since,
            Source::Prescaled(period) if self.runs && !self.held => {
                self.number(period, now) - self.number(period, since)
            }
            _ => 0,
        }
    }

    /// Whether an edge of the clock pin is a clock.
    pub(super) fn takes_edge(&self, level: bool) -> bool {
        self.runs && self.source == Source::Pin { rising: level }
    }

    /// Cycles from one clock to the next, where cycles make them.
    pub(super) fn period(&self) -> Option<u64> {
        match self.source {
            Source::Prescaled(period) => Some(period),
            _ => None,
        }
    }

    /// The cycle of the `clocks`-th clock after `now`.
    pub(super) fn after(&self, now: u64, clocks: u64) -> Option<u64> {
        match self.source {
            Source::Prescaled(1) if self.runs => Some(now + clocks),
            Source::Prescaled(period) if self.runs && !self.held => {
                Some(self.epoch + (self.number(period, now) + clocks) * period)
            }
            _ => None,
        }
    }

    /// The prescaler's reset line; all clocks up to `now` have been taken.
    pub(super) fn hold(&mut self, held: bool, now: u64) {
        (self.held, self.epoch) = (held, now);
    }

    /// The clock stops or goes on; all clocks up to `now` have been taken. A sleep mode stops the
    /// prescaler as well.
    pub(super) fn set_running(&mut self, runs: bool, asleep: bool, now: u64) {
        if runs == self.runs {
            return;
        }
        self.runs = runs;
        if !runs {
            (self.stopped_at, self.prescaler_stands) = (now, asleep);
        } else if self.prescaler_stands {
            self.epoch += now - self.stopped_at;
        }
    }
}
