//! The JSON of Chrome's tracing ("Trace Event Format"), which Perfetto's trace processor and its web page load as well.
//!
//! Kinds of tracks become processes, tracks their threads: that is all the structure the format has. Times are microseconds with three decimals.

use std::cmp::Reverse;
use std::io::{self, Write};

use strobe_model::{TraceEvents, TrackKind};

/// Processes: kinds of tracks with their numbers.
const KINDS: [(TrackKind, u32, &str); 5] = [
    (TrackKind::Thread, 1, "threads"),
    (TrackKind::Exception, 2, "interrupts"),
    (TrackKind::Functions, 3, "functions"),
    (TrackKind::Marks, 4, "marks"),
    (TrackKind::Counter, 5, "counters"),
];

/// The process of losses.
const LOST: u32 = 6;

fn process(kind: TrackKind) -> u32 {
    KINDS.iter().find(|(of, ..)| *of == kind).map_or(LOST, |(_, number, _)| *number)
}

/// A text as JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Microseconds.
fn us(nanoseconds: u64) -> String {
    format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
}

/// Writes a time line.
///
/// # Errors
/// Those of `out`.
pub fn write(events: &TraceEvents, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "{{\"displayTimeUnit\": \"ns\", \"otherData\": {{\"name\": {}}},",
        quoted(&events.name)
    )?;
    writeln!(out, " \"traceEvents\": [")?;
    let mut separator = "";
    let mut put = |line: String, out: &mut dyn Write| {
        let result = write!(out, "{separator}{{{line}}}");
        separator = ",\n";
        result
    };
    for line in names(events) {
        put(line, out)?;
    }
    for line in slices(events).into_iter().chain(others(events)) {
        put(line, out)?;
    }
    writeln!(out, "\n]}}")
}

/// Names of processes and tracks that are in use.
fn names(events: &TraceEvents) -> Vec<String> {
    let mut lines = Vec::new();
    let mut name = |what: &str, process: u32, track: usize, name: &str| {
        lines.push(format!(
            "\"ph\": \"M\", \"name\": \"{what}\", \"pid\": {process}, \"tid\": {track}, \"args\": {{\"name\": {}}}",
            quoted(name)
        ));
    };
    for (kind, number, text) in KINDS {
        if events.tracks.iter().any(|track| track.kind == kind) {
            name("process_name", number, 0, text);
        }
    }
    if !events.gaps.is_empty() {
        name("process_name", LOST, 0, "lost");
        name("thread_name", LOST, 1, "lost");
    }
    for (i, track) in events.tracks.iter().enumerate() {
        if track.kind != TrackKind::Counter {
            name("thread_name", process(track.kind), i + 1, &track.name);
        }
    }
    lines
}

/// Slices, the outer ones first.
fn slices(events: &TraceEvents) -> Vec<String> {
    let mut all: Vec<_> = events.slices.iter().collect();
    all.sort_by_key(|slice| (slice.begin_ns, Reverse(slice.end_ns)));
    let line = |slice: &strobe_model::Slice| {
        let track = events.tracks.get(slice.track)?;
        let name = if slice.name.is_empty() { &track.name } else { &slice.name };
        Some(format!(
            "\"ph\": \"X\", \"name\": {}, \"ts\": {}, \"dur\": {}, \"pid\": {}, \"tid\": {}",
            quoted(name),
            us(slice.begin_ns),
            us(slice.end_ns.saturating_sub(slice.begin_ns)),
            process(track.kind),
            slice.track + 1
        ))
    };
    all.into_iter().filter_map(line).collect()
}

/// Moments, counters and losses.
fn others(events: &TraceEvents) -> Vec<String> {
    let instant = |instant: &strobe_model::Instant| {
        let track = events.tracks.get(instant.track)?;
        Some(format!(
            "\"ph\": \"i\", \"s\": \"t\", \"name\": {}, \"ts\": {}, \"pid\": {}, \"tid\": {}",
            quoted(&instant.name),
            us(instant.at_ns),
            process(track.kind),
            instant.track + 1
        ))
    };
    let counter = |value: &strobe_model::CounterValue| {
        let track = events.tracks.get(value.track)?;
        let unit = track.unit.as_deref().unwrap_or("value");
        Some(format!(
            "\"ph\": \"C\", \"name\": {}, \"ts\": {}, \"pid\": {}, \"args\": {{{}: {}}}",
            quoted(&track.name),
            us(value.at_ns),
            process(track.kind),
            quoted(unit),
            value.value
        ))
    };
    let gap = |gap: &strobe_model::Gap| {
        let events = gap.events.map_or("null".to_owned(), |events| events.to_string());
        format!(
            "\"ph\": \"X\", \"name\": {}, \"ts\": {}, \"dur\": {}, \"pid\": {LOST}, \"tid\": 1, \"args\": {{\"events\": {events}}}",
            quoted(&gap.why),
            us(gap.from_ns),
            us(gap.to_ns.saturating_sub(gap.from_ns))
        )
    };
    let mut lines: Vec<String> = events.instants.iter().filter_map(instant).collect();
    lines.extend(events.counters.iter().filter_map(counter));
    lines.extend(events.gaps.iter().map(gap));
    lines
}
