//! What the kernel and the processor counted: medians beside the share of time in which each event
//! had a counter, and what the machine refuses.

use std::collections::BTreeMap;

use strobe_analyse::statistics::{median, median_ranks};
use strobe_model::measurement::{
    Cell, Column, Content, Finding, Number, Section, Severity, Table, Trust, Unit,
};

use crate::host::{Event, EventCount};
use crate::judge::Judgement;
use crate::measurement::{Parts, section, values};
use crate::samples::Metric;

/// Variants with the medians of their events; `None` where none was asked for.
pub fn table(parts: &Parts, judgement: &Judgement) -> Option<Section> {
    let events = &parts.settings.events;
    if events.is_empty() {
        return None;
    }
    let refused = refused(parts);
    let mut table = Table::new(vec![Column::text("variant", "variant")]);
    for event in events {
        let title = event.name().trim_start_matches("perf-");
        table.columns.push(Column::figure(event.name(), title, event.unit()));
    }
    table.columns.push(Column::figure("counted", "time counted", Unit::PERCENT));
    for (n, variant) in parts.variants.iter().enumerate() {
        let mut cells = vec![Cell::from(variant.name.as_str())];
        for event in events {
            let metric = Metric::Event(*event);
            let values = values(parts, judgement.warm_up, n, &metric);
            let why = refused.get(event).map_or("no run of it counts", |why| why.as_str());
            cells.push(figure(values, why));
        }
        cells.push(share(parts, n));
        for (column, cell) in table.columns.iter_mut().zip(cells) {
            column.cells.push(cell);
        }
    }
    let mut notes = vec![
        "Medians of the runs that count, of a command with all its descendants, with 95 % \
         intervals; of fewer than six runs with their range.",
        "Time counted: the least share of a run in which an event had a counter. Below 100 % \
         counts are scaled by it.",
    ];
    if counted(parts).any(|count| matches!(count, EventCount::Counted { without_kernel: true, .. }))
    {
        notes.push("What happened inside the kernel is not in them: users may not count it here.");
    }
    let title = "counted by kernel and processor (perf_event_open)";
    Some(section("events", title, &notes, Content::Table(table)))
}

fn counted<'a>(parts: &'a Parts) -> impl Iterator<Item = &'a EventCount> {
    let samples = parts.rounds.iter().flat_map(|round| round.samples.iter().flatten());
    samples.flat_map(|sample| sample.outcome.events.values())
}

/// The median with its interval, or why there is none.
fn figure(mut values: Vec<u64>, why: &str) -> Cell {
    let reals: Vec<f64> = values.iter().map(|value| *value as f64).collect();
    let Some(middle) = median(&reals) else {
        return Cell::Figure { value: None, trust: Trust::Unknown { why: why.to_owned() } };
    };
    values.sort_unstable();
    let (first, last) = (values[0], values[values.len() - 1]);
    if first == last {
        return Cell::from(first);
    }
    // So few that no two of them enclose the median with 95 %: all that is known is their range.
    let whole = (0, values.len() - 1);
    let (low, high) = median_ranks(values.len(), 0.95).unwrap_or(whole);
    let at = |rank: usize, other: u64| values.get(rank).copied().unwrap_or(other);
    let trust = Trust::Sampled {
        n: values.len() as u64,
        low: at(low, first).into(),
        high: at(high, last).into(),
    };
    Cell::Figure { value: Some(Number::from(middle)), trust }
}

/// The least share of time in which an event of a variant was counted.
fn share(parts: &Parts, variant: usize) -> Cell {
    let samples = parts.rounds.iter().filter_map(|round| round.samples.get(variant)?.as_ref());
    let counts = samples.flat_map(|sample| sample.outcome.events.values());
    match counts.filter_map(EventCount::share).reduce(f64::min) {
        Some(share) => Cell::from(share),
        None => {
            let why = "nothing was counted".to_owned();
            Cell::Figure { value: None, trust: Trust::Unknown { why } }
        }
    }
}

/// Events that the machine does not count, with the reason.
fn refused(parts: &Parts) -> BTreeMap<Event, String> {
    let samples = parts.rounds.iter().flat_map(|round| round.samples.iter().flatten());
    let mut refused = BTreeMap::new();
    for (event, count) in samples.flat_map(|sample| &sample.outcome.events) {
        if let EventCount::Refused(why) = count {
            refused.entry(*event).or_insert_with(|| why.clone());
        }
    }
    refused
}

/// What the machine refuses: each reason once, with all events that it is the reason for.
pub fn findings(parts: &Parts, out: &mut Vec<Finding>) {
    let mut by_reason: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (event, why) in refused(parts) {
        by_reason.entry(why).or_default().push(event.name());
    }
    for (why, names) in by_reason {
        let text = format!("not counted, so not known: {}: {why}", names.join(", "));
        out.push(Finding::new(Severity::Note, "no-events", text));
    }
}
