//! The JSON of Chrome's tracing ("Trace Event Format"), which Perfetto's trace processor and its web page load as well.
//!
//! Kinds of tracks become processes, tracks their threads: that is all the structure the format has. Times are microseconds with three decimals.
//! On a thread the trace processor drops what overlaps without lying inside, so losses, which may, are asynchronous events.

use std::cmp::Reverse;
use std::collections::HashMap;
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
/// The thread of the first track: a process has one of its own number already.
const FIRST_THREAD: usize = LOST as usize + 1;

fn process(kind: TrackKind) -> u32 {
    KINDS.iter().find(|(of, ..)| *of == kind).map_or(LOST, |(_, number, _)| *number)
}

/// A text as JSON, without backslashes of its own: to the trace processor (v52) the quote behind one, however written, is not the text's end,
/// and it loads nothing at all.
fn quoted(text: &str) -> String {
    const LOOKS_LIKE_ONE: &str = "\u{29f5}";
    serde_json::Value::from(text.replace('\\', LOOKS_LIKE_ONE)).to_string()
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
            name("process_name", number, number as usize, text);
        }
    }
    if !events.gaps.is_empty() {
        name("process_name", LOST, LOST as usize, "lost");
    }
    for (i, track) in events.tracks.iter().enumerate() {
        if track.kind != TrackKind::Counter {
            name("thread_name", process(track.kind), i + FIRST_THREAD, &track.name);
        }
    }
    lines
}

/// Slices, the outer ones first.
fn slices(events: &TraceEvents) -> Vec<String> {
    let mut all: Vec<_> = events.slices.iter().collect();
    all.sort_by_key(|slice| (slice.begin_ns, Reverse(slice.end_ns)));
    // When those end that are open, for each track.
    let mut open: Vec<Vec<u64>> = vec![Vec::new(); events.tracks.len()];
    let mut lines = Vec::with_capacity(all.len());
    for (i, slice) in all.into_iter().enumerate() {
        let Some(track) = events.tracks.get(slice.track) else { continue };
        let name = if slice.name.is_empty() { &track.name } else { &slice.name };
        let (thread, open) = (slice.track + FIRST_THREAD, &mut open[slice.track]);
        let place = format!("\"pid\": {}, \"tid\": {thread}", process(track.kind));
        while open.last().is_some_and(|end| *end <= slice.begin_ns) {
            open.pop();
        }
        if open.last().is_some_and(|end| *end < slice.end_ns) {
            let span = Span { category: "overlapping", id: i, name, place: &place };
            lines.extend(span.lines(slice.begin_ns, slice.end_ns, ""));
            continue;
        }
        open.push(slice.end_ns);
        lines.push(format!(
            "\"ph\": \"X\", \"name\": {}, \"ts\": {}, \"dur\": {}, {place}",
            quoted(name),
            us(slice.begin_ns),
            us(slice.end_ns.saturating_sub(slice.begin_ns)),
        ));
    }
    lines
}

/// Something that may overlap others.
struct Span<'a> {
    category: &'a str,
    id: usize,
    name: &'a str,
    place: &'a str,
}

impl Span<'_> {
    /// Its beginning and its end.
    fn lines(&self, begin_ns: u64, end_ns: u64, more: &str) -> [String; 2] {
        let Span { category, id, name, place } = self;
        let line = |phase: &str, at_ns: u64, more: &str| {
            format!(
                "\"ph\": \"{phase}\", \"cat\": \"{category}\", \"id\": {id}, \"name\": {}, \"ts\": {}, {place}{more}",
                quoted(name),
                us(at_ns)
            )
        };
        [line("b", begin_ns, more), line("e", end_ns.max(begin_ns), "")]
    }
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
            instant.track + FIRST_THREAD
        ))
    };
    // Values of one name are one counter, unless something else tells them apart.
    let mut first = HashMap::new();
    for (i, track) in events.tracks.iter().enumerate() {
        if track.kind == TrackKind::Counter {
            first.entry(track.name.as_str()).or_insert(i);
        }
    }
    let counter = |value: &strobe_model::CounterValue| {
        let track = events.tracks.get(value.track)?;
        let unit = track.unit.as_deref().unwrap_or("value");
        let id = match first.get(track.name.as_str()) {
            Some(first) if *first != value.track => format!(" \"id\": {},", value.track),
            _ => String::new(),
        };
        Some(format!(
            "\"ph\": \"C\", \"name\": {},{id} \"ts\": {}, \"pid\": {}, \"args\": {{{}: {}}}",
            quoted(&track.name),
            us(value.at_ns),
            process(track.kind),
            quoted(unit),
            value.value
        ))
    };
    let place = format!("\"pid\": {LOST}, \"tid\": {LOST}");
    let gap = |(id, gap): (usize, &strobe_model::Gap)| {
        let events = gap.events.map_or("null".to_owned(), |events| events.to_string());
        let span = Span { category: "lost", id, name: &gap.why, place: &place };
        span.lines(gap.from_ns, gap.to_ns, &format!(", \"args\": {{\"events\": {events}}}"))
    };
    let mut lines: Vec<String> = events.instants.iter().filter_map(instant).collect();
    lines.extend(events.counters.iter().filter_map(counter));
    lines.extend(events.gaps.iter().enumerate().flat_map(gap));
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;
    use strobe_model::{CounterValue, Gap, Slice, Track};

    use super::*;

    fn written(events: &TraceEvents) -> Vec<Value> {
        let mut out = Vec::new();
        write(events, &mut out).expect("a vector takes all");
        let mut document: Value = serde_json::from_slice(&out).expect("JSON");
        match document["traceEvents"].take() {
            Value::Array(events) => events,
            other => panic!("{other}"),
        }
    }

    fn track(kind: TrackKind, name: &str) -> Track {
        Track { kind, number: None, name: name.to_owned(), unit: None }
    }

    /// Nanoseconds.
    fn time(event: &Value, key: &str) -> u64 {
        (event[key].as_f64().expect("a time") * 1000.0).round() as u64
    }

    proptest! {
        /// Slices of any kind are all there, and what is on a thread lies beside or inside one another.
        #[test]
        fn threads_have_nothing_that_overlaps(
            spans in proptest::collection::vec((0..2usize, 0..50u64, 0..30u64), 0..40),
        ) {
            let tracks = vec![track(TrackKind::Thread, "a"), track(TrackKind::Exception, "b")];
            let slice = |&(track, begin_ns, length): &(usize, u64, u64)| {
                Slice { track, name: String::new(), begin_ns, end_ns: begin_ns + length }
            };
            let slices: Vec<Slice> = spans.iter().map(slice).collect();
            let all = written(&TraceEvents { tracks, slices: slices.clone(), ..Default::default() });
            let of = |phase: &str| all.iter().filter(|e| e["ph"] == phase).collect::<Vec<_>>();
            prop_assert_eq!(of("X").len() + of("b").len(), slices.len());
            let length: u64 = of("X").iter().map(|e| time(e, "dur")).sum();
            let ends: u64 = of("e").iter().map(|e| time(e, "ts")).sum();
            let begins: u64 = of("b").iter().map(|e| time(e, "ts")).sum();
            prop_assert_eq!(length + ends - begins, spans.iter().map(|(_, _, length)| length).sum::<u64>());
            for a in of("X") {
                for b in of("X").into_iter().filter(|b| b["tid"] == a["tid"]) {
                    let (begin, end) = (time(a, "ts"), time(a, "ts") + time(a, "dur"));
                    let (from, to) = (time(b, "ts"), time(b, "ts") + time(b, "dur"));
                    prop_assert!(from <= begin || from >= end || to <= end, "{a} {b}");
                }
            }
        }
    }

    #[test]
    fn texts_end_in_no_backslash() {
        assert_eq!(quoted(r#"a "b" \"#), "\"a \\\"b\\\" \u{29f5}\"");
    }

    #[test]
    fn counters_of_one_name_stay_two() {
        let tracks = vec![track(TrackKind::Counter, "level"), track(TrackKind::Counter, "level")];
        let counters = [0, 1].map(|track| CounterValue { track, at_ns: 5, value: 7 }).to_vec();
        let all = written(&TraceEvents { tracks, counters, ..Default::default() });
        let values: Vec<&Value> = all.iter().filter(|e| e["ph"] == "C").collect();
        assert_eq!((&values[0]["id"], &values[1]["id"]), (&Value::Null, &Value::from(1)));
    }

    #[test]
    fn losses_may_overlap() {
        let gap = |from_ns, to_ns| Gap { from_ns, to_ns, events: None, why: "overflow".to_owned() };
        let gaps = vec![gap(0, 10), gap(5, 15)];
        let all = written(&TraceEvents { gaps, ..Default::default() });
        let phases: Vec<&str> = all.iter().filter_map(|event| event["ph"].as_str()).collect();
        assert_eq!(phases, ["M", "b", "e", "b", "e"]);
    }
}
