//! Moments that are known with bounds, what lies between two of them, and sums of that.

use strobe_decode::swo::timeline::Time;
use strobe_model::measurement::Spread;

/// A moment: not before, not after.
pub(super) type Span = (u64, u64);

/// The end of a moment that no timestamp follows, and of a length up to there.
pub(super) const OPEN: u64 = u64::MAX;

/// A packet's moment.
pub(super) fn of(time: Time) -> Span {
    (time.earliest, time.latest.unwrap_or(OPEN))
}

/// The moment to show, where only one can be shown.
pub(super) fn likely(span: Span) -> u64 {
    if span.1 == OPEN { span.0 } else { span.1 }
}

/// How long it is from one moment to another: at least and at most.
pub(super) fn between(from: Span, to: Span) -> (u64, u64) {
    let most = if to.1 == OPEN { OPEN } else { to.1.saturating_sub(from.0) };
    (to.0.saturating_sub(from.1), most)
}

/// Lengths of time: those that are known exactly, and of the others how many there are and how long
/// they may have been.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Lengths {
    /// Known exactly.
    pub exact: Spread,
    /// Known with bounds only.
    pub vague: u64,
    /// The longest that any may have been.
    pub at_most: u64,
}

impl Lengths {
    /// One more, of at least and at most so much. One that no timestamp ends has no length.
    pub fn add(&mut self, (least, most): (u64, u64)) {
        if most == OPEN {
            return;
        }
        self.at_most = self.at_most.max(most);
        if least < most {
            self.vague += 1;
        } else {
            self.exact.add(most);
        }
    }

    /// How many are known exactly, their sum, the shortest, the longest.
    pub fn figures(&self) -> (u64, u64, u64, u64) {
        let Lengths { exact, .. } = self;
        let (min, max) = (exact.min().unwrap_or(0), exact.max().unwrap_or(0));
        (exact.count(), exact.sum(), min, max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vague_lengths_are_excluded_from_sums() {
        let mut lengths = Lengths::default();
        [(5, 5), (3, 3), (0, 90), (7, 7)].into_iter().for_each(|length| lengths.add(length));
        // From 40 on, and up to a moment without an end: neither known nor bounded.
        lengths.add(between((30, 40), (40, OPEN)));
        // From one without an end: it began with its earliest at the soonest.
        lengths.add(between((30, OPEN), (60, 60)));
        assert_eq!(lengths.figures(), (3, 15, 3, 7));
        assert_eq!((likely((30, OPEN)), likely((30, 40))), (30, 40));
        assert_eq!((lengths.vague, lengths.at_most), (2, 90));
    }
}
