//! A sum of a measure's values with what it is at least and at most.

use strobe_model::measurement::{Kind, Measure, Measurement, Profile, Samples, Trust, Values};

use super::difference::Figure;
use crate::attribution::is_unbounded;
use crate::bands::{self, Band};
use crate::statistics::wilson;

/// A sum with its ends, which are added up each by itself
/// ([`Amount`](crate::attribution::Amount)).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) value: i64,
    pub(super) low: i64,
    pub(super) high: i64,
}

impl Sum {
    pub(super) fn add(&mut self, other: Sum) {
        self.value = self.value.saturating_add(other.value);
        self.low = self.low.saturating_add(other.low);
        self.high = self.high.saturating_add(other.high);
    }

    pub(super) fn less(self, part: Sum) -> Sum {
        Sum {
            value: self.value.saturating_sub(part.value),
            low: self.low.saturating_sub(part.low),
            high: self.high.saturating_sub(part.high),
        }
    }

    /// With what a timing model may be off, except of what is idle. Its ends are in order then: it
    /// is no part of another sum.
    pub(super) fn widened(self, idle: Sum, band: &Band) -> Sum {
        let (low, high) = band.ends(self.bounds(), self.less(idle).bounds().1);
        Sum { low, high, ..self }
    }

    /// The same of all of a measure: what of that is work, a headline figure knows better.
    pub(super) fn whole(self, idle: Sum, band: &Band, (of, all): (&Measurement, &Measure)) -> Sum {
        match bands::ends_of_total(of, all, self.value) {
            Some((low, high)) => Sum { low, high, ..self },
            None => self.widened(idle, band),
        }
    }

    /// The least and the most of the three.
    fn bounds(self) -> (i64, i64) {
        let Sum { value, low, high } = self;
        (value.min(low).min(high), value.max(low).max(high))
    }

    /// Whether the ends meet.
    pub(super) fn is_exact(self) -> bool {
        [self.low, self.high] == [self.value; 2]
    }

    /// As a figure of a measure with so much in all.
    pub(super) fn figure(self, kind: &Kind, all: i64) -> Figure {
        let value = Some(self.value.into());
        let trust = match kind {
            Kind::Exact => Trust::Exact,
            Kind::AtLeast => Trust::AtLeast,
            Kind::Modelled { .. } if self.is_exact() => Trust::Exact,
            Kind::Modelled { why } => {
                let (low, high) = self.bounds();
                Trust::Modelled { low: low.into(), high: high.into(), why: Some(why.clone()) }
            }
            Kind::Sampled { .. } => {
                let n = u64::try_from(all).unwrap_or(0);
                let (low, high) = wilson(n, u64::try_from(self.value).unwrap_or(0));
                // The ends are shares of all samples.
                let end = |share: f64| share * n as f64;
                let (low, high) =
                    (end(low).min(self.value as f64), end(high).max(self.value as f64));
                Trust::Sampled { n, low: low.into(), high: high.into() }
            }
        };
        Figure { value, trust }
    }

    /// No further open than the measure's own total, where there is one of the same value, leaves
    /// it: what one place has more in a model, another one, which waits, has less.
    pub(super) fn within_total(self, of: &Measurement, measure: &Measure) -> Sum {
        match bands::ends_of_total(of, measure, self.value) {
            Some((least, most)) if least <= self.value && self.value <= most => {
                Sum { low: self.low.clamp(least, most), high: self.high.clamp(least, most), ..self }
            }
            _ => self,
        }
    }

    /// As all of a measure of a profile.
    pub(super) fn all_of(self, profile: &Profile, measure: &Measure) -> Figure {
        if self.value != 0 && is_unbounded(profile, measure) {
            let value = self.value.into();
            let why = match &measure.kind {
                Kind::Modelled { why } => Some(why.clone()),
                _ => None,
            };
            return Figure::about(value, why);
        }
        self.figure(&measure.kind, self.value)
    }

    /// As how often something happened, by the measure that counts it.
    pub(super) fn times(self, profile: &Profile, measure: &str) -> Figure {
        match profile.measure(measure) {
            Some(measure) if matches!(measure.kind, Kind::Modelled { .. }) => {
                self.all_of(profile, measure)
            }
            _ => Figure::exact(self.value),
        }
    }

    /// A measure's value of a sample.
    pub(super) fn of_sample(values: &Values, sample: usize) -> Option<Sum> {
        let value = *values.values.get(sample)?;
        let (low, high) = values.ends(sample).unwrap_or((value, value));
        Some(Sum { value, low, high })
    }

    /// A measure's value of a sample without what is idle, and what is idle.
    pub(super) fn of(
        samples: &Samples,
        measure: &str,
        idle: &[&str],
        sample: usize,
    ) -> Option<(Sum, Sum)> {
        let all = Sum::of_sample(samples.of(measure)?, sample)?;
        let mut waited = Sum::default();
        for values in idle.iter().filter_map(|id| samples.of(id)) {
            waited.add(Sum::of_sample(values, sample).unwrap_or_default());
        }
        Some((all.less(waited), waited))
    }
}
