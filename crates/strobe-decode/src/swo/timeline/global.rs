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
    /// Uncertainty of `local_ticks`.
    slack: u64,
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
        if let Some((local, global)) = self.anchor
            && let Some(global_ticks) = value.checked_sub(global)
        {
            self.local_ticks += now.saturating_sub(local);
            self.global_ticks += global_ticks;
            self.slack = self.slack.max(now - before);
        }
        self.anchor = Some((now, value));
    }

    /// The local time of a global one, after a loss.
    pub(super) fn expected(&self, value: u64) -> Option<u64> {
        let (local, global) = self.anchor?;
        let passed = value.checked_sub(global)?;
        if self.global_ticks == 0 || self.local_ticks / PRECISION < self.slack.max(1) {
            return None;
        }
        let ticks =
            u128::from(passed) * u128::from(self.local_ticks) / u128::from(self.global_ticks);
        local.checked_add(u64::try_from(ticks).ok()?)
    }

    pub(super) fn restart(&mut self, now: u64, value: u64) {
        self.anchor = Some((now, value));
    }
}
