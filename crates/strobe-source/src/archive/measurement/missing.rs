//! What is missing in a trace of events: what its tracer left out, what nobody can read, and events
//! that are not in the order of their times.

use crate::archive::report::{StreamSummary, TraceSummary};
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Finding, Measurement, Quantity, Severity, Table, Unit,
};
use strobe_model::number::grouped;

use super::events::{About, Lost, RECOUNTED, disorder};
use crate::measuring::{count, unknown};

/// What was lost, and what could not be decoded.
pub(super) fn push(measurement: &mut Measurement, about: &About) {
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
        Column::figure(ids::column::BYTES, "bytes", Unit::BYTES),
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
        "events have times before the event before them, by {} ns in all: a time is wrong, they \
         are in another order, or the tracer began anew; no length of time is known better than \
         that",
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
