//! Where the values of a profile belong: rows that add up to all of them, the call tree, and the
//! part of some labels alone.
//!
//! Everything here is about one measure of the profile, the chosen one: its values with their
//! bounds, the part of them that is idle, its parts (cycles by cause), and beside it what other
//! measures have at the same place (executions, calls).

mod names;
mod only;
mod restrict;
mod rows;
#[cfg(test)]
mod tests;
mod tree;

use std::ops::AddAssign;

use strobe_model::measurement::{Kind, Measure, Measurement, Profile, Samples, Unit, Values};

pub use only::{named, only};
pub use restrict::restricted;
pub use rows::{By, Flat, Row, RowPlace, rows, total};
pub use tree::{Node, NodeSum, Place, Tree, tree};

use crate::bands;

/// A value with its ends; the three are the same where it is exact. They are added up each by
/// itself, because what one place has less another may have more: bounds are those of the sum
/// ([`Amount::ordered`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// What it is where what is not known takes the least.
    pub low: i64,
    /// The (likely) value.
    pub value: i64,
    /// What it is where what is not known takes the most.
    pub high: i64,
}

impl Amount {
    /// A value that is exact.
    pub fn exact(value: i64) -> Self {
        Amount { low: value, value, high: value }
    }

    /// The value of a sample.
    pub fn of(values: &Values, sample: usize) -> Self {
        let value = values.values.get(sample).copied().unwrap_or(0);
        let (low, high) = values.ends(sample).unwrap_or((value, value));
        Amount { low, value, high }
    }

    /// Whether the ends meet.
    pub fn is_exact(&self) -> bool {
        self.low == self.value && self.value == self.high
    }

    /// With the least and the most of the three as its ends.
    #[must_use]
    pub fn ordered(self) -> Self {
        let Amount { low, value, high } = self;
        Amount { low: low.min(high).min(value), value, high: high.max(low).max(value) }
    }

    /// Without a part of it.
    #[must_use]
    pub fn less(self, part: Amount) -> Self {
        // What the part leaves of a lower bound is not less than nothing.
        let rest = |n: i64, part: i64| n.saturating_sub(part).max(n.min(0));
        Amount {
            low: rest(self.low, part.low),
            value: rest(self.value, part.value),
            high: rest(self.high, part.high),
        }
    }
}

// Sums saturate: a file may hold any numbers, and none may panic.
impl AddAssign for Amount {
    fn add_assign(&mut self, other: Amount) {
        self.low = self.low.saturating_add(other.low);
        self.value = self.value.saturating_add(other.value);
        self.high = self.high.saturating_add(other.high);
    }
}

/// What a place has of the chosen measure and of the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums {
    /// The chosen measure.
    pub all: Amount,
    /// Of it, idle.
    pub idle: Amount,
    /// Its parts, in the order of [`Profile::parts`]; 0 for those that the samples do not know.
    pub parts: Vec<Amount>,
    /// Every measure of the profile, in their order; `None` for one that is not known here.
    pub others: Vec<Option<Amount>>,
}

impl Sums {
    /// The chosen measure without what is idle.
    pub fn busy(&self) -> Amount {
        self.all.less(self.idle)
    }

    /// Adds those of another place.
    pub fn add(&mut self, other: &Sums) {
        self.all += other.all;
        self.idle += other.idle;
        self.parts.resize(self.parts.len().max(other.parts.len()), Amount::default());
        self.parts.iter_mut().zip(&other.parts).for_each(|(sum, part)| *sum += *part);
        self.others.resize(self.others.len().max(other.others.len()), None);
        for (sum, value) in self.others.iter_mut().zip(&other.others) {
            add_known(sum, *value);
        }
    }
}

/// What is not idle of everything, no further open than the measure's own total leaves it: what one
/// place has more in a model, another one, which waits, has less. A total of something else bounds
/// nothing, nor does one of which the idle part has bounds that nobody knows.
pub fn busy_of_all(of: &Measurement, measure: &Measure, all: &Sums) -> Amount {
    let (busy, idle) = (all.busy().ordered(), all.idle.ordered());
    let is_open = !busy.is_exact() && (idle.value == 0 || !idle.is_exact());
    let ends = bands::ends_of_total(of, measure, all.all.value).filter(|_| is_open);
    let Some((low, high)) = ends else { return all.busy() };
    Amount {
        low: busy.low.max(low.saturating_sub(idle.high)).min(busy.value),
        value: busy.value,
        high: busy.high.min(high.saturating_sub(idle.low)).max(busy.value),
    }
}

/// Whether the bounds of a measure's sums are unknown: a model has a part in it and no sample of it
/// has ends. So are the figures of a run that no further runs bound, and the parts of cycles that
/// are open themselves. Parts of cycles that are the same in each model are not.
pub fn is_unbounded(profile: &Profile, measure: &Measure) -> bool {
    let part = measure.part.as_ref();
    let is_open = match &measure.kind {
        Kind::Modelled { .. } => true,
        // How long the core is idle depends on how long everything else took.
        Kind::Exact => part.is_some_and(|part| part.idle && is_open_measure(profile, &part.of)),
        Kind::Sampled { .. } | Kind::AtLeast => false,
    };
    let whole_is_open = part.is_none_or(|part| is_open_measure(profile, &part.of));
    let is_of_model = whole_is_open || measure.unit != Unit::CYCLES;
    is_open && is_of_model && !profile.has_ends(&measure.id)
}

/// Whether a measure is not the same in each model, with or without known ends.
fn is_open_measure(profile: &Profile, id: &str) -> bool {
    let is_modelled = |measure: &Measure| matches!(measure.kind, Kind::Modelled { .. });
    profile.has_ends(id) || profile.measure(id).is_some_and(is_modelled)
}

fn add_known(sum: &mut Option<Amount>, amount: Option<Amount>) {
    if let Some(amount) = amount {
        *sum.get_or_insert_default() += amount;
    }
}

/// The values of the chosen measure and those beside it in one set of samples.
struct Columns<'a> {
    all: &'a Values,
    /// Parts with whether they are idle.
    parts: Vec<(Option<&'a Values>, bool)>,
    others: Vec<Option<&'a Values>>,
}

impl<'a> Columns<'a> {
    /// `None` where the samples do not have the measure.
    fn of(profile: &'a Profile, measure: &'a str, samples: &'a Samples) -> Option<Self> {
        let all = samples.of(measure)?;
        let parts = profile.parts(measure).map(|(m, part)| (samples.of(&m.id), part.idle));
        let others = profile.measures.iter().map(|m| samples.of(&m.id));
        Some(Columns { all, parts: parts.collect(), others: others.collect() })
    }

    /// Nothing of every measure that is known.
    fn zero(&self) -> Sums {
        Sums {
            parts: vec![Amount::default(); self.parts.len()],
            others: self.others.iter().map(|values| values.map(|_| Amount::default())).collect(),
            ..Sums::default()
        }
    }

    /// Whether it is known what of the measure was idle.
    fn knows_idle(&self) -> bool {
        self.parts.iter().all(|(values, idle)| !idle || values.is_some())
    }

    /// Whether the samples know bounds of the measure.
    fn has_ends(&self) -> bool {
        !self.all.low.is_empty()
    }

    /// What a sample has of the idle parts.
    fn idle(&self, sample: usize) -> Amount {
        let mut sum = Amount::default();
        let idle = self.parts.iter().filter_map(|(values, idle)| values.filter(|_| *idle));
        idle.for_each(|values| sum += Amount::of(values, sample));
        sum
    }

    fn add(&self, sample: usize, sums: &mut Sums) {
        sums.all += Amount::of(self.all, sample);
        for (sum, (values, idle)) in sums.parts.iter_mut().zip(&self.parts) {
            let Some(values) = values else { continue };
            let amount = Amount::of(values, sample);
            *sum += amount;
            if *idle {
                sums.idle += amount;
            }
        }
        for (sum, values) in sums.others.iter_mut().zip(&self.others) {
            let known = values.filter(|values| sample < values.values.len());
            add_known(sum, known.map(|values| Amount::of(values, sample)));
        }
    }
}
