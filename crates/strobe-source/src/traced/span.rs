//! Moments that are known with bounds, what lies between two of them, and sums of that.

/// A moment: not before, not after.
pub(super) type Span = (u64, u64);

/// How long it is from one moment to another: at least and at most.
pub(super) fn between(from: Span, to: Span) -> (u64, u64) {
    (to.0.saturating_sub(from.1), to.1.saturating_sub(from.0))
}

/// Lengths of time: those that are known exactly, and of the others how many there are and how long they may have been.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Lengths {
    /// Known exactly; the next three are theirs.
    pub exact: u64,
    pub sum: u64,
    pub shortest: u64,
    pub longest: u64,
    /// Known with bounds only.
    pub vague: u64,
    /// The longest that any may have been.
    pub at_most: u64,
}

impl Lengths {
    /// One more, of at least and at most so much.
    pub fn add(&mut self, (least, most): (u64, u64)) {
        self.at_most = self.at_most.max(most);
        if least < most {
            self.vague += 1;
            return;
        }
        self.shortest = if self.exact == 0 { most } else { self.shortest.min(most) };
        self.longest = self.longest.max(most);
        self.exact += 1;
        self.sum += most;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_vague_has_no_part_in_sums() {
        let mut lengths = Lengths::default();
        [(5, 5), (3, 3), (0, 90), (7, 7)].into_iter().for_each(|length| lengths.add(length));
        let all = Lengths { exact: 3, sum: 15, shortest: 3, longest: 7, vague: 1, at_most: 90 };
        assert_eq!(lengths, all);
    }
}
