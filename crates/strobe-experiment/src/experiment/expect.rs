//! What an experiment's description expects of counts, which no load moves.

use super::Step;
use crate::file::Expect;
use crate::host::Count;
use crate::judge::judge;
use crate::samples::{Metric, Round};

/// What Valgrind was to count under that name, unless variants print it themselves.
fn valgrinds(step: &Step, counter: &str) -> Option<Count> {
    let is_own = step.settings.counters.iter().any(|own| own == counter);
    Count::all().find(|count| count.name() == counter && !is_own)
}

/// A count of a variant at a value of the sweep: Valgrind's least of two, or a constant counter.
fn count(step: &Step, variant: usize, counter: &str) -> Option<u64> {
    if let Some(count) = valgrinds(step, counter) {
        return match step.counted.get(variant)?.as_slice() {
            [a, b] => Some(*a.counts.get(&count)?.min(b.counts.get(&count)?)),
            _ => None,
        };
    }
    let judgement = judge(&step.variants, &step.rounds, &step.settings);
    let (_, counts) = judgement.exact.iter().find(|(metric, _)| metric.name() == counter)?;
    counts.get(variant).copied().flatten()
}

/// An expectation that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ExpectError {
    /// Another count than the expected one.
    #[error("{counter} of {variant} is {count}, and was expected to be {wanted}")]
    Count { counter: String, variant: String, count: u64, wanted: u64 },
    /// A count that differs from run to run.
    #[error("expected a constant {counter} of {variant}, which it has not")]
    NotConstant { counter: String, variant: String },
    /// Constant counts in the reverse order.
    #[error(
        "{counter} of {variant} is {count}, expected to be {relation} than {theirs} of {other}"
    )]
    Order {
        counter: String,
        variant: String,
        count: u64,
        relation: &'static str,
        theirs: u64,
        other: String,
    },
    /// Counts of one round in the reverse order.
    #[error(
        "{counter} of {variant} was expected to be {relation} than that of {other} in every \
         round; in round {round} it is {own} against {theirs}"
    )]
    Round {
        counter: String,
        variant: String,
        relation: &'static str,
        other: String,
        round: u64,
        own: u64,
        theirs: u64,
    },
    /// No round with both counts.
    #[error("no round has {counter} of both {variant} and {other}")]
    NoRounds { counter: String, variant: String, other: String },
}

/// Whether an expectation holds; what Valgrind could not count contradicts nothing.
pub(super) fn holds(expect: &Expect, steps: &[Step]) -> Result<(), ExpectError> {
    let Some(step) = steps.iter().find(|step| expect.at.is_none() || step.at == expect.at) else {
        return Ok(());
    };
    let Expect { variant, counter, .. } = expect;
    if let Some(count) = valgrinds(step, counter) {
        let has = |runs: &Vec<_>| runs.iter().filter(|one| has_counted(one, count)).count() == 2;
        if step.counted.is_empty() || !step.counted.iter().all(has) {
            return Ok(());
        }
    }
    let at = |name: &str| step.variants.iter().position(|known| known.name == *name);
    let Some(own) = at(variant) else { return Ok(()) };
    if let Some(wanted) = expect.exactly {
        let (variant, counter) = (variant.clone(), counter.clone());
        match count(step, own, &counter) {
            Some(count) if count == wanted => {}
            Some(count) => return Err(ExpectError::Count { counter, variant, count, wanted }),
            None => return Err(ExpectError::NotConstant { counter, variant }),
        }
    }
    for (other, is_more) in [(&expect.more_than, true), (&expect.less_than, false)] {
        let Some((name, other)) = other.as_ref().and_then(|name| Some((name, at(name)?))) else {
            continue;
        };
        compare(step, (variant, own), (name, other), counter, is_more)?;
    }
    Ok(())
}

fn has_counted(one: &crate::host::Counted, count: Count) -> bool {
    one.counts.contains_key(&count)
}

/// Compares constant counts; of what differs from run to run, every round must agree.
fn compare(
    step: &Step,
    (name, own): (&str, usize),
    (other_name, other): (&str, usize),
    counter: &str,
    is_more: bool,
) -> Result<(), ExpectError> {
    let relation = if is_more { "more" } else { "less" };
    let (variant, other_variant) = (name.to_owned(), other_name.to_owned());
    let is_met = |own: u64, theirs: u64| if is_more { own > theirs } else { own < theirs };
    if let (Some(count), Some(theirs)) = (count(step, own, counter), count(step, other, counter)) {
        if is_met(count, theirs) {
            return Ok(());
        }
        let counter = counter.to_owned();
        let other = other_variant;
        return Err(ExpectError::Order { counter, variant, count, relation, theirs, other });
    }
    let metric = Metric::named(counter);
    let value = |round: &Round, variant: usize| {
        let sample = round.samples.get(variant)?.as_ref()?;
        metric.of(sample).filter(|_| sample.failure().is_none())
    };
    let mut pairs = 0;
    for round in &step.rounds {
        let (Some(own), Some(theirs)) = (value(round, own), value(round, other)) else { continue };
        pairs += 1;
        if !is_met(own, theirs) {
            return Err(ExpectError::Round {
                counter: counter.to_owned(),
                variant,
                relation,
                other: other_variant,
                round: round.number + 1,
                own,
                theirs,
            });
        }
    }
    match pairs {
        0 => {
            let counter = counter.to_owned();
            Err(ExpectError::NoRounds { counter, variant, other: other_variant })
        }
        _ => Ok(()),
    }
}
