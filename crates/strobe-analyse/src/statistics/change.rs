//! Where a series of samples steps from one level to another, and how long it warms up.
//!
//! Change points by PELT (Killick, Fearnhead and Eckley 2012): the division into segments that
//! minimises the squared distances from the segments' means plus a penalty for each further one.
//! It is the exact optimum, found in nearly linear time.

use super::{deviation, median};

/// Samples that a segment has at least.
const SHORTEST: usize = 3;

/// The first sample of each segment but the first, with that penalty for each change.
pub fn points(samples: &[f64], penalty: f64) -> Vec<usize> {
    let sums = Sums::of(samples);
    let n = samples.len();
    // The least cost of the first so many samples, and where their last segment begins.
    let mut best = vec![(f64::INFINITY, 0usize); n + 1];
    best[0] = (-penalty, 0);
    let mut starts = vec![0usize];
    for end in SHORTEST..=n {
        let cost = |start: usize| best[start].0 + sums.cost(start, end);
        let mut least = (f64::INFINITY, 0);
        for &start in starts.iter().filter(|start| end - **start >= SHORTEST) {
            if cost(start) + penalty < least.0 {
                least = (cost(start) + penalty, start);
            }
        }
        let keeps = |start: &usize| end - start < SHORTEST || cost(*start) <= least.0;
        starts.retain(keeps);
        best[end] = least;
        starts.push(end);
    }
    let mut found = Vec::new();
    let mut end = n;
    while let Some((_, start)) = best.get(end).copied().filter(|(_, start)| *start > 0) {
        found.push(start);
        end = start;
    }
    found.reverse();
    found
}

/// Sums up to each sample, and of squares, of the distances from the first: what a segment costs
/// is then a subtraction.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn of(samples: &[f64]) -> Sums {
        let origin = samples.first().copied().unwrap_or(0.0);
        let mut sums = vec![(0.0, 0.0)];
        let (mut sum, mut squares) = (0.0, 0.0);
        for sample in samples {
            sum += sample - origin;
            squares += (sample - origin).powi(2);
            sums.push((sum, squares));
        }
        Sums(sums)
    }

    /// The squared distances of samples `start..end` from their mean.
    fn cost(&self, start: usize, end: usize) -> f64 {
        let ((s0, q0), (s1, q1)) = (self.0[start], self.0[end]);
        ((q1 - q0) - (s1 - s0).powi(2) / (end - start) as f64).max(0.0)
    }
}

/// How a series begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmUp {
    /// It is steady from the first sample on.
    None,
    /// The first so many samples are on another level than what follows.
    First(usize),
    /// It changes its level in its last third: nothing is steady yet.
    NotSteady,
    /// Fewer than twelve samples say nothing of it.
    TooShort,
}

/// Finds the warm-up: the samples before the last change of level, where levels differ by more
/// than one deviation and by more than 1 %. Outliers are drawn in first, so that a single slow
/// sample is no level.
pub fn warm_up(samples: &[f64]) -> WarmUp {
    let n = samples.len();
    if n < 12 {
        return WarmUp::TooShort;
    }
    let later = samples.get(n / 2..).unwrap_or_default();
    let (Some(centre), Some(spread)) = (median(later), noise(samples)) else {
        return WarmUp::TooShort;
    };
    let spread = spread.max(centre.abs() * 1e-6).max(f64::MIN_POSITIVE);
    let changes = points(&drawn_in(samples, spread), penalty(n, spread));
    let starts: Vec<usize> = std::iter::once(0).chain(changes).collect();
    let level = |from: usize| {
        let to = starts.iter().copied().find(|start| *start > from).unwrap_or(n);
        median(samples.get(from..to).unwrap_or_default()).unwrap_or(centre)
    };
    let last = level(starts.last().copied().unwrap_or(0));
    let is_other = |from: &usize| (level(*from) - last).abs() > spread.max(0.01 * last.abs());
    let other = starts.iter().rposition(is_other);
    match other.and_then(|at| starts.get(at + 1)).copied() {
        None => WarmUp::None,
        Some(first) if first > n * 2 / 3 => WarmUp::NotSteady,
        Some(first) => WarmUp::First(first),
    }
}

/// Noise between neighbours, in which levels and slow drift do not count.
fn noise(samples: &[f64]) -> Option<f64> {
    let steps: Vec<f64> = samples.windows(2).map(|pair| pair[1] - pair[0]).collect();
    deviation(&steps).map(|spread| spread / std::f64::consts::SQRT_2)
}

/// Each sample no further than two deviations from the median of its neighbourhood.
pub(super) fn drawn_in(samples: &[f64], spread: f64) -> Vec<f64> {
    // Seven samples also at the ends, where fewer would be mostly outliers now and then.
    let near = |at: usize| {
        let from = at.saturating_sub(3).min(samples.len().saturating_sub(7));
        let around = samples.get(from..(from + 7).min(samples.len())).unwrap_or_default();
        let centre = median(around).unwrap_or(samples[at]);
        samples[at].clamp(centre - 2.0 * spread, centre + 2.0 * spread)
    };
    (0..samples.len()).map(near).collect()
}

/// Six times what the Schwarz criterion asks for two more parameters: noise of machines is skewed,
/// and the deviation between neighbours small beside it.
fn penalty(n: usize, spread: f64) -> f64 {
    12.0 * spread * spread * (n as f64).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Random;

    #[test]
    fn steps_are_found_where_they_are() {
        let levels = [(20, 5.0), (15, 9.0), (30, 7.0)];
        let mut random = Random::new(5);
        let samples: Vec<f64> = levels
            .iter()
            .flat_map(|(n, level)| vec![*level; *n])
            .map(|level| level + random.unit() * 0.4)
            .collect();
        assert_eq!(points(&samples, 1.0), [20, 35]);
        assert_eq!(warm_up(&samples), WarmUp::First(35));
        assert_eq!(warm_up(&samples[..40]), WarmUp::NotSteady);
        assert_eq!(warm_up(&samples[35..]), WarmUp::None);
        assert_eq!(warm_up(&samples[..5]), WarmUp::TooShort);
        assert!(points(&[], 1.0).is_empty());
        assert_eq!(warm_up(&[3.0; 40]), WarmUp::None);
    }

    /// Series that `ruptures` 1.1.10 was given too (`Pelt(model="l2", min_size=3, jump=1)`), with
    /// what it answers for penalties of 10 and 40.
    #[test]
    fn points_are_those_of_ruptures() {
        let noise = |i: i32| {
            let square = f64::from(i * i);
            (1.7 * square).sin() + (0.9 * square + 2.0).sin()
        };
        let series = |n: i32, level: fn(i32) -> f64| -> Vec<f64> {
            (0..n).map(|i| 100.0 + level(i) + noise(i)).collect()
        };
        let step = series(60, |i| if i >= 30 { 5.0 } else { 0.0 });
        let levels = series(80, |i| match i {
            ..20 => 0.0,
            20..45 => 4.0,
            _ => -3.0,
        });
        let none = series(50, |_| 0.0);
        let drift = series(60, |i| 0.05 * f64::from(i));
        let outlier = series(50, |i| if i == 25 { 40.0 } else { 0.0 });
        let cases: [(&[f64], &[usize], &[usize]); 5] = [
            (&step, &[30], &[30]),
            (&levels, &[20, 45], &[20, 45]),
            (&none, &[], &[]),
            (&drift, &[37], &[]),
            (&outlier, &[25, 28], &[25, 28]),
        ];
        for (samples, low, high) in cases {
            assert_eq!(points(samples, 10.0), low);
            assert_eq!(points(samples, 40.0), high);
        }
    }

    /// 8 % of samples are slow by a third: none of them is a level.
    #[test]
    fn steady_samples_with_outliers_seldom_resemble_a_warm_up() {
        let mut random = Random::new(11);
        let mut sample = || {
            let slow = if random.unit() < 0.08 { 1.3 } else { 1.0 };
            100.0 * slow * (1.0 + 0.02 * random.unit().powi(2))
        };
        let mut false_alarms = 0;
        for _ in 0..500 {
            let samples: Vec<f64> = (0..40).map(|_| sample()).collect();
            false_alarms += usize::from(warm_up(&samples) != WarmUp::None);
        }
        assert!(false_alarms <= 25, "{false_alarms} of 500");
    }
}
