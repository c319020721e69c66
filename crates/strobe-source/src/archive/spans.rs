//! Spans of one name, of which there is one at a time: a start while one is open means that its end
//! was lost.

use strobe_decode::summary::ValueCounts;

use super::windows::length;

/// Spans so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Spans {
    pub(super) starts: u64,
    pub(super) stops: u64,
    pub(super) durations: ValueCounts,
    matched: u64,
    open: Option<i64>,
}

impl Spans {
    /// One begins.
    pub(super) fn starts(&mut self, at: i64) {
        self.starts += 1;
        self.open = Some(at);
    }

    /// One ends, and gives when it began.
    pub(super) fn stops(&mut self, at: i64) -> Option<i64> {
        self.stops += 1;
        let from = self.open.take()?;
        self.durations.add(length(from, at));
        self.matched += 1;
        Some(from)
    }

    /// Events are missing, and ends perhaps among them.
    pub(super) fn lost(&mut self) {
        self.open = None;
    }

    /// Starts without an end, and ends without a start.
    pub(super) fn unmatched(&self) -> (u64, u64) {
        (self.starts - self.matched, self.stops - self.matched)
    }
}
