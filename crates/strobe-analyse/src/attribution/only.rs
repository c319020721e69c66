//! The part of a profile that belongs to some labels: as if nobody else had been measured.

use strobe_model::measurement::{Profile, Samples, Values};

/// The labels that a name means: a thread's, with or without the parentheses or the address that it
/// was given; a handler's or any other's, or a word of it.
pub fn named(profile: &Profile, name: &str) -> Vec<u32> {
    let labels = || (0u32..).zip(&profile.labels);
    let threads = labels().filter(|(_, l)| l.key == "thread" && is_called(&l.value, name));
    let threads: Vec<u32> = threads.map(|(at, _)| at).collect();
    if !threads.is_empty() {
        return threads;
    }
    let words = |label: &str| {
        let mut words = label.split([' ', '(', ')', '/']).filter(|word| !word.is_empty());
        label.eq_ignore_ascii_case(name) || words.any(|word| word.eq_ignore_ascii_case(name))
    };
    labels().filter(|(_, l)| l.key != "thread" && words(&l.value)).map(|(at, _)| at).collect()
}

/// `(idle_stack)` is also called `idle_stack`, `worker at 0x20000100 #2` also `worker`.
fn is_called(full: &str, name: &str) -> bool {
    let plain = full.trim_start_matches('(').trim_end_matches(')');
    let before_address = full.split(" at 0x").next().unwrap_or(full);
    [full, plain, before_address].contains(&name)
}

/// The samples whose label is wanted; `None` is that of samples without one. Where locations have
/// no labels and call chains do, only the chains stay.
#[must_use]
pub fn only(profile: &Profile, wanted: impl Fn(Option<u32>) -> bool) -> Profile {
    let mut part = profile.clone();
    let unlabelled = profile.leaves.label.is_empty() && !profile.chains.label.is_empty();
    part.leaves = if unlabelled { Samples::default() } else { samples(&profile.leaves, &wanted) };
    part.chains = samples(&profile.chains, &wanted);
    // Nobody knows whose calls they were.
    part.merged_calls = 0;
    part
}

fn samples(all: &Samples, wanted: impl Fn(Option<u32>) -> bool) -> Samples {
    let kept: Vec<usize> = (0..all.len()).filter(|i| wanted(all.label(*i))).collect();
    let numbers =
        |column: &[i64]| kept.iter().filter_map(|i| column.get(*i).copied()).collect::<Vec<_>>();
    let values = |values: &Values| Values {
        measure: values.measure.clone(),
        values: numbers(&values.values),
        low: numbers(&values.low),
        high: numbers(&values.high),
    };
    Samples {
        at: kept.iter().map(|i| all.at[*i]).collect(),
        label: kept.iter().filter_map(|i| all.label.get(*i).copied()).collect(),
        values: all.values.iter().map(values).collect(),
    }
}
