//! Deciding as samples arrive, without more false alarms than a single look has.
//!
//! Looking after each round and stopping at the first "significant" one finds differences that are
//! not there: with many looks, nearly always. Here looks are few (each with 1.5 times as many
//! rounds as the one before) and share one allowance: look number k may err with probability
//! alpha / (k (k + 1)), which sums to alpha over however many looks there are (Bonferroni's
//! inequality, no assumption about their dependence).

use super::Paired;

/// What may be claimed falsely in all looks together.
pub const ALPHA: f64 = 0.05;
/// Rounds of the first look: the fewest at which the sign test can reach its level.
const FIRST: usize = 7;

/// How many rounds there are at a look, counted from 0.
pub fn rounds_at(look: usize) -> usize {
    (0..look.min(60)).fold(FIRST, |rounds, _| rounds.saturating_add(rounds.div_ceil(2)))
}

/// The look that so many rounds are, if they are one.
pub fn look_at(rounds: usize) -> Option<usize> {
    (0..60).find(|look| rounds_at(*look) >= rounds).filter(|look| rounds_at(*look) == rounds)
}

/// The level of a look, counted from 0.
pub fn level(look: usize) -> f64 {
    ALPHA / ((look + 1) * (look + 2)) as f64
}

/// What can be said so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// The second side takes between so many times the first side's; both above or below 1.
    Differs {
        /// The least.
        low: f64,
        /// The most.
        high: f64,
    },
    /// They differ by no more than this, as 0.02 for 2 %.
    Same {
        /// The bound.
        within: f64,
    },
    /// Neither.
    Unclear {
        /// How many more rounds may answer, from how wide the interval is now; `None` with too few
        /// to say.
        rounds: Option<usize>,
    },
}

/// Judges pairs at a look: at its level they differ, or lie within `threshold` of each other
/// (0.02), or nothing can be said yet. Both claims hold at once with probability 1 - [`ALPHA`],
/// however often one looks. Of several comparisons (with one reference, say) each gets its part of
/// the allowance.
pub fn judge(
    pairs: &[(f64, f64)],
    look: usize,
    comparisons: usize,
    threshold: f64,
    seed: u64,
) -> Verdict {
    let level = level(look) / comparisons.max(1) as f64;
    let Some(paired) = Paired::of(pairs, 1.0 - level, seed) else {
        return Verdict::Unclear { rounds: None };
    };
    let Some(interval) = paired.interval else {
        return Verdict::Unclear { rounds: Some(rounds_at(look + 1).saturating_sub(pairs.len())) };
    };
    let furthest = (interval.high - 1.0).max(1.0 / interval.low - 1.0);
    if furthest <= threshold {
        return Verdict::Same { within: furthest.max(0.0) };
    }
    if paired.differs(level) {
        return Verdict::Differs { low: interval.low, high: interval.high };
    }
    Verdict::Unclear { rounds: missing(&paired, interval.low.ln(), interval.high.ln(), threshold) }
}

/// An interval's width falls with the root of the rounds: how many more until it either leaves 1
/// or fits within the threshold, whichever is nearer.
fn missing(paired: &Paired, low: f64, high: f64, threshold: f64) -> Option<usize> {
    let centre = paired.ratio.ln();
    let half = (high - low) / 2.0;
    // A distance of half the threshold is the hardest case: twice as far from either answer.
    let wanted = centre.abs().max((1.0 + threshold).ln() - centre.abs()).max(threshold / 4.0);
    let times = (half / wanted).powi(2).max(1.1);
    let more = paired.pairs as f64 * (times - 1.0);
    (more.is_finite() && more < 1e7).then_some(more.ceil() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_looks_together_keep_to_the_level() {
        let sum: f64 = (0..10_000).map(level).sum();
        assert!(sum < ALPHA);
        assert_eq!((rounds_at(0), rounds_at(1), rounds_at(2)), (7, 11, 17));
        assert_eq!((look_at(11), look_at(12), look_at(7)), (Some(1), None, Some(0)));
        // The first look can decide at all.
        assert!(super::super::sign_test(0, FIRST as u64) < level(0));
    }

    #[test]
    fn clear_cases_are_decided_at_once() {
        let pairs: Vec<(f64, f64)> = (0..11).map(|i| (100.0 + f64::from(i % 3), 120.0)).collect();
        let Verdict::Differs { low, high } = judge(&pairs, 1, 1, 0.02, 1) else {
            panic!("it differs");
        };
        assert!(1.15 < low && low <= high && high <= 1.2, "{low} {high}");
        let same: Vec<(f64, f64)> = (0..11).map(|i| (100.0, 100.0 + f64::from(i % 2))).collect();
        assert_eq!(judge(&same, 1, 1, 0.02, 1), Verdict::Same { within: 101.0 / 100.0 - 1.0 });
        assert_eq!(judge(&[], 0, 1, 0.02, 1), Verdict::Unclear { rounds: None });
    }
}
