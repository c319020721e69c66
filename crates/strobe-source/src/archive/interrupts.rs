//! Handlers inside one another, entries and exits matched. One of them may be missing: the tracer
//! lost it, or the trace ends.

use std::collections::BTreeMap;

use crate::archive::report::InterruptSeen;
use strobe_decode::summary::{ValueCounts, ValueSummary};

use super::windows::length;

/// Handlers that have begun, the innermost last, and when.
#[derive(Debug, Clone, Default)]
pub(super) struct Nesting(Vec<(i64, i64)>);

impl Nesting {
    /// A handler begins. A handler cannot interrupt itself, so if it has begun already its exit was
    /// lost, and those of what it was interrupted by; these are returned.
    pub(super) fn enters(&mut self, at: i64, number: i64) -> Vec<(i64, i64)> {
        let place = self.0.iter().position(|(open, _)| *open == number);
        let dropped = self.0.split_off(place.unwrap_or(self.0.len()));
        self.0.push((number, at));
        dropped
    }

    /// A handler ends; gives when it began, and those that it was interrupted by, which have ended
    /// before. `None` where it has not begun.
    pub(super) fn exits(&mut self, number: i64) -> Option<(i64, Vec<(i64, i64)>)> {
        let place = self.0.iter().rposition(|(open, _)| *open == number)?;
        let dropped = self.0.split_off(place + 1);
        self.0.pop().map(|(_, from)| (from, dropped))
    }

    /// Events are missing, and exits perhaps among them.
    pub(super) fn lost(&mut self) -> Vec<(i64, i64)> {
        std::mem::take(&mut self.0)
    }
}

/// Handlers so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Interrupts {
    open: Nesting,
    nesting: u32,
    seen: BTreeMap<i64, (InterruptSeen, ValueCounts)>,
}

impl Interrupts {
    fn seen(&mut self, number: i64) -> &mut (InterruptSeen, ValueCounts) {
        self.seen.entry(number).or_insert_with(|| {
            (InterruptSeen { number, ..InterruptSeen::default() }, ValueCounts::default())
        })
    }

    /// A handler begins.
    pub(super) fn enters(&mut self, at: i64, number: i64) {
        let dropped = self.open.enters(at, number);
        self.unmatched(dropped);
        self.nesting = self.nesting.max(self.open.0.len() as u32);
        self.seen(number).0.entered += 1;
    }

    /// A handler ends, and gives when it began.
    pub(super) fn exits(&mut self, at: i64, number: i64) -> Option<i64> {
        let Some((from, dropped)) = self.open.exits(number) else {
            self.seen(number).0.unmatched_exits += 1;
            return None;
        };
        self.unmatched(dropped);
        let (seen, durations) = self.seen(number);
        seen.timed += 1;
        durations.add(length(from, at));
        Some(from)
    }

    /// Events are missing, and exits perhaps among them.
    pub(super) fn lost(&mut self) {
        let dropped = self.open.lost();
        self.unmatched(dropped);
    }

    /// The exits of these are missing.
    fn unmatched(&mut self, handlers: Vec<(i64, i64)>) {
        for (number, _) in handlers {
            self.seen(number).0.unmatched_enters += 1;
        }
    }

    /// By number, and the most that were inside one another.
    pub(super) fn finish(mut self) -> (Vec<InterruptSeen>, u32) {
        self.lost();
        let each = self.seen.into_values().map(|(mut seen, durations)| {
            seen.durations = ValueSummary::of_counts(&durations, |ns| ns, None);
            seen
        });
        (each.collect(), self.nesting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_events_are_counted_for_their_interrupt() {
        let mut interrupts = Interrupts::default();
        interrupts.enters(0, 1);
        interrupts.enters(10, 2);
        assert_eq!(interrupts.exits(15, 2), Some(10));
        // 2 again, its exit lost, then 1 ends.
        interrupts.enters(20, 2);
        assert_eq!(interrupts.exits(30, 1), Some(0));
        // 1, its exit lost, and again.
        interrupts.enters(40, 1);
        interrupts.enters(50, 1);
        assert_eq!(interrupts.exits(57, 1), Some(50));
        assert_eq!(interrupts.exits(60, 3), None);
        // Of 4 an exit and an entry are missing.
        interrupts.enters(70, 4);
        interrupts.lost();
        assert_eq!(interrupts.exits(900, 4), None);
        let (seen, nesting) = interrupts.finish();
        let counts = |i: &InterruptSeen| {
            (i.number, i.entered, i.timed, i.unmatched_enters, i.unmatched_exits)
        };
        let counts: Vec<_> = seen.iter().map(counts).collect();
        let all = [(1, 3, 2, 1, 0), (2, 2, 1, 1, 0), (3, 0, 0, 0, 1), (4, 1, 0, 1, 1)];
        assert_eq!((counts, nesting), (all.to_vec(), 2));
        assert_eq!(seen[0].durations.as_ref().map(|d| (d.min, d.max)), Some((7, 30)));
    }
}
