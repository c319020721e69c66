//! The global timestamp, and the lost ticks that it restores.

/// The global timestamp, and its relation to the local one.
#[derive(Debug, Clone, Default)]
pub(super) struct Global {
    low: u32,
    high: u64,
    /// The low bits are complete.
    low_known: bool,
    /// The high bits have changed and are not yet received.
    high_stale: bool,
    /// The value was not read yet.
    fresh: bool,
    /// Local and global time at one moment, without a loss since.
    anchor: Option<(u64, u64)>,
    /// Local and global ticks in intervals without loss, for the ratio of the clocks.
    local_ticks: u64,
    global_ticks: u64,
    /// By how much a value may be older than the local timestamp behind it, at most.
    slack: u64,
    /// Stretches without a loss that the intervals are from: at both ends of each there is such an
    /// uncertainty.
    stretches: u64,
}

/// Precision of the clock ratio that bridging a loss needs: one part in so many.
const PRECISION: u64 = 1000;

impl Global {
    pub(super) fn value(&self) -> Option<u64> {
        (self.low_known && !self.high_stale).then_some(self.high << 26 | u64::from(self.low))
    }

    pub(super) fn low(&mut self, low: u32, bits: u8, wrapped: bool, clock_changed: bool) {
        let mask = (1u32 << bits.min(26)) - 1;
        self.low = self.low & !mask | low & mask;
        self.low_known |= bits >= 26;
        self.high_stale |= wrapped;
        self.fresh = true;
        if clock_changed {
            (self.anchor, self.local_ticks, self.global_ticks) = (None, 0, 0);
            self.stretches = 0;
        }
    }

    pub(super) fn high(&mut self, high: u64) {
        self.high = high;
        self.high_stale = false;
    }

    /// Packets have been lost, perhaps with a change of the high bits.
    pub(super) fn lost(&mut self) {
        self.low_known = false;
    }

    /// The value, if received since the last call.
    pub(super) fn fresh(&mut self) -> Option<u64> {
        let value = self.value()?;
        std::mem::take(&mut self.fresh).then_some(value)
    }

    /// No loss: adds an interval to the ratio of the clocks.
    pub(super) fn learn(&mut self, before: u64, now: u64, value: u64) {
        let passed = self.anchor.and_then(|(local, global)| {
            Some((now.saturating_sub(local), value.checked_sub(global)?))
        });
        match passed {
            Some((local, global)) => {
                self.local_ticks += local;
                self.global_ticks += global;
            }
            None => self.stretches += 1,
        }
        self.slack = self.slack.max(now.saturating_sub(before));
        self.anchor = Some((now, value));
    }

    /// The local time of a global one, after a loss: at least. A value may have been taken any time
    /// since the local timestamp before it, and shows whole ticks of its own clock.
    pub(super) fn at_least(&self, value: u64) -> Option<u64> {
        let (local, global) = self.anchor?;
        let passed = value.checked_sub(global)?.saturating_sub(1);
        if self.global_ticks == 0 || self.local_ticks / PRECISION < self.slack.max(1) {
            return None;
        }
        let unsure = self.slack.saturating_mul(self.stretches);
        let least = self.local_ticks.saturating_sub(unsure);
        let most = self.global_ticks.saturating_add(self.stretches);
        let ticks = u128::from(passed) * u128::from(least) / u128::from(most);
        let now = local.checked_add(u64::try_from(ticks).ok()?)?;
        Some(now.saturating_sub(self.slack))
    }

    /// After a loss, `value` was taken at most `slack` before that local time.
    pub(super) fn restart(&mut self, now: u64, value: u64, slack: u64) {
        self.anchor = Some((now, value));
        self.stretches += 1;
        self.slack = self.slack.max(slack);
    }
}
