//! A trace of events as a measurement: what was read, events by kind, what is missing.

use crate::archive::report::{EventsReport, TraceSummary};
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Coverage, Ended, Fact, Loss, Measurement, Moment, Number, Parts,
    Quantity, Severity, Subject, Table, Timeline, Trust, Unit, Window,
};

use super::super::Names;
use super::super::events::{Extras, LISTED, Source, add};
use super::super::meaning::Meanings;
use super::super::timeline::Drawing;
use super::{activity, calls, memory, missing};
use crate::measuring::{balance, count, instrument, notes, unknown};

const TIMES: &str = "times count from the first event";
const UNCOUNTED: &str = "the trace does not count the events that its tracer left out";
pub(super) const RECOUNTED: &str =
    "counts of what is missing go back, so one of them is wrong or the tracer began anew";

/// Measures a trace.
pub fn events(source: &Source, meanings: &Meanings, names: &dyn Names) -> Measurement {
    let (report, extras) = add(source, meanings, names, None);
    measured(&report, &extras)
}

/// Measures a trace and draws its time line, in one pass.
pub fn events_with_timeline(
    source: &Source,
    meanings: &Meanings,
    names: &dyn Names,
) -> (Measurement, Timeline) {
    let mut drawing = Drawing::new(source.streams.len(), names);
    let (report, extras) = add(source, meanings, names, Some(&mut drawing));
    (measured(&report, &extras), drawing.finish())
}

/// What was found in a trace, as a measurement.
pub(super) fn measured(report: &EventsReport, extras: &Extras) -> Measurement {
    let about = About { report, extras, lost: lost(report, extras) };
    let kind = instrument("event trace");
    let mut measurement = Measurement::new(subject(&report.trace), kind, window(&report.trace));
    environment(&mut measurement, &report.trace);
    totals(&mut measurement, &about);
    kinds(&mut measurement, &about);
    streams(&mut measurement, &report.trace);
    windows(&mut measurement, &about);
    activity::push(&mut measurement, &about);
    calls::push(&mut measurement, &about);
    memory::push(&mut measurement, &about);
    missing::push(&mut measurement, &about);
    notes(&mut measurement, Severity::Note, "trace", &report.notes);
    measurement
}

/// A report, and what is needed to judge its figures.
pub(super) struct About<'r> {
    pub(super) report: &'r EventsReport,
    pub(super) extras: &'r Extras,
    pub(super) lost: Lost,
}

/// What the tracer left out, as far as the trace has it.
pub(super) struct Lost {
    pub(super) events: u64,
    pub(super) packets: u64,
    /// There is more than that.
    pub(super) more: bool,
    /// Nobody knows how much: its counts contradict each other.
    pub(super) contradicts: bool,
}

fn lost(report: &EventsReport, extras: &Extras) -> Lost {
    if report.trace.streams.iter().any(|stream| stream.recounts > 0) {
        return Lost { events: 0, packets: 0, more: true, contradicts: true };
    }
    let events = report.losses.iter().map(|loss| loss.events).fold(0, u64::saturating_add);
    let packets = report.losses.iter().map(|loss| loss.packets).fold(0, u64::saturating_add);
    // A trace may claim any number: with the events that are there it must stay one.
    let there = report.kinds.iter().map(|kind| kind.count).fold(0, u64::saturating_add);
    let events = events.min(u64::MAX - there);
    // Of a lost packet nobody knows how many events it had, nor of bytes that cannot be read, and
    // beyond so many losses they are not listed.
    let more = packets > 0 || extras.holes > 0 || report.losses.len() >= LISTED;
    Lost { events, packets, more, contradicts: false }
}

impl About<'_> {
    /// Whether anything is known to be missing.
    pub(super) fn lossy(&self) -> bool {
        !self.report.losses.is_empty() || self.extras.holes > 0 || self.lost.contradicts
    }

    /// Things that were counted one by one: there were more if events are missing.
    pub(super) fn counted(&self, n: impl Into<Number>, unit: Unit) -> Quantity {
        if self.lossy() { Quantity::at_least(n, unit) } else { Quantity::exact(n, unit) }
    }

    /// The same as a cell.
    pub(super) fn count(&self, n: u64) -> Cell {
        self.counted(n, Unit::COUNT).into()
    }

    /// A length of time that was added up of stretches between events, and of which `unknown`
    /// nanoseconds more may be. Where events are missing there was more of it; where they are not
    /// in the order of their times it may be as much more, or less, as these go back.
    pub(super) fn timed(&self, ns: u64, unknown: u64) -> Quantity {
        match (self.lossy(), disorder(&self.report.trace)) {
            (false, 0) => Quantity::exact(ns, Unit::NANOSECONDS),
            (true, 0) => Quantity::at_least(ns, Unit::NANOSECONDS),
            (false, back) => within(ns, back, back),
            (true, back) => within(ns, back, back.saturating_add(unknown)),
        }
    }

    /// A moment since the first event.
    pub(super) fn since(&self, at: Option<i64>) -> Cell {
        let Some(at) = at else { return Cell::Empty };
        if at == i64::MIN || at == i64::MAX {
            return unknown("the time is beyond what 64 bits of nanoseconds hold");
        }
        at.saturating_sub(self.report.trace.first_ns.unwrap_or(0)).into()
    }

    /// A thread as people call it, each by another name.
    pub(super) fn thread(&self, id: i64, name: Option<&str>) -> String {
        let threads = self.report.threads.iter().flat_map(|threads| &threads.threads);
        let known = || threads.clone().find(|thread| thread.id == id)?.name.as_deref();
        match name.or_else(known) {
            Some(name) => format!("{name} ({id})"),
            None => format!("thread {id}"),
        }
    }
}

/// By how much the times of events go back, all together: no event is further from where its time
/// has it.
pub(super) fn disorder(trace: &TraceSummary) -> u64 {
    trace.streams.iter().map(|stream| stream.back_ns).fold(0, u64::saturating_add)
}

/// A length of time that may be so much less or more.
fn within(ns: u64, less: u64, more: u64) -> Quantity {
    let (low, high) = (ns.saturating_sub(less).into(), ns.saturating_add(more).into());
    let unit = Unit::NANOSECONDS;
    let bounded = Quantity::new(Some(ns.into()), unit.clone(), Trust::Resolution { low, high });
    bounded.unwrap_or_else(|_| Quantity::unknown(unit, "events are not in the order of time"))
}

fn subject(trace: &TraceSummary) -> Subject {
    let mut facts = vec![Fact::text("format", &trace.format)];
    if let Some(clock) = &trace.clock {
        facts.push(Fact::text("clock", &clock.name));
        facts.push(Fact::figure("clock frequency", Quantity::exact(clock.hz, Unit::HERTZ)));
        let precision = match clock.precision_ns {
            0 => Quantity::unknown(Unit::NANOSECONDS, "the trace does not give it"),
            ns => Quantity::exact(ns, Unit::NANOSECONDS),
        };
        facts.push(Fact::figure("clock precision", precision));
    }
    let (kind, name) = ("trace".to_owned(), trace.file.clone());
    Subject { kind, name, facts, ..Subject::default() }
}

fn window(trace: &TraceSummary) -> Window {
    let ended =
        Ended { kind: "end-of-file".to_owned(), text: "the trace ends".to_owned(), code: None };
    let (Some(first), Some(last)) = (trace.first_ns, trace.last_ns) else {
        return Window::untimed("no event has a time", ended);
    };
    let at = |at| Moment { nanoseconds: Some(at), cycle: None };
    let length = last.abs_diff(first);
    let duration = match disorder(trace) {
        0 => Quantity::exact(length, Unit::NANOSECONDS),
        back => within(length, back, back),
    };
    Window { begin: at(first), end: at(last), entries: None, duration, ended }
}

/// The tracer and its machine. A name that is there twice has both values.
fn environment(measurement: &mut Measurement, trace: &TraceSummary) {
    for (name, value) in &trace.environment {
        let known = measurement.instrument.environment.entry(name.clone()).or_default();
        if !known.is_empty() {
            known.push_str(", ");
        }
        known.push_str(value);
    }
}

fn totals(measurement: &mut Measurement, about: &About) {
    let report = about.report;
    let events: u64 = report.kinds.iter().map(|kind| kind.count).sum();
    measurement.push_total("events", "events", about.counted(events, Unit::COUNT));
    let (lost, loss) = losses(about);
    let overhead = match &report.pauses {
        Some(pauses) => Quantity::at_least(pauses.total_ns, Unit::NANOSECONDS),
        None => Quantity::unknown(Unit::NANOSECONDS, "the trace does not have what tracing cost"),
    };
    let due = events.saturating_add(about.lost.events);
    let whole = match &loss {
        Loss::Known(_) => Quantity::exact(due, Unit::COUNT),
        Loss::AtLeast(_) | Loss::Unknown(_) => Quantity::at_least(due, Unit::COUNT),
    };
    measurement.coverage = Coverage {
        whole: Some(whole),
        seen: Some(Quantity::exact(events, Unit::COUNT)),
        lost: Some(lost),
        overhead: Some(overhead),
    };
    let meant = report.kinds.iter().filter(|kind| kind.meaning.is_some());
    let attributed = meant.map(|kind| kind.count).sum();
    let parts = Parts {
        what: "events".to_owned(),
        unit: Unit::COUNT,
        taken_as: "due".to_owned(),
        attributed_as: String::new(),
        taken: due,
        attributed,
        unattributed: vec![("no known meaning".to_owned(), events - attributed)],
        idle: 0,
        lost: loss,
    };
    balance(measurement, parts);
}

/// What is missing, as a figure and for the balance.
fn losses(about: &About) -> (Quantity, Loss) {
    let Lost { events, packets, more, contradicts } = about.lost;
    if contradicts {
        (Quantity::unknown(Unit::COUNT, RECOUNTED), Loss::Unknown(RECOUNTED.to_owned()))
    } else if more && events == 0 {
        // At least none is nothing that anybody knows.
        let what = if packets > 0 { "the packets" } else { "the bytes" };
        let why = format!("nothing shows how many events were in {what} that are missing");
        (Quantity::unknown(Unit::COUNT, why.clone()), Loss::Unknown(why))
    } else if more {
        (Quantity::at_least(events, Unit::COUNT), Loss::AtLeast(events))
    } else if about.lossy() || about.extras.counts_losses {
        (Quantity::exact(events, Unit::COUNT), Loss::Known(events))
    } else {
        (Quantity::unknown(Unit::COUNT, UNCOUNTED), Loss::Unknown(UNCOUNTED.to_owned()))
    }
}

fn kinds(measurement: &mut Measurement, about: &About) {
    let total: u64 = about.report.kinds.iter().map(|kind| kind.count).sum();
    let mut table = Table::new(vec![
        Column::text("event", "event"),
        Column::text("meaning", "interpreted as"),
        count("events", "events").of(total),
        Column::moment("first", "first", Unit::NANOSECONDS),
        Column::moment("last", "last", Unit::NANOSECONDS),
        Column::figure("rate", "per second", Unit::HERTZ).worth(1),
    ]);
    for kind in &about.report.kinds {
        let span = kind.last_ns.zip(kind.first_ns).map(|(last, first)| last.abs_diff(first));
        // So many intervals, one fewer than there are events.
        let rate = span.filter(|span| *span > 0 && kind.count > 1);
        let rate = rate.map(|span| (kind.count - 1) as f64 * 1e9 / span as f64);
        let rate = rate.map(|rate| about.counted(rate, Unit::HERTZ));
        table.row([
            kind.name.as_str().into(),
            kind.meaning.clone().into(),
            about.count(kind.count),
            about.since(kind.first_ns),
            about.since(kind.last_ns),
            rate.into(),
        ]);
    }
    let empty = || Cell::Empty;
    let all = about.count(total);
    table.footer.push(vec!["all".into(), empty(), all, empty(), empty(), empty()]);
    let section = measurement.push("kinds", "events", Content::Table(table));
    section.notes.push(TIMES.to_owned());
}

fn streams(measurement: &mut Measurement, trace: &TraceSummary) {
    let bytes = |id, title| Column::figure(id, title, Unit::BYTES);
    let mut table = Table::new(vec![
        Column::text("stream", "stream"),
        bytes("bytes", "bytes"),
        bytes("packet-bytes", "in packets"),
        bytes("mark-bytes", "tracer's mark"),
        bytes("undecodable-bytes", "undecodable"),
        count("packets", "packets"),
        count("events", "events"),
        count("backwards", "times before the last"),
    ]);
    for stream in &trace.streams {
        table.row([
            stream.file.as_str().into(),
            stream.bytes.into(),
            stream.packet_bytes.into(),
            stream.mark_bytes.into(),
            stream.undecodable_bytes.into(),
            stream.packets.into(),
            stream.events.into(),
            stream.backwards.into(),
        ]);
        let parts = Parts {
            what: format!("bytes of {}", stream.file),
            unit: Unit::BYTES,
            taken_as: "read".to_owned(),
            attributed_as: String::new(),
            taken: stream.bytes,
            attributed: stream.packet_bytes,
            unattributed: vec![
                ("the tracer's mark".to_owned(), stream.mark_bytes),
                ("undecodable".to_owned(), stream.undecodable_bytes),
            ],
            idle: 0,
            lost: Loss::Known(0),
        };
        balance(measurement, parts);
    }
    if !table.is_empty() {
        measurement.push("streams", "streams", Content::Table(table));
    }
}

/// What marks enclose.
fn windows(measurement: &mut Measurement, about: &About) {
    let Some(window) = &about.report.window else { return };
    let time = Unit::NANOSECONDS;
    let measured = Quantity::exact(window.total_ns, time.clone());
    measurement.push_total("marked", "inside marks", measured);
    let mut table = Table::new(vec![
        Column::moment("from", "from", time.clone()),
        Column::moment("to", "to", time.clone()),
        Column::figure("time", "time", time),
        count("parts", "parts"),
        count("starts", "start marks"),
        count("stops", "stop marks"),
        count("repeated", "of them repeated"),
        Column::text("end", "end"),
    ]);
    let end = window.open.then_some("the last part has no end mark and ends with the trace");
    table.row([
        about.since(Some(window.from_ns)),
        about.since(Some(window.to_ns)),
        window.total_ns.into(),
        window.parts.into(),
        window.starts.into(),
        window.stops.into(),
        window.repeated.into(),
        end.into(),
    ]);
    let section = measurement.push(ids::section::WINDOWS, "marked window", Content::Table(table));
    section.notes.push(TIMES.to_owned());
}
