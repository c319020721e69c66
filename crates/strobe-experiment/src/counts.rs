//! What Valgrind counted, as rows of the table of exact counts.

use strobe_model::measurement::{Cell, Finding, Number, Severity, Trust};

use crate::host::Count;
use crate::measurement::Parts;

/// Rows of what was counted of any variant.
pub(crate) fn rows(parts: &Parts) -> Vec<(String, Vec<Cell>)> {
    let cells = |count: Count| -> Vec<Cell> {
        (0..parts.variants.len()).map(|variant| cell(parts, variant, count)).collect()
    };
    let rows = Count::all().map(|count| (title(count), cells(count)));
    rows.filter(|(_, cells)| cells.iter().any(|cell| cell.number().is_some())).collect()
}

fn title(count: Count) -> String {
    let by = match count {
        Count::Mispredictions => "valgrind's model, not to be trusted",
        _ => "valgrind",
    };
    format!("{} ({by})", count.name())
}

/// A count of a variant, with both where they do not agree.
fn cell(parts: &Parts, variant: usize, count: Count) -> Cell {
    let runs = parts.counted.get(variant).into_iter().flatten();
    let counted: Vec<u64> = runs.filter_map(|run| run.counts.get(&count).copied()).collect();
    let (Some(&low), Some(&high)) = (counted.iter().min(), counted.iter().max()) else {
        let mut runs = parts.counted.get(variant).into_iter().flatten();
        let Some(why) = runs.find_map(|run| run.missing.clone()) else { return Cell::Empty };
        return Cell::Figure { value: None, trust: Trust::Unknown { why } };
    };
    if low == high {
        return Cell::from(low);
    }
    let trust = Trust::Resolution { low: low.into(), high: high.into() };
    Cell::Figure { value: Some(Number::from(low)), trust }
}

/// What must be known of the models to read their counts.
pub(crate) fn notes(parts: &Parts) -> impl Iterator<Item = &'static str> {
    let has = |counts: &'static [Count]| {
        let mut runs = parts.counted.iter().flatten();
        runs.any(|run| counts.iter().any(|count| run.counts.contains_key(count)))
    };
    let caches = "Valgrind's caches are a model, the same on every machine: 32 KiB in 8 ways for \
        instructions and for data, 8 MiB in 16 ways behind them, lines of 64 bytes, nothing \
        fetched ahead. perf-cache-misses are the processor's own.";
    let branches = "Valgrind's predictor is a model of an old small one: no conclusion can be \
        drawn from its mispredictions. perf-branch-misses are the processor's own.";
    let caches = has(&Count::CACHE).then_some(caches);
    caches.into_iter().chain(has(&Count::BRANCHES).then_some(branches))
}

/// What was not counted, the first reason.
pub(crate) fn findings(parts: &Parts, out: &mut Vec<Finding>) {
    let mut runs = parts.counted.iter().zip(parts.variants);
    let why = runs.find_map(|(runs, variant)| {
        runs.iter().find_map(|run| Some((variant.name.as_str(), run.missing.as_ref()?)))
    });
    if let Some((variant, why)) = why {
        let text = format!("valgrind's counts of {variant} are not whole: {why}");
        out.push(Finding::new(Severity::Note, "not-counted", text));
    }
}
