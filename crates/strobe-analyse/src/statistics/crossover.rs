//! Where in a sweep one way becomes better than the other.

use super::{Interval, Random, median, of_sorted};

/// Pairs at one value of the swept parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The parameter, positive.
    pub at: f64,
    /// Positive values of both ways, in pairs.
    pub pairs: Vec<(f64, f64)>,
}

/// What a sweep shows of two ways.
#[derive(Debug, Clone, PartialEq)]
pub enum Crossover {
    /// The first takes no more anywhere in the sweep.
    First,
    /// The second takes no more anywhere in the sweep.
    Second,
    /// They change places once.
    At {
        /// Where both take the same, interpolated between the sweep's points by logarithms.
        at: f64,
        /// Its 95 % interval: resamples without a crossing count as the sweep's end beyond which
        /// it would lie.
        interval: Interval,
        /// Below it the first is the better one.
        first_below: bool,
    },
    /// They change places more than once: at these places.
    Several(Vec<f64>),
}

/// Resamples.
const RESAMPLES: usize = 1000;

/// Finds where the two change places. `None` with fewer than two points or without pairs.
pub fn crossover(points: &[Point], seed: u64) -> Option<Crossover> {
    let mut points: Vec<(f64, Vec<f64>)> = points.iter().filter_map(logarithms).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    if points.len() < 2 {
        return None;
    }
    let curve: Vec<(f64, f64)> =
        points.iter().filter_map(|(at, logs)| Some((*at, median(logs)?))).collect();
    let found = zeros(&curve);
    let rising = curve.first()?.1 > 0.0 || curve.first()?.1 == 0.0 && curve.last()?.1 > 0.0;
    match found.as_slice() {
        [] if rising => Some(Crossover::First),
        [] => Some(Crossover::Second),
        [at] => Some(Crossover::At {
            at: at.exp(),
            interval: interval(&points, rising, seed)?,
            first_below: rising,
        }),
        several => Some(Crossover::Several(several.iter().map(|at| at.exp()).collect())),
    }
}

/// The logarithms of the place and of second / first there.
fn logarithms(point: &Point) -> Option<(f64, Vec<f64>)> {
    let positive = |(a, b): &&(f64, f64)| *a > 0.0 && *b > 0.0;
    let logs: Vec<f64> =
        point.pairs.iter().filter(positive).map(|(first, second)| (second / first).ln()).collect();
    (point.at > 0.0 && !logs.is_empty()).then(|| (point.at.ln(), logs))
}

/// Where a curve of straight pieces changes its sign.
fn zeros(curve: &[(f64, f64)]) -> Vec<f64> {
    let curve: Vec<&(f64, f64)> = curve.iter().filter(|(_, y)| *y != 0.0).collect();
    let crossing = |pair: &[&(f64, f64)]| {
        let ((x0, y0), (x1, y1)) = (*pair[0], *pair[1]);
        ((y0 > 0.0) != (y1 > 0.0)).then(|| x0 + (x1 - x0) * y0 / (y0 - y1))
    };
    curve.windows(2).filter_map(crossing).collect()
}

fn interval(points: &[(f64, Vec<f64>)], rising: bool, seed: u64) -> Option<Interval> {
    let mut random = Random::new(seed);
    let ends = (points.first()?.0, points.last()?.0);
    let mut found = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let mut curve = Vec::with_capacity(points.len());
        for (at, logs) in points {
            let drawn: Vec<f64> =
                logs.iter().filter_map(|_| logs.get(random.below(logs.len())).copied()).collect();
            curve.push((*at, median(&drawn)?));
        }
        let is_first = curve.iter().filter(|(_, y)| *y > 0.0).count() * 2 > curve.len();
        // Without a crossing one of them wins everywhere: it lies beyond the other's end.
        let beyond = if is_first == rising { ends.1 } else { ends.0 };
        let zeros = zeros(&curve);
        found.push(median(&zeros).unwrap_or(beyond));
    }
    found.sort_by(f64::total_cmp);
    let end = |part| of_sorted(&found, part).map(f64::exp);
    Some(Interval { low: end(0.025)?, high: end(0.975)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first costs 100 at once and 1 for each item, the second 2 for each: equal at 100.
    fn sweep(noise: f64, seed: u64) -> Vec<Point> {
        let mut random = Random::new(seed);
        let mut noisy = |cost: f64| cost * (1.0 + noise * random.unit());
        let pairs = |at: f64, noisy: &mut dyn FnMut(f64) -> f64| {
            (0..15).map(|_| (noisy(100.0 + at), noisy(2.0 * at))).collect()
        };
        [10.0, 30.0, 60.0, 150.0, 400.0, 1000.0]
            .map(|at| Point { at, pairs: pairs(at, &mut noisy) })
            .into()
    }

    #[test]
    fn the_place_is_found_with_its_interval() {
        let Some(Crossover::At { at, interval, first_below }) = crossover(&sweep(0.1, 4), 1) else {
            panic!("they change places once");
        };
        assert!((85.0..118.0).contains(&at) && interval.contains(at), "{at} {interval:?}");
        assert!(!first_below);
        assert!(interval.low > 60.0 && interval.high < 150.0, "{interval:?}");
    }

    /// Piecewise interpolation is off by a little, noise by more: over seeds the interval holds the
    /// noiseless answer nearly always.
    #[test]
    fn intervals_cover_the_noiseless_place() {
        let Some(Crossover::At { at: truth, .. }) = crossover(&sweep(0.0, 0), 1) else {
            panic!("they change places once");
        };
        let covers = |seed: &u64| match crossover(&sweep(0.3, *seed), 1) {
            Some(Crossover::At { interval, .. }) => interval.contains(truth),
            _ => false,
        };
        let covered = (0..100).filter(covers).count();
        assert!(covered >= 90, "{covered} of 100");
    }

    #[test]
    fn without_a_crossing_there_is_no_place() {
        let point = |at, a, b| Point { at, pairs: vec![(a, b); 3] };
        let first = [point(1.0, 1.0, 2.0), point(2.0, 1.0, 3.0)];
        assert_eq!(crossover(&first, 1), Some(Crossover::First));
        let second = [point(1.0, 2.0, 1.0), point(2.0, 3.0, 1.0)];
        assert_eq!(crossover(&second, 1), Some(Crossover::Second));
        let twice = [point(1.0, 2.0, 1.0), point(2.0, 1.0, 2.0), point(4.0, 2.0, 1.0)];
        assert!(matches!(crossover(&twice, 1), Some(Crossover::Several(at)) if at.len() == 2));
        assert_eq!(crossover(&first[..1], 1), None);
        assert_eq!(crossover(&[point(0.0, 1.0, 1.0), point(0.0, 1.0, 1.0)], 1), None);
    }
}
