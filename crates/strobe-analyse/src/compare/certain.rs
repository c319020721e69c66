//! Whether a difference is more than chance: exact figures differ or do not, models by their
//! bounds, samples and repeated runs by a test that knows how many rows it is asked about.

use std::collections::BTreeMap;

use strobe_model::measurement::{Cell, Content, Measure, Measurement, Trust};

use super::comparison::Note;
use super::difference::Figure;
use super::found::{FunctionChange, FunctionChanges, Nameless};
use super::groups::Side;
use crate::statistics::counts::{self, Shares};
use crate::statistics::repeated::{Runs, welch};

/// False alarms that are put up with, among all alarms.
pub const RATE: f64 = 0.05;

/// Whether a difference is more than chance.
#[derive(Debug, Clone, PartialEq)]
pub enum Certainty {
    /// Both are the same.
    Equal,
    /// They differ, by counting.
    Yes,
    /// They differ, by a test: the corrected chance of a false alarm.
    Test(f64),
    /// Undecided.
    Undecided(Doubt),
}

/// Why a difference is undecided, and what would help.
#[derive(Debug, Clone, PartialEq)]
pub enum Doubt {
    /// It is within the bounds of both.
    Bounds,
    /// The figure is not known of both sides.
    UnknownFigure,
    /// A difference as large would show with so many times as many samples.
    NeedsSamples(f64),
    /// No number of samples is in sight that would show a difference.
    NoDifference,
    /// A side has one run.
    OneRun,
    /// The runs of a side vary as much.
    RunsVary,
    /// The timing models of the sides may be off by as much.
    TimingModels,
    /// Functions have no names.
    NoNames(Nameless),
}

impl Certainty {
    /// Of figures that no test is needed for.
    pub(super) fn of_figures([a, b]: &[Figure; 2], one_model: bool) -> Certainty {
        let difference = a.more(b, one_model);
        let Some(value) = difference.value.map(strobe_model::measurement::Number::as_f64) else {
            return Certainty::Undecided(Doubt::UnknownFigure);
        };
        match difference.trust.bounds() {
            Some((low, high)) if low.as_f64() <= 0.0 && high.as_f64() >= 0.0 => {
                Certainty::Undecided(Doubt::Bounds)
            }
            Some(_) => Certainty::Yes,
            None if value == 0.0 => Certainty::Equal,
            None => Certainty::Yes,
        }
    }

    /// Whether the two differ for certain.
    pub fn is_known(&self) -> bool {
        matches!(self, Certainty::Yes | Certainty::Test(_))
    }
}

/// Tests counts of samples, and works out how much more they vary than independent ones. What is
/// idle is a row like others.
pub(super) fn sampled(rows: &mut [FunctionChange], n: [u64; 2], idle: [i64; 2]) -> Option<f64> {
    let count = |n: i64| u64::try_from(n).unwrap_or(0);
    let mut pairs: Vec<[u64; 2]> = rows.iter().map(|row| row.own.map(count)).collect();
    pairs.push(idle.map(count));
    let inflation = counts::inflation(&pairs);
    let by = inflation.unwrap_or(1.0);
    let shares: Vec<Shares> = pairs.into_iter().map(|k| Shares { k, n }).collect();
    let chances: Vec<f64> = shares.iter().map(|shares| counts::chance(shares.z(by))).collect();
    let corrected = counts::corrected(&chances);
    for ((row, shares), chance) in rows.iter_mut().zip(shares).zip(corrected) {
        row.certain = match shares.more(by) {
            _ if chance < RATE => Certainty::Test(chance),
            Some(times) if times < 1000.0 => Certainty::Undecided(Doubt::NeedsSamples(times)),
            _ => Certainty::Undecided(Doubt::NoDifference),
        };
    }
    inflation
}

/// The difference of a row's shares, in percent of all samples, with its interval.
pub(super) fn share_cell(row: &FunctionChange, found: &FunctionChanges) -> Cell {
    let count = |n: i64| u64::try_from(n).unwrap_or(0);
    let shares = Shares { k: row.own.map(count), n: found.all.map(count) };
    let (low, high) = shares.interval(found.inflation.unwrap_or(1.0));
    let n = shares.n[0].saturating_add(shares.n[1]);
    let value = shares.difference() * 100.0;
    let (low, high) = ((low * 100.0).min(value), (high * 100.0).max(value));
    let trust = Trust::Sampled { n, low: low.into(), high: high.into() };
    Cell::Figure { value: Some(value.into()), trust }
}

/// Further runs of both sides.
#[derive(Default)]
pub(super) struct Repeated<'m> {
    /// All runs of A, the one that is shown included; empty where there is one.
    pub(super) a: Vec<&'m Measurement>,
    /// All runs of B.
    pub(super) b: Vec<&'m Measurement>,
}

impl Repeated<'_> {
    /// Whether there is more than one run of a side.
    pub(super) fn is_set(&self) -> bool {
        self.a.len() > 1 || self.b.len() > 1
    }
}

/// Tests functions on sets of runs: how they vary is seen and need not be assumed.
pub(super) fn repeated(
    rows: &mut [FunctionChange],
    sides: &[Side; 2],
    measure: &Measure,
    section: &str,
    runs: &Repeated,
) {
    if !runs.is_set() {
        return;
    }
    let is_sampled = matches!(sides[0].kind, strobe_model::measurement::Kind::Sampled { .. });
    let by_name = [&runs.a, &runs.b].map(|set| {
        set.iter().filter_map(|run| by_name(run, section, measure, is_sampled)).collect()
    });
    let by_name: [Vec<BTreeMap<String, f64>>; 2] = by_name;
    let mut tested: Vec<(usize, f64)> = Vec::new();
    for (at, row) in rows.iter_mut().enumerate() {
        let groups = [row.matched.a, row.matched.b];
        let values = [0, 1].map(|side| {
            let group = groups[side].map(|at| &sides[side].groups[at]);
            let of = |run: &BTreeMap<String, f64>| {
                group.and_then(|group| run.get(&group.name)).copied().unwrap_or(0.0)
            };
            Runs::of(&by_name[side].iter().map(of).collect::<Vec<_>>())
        });
        let [Some(a), Some(b)] = values else { continue };
        match welch(&a, &b) {
            Some(difference) if difference.chance == 0.0 => row.certain = Certainty::Yes,
            Some(_) if a.variance + b.variance == 0.0 => row.certain = Certainty::Equal,
            Some(difference) => tested.push((at, difference.chance)),
            None => row.certain = Certainty::Undecided(Doubt::OneRun),
        }
    }
    let chances: Vec<f64> = tested.iter().map(|(_, chance)| *chance).collect();
    for ((at, _), chance) in tested.iter().zip(counts::corrected(&chances)) {
        rows[*at].certain = match chance {
            chance if chance < RATE => Certainty::Test(chance),
            _ => Certainty::Undecided(Doubt::RunsVary),
        };
    }
}

/// What each function of a run has by itself, by name; as a share of all where samples are counted.
fn by_name(
    run: &Measurement,
    section: &str,
    measure: &Measure,
    as_share: bool,
) -> Option<BTreeMap<String, f64>> {
    let Content::Profile(profile) = &run.section(section)?.content else { return None };
    let side = Side::new(run, profile, measure, true, None);
    let all = if as_share { side.all.max(1) as f64 } else { 1.0 };
    let mut sums = BTreeMap::new();
    for group in &side.groups {
        *sums.entry(group.name.clone()).or_default() += group.own.value as f64 / all;
    }
    Some(sums)
}

/// How differences of samples, or of sets of runs, were tested.
pub(super) fn method(found: &FunctionChanges) -> Option<Note> {
    if found.is_set() {
        return Some(Note::RunTest { sampled: found.sampled });
    }
    found.sampled.then_some(Note::SampleTest { inflation: found.inflation })
}
