//! Transfers and timers: spans that have names, one of each name at a time.

use std::collections::BTreeMap;

use crate::archive::report::{PausesSeen, TimerSeen, TransferSeen};
use strobe_decode::summary::ValueSummary;

use super::spans::Spans;
use super::windows::length;

/// Transfers so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Transfers {
    spans: BTreeMap<(String, String), (Spans, u64)>,
}

impl Transfers {
    /// One begins.
    pub(super) fn starts(&mut self, at: i64, interface: &str, direction: &str) {
        let key = (interface.to_owned(), direction.to_owned());
        self.spans.entry(key).or_default().0.starts(at);
    }

    /// One ends, and gives when it began.
    pub(super) fn ends(
        &mut self,
        at: i64,
        interface: &str,
        direction: &str,
        bytes: Option<u64>,
    ) -> Option<i64> {
        let key = (interface.to_owned(), direction.to_owned());
        let (spans, sum) = self.spans.entry(key).or_default();
        *sum = sum.saturating_add(bytes.unwrap_or(0));
        spans.stops(at)
    }

    /// Events are missing.
    pub(super) fn lost(&mut self) {
        self.spans.values_mut().for_each(|(spans, _)| spans.lost());
    }

    pub(super) fn finish(self) -> Vec<TransferSeen> {
        let each = self.spans.into_iter().map(|((interface, direction), (spans, bytes))| {
            let unmatched = spans.unmatched();
            TransferSeen {
                interface,
                direction,
                starts: spans.starts,
                ends: spans.stops,
                unmatched_starts: unmatched.0,
                unmatched_ends: unmatched.1,
                bytes,
                durations: ValueSummary::of_counts(&spans.durations, |ns| ns, None),
            }
        });
        each.collect()
    }
}

/// Timers so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Timers(BTreeMap<String, Spans>);

impl Timers {
    /// One starts or stops.
    pub(super) fn note(&mut self, at: i64, timer: &str, starts: bool) {
        if !self.0.contains_key(timer) {
            self.0.insert(timer.to_owned(), Spans::default());
        }
        let Some(spans) = self.0.get_mut(timer) else { return };
        if starts {
            spans.starts(at);
        } else {
            spans.stops(at);
        }
    }

    /// Events are missing.
    pub(super) fn lost(&mut self) {
        self.0.values_mut().for_each(Spans::lost);
    }

    pub(super) fn finish(self) -> Vec<TimerSeen> {
        let each = self.0.into_iter().map(|(name, spans)| TimerSeen {
            name,
            starts: spans.starts,
            stops: spans.stops,
            durations: ValueSummary::of_counts(&spans.durations, |ns| ns, None),
        });
        each.collect()
    }
}

/// Pauses of the tracer so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Pauses {
    seen: PausesSeen,
    open: Option<i64>,
}

impl Pauses {
    /// One begins or ends.
    pub(super) fn note(&mut self, at: i64, starts: bool) {
        if starts {
            self.seen.starts += 1;
            self.open = Some(at);
            return;
        }
        self.seen.stops += 1;
        if let Some(from) = self.open.take() {
            self.seen.pairs += 1;
            self.seen.total_ns = self.seen.total_ns.saturating_add(length(from, at));
        }
    }

    /// Events are missing.
    pub(super) fn lost(&mut self) {
        self.open = None;
    }

    pub(super) fn finish(self) -> Option<PausesSeen> {
        (self.seen.starts + self.seen.stops > 0).then_some(self.seen)
    }
}
