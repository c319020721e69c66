//! What an experiment's description expects of counts, which no load moves.

use super::Step;
use crate::file::Expect;
use crate::host::Counted;
use crate::judge::judge;
use crate::samples::{Metric, Round};

/// A count of a variant at a value of the sweep: instructions that repeat, or a constant counter.
fn count(step: &Step, variant: usize, counter: &str) -> Option<u64> {
    if counter == "instructions" {
        return match step.counted.get(variant)?.as_slice() {
            [Counted::Instructions(a), Counted::Instructions(b)] => Some(*a.min(b)),
            _ => None,
        };
    }
    let judgement = judge(&step.variants, &step.rounds, &step.settings);
    let (_, counts) = judgement.exact.iter().find(|(metric, _)| metric.name() == counter)?;
    counts.get(variant).copied().flatten()
}

/// Whether an expectation holds; instructions that nobody could count contradict nothing.
pub(super) fn holds(expect: &Expect, steps: &[Step]) -> Result<(), String> {
    let Some(step) = steps.iter().find(|step| expect.at.is_none() || step.at == expect.at) else {
        return Ok(());
    };
    let Expect { variant, counter, .. } = expect;
    let is_counted = counter != "instructions" || step.counted.iter().all(|c| c.len() == 2);
    if !is_counted || step.counted.is_empty() && counter == "instructions" {
        return Ok(());
    }
    let at = |name: &str| step.variants.iter().position(|known| known.name == *name);
    let Some(own) = at(variant) else { return Ok(()) };
    if let Some(wanted) = expect.exactly {
        match count(step, own, counter) {
            Some(count) if count == wanted => {}
            Some(count) => {
                return Err(format!(
                    "{counter} of {variant} is {count}, and was expected to be {wanted}"
                ));
            }
            None => {
                return Err(format!(
                    "expected a constant {counter} of {variant}, which it has not"
                ));
            }
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

/// Compares constant counts; of what differs from run to run, every round must agree.
fn compare(
    step: &Step,
    (name, own): (&str, usize),
    (other_name, other): (&str, usize),
    counter: &str,
    is_more: bool,
) -> Result<(), String> {
    let word = if is_more { "more" } else { "less" };
    let is_met = |own: u64, theirs: u64| if is_more { own > theirs } else { own < theirs };
    if let (Some(count), Some(theirs)) = (count(step, own, counter), count(step, other, counter)) {
        let why = format!(
            "{counter} of {name} is {count}, expected to be {word} than {theirs} of {other_name}"
        );
        return if is_met(count, theirs) { Ok(()) } else { Err(why) };
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
            return Err(format!(
                "{counter} of {name} was expected to be {word} than that of {other_name} in every \
                 round; in round {} it is {own} against {theirs}",
                round.number + 1
            ));
        }
    }
    match pairs {
        0 => Err(format!("no round has {counter} of both {name} and {other_name}")),
        _ => Ok(()),
    }
}
