//! Where a figure's history steps to another level, build by build.
//!
//! Exact figures are compared exactly, bounded ones by whether their bounds meet. What varies from
//! run to run (samples, times) is divided into levels by PELT ([`super::change`]), and each step
//! must then hold against a test: of two shares for counted samples, of two means otherwise. Three
//! builds on either side are needed, and at least [`FEWEST`] in all.

use super::change;
use super::counts::{Shares, chance};
use super::{deviation, median};

/// Fewer builds of a varying figure show nothing.
pub const FEWEST: usize = 8;

/// False alarms that are allowed in one look at a history without a step, of all rows together.
pub const FALSE_ALARMS: f64 = 0.01;

/// A build's figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Build {
    /// The (likely) value.
    pub value: f64,
    /// How it may be off.
    pub kind: Kind,
}

/// How a figure may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Not at all: the same build gives the same figure.
    Exact,
    /// By so much, but always by the same: the same build gives the same bounds.
    Bounded {
        /// The least that it may be.
        low: f64,
        /// The most that it may be.
        high: f64,
    },
    /// It counts samples, of so many in all.
    Counted {
        /// All samples of the build's profile.
        of: u64,
    },
    /// From run to run.
    Varying,
}

/// How a step is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Known {
    /// Both figures are exact.
    Exactly,
    /// The bounds do not meet.
    ByBounds,
    /// By a test: the chance of such a step where there is none, for this row.
    ByTest(f64),
}

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The first build on the new level.
    pub at: usize,
    /// The level before: the build's before, or the median of all since the last step.
    pub before: f64,
    /// The level from there on.
    pub after: f64,
    /// How it is known.
    pub known: Known,
}

/// Finds the steps of one history, when so many rows are looked at together.
///
/// `varies` is for histories in which one build was measured twice with different figures: then
/// even exact ones are no property of the build alone.
pub fn steps(builds: &[Build], varies: bool, rows: usize) -> Vec<Step> {
    let fixed = |build: &Build| matches!(build.kind, Kind::Exact | Kind::Bounded { .. });
    if !varies && builds.iter().all(fixed) {
        return adjacent(builds);
    }
    if builds.len() < FEWEST || builds.iter().any(|build| !build.value.is_finite()) {
        return Vec::new();
    }
    let rows = rows.max(1) as f64;
    let scaled: Vec<f64> = builds.iter().map(scale).collect();
    let expected = builds.iter().filter_map(counting_noise).fold(0.0, f64::max);
    let steps: Vec<f64> = scaled.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let seen = spread(&steps) / std::f64::consts::SQRT_2;
    let noise = seen.max(expected).max(f64::MIN_POSITIVE);
    // The estimate of few builds is often too small by a good part.
    let careful = 1.0 + 9.0 / builds.len() as f64;
    let variance = (noise * careful).powi(2);
    let penalty = variance * (5.0 * (builds.len() as f64).ln() + 2.0 * rows.ln());
    // A single slow run is no level.
    let scaled = change::drawn_in(&scaled, noise * careful);
    let starts = change::points(&scaled, penalty);
    confirmed(builds, &scaled, &starts, variance, FALSE_ALARMS / rows)
}

/// Exact and bounded figures: each build against the one before.
fn adjacent(builds: &[Build]) -> Vec<Step> {
    let step = |(i, pair): (usize, &[Build])| {
        let [a, b] = pair else { return None };
        let bounds = |build: &Build| match build.kind {
            Kind::Bounded { low, high } => (low, high),
            _ => (build.value, build.value),
        };
        let known = match (a.kind, b.kind) {
            (Kind::Exact, Kind::Exact) => Known::Exactly,
            _ => Known::ByBounds,
        };
        let ((a_low, a_high), (b_low, b_high)) = (bounds(a), bounds(b));
        let differs = a_high < b_low || b_high < a_low;
        differs.then_some(Step { at: i + 1, before: a.value, after: b.value, known })
    };
    builds.windows(2).enumerate().filter_map(step).collect()
}

/// How steps between neighbours vary: by their median distance, or where most are none, as of a
/// coarse clock, by their squares.
fn spread(steps: &[f64]) -> f64 {
    match deviation(steps) {
        Some(spread) if spread > 0.0 => spread,
        _ => {
            let squares: f64 = steps.iter().map(|step| step * step).sum();
            (squares / steps.len().max(1) as f64).sqrt()
        }
    }
}

/// Counts on a scale on which their noise does not depend on their size (Anscombe's).
fn scale(build: &Build) -> f64 {
    match build.kind {
        Kind::Counted { of } => {
            let share = (build.value + 0.375) / (of as f64 + 0.75);
            share.clamp(0.0, 1.0).sqrt().asin()
        }
        _ => build.value,
    }
}

/// The noise that counting alone makes, on that scale.
fn counting_noise(build: &Build) -> Option<f64> {
    match build.kind {
        Kind::Counted { of } => Some(0.5 / (of.max(1) as f64).sqrt()),
        _ => None,
    }
}

/// The steps that stand against a test of the levels beside each.
fn confirmed(
    builds: &[Build],
    scaled: &[f64],
    starts: &[usize],
    variance: f64,
    alarms: f64,
) -> Vec<Step> {
    let edges: Vec<usize> =
        std::iter::once(0).chain(starts.iter().copied()).chain([builds.len()]).collect();
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len().max(1) as f64;
    let step = |around: &[usize]| {
        let &[from, at, to] = around else { return None };
        let (left, right) = (builds.get(from..at)?, builds.get(at..to)?);
        let level = |side: &[Build]| {
            let values: Vec<f64> = side.iter().map(|build| build.value).collect();
            median(&values).unwrap_or(0.0)
        };
        let p = match (pooled(left), pooled(right)) {
            (Some((ka, na)), Some((kb, nb))) => {
                let shares = Shares { k: [ka, kb], n: [na, nb] };
                let per_build = na.saturating_add(nb) as f64 / (to - from) as f64;
                chance(shares.z((variance * 4.0 * per_build).max(1.0)))
            }
            _ => {
                let difference = mean(scaled.get(at..to)?) - mean(scaled.get(from..at)?);
                let error = variance * (1.0 / left.len() as f64 + 1.0 / right.len() as f64);
                chance(difference / error.sqrt().max(f64::MIN_POSITIVE))
            }
        };
        let known = Known::ByTest(p);
        (p < alarms).then(|| Step { at, before: level(left), after: level(right), known })
    };
    edges.windows(3).filter_map(step).collect()
}

/// Samples of the row and of all, where all builds count some.
fn pooled(builds: &[Build]) -> Option<(u64, u64)> {
    builds.iter().try_fold((0u64, 0u64), |(k, n), build| match build.kind {
        Kind::Counted { of } => {
            Some((k.saturating_add(build.value.max(0.0) as u64), n.saturating_add(of)))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Random;

    fn exact(values: &[f64]) -> Vec<Build> {
        values.iter().map(|value| Build { value: *value, kind: Kind::Exact }).collect()
    }

    fn varying(values: &[f64]) -> Vec<Build> {
        values.iter().map(|value| Build { value: *value, kind: Kind::Varying }).collect()
    }

    /// Nearly normal: the sum of twelve uniform ones.
    fn noise(random: &mut Random) -> f64 {
        (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
    }

    #[test]
    fn exact_figures_are_compared_exactly() {
        let found = steps(&exact(&[100.0, 100.0, 101.0, 101.0, 90.0]), false, 1000);
        let at: Vec<(usize, f64, f64)> = found.iter().map(|s| (s.at, s.before, s.after)).collect();
        assert_eq!(at, [(2, 100.0, 101.0), (4, 101.0, 90.0)]);
        assert!(found.iter().all(|step| step.known == Known::Exactly));
        // One build with two figures: nothing is exact any more, and five builds are too few.
        assert!(steps(&exact(&[100.0, 101.0, 101.0]), true, 1).is_empty());
    }

    #[test]
    fn bounded_figures_step_where_their_bounds_do_not_meet() {
        let build = |value: f64, off: f64| Build {
            value,
            kind: Kind::Bounded { low: value - off, high: value + off },
        };
        let found = steps(&[build(100.0, 5.0), build(108.0, 5.0), build(130.0, 5.0)], false, 1);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].at, found[0].known), (2, Known::ByBounds));
    }

    #[test]
    fn no_figures_have_no_steps() {
        assert!(steps(&[], false, 0).is_empty());
        assert!(steps(&varying(&[1.0; 20]), true, 1).is_empty());
        assert!(steps(&varying(&[f64::NAN; 20]), true, 1).is_empty());
        let empty = Build { value: 0.0, kind: Kind::Counted { of: 0 } };
        assert!(steps(&[empty; 12], false, 1).is_empty());
    }

    /// Histories without a step, of normal and of skewed noise, short and long.
    #[test]
    fn false_alarms_are_as_rare_as_stated() {
        for n in [8, 12, 20, 40, 120] {
            let mut random = Random::new(41 + n as u64);
            let (mut normal, mut skewed, mut counted) = (0, 0, 0);
            for _ in 0..1000 {
                let values: Vec<f64> = (0..n).map(|_| 1000.0 + noise(&mut random)).collect();
                normal += usize::from(!steps(&varying(&values), true, 1).is_empty());
                let values: Vec<f64> =
                    (0..n).map(|_| 1000.0 - (1.0 - random.unit()).ln()).collect();
                skewed += usize::from(!steps(&varying(&values), true, 1).is_empty());
                let builds: Vec<Build> = (0..n).map(|_| sampled(&mut random, 0.1)).collect();
                counted += usize::from(!steps(&builds, false, 1).is_empty());
            }
            assert!(normal <= 15 && counted <= 15, "{n}: {normal}, {counted} of 1000");
            assert!(skewed <= 20, "{n}: {skewed} of 1000");
        }
    }

    /// 500 samples, each of the row with that chance.
    fn sampled(random: &mut Random, share: f64) -> Build {
        let value = (0..500).filter(|_| random.unit() < share).count() as f64;
        Build { value, kind: Kind::Counted { of: 500 } }
    }

    #[test]
    fn steps_of_samples_are_found_where_they_are() {
        let mut random = Random::new(3);
        let found = (0..100).filter(|_| {
            let shares = std::iter::repeat_n(0.1, 10).chain(std::iter::repeat_n(0.2, 10));
            let builds: Vec<Build> = shares.map(|share| sampled(&mut random, share)).collect();
            steps(&builds, false, 20).iter().any(|step| step.at.abs_diff(10) <= 1)
        });
        assert!(found.count() >= 95);
    }
}
