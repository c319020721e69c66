//! Distributions: latencies and runs of interrupts and threads, widths on pins, times between
//! marks.

use crate::simulated::run_record::{RunRecord, Series};
use strobe_model::measurement::{Content, Distribution, Distributions, Section, Spread, Unit, ids};

use super::{Model, section};

/// The core clock, if it was the same from a cycle on.
pub(super) fn hertz_since(record: &RunRecord, cycle: u64) -> Option<u64> {
    let last = record.subject.clock.last()?;
    (last.cycle <= cycle).then_some(u64::from(last.hz))
}

fn distributions(
    (record, model): (&RunRecord, &Model),
    (id, title): (&str, &str),
    spreads: impl Iterator<Item = (String, Spread)>,
) -> Option<Section> {
    let one = |(name, spread): (String, Spread)| Distribution {
        hertz: hertz_since(record, record.window.begin.cycle),
        why: model.why.clone(),
        ..Distribution::exact(name, Unit::CYCLES, spread)
    };
    let present = spreads.filter(|(_, spread)| spread.count() > 0);
    let distributions: Vec<Distribution> = present.map(one).collect();
    let content = Content::Distributions(Distributions { distributions });
    match &content {
        Content::Distributions(all) if all.distributions.is_empty() => None,
        _ => Some(section(id, title, content)),
    }
}

/// From pending to the first instruction, by interrupt.
pub(super) fn latencies(record: &RunRecord, model: &Model) -> Option<Section> {
    let title = "interrupt latency: cycles from pending to the handler's first instruction";
    let all = record.exceptions.iter().map(|e| (e.name.clone(), e.latencies.clone()));
    distributions((record, model), ("latencies", title), all)
}

/// From wake-up to run, by thread.
pub(super) fn wake_ups(record: &RunRecord, model: &Model) -> Option<Section> {
    let title = "wake-up to run: cycles from what woke a thread up to its first instruction";
    let threads = record.scheduling.iter().flat_map(|scheduling| &scheduling.threads);
    let all = threads.map(|thread| (thread.name.clone(), thread.wake.spread.clone()));
    distributions((record, model), ("wake-ups", title), all)
}

/// Runs of threads and handlers.
pub(super) fn durations(record: &RunRecord, model: &Model) -> Option<Section> {
    let title = "runs: cycles of threads from taking over to the next thread's, and of handlers \
                 with entry and exit; sleep counts, handlers in between do not";
    let threads = record.scheduling.iter().flat_map(|scheduling| &scheduling.threads);
    let threads = threads.map(|t| (format!("thread {}", t.name), t.durations.clone()));
    let handlers = record.exceptions.iter();
    let handlers = handlers.map(|e| (format!("handler {}", e.name), e.durations.clone()));
    let mut section =
        distributions((record, model), ("durations", title), threads.chain(handlers))?;
    section.notes.push("Runs under way at the end count as far as they got.".to_owned());
    Some(section)
}

/// Widths on marked pins and times between arrivals at marked symbols.
pub(super) fn pins(record: &RunRecord, model: &Model) -> Option<Section> {
    if record.series.is_empty() {
        return None;
    }
    let distributions = record.series.iter().map(|series| pin(record, series, model)).collect();
    let content = Content::Distributions(Distributions { distributions });
    let mut section = section(ids::section::PINS, "pins and marks", content);
    let short = record.series.iter().filter(|series| series.count > series.values.len() as u64);
    section.notes.extend(short.map(|series| {
        let (kept, count) = (series.values.len(), series.count);
        let name = &series.name;
        format!(
            "{name}: figures are of the first {kept} of {count} values; the others were not kept."
        )
    }));
    Some(section)
}

fn pin(record: &RunRecord, series: &Series, model: &Model) -> Distribution {
    let is_cycles = series.unit == Unit::CYCLES.0;
    let unit = if is_cycles { Unit::CYCLES } else { Unit::other(&series.unit) };
    let spread = series.values.iter().copied().collect();
    let mut out = Distribution::exact(&series.name, unit, spread);
    out.why = model.why_of_waits();
    out.hertz = hertz_since(record, series.since_cycle).filter(|_| is_cycles);
    out.values = series.values.clone();
    out
}
