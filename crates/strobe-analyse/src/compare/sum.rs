//! A sum of a measure's values with what it is at least and at most.

use strobe_model::measurement::{Kind, Samples, Trust};

use super::difference::Figure;
use crate::statistics::wilson;

/// A sum with what it is at least and at most.
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

    pub(super) fn less(self, n: i64) -> Sum {
        let [value, low, high] = [self.value, self.low, self.high].map(|x| x.saturating_sub(n));
        Sum { value, low, high }
    }

    /// As a figure of a measure with so much in all.
    pub(super) fn figure(self, kind: &Kind, all: i64) -> Figure {
        let value = Some(self.value.into());
        let trust = match kind {
            Kind::Exact => Trust::Exact,
            Kind::AtLeast => Trust::AtLeast,
            Kind::Modelled { .. } if self.low == self.high => Trust::Exact,
            Kind::Modelled { why } => {
                let (low, high) = (self.low.min(self.value), self.high.max(self.value));
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

    /// A measure's value of a sample without what is idle, and what is idle.
    pub(super) fn of(
        samples: &Samples,
        measure: &str,
        idle: &[&str],
        sample: usize,
    ) -> Option<(Sum, i64)> {
        let values = samples.of(measure)?;
        let value = *values.values.get(sample)?;
        let (low, high) = values.bounds(sample).unwrap_or((value, value));
        let of = |id: &&str| samples.of(id).and_then(|values| values.values.get(sample).copied());
        let idle = idle.iter().filter_map(of).fold(0i64, i64::saturating_add);
        Some((Sum { value, low, high }.less(idle), idle))
    }
}
