//! How values spread: smallest, mean, percentiles, largest, deviation, and a histogram for whoever
//! wants to see more.

mod counts;

use counts::Sorted;
use strobe_model::Bounds;
use strobe_model::measurement::{self, Spread, Unit};

pub use counts::ValueCounts;

/// Bins of a histogram.
const BINS: u64 = 20;

/// Many values in few figures. Their unit is that of the field that holds the distribution.
///
/// Percentiles are values that occurred (nearest rank). `deviation` is the sample standard
/// deviation: the root of the squared distances from the mean, added up and divided by `count - 1`;
/// 0 for a single value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueSummary {
    /// How many values.
    pub count: u64,
    /// The smallest.
    pub min: u64,
    /// Their mean, to the nearest whole.
    pub mean: u64,
    /// The median.
    pub p50: u64,
    /// No less than 90 % of the values.
    pub p90: u64,
    /// No less than 99 % of the values.
    pub p99: u64,
    /// The largest.
    pub max: u64,
    /// Sample standard deviation.
    pub deviation: u64,
    /// How far the figures can be trusted, where the values come from a model: without it they are
    /// as they were seen.
    pub bounds: Option<Box<SummaryBounds>>,
    /// Where the values lie, if it was asked for; bins without values are there too.
    pub histogram: Vec<Bin>,
    spread: Values,
}

/// All the values. The figures decide whether two distributions are equal.
#[derive(Debug, Clone, Default)]
struct Values(Option<Box<Spread>>);

impl PartialEq for Values {
    fn eq(&self, _: &Values) -> bool {
        true
    }
}

impl Eq for Values {}

/// Figures of modelled values with their bounds; the likely figures are those of the
/// [`ValueSummary`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummaryBounds {
    /// Of the smallest value.
    pub min: Bounds,
    /// Of the mean.
    pub mean: Bounds,
    /// Of the median.
    pub p50: Bounds,
    /// Of the value that no less than 90 % reach.
    pub p90: Bounds,
    /// Of the value that no less than 99 % reach.
    pub p99: Bounds,
    /// Of the largest value.
    pub max: Bounds,
    /// Of the sample standard deviation.
    pub deviation: Bounds,
}

/// A part of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bin {
    /// The least value that belongs here.
    pub from: u64,
    /// The largest value that belongs here.
    pub to: u64,
    /// How many there are.
    pub count: u64,
}

impl ValueSummary {
    /// Of some values; `None` where there are none.
    pub fn of(mut values: Vec<u64>) -> Option<ValueSummary> {
        values.sort_unstable();
        ValueSummary::of_sorted(&counted(&values))
    }

    /// Of counted values, each converted by a function that keeps their order. A histogram, if
    /// wanted, has no bin narrower than `step`.
    pub fn of_counts(
        values: &ValueCounts,
        convert: impl Fn(u64) -> u64,
        step: Option<u64>,
    ) -> Option<ValueSummary> {
        let Sorted { values, exact } = values.exact(convert);
        let mut distribution = ValueSummary::of_sorted(&values)?;
        if let Some(step) = step {
            distribution.histogram = bins(&values, step.max(1));
        }
        if let Some((min, max, more)) = exact {
            (distribution.min, distribution.max) = (min, max);
            distribution.mean = mean(sum(&values) + u128::from(more), distribution.count);
            if let Some(spread) = &mut distribution.spread.0 {
                spread.correct(min, max, more);
            }
        }
        Some(distribution)
    }

    /// The same with a histogram, none of whose bins is narrower than `step`.
    pub fn with_histogram(mut values: Vec<u64>, step: u64) -> Option<ValueSummary> {
        values.sort_unstable();
        let values = counted(&values);
        let mut distribution = ValueSummary::of_sorted(&values)?;
        distribution.histogram = bins(&values, step.max(1));
        Some(distribution)
    }

    /// The same figures with the bounds that they have together with those of two further runs,
    /// of the low and of the high model. Nothing is bounded where all three agree.
    #[must_use]
    pub fn enclosed(mut self, low: &ValueSummary, high: &ValueSummary) -> ValueSummary {
        if self == *low && self == *high {
            return self;
        }
        self.bounds = Some(Box::new(SummaryBounds {
            min: hull([self.min, low.min, high.min]),
            mean: hull([self.mean, low.mean, high.mean]),
            p50: hull([self.p50, low.p50, high.p50]),
            p90: hull([self.p90, low.p90, high.p90]),
            p99: hull([self.p99, low.p99, high.p99]),
            max: hull([self.max, low.max, high.max]),
            deviation: hull([self.deviation, low.deviation, high.deviation]),
        }));
        self
    }

    /// As a distribution that merges. `None` if its values were not kept.
    pub fn measured(&self, name: &str, unit: Unit) -> Option<measurement::Distribution> {
        let spread = self.spread.0.as_deref()?.clone();
        Some(measurement::Distribution::exact(name, unit, spread))
    }

    /// Of values with their counts, from the smallest on.
    fn of_sorted(sorted: &[(u64, u64)]) -> Option<ValueSummary> {
        let (&(min, _), &(max, _)) = (sorted.first()?, sorted.last()?);
        let n: u64 = sorted.iter().map(|(_, count)| count).sum();
        let mean = mean(sum(sorted), n);
        let percentile = |percent: u64| value_at(sorted, (n * percent).div_ceil(100).max(1) - 1);
        Some(ValueSummary {
            count: n,
            min,
            mean,
            p50: percentile(50),
            p90: percentile(90),
            p99: percentile(99),
            max,
            deviation: deviation(sorted, n, mean),
            bounds: None,
            histogram: Vec::new(),
            spread: Values(Some(Box::new(Spread::of_counts(sorted)))),
        })
    }
}

/// A figure of the likely run with the least and the most of it in all three.
fn hull([likely, low, high]: [u64; 3]) -> Bounds {
    Bounds { low: low.min(high).min(likely), likely, high: low.max(high).max(likely) }
}

fn sum(sorted: &[(u64, u64)]) -> u128 {
    sorted.iter().map(|(value, count)| u128::from(*value) * u128::from(*count)).sum()
}

/// To the nearest whole. It lies between values, so it fits.
fn mean(sum: u128, n: u64) -> u64 {
    u64::try_from((sum + u128::from(n) / 2) / u128::from(n.max(1))).unwrap_or(u64::MAX)
}

/// Sorted values with their counts.
fn counted(sorted: &[u64]) -> Vec<(u64, u64)> {
    sorted.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64)).collect()
}

/// The value at an index of the sorted values.
fn value_at(sorted: &[(u64, u64)], index: u64) -> u64 {
    let mut before = 0;
    let found = sorted.iter().find(|(_, count)| {
        before += count;
        index < before
    });
    found.map_or(0, |(value, _)| *value)
}

fn deviation(values: &[(u64, u64)], n: u64, mean: u64) -> u64 {
    let squares = values.iter().map(|(value, count)| {
        u128::from(value.abs_diff(mean)).pow(2).saturating_mul(u128::from(*count))
    });
    let sum = squares.fold(0u128, u128::saturating_add);
    let root = (sum / u128::from(n.saturating_sub(1).max(1))).isqrt();
    u64::try_from(root).unwrap_or(u64::MAX)
}

/// Equal bins between the smallest and the largest value; where the largest is far off, bins that
/// double.
fn bins(sorted: &[(u64, u64)], step: u64) -> Vec<Bin> {
    let (Some(&(min, _)), Some(&(max, _))) = (sorted.first(), sorted.last()) else {
        return Vec::new();
    };
    let n: u64 = sorted.iter().map(|(_, count)| count).sum();
    let median = value_at(sorted, n / 2);
    let mut bins = Vec::new();
    let mut rest = sorted;
    let mut put = |from: u64, to: u64| {
        let (inside, after) = rest.split_at(rest.partition_point(|(v, _)| *v <= to));
        rest = after;
        bins.push(Bin { from, to, count: inside.iter().map(|(_, count)| count).sum() });
    };
    let far = (max - min) / 16 > (median - min).max(step.saturating_mul(BINS));
    let even = ((max - min) / BINS).max(1).next_multiple_of(step);
    let (mut from, mut width) = (min, if far { step } else { even });
    loop {
        let to = from.saturating_add(width - 1);
        put(from, to);
        if to >= max {
            return bins;
        }
        from = to + 1;
        if far {
            width = width.saturating_mul(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn figures_are_those_of_the_textbook() {
        let d = ValueSummary::of(vec![2, 4, 4, 4, 5, 5, 7, 9]).unwrap();
        // Squares from the mean of 5 add up to 32; 32 / 7 has the root 2.138.
        assert_eq!((d.min, d.mean, d.p50, d.p90, d.p99, d.max, d.deviation), (2, 5, 4, 9, 9, 9, 2));
        let one = ValueSummary::of(vec![7]).unwrap();
        assert_eq!((one.count, one.p50, one.deviation), (1, 7, 0));
        assert_eq!(ValueSummary::of(Vec::new()), None);
    }

    #[test]
    fn further_runs_bound_the_figures() {
        let of = |values: [u64; 3]| ValueSummary::of(values.into()).expect("values");
        let (likely, low, high) = (of([10, 20, 30]), of([8, 20, 29]), of([11, 20, 36]));
        let bounds = *likely.clone().enclosed(&low, &high).bounds.expect("bounds");
        assert_eq!(bounds.min, Bounds { low: 8, likely: 10, high: 11 });
        assert_eq!(bounds.mean, Bounds { low: 19, likely: 20, high: 22 });
        assert_eq!(bounds.max, Bounds { low: 29, likely: 30, high: 36 });
        // The deviations are 10, 10.5 and 12.6.
        assert_eq!(bounds.deviation, Bounds { low: 10, likely: 10, high: 12 });
        assert_eq!(likely.clone().enclosed(&likely, &likely).bounds, None);
    }

    #[test]
    fn one_late_value_does_not_hide_the_others() {
        let mut values: Vec<u64> = (1000..1100).collect();
        values.push(1_000_000);
        let d = ValueSummary::with_histogram(values, 10).unwrap();
        let early = d.histogram.iter().filter(|bin| bin.to < 1110 && bin.count > 0).count();
        assert!(early >= 3, "{:?}", d.histogram);
    }

    proptest! {
        #[test]
        fn every_value_is_in_one_bin(
            values in prop::collection::vec(any::<u64>(), 1..50),
            step in 1u64..1000,
            right in 0u32..64,
        ) {
            let values: Vec<u64> = values.iter().map(|v| v >> right).collect();
            let d = ValueSummary::with_histogram(values.clone(), step).unwrap();
            prop_assert!(d.histogram.len() <= 65);
            for bin in &d.histogram {
                let inside = values.iter().filter(|v| (bin.from..=bin.to).contains(v)).count();
                prop_assert_eq!(inside as u64, bin.count);
            }
            prop_assert_eq!(d.histogram.iter().map(|b| b.count).sum::<u64>(), d.count);
            prop_assert!(d.min <= d.p50 && d.p50 <= d.p90 && d.p90 <= d.p99 && d.p99 <= d.max);
        }
    }
}
