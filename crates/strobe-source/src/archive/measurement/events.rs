//! A trace of events as a measurement: what was read, events by kind, what is missing.

use strobe_model::measurement::{
    Cell, Column, Content, Coverage, Ended, Fact, Finding, Loss, Measurement, Moment, Number,
    Parts, Quantity, Severity, Subject, Table, Trust, Unit, Window,
};
use strobe_model::number::grouped;
use strobe_model::{EventsReport, StreamSummary, TraceSummary};

use super::super::Names;
use super::super::events::{Extras, LISTED, Source, add};
use super::super::meaning::Meanings;
use super::{activity, calls, memory};
use crate::measuring::{balance, count, instrument, notes, unknown};

const TIMES: &str = "times count from the first event";
const UNCOUNTED: &str = "the trace does not count the events that its tracer left out";
const RECOUNTED: &str = "counts of what is missing go back, so one of them is wrong";

/// Measures a trace.
pub fn events(source: &Source, meanings: &Meanings, names: &dyn Names) -> Measurement {
    let (report, extras) = add(source, meanings, names);
    measured(&report, &extras)
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
    missing(&mut measurement, &about);
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
fn disorder(trace: &TraceSummary) -> u64 {
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
    let section = measurement.push("windows", "marked window", Content::Table(table));
    section.notes.push(TIMES.to_owned());
}

/// What was lost, and what could not be decoded.
fn missing(measurement: &mut Measurement, about: &About) {
    let mut losses = Table::new(vec![
        Column::text("stream", "stream"),
        count("events", "events"),
        count("packets", "packets"),
        Column::moment("from", "after", Unit::NANOSECONDS),
        Column::moment("to", "until", Unit::NANOSECONDS),
    ]);
    for loss in &about.report.losses {
        losses.row([
            loss.stream.as_str().into(),
            left_out(about, loss.events, loss.packets),
            if about.lost.contradicts { unknown(RECOUNTED) } else { loss.packets.into() },
            about.since(loss.from_ns),
            about.since(loss.to_ns),
        ]);
    }
    if !losses.is_empty() {
        let Lost { events, packets, contradicts, .. } = about.lost;
        let s = if events == 1 { "" } else { "s" };
        let of_events = format!("the tracer left out {events} event{s}");
        let of_packets = match packets {
            1 => "a packet is missing, whose events nobody counted".to_owned(),
            _ => format!("{packets} packets are missing, whose events nobody counted"),
        };
        let text = match (events, packets) {
            _ if contradicts => format!("{RECOUNTED}: nobody knows what the tracer left out"),
            (_, 0) => of_events,
            (0, _) => of_packets,
            _ => format!("{of_events}; {of_packets}"),
        };
        measurement.findings.push(Finding {
            count: about.report.losses.len() as u64,
            ..Finding::new(Severity::Warning, "events-lost", text)
        });
        let events = left_out(about, events, packets);
        let packets = if contradicts { unknown(RECOUNTED) } else { packets.into() };
        let sums = vec!["all".into(), events, packets, Cell::Empty, Cell::Empty];
        losses.footer.push(sums);
        measurement.push("losses", "lost: left out by the tracer", Content::Table(losses));
    }
    let mut bad = Table::new(vec![
        Column::text("stream", "stream"),
        Column::figure("at", "from byte", Unit::BYTES),
        Column::figure("bytes", "bytes", Unit::BYTES),
        Column::text("why", "why"),
    ]);
    for found in &about.report.undecodable {
        let (stream, why) = (found.stream.as_str().into(), found.why.as_str().into());
        bad.row([stream, found.at.into(), found.bytes.into(), why]);
    }
    if !bad.is_empty() {
        measurement.push("undecodable", "undecodable", Content::Table(bad));
    }
    measurement.findings.extend(undecodable(&about.report.trace, about.extras.holes));
    measurement.findings.extend(order(&about.report.trace));
}

/// Events that the tracer left out: of those in missing packets there is no number.
fn left_out(about: &About, events: u64, packets: u64) -> Cell {
    match (events, packets) {
        _ if about.lost.contradicts => unknown(RECOUNTED),
        (0, 1..) => unknown("nothing shows how many events were in the packets that are missing"),
        (_, 0) => events.into(),
        _ => Quantity::at_least(events, Unit::COUNT).into(),
    }
}

/// Events that are not in the order of their times.
fn order(trace: &TraceSummary) -> Option<Finding> {
    let back = disorder(trace);
    let count = trace.streams.iter().map(|stream| stream.backwards).fold(0, u64::saturating_add);
    let all = trace.last_ns.zip(trace.first_ns).map_or(0, |(last, first)| last.abs_diff(first));
    let many = u128::from(back) * 100 >= u128::from(all) * u128::from(MATTERS_PERCENT);
    let severity = if many { Severity::Warning } else { Severity::Note };
    let text = format!(
        "events have times before the event before them, by {} ns in all: a time is wrong, or they \
         are in another order; no length of time is known better than that",
        grouped(back)
    );
    let finding = Finding::new(severity, "event-order", text);
    (count > 0 && back > 0).then_some(Finding { count, ..finding })
}

/// Share of the bytes from which on it is a warning that they could not be decoded, in parts of a
/// hundred.
const MATTERS_PERCENT: u64 = 1;

/// What is in no event because nobody can read it: a stream may be another trace's.
fn undecodable(trace: &TraceSummary, holes: u64) -> Option<Finding> {
    let sum = |bytes: fn(&StreamSummary) -> u64| {
        trace.streams.iter().map(bytes).fold(0, u64::saturating_add)
    };
    let (all, bad) = (sum(|stream| stream.bytes), sum(|stream| stream.undecodable_bytes));
    let many = u128::from(bad) * 100 >= u128::from(all) * u128::from(MATTERS_PERCENT);
    let matters = bad > 0 && (many || holes > 0);
    let is_foreign = |stream: &&StreamSummary| stream.events == 0 && stream.undecodable_bytes > 0;
    let foreign = trace.streams.iter().filter(is_foreign).map(|stream| stream.file.as_str());
    let foreign: Vec<&str> = foreign.collect();
    let mut text = format!("{} of {} bytes could not be decoded", grouped(bad), grouped(all));
    if holes > 0 {
        text += ", between events: some are missing there";
    }
    if !foreign.is_empty() {
        text += &format!("; no event was found in {}", foreign.join(", "));
    }
    let severity = if matters { Severity::Warning } else { Severity::Note };
    let finding = Finding::new(severity, "undecodable-bytes", text);
    let advice = "streams of other traces, and files that are none, belong into other directories";
    let advice = (!foreign.is_empty()).then(|| advice.to_owned());
    (bad > 0).then_some(Finding { count: bad, advice, ..finding })
}
