//! The parts of a trace that marks enclose, and how much of a span lies in them.

use crate::archive::report::MarkedWindow;

/// Marks so far. Spans are asked for in the order of their ends.
#[derive(Debug, Clone, Default)]
pub(super) struct Windows {
    /// Parts that have ended; only the last ones can still matter to spans that end later.
    closed: Vec<(i64, i64)>,
    open: Option<i64>,
    seen: MarkedWindow,
}

impl Windows {
    /// A mark.
    pub(super) fn mark(&mut self, at: i64, starts: bool) {
        match (starts, self.open) {
            (true, None) => {
                if self.seen.starts == 0 {
                    self.seen.from_ns = at;
                }
                self.open = Some(at);
            }
            (false, Some(from)) => {
                self.close(from, at);
                self.open = None;
            }
            _ => self.seen.repeated += 1,
        }
        if starts {
            self.seen.starts += 1;
        } else {
            self.seen.stops += 1;
        }
    }

    fn close(&mut self, from: i64, to: i64) {
        self.closed.push((from, to));
        self.seen.parts += 1;
        self.seen.to_ns = to;
        self.seen.total_ns = self.seen.total_ns.saturating_add(length(from, to));
    }

    /// Whether there have been marks at all.
    pub(super) fn any(&self) -> bool {
        self.seen.parts > 0 || self.open.is_some()
    }

    /// Whether a moment, not before the last mark, lies in a part.
    pub(super) fn contain(&self, at: i64) -> bool {
        self.open.is_some_and(|from| from <= at)
            || self.closed.last().is_some_and(|(from, to)| (*from..=*to).contains(&at))
    }

    /// How much of a span that ends now lies in the parts.
    pub(super) fn inside(&self, from: i64, to: i64) -> u64 {
        let open = self.open.map(|begin| (begin, to));
        let parts = open.into_iter().chain(self.closed.iter().rev().copied());
        let touched = parts.take_while(|(_, end)| *end > from);
        touched.map(|(begin, end)| length(begin.max(from), end.min(to))).sum()
    }

    /// What there was, given when the trace ends.
    pub(super) fn finish(mut self, end: i64) -> Option<MarkedWindow> {
        if let Some(from) = self.open.take() {
            self.close(from, end);
            self.seen.open = true;
        }
        (self.seen.starts + self.seen.stops > 0).then_some(self.seen)
    }
}

/// How long a span is; nothing if it ends before it begins.
pub(super) fn length(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_cut_to_the_parts() {
        let mut windows = Windows::default();
        assert!(!windows.any());
        for (at, starts) in
            [(10, true), (12, true), (20, false), (30, true), (40, false), (41, false)]
        {
            windows.mark(at, starts);
        }
        windows.mark(50, true);
        assert_eq!(windows.inside(0, 60), 10 + 10 + 10);
        assert_eq!(windows.inside(35, 60), 5 + 10);
        assert_eq!(windows.inside(41, 45), 0);
        let seen = windows.finish(60).unwrap();
        assert_eq!((seen.starts, seen.stops, seen.parts, seen.repeated), (4, 3, 3, 2));
        assert_eq!((seen.from_ns, seen.to_ns, seen.total_ns, seen.open), (10, 60, 30, true));
    }
}
