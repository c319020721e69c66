//! Values by how often they occur: what figures of millions of values are made of, in bounded
//! memory.

use std::collections::HashMap;

/// Values below this have a counter each. Widths of pulses in ticks are small numbers.
const DENSE: usize = 4096;

/// Other values that are kept exactly. From then on their lower bits are dropped.
const MAX_OTHERS: usize = 1 << 17;

/// Bits of a value behind its highest one that are kept then: percentiles are low by less than
/// 0.1 %, and there are no more than 55,296 different values.
const BITS: u32 = 10;

/// How often each value occurs. Count, sum and extremes are always exact.
#[derive(Debug, Clone, Default)]
pub struct ValueCounts {
    dense: Vec<u64>,
    /// Hashed with random keys: a file may be made to collide.
    others: HashMap<u64, u64>,
    /// What the other values have lost with their lower bits.
    rounding: Option<Rounding>,
}

/// Exact figures of values that were rounded down.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounding {
    /// What was dropped of all of them.
    dropped: u128,
    min: u64,
    max: u64,
}

impl Rounding {
    fn add(&mut self, value: u64, times: u64) -> u64 {
        let kept = floor(value);
        self.dropped += u128::from(value - kept) * u128::from(times);
        (self.min, self.max) = (self.min.min(value), self.max.max(value));
        kept
    }
}

/// A value without the bits that are dropped.
fn floor(value: u64) -> u64 {
    let shift = (64 - value.leading_zeros()).saturating_sub(BITS + 1);
    value >> shift << shift
}

/// Different values with their counts, from the smallest on.
#[derive(Debug)]
pub(crate) struct Sorted {
    pub(crate) values: Vec<(u64, u64)>,
    /// The smallest and the largest value, and what their sum has more than that of `values`, where
    /// these were rounded down.
    pub(crate) exact: Option<(u64, u64, u64)>,
}

impl ValueCounts {
    /// Counts a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        match self.dense.get_mut(value as usize) {
            Some(count) => *count += 1,
            None => self.add_other(value),
        }
    }

    fn add_other(&mut self, value: u64) {
        if value < DENSE as u64 {
            self.dense.resize(DENSE, 0);
            self.dense[value as usize] += 1;
            return;
        }
        let kept = self.rounding.as_mut().map_or(value, |rounding| rounding.add(value, 1));
        *self.others.entry(kept).or_default() += 1;
        if self.rounding.is_none() && self.others.len() > MAX_OTHERS {
            self.round();
        }
    }

    fn round(&mut self) {
        let mut rounding = Rounding { dropped: 0, min: u64::MAX, max: 0 };
        for (value, times) in std::mem::take(&mut self.others) {
            *self.others.entry(rounding.add(value, times)).or_default() += times;
        }
        self.rounding = Some(rounding);
    }

    /// The values from the smallest on with their counts, each converted by a function that keeps
    /// their order.
    pub fn sorted(&self, convert: impl Fn(u64) -> u64) -> Vec<(u64, u64)> {
        let dense = (0..).zip(&self.dense).filter(|(_, count)| **count > 0);
        let others = self.others.iter().map(|(value, count)| (*value, count));
        let all = dense.chain(others).map(|(value, count)| (convert(value), *count));
        let mut all: Vec<(u64, u64)> = all.collect();
        all.sort_unstable();
        all.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += if is_same { next.1 } else { 0 };
            is_same
        });
        all
    }

    /// The same with the figures that are exact all the same.
    pub(crate) fn exact(&self, convert: impl Fn(u64) -> u64) -> Sorted {
        let values = self.sorted(&convert);
        let exact = self.rounding.map(|Rounding { dropped, min, max }| {
            let has_smaller = self.dense.iter().any(|count| *count > 0);
            let min = if has_smaller { values.first().map_or(0, |v| v.0) } else { convert(min) };
            (min, convert(max), convert(u64::try_from(dropped).unwrap_or(u64::MAX)))
        });
        Sorted { values, exact }
    }
}

impl FromIterator<u64> for ValueCounts {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Self {
        let mut counts = ValueCounts::default();
        values.into_iter().for_each(|value| counts.add(value));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::ValueSummary;

    #[test]
    fn counts_are_sorted_by_value() {
        let counts: ValueCounts = [5000, 3, 1 << 40, 3, 5000, 4].into_iter().collect();
        assert_eq!(counts.sorted(|v| v), [(3, 2), (4, 1), (5000, 2), (1 << 40, 1)]);
        assert_eq!(counts.sorted(|v| v / 5), [(0, 3), (1000, 2), ((1 << 40) / 5, 1)]);
    }

    #[test]
    fn different_values_are_bounded() {
        let n = 4 * MAX_OTHERS as u64;
        let values = (0..n).map(|n| 10_000 + n * 1_000_003 % (1 << 40));
        let counts: ValueCounts = values.clone().collect();
        assert!(counts.others.len() < MAX_OTHERS, "{}", counts.others.len());
        let rounded = ValueSummary::of_counts(&counts, |v| v, None).expect("there are values");
        let exact = ValueSummary::of(values.collect()).expect("there are values");
        assert_eq!(
            (rounded.count, rounded.min, rounded.max, rounded.mean),
            (exact.count, exact.min, exact.max, exact.mean)
        );
        // Near one another, they are few when rounded: what is written then is still read.
        let narrow: ValueCounts = (0..n).map(|n| (1 << 40) + n).collect();
        let narrow = ValueSummary::of_counts(&narrow, |v| v, None).expect("there are values");
        let measured =
            narrow.measured("x", strobe_model::measurement::Unit::TICKS).expect("it is new");
        let json = serde_json::to_string(&measured.spread).expect("it is plain");
        let read: strobe_model::measurement::Spread =
            serde_json::from_str(&json).expect("it is sound");
        assert_eq!((read.min(), read.max()), (Some(1 << 40), Some((1 << 40) + n - 1)));
        for (rounded, exact) in [
            (rounded.p50, exact.p50),
            (rounded.p99, exact.p99),
            (rounded.deviation, exact.deviation),
        ] {
            assert!(rounded.abs_diff(exact) <= exact / 1000, "{rounded} {exact}");
        }
    }
}
