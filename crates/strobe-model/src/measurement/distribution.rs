//! How values spread: distributions that merge.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{DistributionProblem, Problem, SpreadProblem, Unit};

/// Distributions that belong together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Distributions {
    /// Each with its name.
    pub distributions: Vec<Distribution>,
}

/// How values of one kind spread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Distribution {
    /// What they are of, as `PB8 high`.
    pub name: String,
    /// Their unit.
    pub unit: Unit,
    /// The (likely) values.
    pub spread: Spread,
    /// The least that each value may be, where they have bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<Spread>,
    /// The most that each value may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<Spread>,
    /// Why they have bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Each value is known to plus or minus this much only, as those between two edges of a
    /// sampled signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<u64>,
    /// Ticks of the unit in a second, where it is one of time whose length is known and constant:
    /// the core clock, for cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hertz: Option<u64>,
    /// The values in their order, as far as they are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<u64>,
}

/// Distinct values that are kept exactly; beyond that they are put into buckets.
const DISTINCT: usize = 1024;

/// Bits of a value that select its bucket, when there are more: buckets are narrower than 0.8 % of
/// their values.
const BITS: u32 = 7;

/// Values by how often they came. Exact as long as there are no more than 1,024 different ones;
/// from then on their lower bits are dropped, which leaves percentiles low by less than 0.8 %.
/// Count, sum and extremes are always exact.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Read", into = "Read")]
pub struct Spread {
    count: u64,
    sum: u64,
    squares: f64,
    min: u64,
    max: u64,
    coarse: bool,
    buckets: BTreeMap<u64, u64>,
}

/// The sum of squares is never a NaN.
impl Eq for Spread {}

/// A spread in JSON.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Spread"))]
struct Read {
    /// How many values.
    count: u64,
    /// Their sum; the mean is `sum / count`.
    sum: u64,
    /// The sum of their squares.
    squares: f64,
    /// The smallest; 0 if there are none.
    min: u64,
    /// The largest; 0 if there are none.
    max: u64,
    /// Values have lost their lower bits: all but seven.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    coarse: bool,
    /// Values, from the smallest on.
    at: Vec<u64>,
    /// How often each came.
    times: Vec<u64>,
}

impl From<Spread> for Read {
    fn from(spread: Spread) -> Read {
        let Spread { count, sum, squares, min, max, coarse, buckets } = spread;
        let (at, times) = buckets.into_iter().unzip();
        Read { count, sum, squares, min, max, coarse, at, times }
    }
}

impl TryFrom<Read> for Spread {
    type Error = SpreadProblem;
    fn try_from(read: Read) -> Result<Spread, SpreadProblem> {
        let Read { count, sum, squares, min, max, coarse, at, times } = read;
        let total = times.iter().fold(0u128, |sum, n| sum + u128::from(*n));
        if at.len() != times.len() || total != u128::from(count) {
            return Err(SpreadProblem::Count { count, total });
        }
        if at.windows(2).any(|pair| pair[0] >= pair[1]) || times.contains(&0) {
            return Err(SpreadProblem::Order);
        }
        let lowest = |value| if coarse { floor(value) } else { value };
        let (first, last) = (at.first().copied(), at.last().copied());
        if first.unwrap_or(0) != lowest(min) || last.unwrap_or(0) != lowest(max) {
            return Err(SpreadProblem::Extremes);
        }
        let least = at.iter().zip(&times);
        let least = least.fold(0u64, |sum, (at, n)| sum.saturating_add(at.saturating_mul(*n)));
        // Each time that values went into buckets they have lost less than a hundredth.
        let more = if coarse { (least / 32).saturating_add(count) } else { 0 };
        let most = least.saturating_add(more);
        if !(least..=most).contains(&sum) {
            return Err(SpreadProblem::Sum { total: least, sum });
        }
        let square = |(at, n): (&u64, &u64)| (*at as f64).powi(2) * *n as f64;
        let wanted: f64 = at.iter().zip(&times).map(square).sum();
        // They are added up in another order.
        if !coarse && (squares - wanted).abs() > wanted * 1e-6 {
            return Err(SpreadProblem::Squares { total: wanted, squares });
        }
        let buckets = at.into_iter().zip(times).collect();
        Ok(Spread { count, sum, squares, min, max, coarse, buckets })
    }
}

/// The smallest value of a value's bucket.
fn floor(value: u64) -> u64 {
    let shift = (64 - value.leading_zeros()).saturating_sub(BITS + 1);
    value >> shift << shift
}

impl FromIterator<u64> for Spread {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Self {
        let mut spread = Spread::default();
        values.into_iter().for_each(|value| spread.add(value));
        spread
    }
}

impl Spread {
    /// Of different values with their counts, from the smallest on, which takes less time than one
    /// after the other in any order.
    pub fn of_counts(values: &[(u64, u64)]) -> Spread {
        let coarse = values.len() > DISTINCT;
        let bucket = |value: u64| if coarse { floor(value) } else { value };
        let mut spread = Spread { coarse, ..Spread::default() };
        for same in values.chunk_by(|a, b| bucket(a.0) == bucket(b.0)) {
            let times = same.iter().map(|(_, times)| times).sum();
            spread.buckets.insert(bucket(same[0].0), times);
            spread.count += times;
        }
        for (value, times) in values {
            spread.sum = spread.sum.saturating_add(value.saturating_mul(*times));
            spread.squares += (*value as f64).powi(2) * *times as f64;
        }
        spread.min = values.first().map_or(0, |(value, _)| *value);
        spread.max = values.last().map_or(0, |(value, _)| *value);
        spread
    }

    /// Sets what is exact of values that were rounded down: their extremes, and what their sum has
    /// more.
    pub fn correct(&mut self, min: u64, max: u64, more: u64) {
        if !self.coarse {
            self.coarsen();
        }
        (self.min, self.max) = (min, max);
        self.sum = self.sum.saturating_add(more);
    }

    /// Takes a value in.
    pub fn add(&mut self, value: u64) {
        self.add_times(value, 1);
    }

    /// Takes a value in so many times.
    pub fn add_times(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count = self.count.saturating_add(times);
        self.sum = self.sum.saturating_add(value.saturating_mul(times));
        self.squares += (value as f64).powi(2) * times as f64;
        self.put(value, times);
    }

    fn put(&mut self, value: u64, times: u64) {
        let bucket = if self.coarse { floor(value) } else { value };
        let sum = self.buckets.entry(bucket).or_default();
        *sum = sum.saturating_add(times);
        if !self.coarse && self.buckets.len() > DISTINCT {
            self.coarsen();
        }
    }

    fn coarsen(&mut self) {
        self.coarse = true;
        for (value, times) in std::mem::take(&mut self.buckets) {
            let sum = self.buckets.entry(floor(value)).or_default();
            *sum = sum.saturating_add(times);
        }
    }

    /// Takes all values of another one in.
    pub fn merge(&mut self, other: &Spread) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.squares += other.squares;
        if other.coarse && !self.coarse {
            self.coarsen();
        }
        other.buckets.iter().for_each(|(value, times)| self.put(*value, *times));
    }

    /// All values times a factor, as for ticks of so many cycles.
    #[must_use]
    pub fn scaled(&self, by: u64) -> Spread {
        let mut out = Spread { buckets: BTreeMap::new(), ..self.clone() };
        for (value, times) in &self.buckets {
            out.put(value.saturating_mul(by), *times);
        }
        out.sum = self.sum.saturating_mul(by);
        out.squares = self.squares * (by as f64).powi(2);
        (out.min, out.max) = (self.min.saturating_mul(by), self.max.saturating_mul(by));
        out
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The smallest.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The mean.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The sample standard deviation; 0 of a single value.
    pub fn deviation(&self) -> Option<f64> {
        let (n, mean) = (self.count as f64, self.mean()?);
        if self.count < 2 || self.min == self.max {
            return Some(0.0);
        }
        Some(((self.squares - n * mean * mean).max(0.0) / (n - 1.0)).sqrt())
    }

    /// The smallest value that at least this part of all values (0 to 1) do not exceed, as far as
    /// buckets show.
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let rank = ((self.count as f64 * part).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0u64;
        for (value, times) in &self.buckets {
            seen = seen.saturating_add(*times);
            if seen >= rank {
                return Some((*value).max(self.min));
            }
        }
        None
    }

    /// Whether values have lost their lower bits.
    pub fn is_coarse(&self) -> bool {
        self.coarse
    }

    /// Values (or the smallest of a bucket) with how often they came.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.iter().map(|(value, times)| (*value, *times))
    }
}

impl Distribution {
    /// Of exact values.
    pub fn exact(name: impl Into<String>, unit: Unit, spread: Spread) -> Self {
        Distribution {
            name: name.into(),
            unit,
            spread,
            low: None,
            high: None,
            why: None,
            resolution: None,
            hertz: None,
            values: Vec::new(),
        }
    }

    pub(super) fn check(&self) -> Result<(), Problem> {
        let named = |problem| Problem::Distribution { name: self.name.clone(), problem };
        self.check_values().map_err(named)
    }

    fn check_values(&self) -> Result<(), DistributionProblem> {
        let n = self.spread.count();
        if self.hertz == Some(0) {
            return Err(DistributionProblem::NoTicks);
        }
        for bound in [&self.low, &self.high].into_iter().flatten() {
            if bound.count() != n {
                return Err(DistributionProblem::BoundCount { values: n, bounds: bound.count() });
            }
        }
        if self.low.is_some() != self.high.is_some() {
            return Err(DistributionProblem::OneBound);
        }
        // Where each value lies within its bounds, so do the extremes and the sums.
        let figures = |spread: &Spread| [spread.min, spread.max, spread.sum];
        if let (Some(low), Some(high)) = (&self.low, &self.high) {
            let all = figures(low).into_iter().zip(figures(&self.spread)).zip(figures(high));
            if all.into_iter().any(|((low, value), high)| low > value || value > high) {
                return Err(DistributionProblem::Bounds);
            }
        }
        let Spread { min, max, .. } = self.spread;
        if self.values.len() as u64 > n || self.values.iter().any(|v| *v < min || *v > max) {
            return Err(DistributionProblem::Values);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn merged_is_what_all_together_are(
            a in proptest::collection::vec(0u64..1 << 40, 0..1500),
            b in proptest::collection::vec(0u64..5000, 0..1500),
        ) {
            let together: Spread = a.iter().chain(&b).copied().collect();
            let mut merged: Spread = a.iter().copied().collect();
            merged.merge(&b.iter().copied().collect());
            prop_assert_eq!(merged.count(), together.count());
            prop_assert_eq!(merged.sum(), together.sum());
            prop_assert_eq!((merged.min(), merged.max()), (together.min(), together.max()));
            let mut all: Vec<u64> = a.into_iter().chain(b).collect();
            all.sort_unstable();
            for part in [0.0, 0.5, 0.9, 0.99, 1.0] {
                let Some(found) = merged.quantile(part) else { continue };
                let rank = ((all.len() as f64 * part).ceil() as usize).clamp(1, all.len());
                let right = all[rank - 1];
                let most = found as f64 * 1.008 + 0.5;
                prop_assert!(found <= right && right as f64 <= most, "{found} {right}");
                prop_assert!(merged.is_coarse() || found == right);
            }
            let json = serde_json::to_string(&merged).unwrap();
            prop_assert_eq!(serde_json::from_str::<Spread>(&json).unwrap(), merged);
        }
    }

    proptest! {
        #[test]
        fn sorted_values_are_the_same_values(
            values in proptest::collection::vec(0u64..1 << 30, 0..1500)
        ) {
            let one_by_one: Spread = values.iter().copied().collect();
            let mut values = values;
            values.sort_unstable();
            let counts: Vec<(u64, u64)> =
                values.chunk_by(|a, b| a == b).map(|v| (v[0], v.len() as u64)).collect();
            let sorted = Spread::of_counts(&counts);
            prop_assert!(sorted.buckets().eq(one_by_one.buckets()));
            prop_assert_eq!((sorted.min(), sorted.max()), (one_by_one.min(), one_by_one.max()));
            prop_assert_eq!(sorted.is_coarse(), one_by_one.is_coarse());
            prop_assert_eq!(sorted.sum(), one_by_one.sum());
            let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
                (Some(a), Some(b)) => (a - b).abs() <= b * 1e-6,
                (a, b) => a == b,
            };
            prop_assert!(near(sorted.deviation(), one_by_one.deviation()));
        }
    }

    #[test]
    fn scaled_is_what_scaled_values_make() {
        for n in [10, 5000u64] {
            let ticks: Spread = (1..=n).collect();
            let cycles: Spread = (1..=n).map(|tick| tick * 64).collect();
            assert_eq!(ticks.scaled(64), cycles);
        }
    }

    #[test]
    fn counts_of_a_hostile_file_saturate() {
        let json = format!(
            r#"{{"count":{0},"sum":{0},"squares":4.611686018427388e20,"min":5,"max":5,
                "at":[5],"times":[{0}]}}"#,
            u64::MAX
        );
        let huge: Spread = serde_json::from_str(&json).unwrap();
        let mut merged = huge.clone();
        merged.merge(&huge);
        assert_eq!((merged.count(), merged.quantile(1.0)), (u64::MAX, Some(5)));
    }

    #[test]
    fn deviation_is_that_of_a_sample() {
        let spread: Spread = [2, 4, 4, 4, 5, 5, 7, 9].into_iter().collect();
        assert!((spread.deviation().unwrap() - 2.138).abs() < 0.001);
        assert_eq!(spread.mean(), Some(5.0));
    }
}
