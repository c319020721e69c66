//! Pairs: two ways measured side by side, round by round.
//!
//! What slowly changes on a machine changes both halves of a pair, so the quotient within pairs
//! stays what it is. Measuring all of one and then all of the other does not have that.

use super::autocorrelation::{group, grouped};
use super::{Random, median, median_ranks, of_sorted, sign_test, wilson};

/// An interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// Whether a value is in it, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// What pairs say of the quotient of their second and first halves.
#[derive(Debug, Clone, PartialEq)]
pub struct Paired {
    /// Pairs.
    pub pairs: usize,
    /// Neighbouring pairs that count as one, since they depend on each other; mostly 1.
    pub group: usize,
    /// The median of second / first.
    pub ratio: f64,
    /// Where the true median quotient lies, with the confidence asked for. It encloses both the
    /// bootstrap's interval and that of the sign test, so the two never contradict each other;
    /// `None` where there are too few pairs for that confidence.
    pub interval: Option<Interval>,
    /// The bootstrap's own interval: percentiles of resampled medians.
    pub bootstrap: Interval,
    /// The probability that chance alone divides the signs so unevenly.
    pub p: f64,
    /// In how many pairs the second half was less than the first; ties count half.
    pub less: f64,
    /// The share of `less` with its 95 % interval (Wilson): the effect in terms of "how often".
    pub less_share: Interval,
}

/// Resamples of a bootstrap: ends of 95 % intervals then move by less than a tenth of their width.
const RESAMPLES: usize = 2000;

impl Paired {
    /// Of pairs of positive values, at that confidence (0.95). `None` without pairs, or where one
    /// is not positive and has no quotient.
    pub fn of(pairs: &[(f64, f64)], confidence: f64, seed: u64) -> Option<Paired> {
        let positive = |(a, b): &(f64, f64)| *a > 0.0 && *b > 0.0 && (a / b).is_normal();
        if pairs.is_empty() || !pairs.iter().all(positive) {
            return None;
        }
        let logs: Vec<f64> = pairs.iter().map(|(first, second)| (second / first).ln()).collect();
        let size = group(&logs);
        let groups = grouped(&logs, size);
        let (down, up) = signs(&groups);
        let bootstrap = bootstrap(&groups, confidence, seed)?;
        let (less, _) = signs(&logs);
        let ties = logs.iter().filter(|log| **log == 0.0).count();
        let half = less as f64 + ties as f64 / 2.0;
        let (low, high) = wilson(logs.len() as u64, half.round() as u64);
        let exp =
            |interval: Interval| Interval { low: interval.low.exp(), high: interval.high.exp() };
        Some(Paired {
            pairs: pairs.len(),
            group: size,
            ratio: median(&groups)?.exp(),
            interval: hull(&groups, confidence, bootstrap).map(exp),
            bootstrap: exp(bootstrap),
            p: sign_test(down, up),
            less: half,
            less_share: Interval { low, high },
        })
    }

    /// Whether the quotient differs from 1: the sign test is below the level, and the interval
    /// does not hold it.
    pub fn differs(&self, level: f64) -> bool {
        self.p < level && self.interval.is_some_and(|interval| !interval.contains(1.0))
    }
}

fn signs(logs: &[f64]) -> (u64, u64) {
    let count = |is: fn(&f64) -> bool| logs.iter().filter(|log| is(log)).count() as u64;
    (count(|log| *log < 0.0), count(|log| *log > 0.0))
}

/// The bootstrap's interval and the one from order statistics, together.
fn hull(values: &[f64], confidence: f64, bootstrap: Interval) -> Option<Interval> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (first, last) = median_ranks(sorted.len(), confidence)?;
    let low = bootstrap.low.min(*sorted.get(first)?);
    Some(Interval { low, high: bootstrap.high.max(*sorted.get(last)?) })
}

/// Percentiles of the medians of resamples. Not BCa: its acceleration comes from a jackknife, which
/// is inconsistent for medians (Efron 1982, 3.4).
fn bootstrap(values: &[f64], confidence: f64, seed: u64) -> Option<Interval> {
    let mut random = Random::new(seed);
    let mut medians = Vec::with_capacity(RESAMPLES);
    let mut resample = vec![0.0; values.len()];
    for _ in 0..RESAMPLES {
        for place in &mut resample {
            *place = values.get(random.below(values.len())).copied()?;
        }
        medians.push(middle(&mut resample)?);
    }
    medians.sort_by(f64::total_cmp);
    let outside = (1.0 - confidence) / 2.0;
    let low = of_sorted(&medians, outside)?;
    Some(Interval { low, high: of_sorted(&medians, 1.0 - outside)? })
}

/// The median, without sorting: it is asked for thousands of times.
fn middle(values: &mut [f64]) -> Option<f64> {
    let half = values.len() / 2;
    let is_even = values.len().is_multiple_of(2);
    if values.is_empty() {
        return None;
    }
    let (below, upper, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(if is_even { (lower + *upper) / 2.0 } else { *upper })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn invalid_pairs_have_no_quotient() {
        assert_eq!(Paired::of(&[], 0.95, 1), None);
        assert_eq!(Paired::of(&[(0.0, 1.0)], 0.95, 1), None);
        assert_eq!(Paired::of(&[(1.0, f64::NAN)], 0.95, 1), None);
        let few = Paired::of(&[(1.0, 2.0); 3], 0.95, 1).unwrap();
        assert_eq!((few.ratio.round(), few.interval), (2.0, None));
        assert!(!few.differs(0.5));
    }

    proptest! {
        #[test]
        fn exchanging_both_sides_turns_the_answer_round(
            pairs in proptest::collection::vec((1.0f64..100.0, 1.0f64..100.0), 6..40),
        ) {
            let turned: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
            let of = |pairs: &[(f64, f64)]| Paired::of(pairs, 0.95, 7).unwrap();
            let (one, other) = (of(&pairs), of(&turned));
            prop_assert!((one.ratio * other.ratio - 1.0).abs() < 1e-9);
            prop_assert_eq!(one.p, other.p);
            prop_assert_eq!(one.less + other.less, pairs.len() as f64);
            if let Some(interval) = one.interval {
                prop_assert!(interval.contains(one.ratio));
                let own = one.bootstrap;
                prop_assert!(interval.low <= own.low && own.high <= interval.high);
            }
        }
    }
}
