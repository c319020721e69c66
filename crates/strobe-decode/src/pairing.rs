//! Two recordings of the same pins side by side: which figures can be the same, which cannot, and
//! of which neither is shown.

mod measurement;
pub mod report;

use crate::pairing::report::{Difference, Estimate, FigurePair, FigureUnit, Pair, Reason, Verdict};
use crate::pins::report::{CaptureSummary, PinInterval, PinStatistics};
use crate::summary::ValueSummary;

pub use measurement::measurement;

/// Where an uncertainty is more than this part of a figure, agreeing means nothing.
const TOO_WIDE: u64 = 4;

/// Standard errors that a mean is given on either side.
const STANDARD_ERRORS: f64 = 2.0;

/// How far one side's times can be trusted.
#[derive(Debug, Clone, Copy)]
struct Side {
    /// Of a capture: how far off a width may be. A simulation's widths have their bounds.
    resolution_ps: u64,
    tolerance_ppm: u64,
}

impl Side {
    fn of(capture: &CaptureSummary, tolerance_ppm: u64) -> Side {
        // Simulated times are whole picoseconds.
        let resolution_ps = if capture.simulated.is_some() { 1 } else { capture.resolution_ps };
        Side { resolution_ps, tolerance_ppm }
    }
}

/// Which figures of a distribution are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Figure {
    Min,
    Mean,
    Median,
    Max,
    Deviation,
}

impl Figure {
    fn name(self) -> &'static str {
        match self {
            Figure::Min => "min",
            Figure::Mean => "mean",
            Figure::Median => "median",
            Figure::Max => "max",
            Figure::Deviation => "deviation",
        }
    }

    fn bounds(self, d: &ValueSummary) -> (u64, u64, u64) {
        let value = match self {
            Figure::Min => d.min,
            Figure::Mean => d.mean,
            Figure::Median => d.p50,
            Figure::Max => d.max,
            Figure::Deviation => d.deviation,
        };
        let bounds = d.bounds.as_ref().map(|b| match self {
            Figure::Min => b.min,
            Figure::Mean => b.mean,
            Figure::Median => b.p50,
            Figure::Max => b.max,
            Figure::Deviation => b.deviation,
        });
        bounds.map_or((value, value, value), |b| (b.low, value, b.high))
    }

    /// With all that is not known. `off` is how far off a single value may be in a capture.
    fn estimate(self, d: &ValueSummary, off: u64, tolerance_ppm: u64) -> Estimate {
        let (low, value, high) = self.bounds(d);
        let mut off = off;
        if self == Figure::Mean {
            off = off.saturating_add(
                (STANDARD_ERRORS * d.deviation as f64 / (d.count as f64).sqrt()) as u64,
            );
        }
        let part =
            |of: u64| (u128::from(of) * u128::from(tolerance_ppm)).div_ceil(1_000_000) as u64;
        Estimate {
            count: d.count,
            value,
            low: low.saturating_sub(off).saturating_sub(part(low)),
            high: high.saturating_add(off).saturating_add(part(high)),
        }
    }
}

/// The figures of times.
const TIMES: [Figure; 4] = [Figure::Min, Figure::Mean, Figure::Median, Figure::Max];

/// A pin in both recordings.
pub fn pins(
    a: (&CaptureSummary, &PinStatistics),
    b: (&CaptureSummary, &PinStatistics),
    clock_tolerance_ppm: u64,
) -> Pair {
    let sides = [Side::of(a.0, 0), Side::of(b.0, clock_tolerance_ppm)];
    let mut figures = Vec::new();
    let widths = [
        ("high", &a.1.high_ps, &b.1.high_ps),
        ("low", &a.1.low_ps, &b.1.low_ps),
        ("period", &a.1.period_ps, &b.1.period_ps),
    ];
    for (of, a, b) in widths {
        let deviation = (of == "period").then_some(Figure::Deviation);
        for figure in TIMES.into_iter().chain(deviation) {
            figures.push(compared(
                of,
                figure,
                FigureUnit::Ps,
                [a.as_ref(), b.as_ref()],
                sides,
                [None; 2],
            ));
        }
    }
    let off = [duty_off(a.1, sides[0]), duty_off(b.1, sides[1])];
    let duties = [a.1.duty_ppm.as_ref(), b.1.duty_ppm.as_ref()];
    figures.push(compared("duty", Figure::Mean, FigureUnit::Ppm, duties, sides, off.map(Some)));
    Pair { a: a.1.pin.clone(), b: b.1.pin.clone(), figures }
}

/// Times between two edges in both recordings.
pub fn intervals(
    a: (&CaptureSummary, &PinInterval),
    b: (&CaptureSummary, &PinInterval),
    clock_tolerance_ppm: u64,
) -> Pair {
    let sides = [Side::of(a.0, 0), Side::of(b.0, clock_tolerance_ppm)];
    let times = [a.1.times_ps.as_ref(), b.1.times_ps.as_ref()];
    let figures = TIMES.map(|f| compared("time", f, FigureUnit::Ps, times, sides, [None; 2]));
    let name = |interval: &PinInterval| format!("{} to {}", interval.from, interval.to);
    Pair { a: name(a.1), b: name(b.1), figures: figures.into() }
}

/// How far off a duty may be: both its parts may be by the resolution.
fn duty_off(pin: &PinStatistics, side: Side) -> u64 {
    let shortest = pin.period_ps.as_ref().map_or(1, |p| p.min.max(1));
    let ppm = u128::from(side.resolution_ps) * 2_000_000 / u128::from(shortest);
    u64::try_from(ppm).unwrap_or(u64::MAX).saturating_add(1)
}

fn compared(
    of: &str,
    figure: Figure,
    unit: FigureUnit,
    both: [Option<&ValueSummary>; 2],
    sides: [Side; 2],
    off: [Option<u64>; 2],
) -> FigurePair {
    let estimate = |n: usize| {
        // A share has no clock.
        let tolerance = if unit == FigureUnit::Ps { sides[n].tolerance_ppm } else { 0 };
        let off = off[n].unwrap_or(sides[n].resolution_ps);
        both[n].map(|d| figure.estimate(d, off, tolerance))
    };
    let (a, b) = (estimate(0), estimate(1));
    let mut pair = FigurePair {
        of: of.to_owned(),
        figure: figure.name().to_owned(),
        unit,
        a,
        b,
        difference: None,
        verdict: Verdict::CannotTell,
        reason: None,
    };
    let (Some(a), Some(b)) = (a, b) else {
        pair.reason = Some(Reason::NoValues);
        return pair;
    };
    let minus = |x: u64, y: u64| {
        let difference = i128::from(x) - i128::from(y);
        difference.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    };
    pair.difference = Some(Difference {
        value: minus(b.value, a.value),
        low: minus(b.low, a.high),
        high: minus(b.high, a.low),
    });
    (pair.verdict, pair.reason) = verdict(figure, a, b);
    pair
}

fn verdict(figure: Figure, a: Estimate, b: Estimate) -> (Verdict, Option<Reason>) {
    let cannot = |why| (Verdict::CannotTell, Some(why));
    if a.high < b.low || b.high < a.low {
        // Who sees more pulses sees more extreme ones.
        let more = |few: Estimate, many: Estimate| few.count < many.count;
        let luck = match figure {
            Figure::Min if a.value < b.value => more(b, a),
            Figure::Min => more(a, b),
            Figure::Max if a.value > b.value => more(b, a),
            Figure::Max => more(a, b),
            _ => false,
        };
        return if luck { cannot(Reason::FewerValues) } else { (Verdict::Differ, None) };
    }
    let off = |e: Estimate| (e.value - e.low.min(e.value)).max(e.high.saturating_sub(e.value));
    let worst = off(a).max(off(b));
    // How uneven periods are is itself little: it agrees if it may be the same.
    if figure != Figure::Deviation && worst > a.value.max(b.value) / TOO_WIDE {
        return cannot(Reason::TooWide);
    }
    (Verdict::Agree, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(resolution_ps: u64) -> CaptureSummary {
        CaptureSummary {
            file: String::new(),
            format: String::new(),
            resolution_ps,
            resolution_inferred: false,
            start_ps: 0,
            duration_ps: 1_000_000,
            channels: Vec::new(),
            cut: false,
            simulated: None,
        }
    }

    fn times(values: Vec<u64>) -> PinInterval {
        let times_ps = ValueSummary::of(values);
        PinInterval { from: "a".into(), to: "b".into(), times_ps, unanswered: 0 }
    }

    fn verdicts(a: Vec<u64>, b: Vec<u64>, resolution: u64, tolerance: u64) -> Vec<Verdict> {
        let (one, other) = (capture(1), capture(resolution));
        let pair = intervals((&one, &times(a)), (&other, &times(b)), tolerance);
        pair.figures.iter().map(|f| f.verdict).collect()
    }

    #[test]
    fn possible_matches_agree_and_impossible_ones_differ() {
        use Verdict::{Agree, CannotTell, Differ};
        assert_eq!(verdicts(vec![1000], vec![1040], 41, 0), [Agree; 4]);
        assert_eq!(verdicts(vec![1000], vec![1060], 41, 0), [Differ; 4]);
        assert_eq!(verdicts(vec![1000], vec![1060], 41, 30_000), [Agree; 4]);
        assert_eq!(verdicts(vec![1000], vec![1060], 400, 0), [CannotTell; 4]);
        assert_eq!(verdicts(vec![], vec![1060], 4, 0), [CannotTell; 4]);
    }

    #[test]
    fn extremes_need_as_many_values() {
        use Verdict::{Agree, CannotTell, Differ};
        let few = vec![1000; 10];
        let mut many = vec![1000; 1000];
        many[7] = 1500;
        assert_eq!(verdicts(few.clone(), many.clone(), 4, 0), [Agree, Agree, Agree, CannotTell]);
        assert_eq!(verdicts(many, few, 4, 0), [Agree, Agree, Agree, CannotTell]);
        let mut uneven = vec![1000; 10];
        uneven[7] = 1500;
        assert_eq!(verdicts(vec![1000; 20], uneven, 4, 0)[3], Differ);
    }

    #[test]
    fn a_difference_is_as_uncertain_as_both_sides() {
        let (one, other) = (capture(10), capture(30));
        let pair = intervals((&one, &times(vec![500])), (&other, &times(vec![520])), 0);
        let wanted = Difference { value: 20, low: -20, high: 60 };
        assert_eq!(pair.figures[0].difference, Some(wanted));
    }
}
