//! A figure against its limits: held only where nothing that the figure may be exceeds them.

use strobe_model::measurement::{Quantity, Trust, Unit};

use super::{Figure, Limit, Limits, Missing, Scale};

/// How a budget did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Whatever the figure is within its bounds, it keeps the limits.
    Held,
    /// The figure may be on either side of a limit.
    Undecided,
    /// Whatever the figure is within its bounds, it is beyond a limit.
    Exceeded,
    /// The figure is not known.
    Unknown,
    /// The budget is about nothing that is there, or cannot be compared.
    Broken,
}

impl Verdict {
    /// Its name for programs and people.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Held => "held",
            Verdict::Undecided => "undecided",
            Verdict::Exceeded => "exceeded",
            Verdict::Unknown => "unknown",
            Verdict::Broken => "broken",
        }
    }
}

/// A figure of an earlier measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The likely value.
    pub value: f64,
    /// Its interval, if it was estimated from samples or has limited resolution: such errors are
    /// not shared with the figure that is judged.
    pub interval: Option<(f64, f64)>,
    /// Its unit.
    pub unit: Unit,
}

/// A figure with its verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// The figure, in the unit of its limits, if there is one.
    pub value: Option<Quantity>,
    /// What it must be at least, in the same unit.
    pub least: Option<f64>,
    /// What it may be at most, in the same unit.
    pub most: Option<f64>,
    /// How far the likely value is from the nearest limit; negative beyond it.
    pub margin: Option<f64>,
    /// Why it is not held.
    pub reason: Option<Reason>,
}

/// Why a budget is not held though its figure is not beyond a limit.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// There was no measurement, in the words of the step that failed.
    Unmeasured(String),
    /// The measurement has no such figure.
    Missing(Missing),
    /// The figure is not known, for the reason that its measurement has.
    UnknownFigure(String),
    /// Figure and limit are cycles and a time, and the core clock is not known.
    NoClock {
        /// The figure's unit.
        unit: Unit,
        /// The limit as it is written.
        limit: String,
    },
    /// The limit is in another unit than the figure.
    OtherUnit {
        /// The figure's unit.
        unit: Unit,
        /// The limit as it is written.
        limit: String,
    },
    /// The limit is in another unit than the other limit.
    MixedUnits(String),
    /// The limit is relative, and nothing is stored of an earlier measurement.
    NothingStored(String),
    /// The stored figure is in another unit.
    OtherBaselineUnit {
        /// The unit of the stored figure.
        stored: Unit,
        /// The unit of the figure.
        unit: Unit,
    },
    /// The stored figure cannot be converted to the unit of the limits.
    Unconvertible,
    /// What the figure may be reaches over the limit.
    Undecided(Openness),
}

/// How a figure is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Openness {
    /// It has an interval of samples.
    Samples,
    /// It is known from below alone.
    LowerBound,
    /// It is known from above alone.
    UpperBound,
    /// The measurement has limited resolution.
    Resolution,
    /// It has the bounds of a model.
    Bounds,
}

impl Stored {
    /// What of a figure is kept.
    pub fn of(quantity: &Quantity) -> Option<Stored> {
        let value = quantity.value()?.as_f64();
        let interval = match quantity.trust() {
            Trust::Sampled { low, high, .. } | Trust::Resolution { low, high } => {
                Some((low.as_f64(), high.as_f64()))
            }
            _ => None,
        };
        Some(Stored { value, interval, unit: quantity.unit().clone() })
    }
}

impl Judged {
    /// A budget that cannot be judged.
    pub fn broken(reason: Reason) -> Self {
        Judged {
            verdict: Verdict::Broken,
            value: None,
            least: None,
            most: None,
            margin: None,
            reason: Some(reason),
        }
    }
}

/// What a figure may be.
#[derive(Clone, Copy)]
struct Range {
    low: f64,
    value: f64,
    high: f64,
}

/// Holds a figure against its limits. Relative ones need what is `stored` of an earlier
/// measurement: an error that both share (a model's) is left out of that comparison, one that they
/// do not share (samples, resolution) is not.
pub fn judge(figure: &Figure, limits: &Limits, stored: Option<&Stored>) -> Judged {
    let quantity = &figure.quantity;
    if let Trust::Unknown { why } = quantity.trust() {
        let unknown = Judged::broken(Reason::UnknownFigure(why.clone()));
        return Judged { verdict: Verdict::Unknown, value: Some(quantity.clone()), ..unknown };
    }
    let scale = target(quantity, limits);
    let Some(range) = converted(figure, &scale) else {
        return Judged::broken(mismatch(figure, &scale, limits));
    };
    let mut judged = Judged {
        verdict: Verdict::Held,
        value: Some(shown(quantity, range, &scale)),
        least: None,
        most: None,
        margin: None,
        reason: None,
    };
    for (limit, is_most) in [(&limits.least, false), (&limits.most, true)] {
        let Some(limit) = limit else { continue };
        match bound(limit, figure, &scale, stored) {
            Ok(bound) => apply(&mut judged, range, bound, is_most, limits.likely),
            Err(reason) => return Judged { value: judged.value, ..Judged::broken(reason) },
        }
    }
    judged
}

/// The scale on which figure and limits are compared: that of the absolute limits.
fn target(quantity: &Quantity, limits: &Limits) -> Scale {
    let absolute = [&limits.most, &limits.least].into_iter().flatten();
    let named = absolute.filter(|limit| !(limit.relative && limit.scale == Scale::Percent));
    named.map(|limit| limit.scale.clone()).next().unwrap_or_else(|| Scale::of(quantity.unit()).0)
}

fn converted(figure: &Figure, to: &Scale) -> Option<Range> {
    let quantity = &figure.quantity;
    let value = quantity.value()?.as_f64();
    let (low, high) = match quantity.trust() {
        Trust::AtLeast => (value, f64::INFINITY),
        Trust::AtMost => (f64::NEG_INFINITY, value),
        trust => trust.bounds().map_or((value, value), |(l, h)| (l.as_f64(), h.as_f64())),
    };
    let (from, factor) = Scale::of(quantity.unit());
    let times =
        |slow: f64, fast: f64| Range { low: low * fast, value: value * slow, high: high * slow };
    match (&from, to) {
        (a, b) if a == b => Some(times(factor, factor)),
        (Scale::Cycles, Scale::Time) => {
            let (slow, fast) = figure.hertz?;
            Some(times(1e9 / slow, 1e9 / fast))
        }
        (Scale::Time, Scale::Cycles) => {
            let (slow, fast) = figure.hertz?;
            Some(times(factor * fast / 1e9, factor * slow / 1e9))
        }
        // `3 instructions` and a bare 3 are the same; cycles, bytes and times need their unit.
        (Scale::Other(_), Scale::Plain) => Some(times(1.0, 1.0)),
        _ => None,
    }
}

fn mismatch(figure: &Figure, to: &Scale, limits: &Limits) -> Reason {
    let unit = figure.quantity.unit().clone();
    let limit = limits.most.as_ref().or(limits.least.as_ref());
    let limit = limit.map_or_else(String::new, |limit| limit.text.clone());
    match (Scale::of(&unit).0, to) {
        (Scale::Cycles, Scale::Time) | (Scale::Time, Scale::Cycles) => {
            Reason::NoClock { unit, limit }
        }
        _ => Reason::OtherUnit { unit, limit },
    }
}

/// Where a limit lies: between these two, where a baseline is not exact.
fn bound(
    limit: &Limit,
    figure: &Figure,
    scale: &Scale,
    stored: Option<&Stored>,
) -> Result<(f64, f64, bool), Reason> {
    if !limit.relative {
        if limit.scale != *scale {
            return Err(Reason::MixedUnits(limit.text.clone()));
        }
        return Ok((limit.value, limit.value, false));
    }
    let Some(stored) = stored else { return Err(Reason::NothingStored(limit.text.clone())) };
    let unit = figure.quantity.unit();
    if stored.unit != *unit {
        return Err(Reason::OtherBaselineUnit { stored: stored.unit.clone(), unit: unit.clone() });
    }
    let quantity = |x: f64| Quantity::exact(x, stored.unit.clone());
    let at = |x: f64| {
        let figure = Figure { quantity: quantity(x), hertz: figure.hertz };
        converted(&figure, scale).map(|range| range.value)
    };
    let moved = |x: f64| match limit.scale {
        Scale::Percent if *scale != Scale::Percent => x + x.abs() * limit.value / 100.0,
        _ => x + limit.value,
    };
    let (low, high) = stored.interval.unwrap_or((stored.value, stored.value));
    match (at(low), at(high)) {
        (Some(low), Some(high)) => Ok((moved(low), moved(high), true)),
        _ => Err(Reason::Unconvertible),
    }
}

fn apply(judged: &mut Judged, range: Range, bound: (f64, f64, bool), is_most: bool, likely: bool) {
    let (mut near, mut far, relative) = bound;
    let middle = f64::midpoint(near, far);
    let mut range = range;
    let trust = judged.value.as_ref().map_or(&Trust::Exact, Quantity::trust);
    let shared = relative && !matches!(trust, Trust::Sampled { .. } | Trust::Resolution { .. });
    let openness = openness(trust);
    let one_sided = range.low.is_infinite() || range.high.is_infinite();
    if likely || (shared && !one_sided) {
        range = Range { low: range.value, high: range.value, ..range };
    }
    if likely {
        (near, far) = (middle, middle);
    }
    let (holds, fails, margin) = if is_most {
        judged.most = Some(middle);
        (range.high <= near, range.low > far, middle - range.value)
    } else {
        judged.least = Some(middle);
        (range.low >= far, range.high < near, range.value - middle)
    };
    judged.margin = Some(judged.margin.map_or(margin, |other| other.min(margin)));
    if holds {
        return;
    }
    let verdict = if fails { Verdict::Exceeded } else { Verdict::Undecided };
    judged.verdict = judged.verdict.max(verdict);
    if !fails {
        judged.reason = Some(Reason::Undecided(openness));
    }
}

fn openness(trust: &Trust) -> Openness {
    match trust {
        Trust::Sampled { .. } => Openness::Samples,
        Trust::AtLeast => Openness::LowerBound,
        Trust::AtMost => Openness::UpperBound,
        Trust::Resolution { .. } => Openness::Resolution,
        _ => Openness::Bounds,
    }
}

/// The figure on the scale of its limits.
fn shown(quantity: &Quantity, range: Range, scale: &Scale) -> Quantity {
    if Scale::of(quantity.unit()) == (scale.clone(), 1.0) {
        return quantity.clone();
    }
    let (low, high) = (range.low.into(), range.high.into());
    let trust = match quantity.trust() {
        Trust::Sampled { n, .. } => Trust::Sampled { n: *n, low, high },
        Trust::Resolution { .. } => Trust::Resolution { low, high },
        Trust::AtLeast => Trust::AtLeast,
        Trust::AtMost => Trust::AtMost,
        Trust::Modelled { why, .. } => Trust::Modelled { low, high, why: why.clone() },
        _ if range.low == range.high => Trust::Exact,
        _ => Trust::Modelled { low, high, why: Some("the core clock changed".to_owned()) },
    };
    let wrong = |e| Quantity::unknown(scale.unit(), format!("{e}"));
    Quantity::new(Some(range.value.into()), scale.unit(), trust).unwrap_or_else(wrong)
}
