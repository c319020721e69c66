//! Exceptions, threads, event counters and watched variables, each in one place.

use crate::traced::totals::{TimeBase, Traced, Watched};
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Address, Cell, Column, Content, Extent, Gaps, Measurement, Table, Timeline, Track, TrackKind,
    Unit,
};

use super::super::accumulator::POSTCNT;
use super::{distributions, extremes, is_unsure, unit};

/// Counts of an event counter for each packet.
const WRAP: u64 = 256;

/// All of them.
pub(super) fn sections(traced: &Traced, out: &mut Measurement) {
    interrupts(traced, out);
    threads(traced, out);
    counters(traced, out);
    watched(traced, out);
}

fn interrupts(traced: &Traced, out: &mut Measurement) {
    if traced.exceptions.is_empty() {
        return;
    }
    let time = |id, title| Column::figure(id, title, unit(&traced.times));
    let count = |id, title| Column::figure(id, title, Unit::COUNT);
    let mut table = Table::new(vec![
        Column::text("interrupt", "exception"),
        count("number", "number").worth(1),
        count("entered", "entered"),
        count("left", "left").worth(3),
        count("unmatched", "unmatched").worth(5),
        count("exact", "exact").worth(4),
        time("min", "min"),
        time("mean", "mean"),
        time("max", "max"),
        count("vague", "vague").worth(2),
        time("at-most", "at most"),
        count("nested", "nested").worth(1),
        Column::figure("samples", "samples", Unit::SAMPLES),
    ]);
    for e in &traced.exceptions {
        let [min, mean, max] = extremes((e.timed, e.own, e.shortest, e.longest), &traced.times);
        table.row([
            e.name.as_str().into(),
            u64::from(e.number).into(),
            e.entered.into(),
            e.left.into(),
            e.unmatched.into(),
            e.timed.into(),
            min,
            mean,
            max,
            e.vague.into(),
            (e.timed + e.vague > 0).then_some(e.at_most).into(),
            e.depth.into(),
            e.samples.into(),
        ]);
    }
    let title = "exceptions: times of their own, without handlers that interrupted them";
    let section = out.push(ids::section::INTERRUPTS, title, Content::Table(table));
    section.notes.push(
        "min, mean and max are of those whose entry and end are known to the tick; `at most` is \
         over those as well that timestamps give \
         bounds for."
            .to_owned(),
    );
    let named = traced.exceptions.iter().map(|e| (e.name.as_str(), &e.times));
    distributions("durations", "times of handlers", &traced.times, named, out);
}

fn threads(traced: &Traced, out: &mut Measurement) {
    let seen: Vec<_> = traced.threads.iter().filter(|t| t.runs + t.samples > 0).collect();
    if seen.is_empty() {
        return;
    }
    let all: u64 = seen.iter().map(|thread| thread.cycles).sum();
    let mut table = Table::new(vec![
        Column::text("thread", "thread"),
        Column::address("pointer", "pointer").worth(1),
        Column::figure("runs", "runs", Unit::COUNT),
        Column::figure("time", "time", unit(&traced.times)).of(all),
        Column::figure("samples", "samples", Unit::SAMPLES),
    ]);
    for thread in seen {
        table.row([
            thread.name.as_str().into(),
            Address(thread.pointer.into()).into(),
            thread.runs.into(),
            thread.cycles.into(),
            thread.samples.into(),
        ]);
    }
    let title = "threads: time from switch to switch, handlers included";
    out.push(ids::section::THREADS, title, Content::Table(table));
}

fn counters(traced: &Traced, out: &mut Measurement) {
    if traced.counters.is_empty() {
        return;
    }
    let is_known = traced.times.is_thorough() && !is_unsure(traced);
    let cycles = traced.times.cycles().filter(|_| is_known);
    let counted = Column::figure("counted", "counted", Unit::COUNT);
    let mut table = Table::new(vec![
        Column::text("counter", "counter"),
        Column::figure("packets", "packets", Unit::COUNT),
        match cycles {
            Some(cycles) => counted.of(cycles),
            None => counted,
        },
        Column::text(ids::column::WHAT, "what"),
    ]);
    for counter in &traced.counters {
        table.row([
            counter.name.as_str().into(),
            counter.wraps.into(),
            (counter.name != POSTCNT).then(|| counter.wraps.saturating_mul(WRAP)).into(),
            counter.what.as_str().into(),
        ]);
    }
    let title = "event counters: each packet stands for 256 more of one";
    out.push("counters", title, Content::Table(table));
}

fn watched(traced: &Traced, out: &mut Measurement) {
    if traced.watched.is_empty() {
        return;
    }
    let count = |id, title| Column::figure(id, title, Unit::COUNT);
    let mut table = Table::new(vec![
        Column::text(ids::column::VARIABLE, "variable"),
        count("comparator", "comparator").worth(1),
        count("reads", "reads"),
        count("writes", "writes"),
        count("matches", "matches"),
        count("first", "first").worth(2),
        count("min", "min"),
        count("max", "max"),
        count("last", "last").worth(2),
    ]);
    for w in &traced.watched {
        let any = !w.values.is_empty();
        // Only the first values are kept.
        let last = w.values.last().filter(|_| w.more == 0);
        table.row([
            w.name.as_str().into(),
            u64::from(w.comparator).into(),
            w.reads.into(),
            w.writes.into(),
            w.matches.into(),
            w.values.first().map(|(_, value)| *value).into(),
            any.then_some(w.min).into(),
            any.then_some(w.max).into(),
            last.map(|(_, value)| *value).into(),
        ]);
    }
    out.push("watched-variables", "watched variables", Content::Table(table));
    sources(&traced.watched, out);
    let values = traced.watched.iter().filter(|w| !w.values.is_empty()).map(|w| Series {
        name: &w.name,
        number: w.comparator.into(),
        values: w.values.iter().map(|(at, value)| (*at, i64::from(*value))).collect(),
        more: w.more,
    });
    let title = "values of watched variables";
    series("watched", title, &traced.times, values.collect(), &[], out);
}

/// The code that made comparators match.
fn sources(watched: &[Watched], out: &mut Measurement) {
    let mut table = Table::new(vec![
        Column::text(ids::column::VARIABLE, "variable"),
        Column::text("from", "from"),
        Column::figure("matches", "matches", Unit::COUNT),
    ]);
    for w in watched {
        for (from, n) in &w.from {
            table.row([w.name.as_str().into(), from.as_str().into(), (*n).into()]);
        }
    }
    if !table.is_empty() {
        out.push("watched-from", "code that touched watched variables", Content::Table(table));
    }
}

/// Values of a variable over time.
pub(super) struct Series<'a> {
    pub name: &'a str,
    pub number: i64,
    pub values: Vec<(u64, i64)>,
    /// Values behind these that are not kept.
    pub more: u64,
}

/// A time line of values, with the places where something is missing.
pub(super) fn series(
    id: &str,
    title: &str,
    times: &TimeBase,
    all: Vec<Series>,
    missing: &[(u64, u64)],
    out: &mut Measurement,
) {
    if all.is_empty() && missing.is_empty() {
        return;
    }
    let has_seconds = times.tick_cycles.is_some() && times.nanoseconds(1).is_some();
    let unit = if has_seconds { Unit::NANOSECONDS } else { unit(times) };
    let at = |time: u64| {
        let time = if has_seconds { times.nanoseconds(time).unwrap_or(time) } else { time };
        i64::try_from(time).unwrap_or(i64::MAX)
    };
    let mut line = Timeline::new(unit);
    let mut kept_to = i64::MAX;
    for (track, series) in (0u32..).zip(all) {
        line.tracks.push(Track {
            kind: TrackKind::Counter,
            number: Some(series.number),
            name: series.name.to_owned(),
            unit: None,
        });
        if series.more > 0 {
            kept_to = kept_to.min(series.values.last().map_or(0, |(time, _)| at(*time)));
        }
        for (time, value) in series.values {
            line.counters.track.push(track);
            line.counters.at.push(at(time));
            line.counters.value.push(value);
        }
    }
    line.gaps = Gaps {
        from: missing.iter().map(|(time, _)| at(*time)).collect(),
        to: missing.iter().map(|(time, _)| at(*time)).collect(),
        events: missing.iter().map(|(_, n)| Some(*n).filter(|n| *n > 0)).collect(),
        why: missing.iter().map(|_| "records are missing".to_owned()).collect(),
    };
    let moments = || line.counters.at.iter().chain(&line.gaps.to).copied();
    let (from, last) = (moments().min().unwrap_or(0), moments().max().unwrap_or(0));
    line.extent = Extent { from, to: last.saturating_add(1) };
    line.exact = vec![Extent { from, to: kept_to.min(last).saturating_add(1) }];
    out.push(id, title, Content::Timeline(Box::new(line)));
}

/// A row's cell for a time, or nothing.
pub(super) fn some(n: u64, count: u64) -> Cell {
    (count > 0).then_some(n).into()
}
