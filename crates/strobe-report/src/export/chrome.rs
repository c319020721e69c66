//! The JSON of Chrome's tracing ("Trace Event Format"), which Perfetto's trace processor and its
//! web page load as well.
//!
//! Kinds of tracks become processes, tracks their threads: that is all the structure the format
//! has. Times are microseconds with three decimals. On a thread the trace processor drops what
//! overlaps without lying inside, so losses, which may, are asynchronous events.

use std::cmp::Reverse;
use std::collections::HashMap;

use strobe_model::measurement::{Measurement, TrackKind};

use super::timed::{Gap, Moment, Timed, Value};
use super::{About, Choice, Export, ExportError, InputKind, Output};

/// The format.
pub(super) struct Chrome;

/// Processes: kinds of tracks with their numbers.
const KINDS: [(TrackKind, u32, &str); 6] = [
    (TrackKind::Thread, 1, "threads"),
    (TrackKind::Exception, 2, "interrupts"),
    (TrackKind::Functions, 3, "functions"),
    (TrackKind::Marks, 4, "marks"),
    (TrackKind::Counter, 5, "counters"),
    (TrackKind::Samples, 6, "samples"),
];

/// The process of losses.
const LOST: u32 = 7;
/// The thread of the first track: a process has one of its own number already.
const FIRST_THREAD: usize = LOST as usize + 1;

fn process(kind: TrackKind) -> u32 {
    KINDS.iter().find(|(of, ..)| *of == kind).map_or(LOST, |(_, number, _)| *number)
}

/// A text as JSON, without backslashes of its own: to the trace processor (v52) the quote behind
/// one, however written, is not the text's end, and it loads nothing at all.
fn quoted(text: &str) -> String {
    const LOOKS_LIKE_ONE: &str = "\u{29f5}";
    serde_json::Value::from(text.replace('\\', LOOKS_LIKE_ONE)).to_string()
}

/// Microseconds.
fn us(nanoseconds: i64) -> String {
    let (sign, n) = (if nanoseconds < 0 { "-" } else { "" }, nanoseconds.unsigned_abs());
    format!("{sign}{}.{:03}", n / 1000, n % 1000)
}

impl Export for Chrome {
    fn about(&self) -> About {
        About {
            name: "chrome",
            aliases: &["perfetto"],
            extension: Some("json"),
            takes: InputKind::Timeline,
            help: "JSON for ui.perfetto.dev, Perfetto's trace processor and Chrome's about:tracing",
        }
    }

    fn write(
        &self,
        measurement: &Measurement,
        choice: &Choice,
        out: &mut dyn Output,
    ) -> Result<(), ExportError> {
        let line = Timed::new(measurement, super::timeline(measurement, choice, self.about())?)?;
        let out = out.file("")?;
        let name = quoted(&measurement.subject.name);
        write!(out, "{{\"displayTimeUnit\": \"ns\", \"otherData\": {{\"name\": {name}}},")?;
        writeln!(out, " \"traceEvents\": [")?;
        let mut separator = "";
        for event in names(&line).into_iter().chain(slices(&line)).chain(others(&line)) {
            write!(out, "{separator}{{{event}}}")?;
            separator = ",\n";
        }
        writeln!(out, "\n]}}")?;
        Ok(())
    }
}

/// Names of processes and tracks that are in use.
fn names(line: &Timed) -> Vec<String> {
    let mut lines = Vec::new();
    let mut name = |what: &str, process: u32, track: usize, name: &str| {
        lines.push(format!(
            "\"ph\": \"M\", \"name\": \"{what}\", \"pid\": {process}, \"tid\": {track}, \"args\": \
             {{\"name\": {}}}",
            quoted(name)
        ));
    };
    for (kind, number, text) in KINDS {
        if line.tracks().iter().any(|track| track.kind == kind) {
            name("process_name", number, number as usize, text);
        }
    }
    if !line.gaps().is_empty() {
        name("process_name", LOST, LOST as usize, "lost");
    }
    for (i, track) in line.tracks().iter().enumerate() {
        if track.kind != TrackKind::Counter {
            name("thread_name", process(track.kind), i + FIRST_THREAD, &track.name);
        }
    }
    lines
}

/// Spans, the outer ones first.
fn slices(line: &Timed) -> Vec<String> {
    let mut all: Vec<_> = line.spans().collect();
    all.sort_by_key(|span| (span.begin_ns, Reverse(span.end_ns)));
    // When those end that are open, for each track.
    let mut open: Vec<Vec<i64>> = vec![Vec::new(); line.tracks().len()];
    let mut lines = Vec::with_capacity(all.len());
    for (i, span) in all.into_iter().enumerate() {
        let Some(track) = line.tracks().get(span.track) else { continue };
        let (thread, open) = (span.track + FIRST_THREAD, &mut open[span.track]);
        let place = format!("\"pid\": {}, \"tid\": {thread}", process(track.kind));
        while open.last().is_some_and(|end| *end <= span.begin_ns) {
            open.pop();
        }
        if open.last().is_some_and(|end| *end < span.end_ns) {
            let pair = Pair { category: "overlapping", id: i, name: span.name, place: &place };
            lines.extend(pair.lines(span.begin_ns, span.end_ns, ""));
            continue;
        }
        open.push(span.end_ns);
        lines.push(format!(
            "\"ph\": \"X\", \"name\": {}, \"ts\": {}, \"dur\": {}, {place}",
            quoted(span.name),
            us(span.begin_ns),
            us(span.end_ns.saturating_sub(span.begin_ns)),
        ));
    }
    lines
}

/// Something that may overlap others.
struct Pair<'a> {
    category: &'a str,
    id: usize,
    name: &'a str,
    place: &'a str,
}

impl Pair<'_> {
    /// Its beginning and its end.
    fn lines(&self, begin_ns: i64, end_ns: i64, more: &str) -> [String; 2] {
        let Pair { category, id, name, place } = self;
        let line = |phase: &str, at_ns: i64, more: &str| {
            format!(
                "\"ph\": \"{phase}\", \"cat\": \"{category}\", \"id\": {id}, \"name\": {}, \"ts\": \
                 {}, {place}{more}",
                quoted(name),
                us(at_ns)
            )
        };
        [line("b", begin_ns, more), line("e", end_ns.max(begin_ns), "")]
    }
}

/// Moments, counters and losses.
fn others(line: &Timed) -> Vec<String> {
    let instant = |moment: Moment| {
        let track = line.tracks().get(moment.track)?;
        Some(format!(
            "\"ph\": \"i\", \"s\": \"t\", \"name\": {}, \"ts\": {}, \"pid\": {}, \"tid\": {}",
            quoted(moment.name),
            us(moment.at_ns),
            process(track.kind),
            moment.track + FIRST_THREAD
        ))
    };
    // Values of one name are one counter, unless something else distinguishes them.
    let mut first = HashMap::new();
    for (i, track) in line.tracks().iter().enumerate() {
        if track.kind == TrackKind::Counter {
            first.entry(track.name.as_str()).or_insert(i);
        }
    }
    let counter = |value: Value| {
        let track = line.tracks().get(value.track)?;
        let unit = track.unit.as_ref().map_or("value", |unit| &unit.0);
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
    let gap = |(id, gap): (usize, Gap)| {
        let events = gap.events.map_or("null".to_owned(), |events| events.to_string());
        let pair = Pair { category: "lost", id, name: gap.why, place: &place };
        pair.lines(gap.from_ns, gap.to_ns, &format!(", \"args\": {{\"events\": {events}}}"))
    };
    let mut lines: Vec<String> = line.moments().filter_map(instant).collect();
    lines.extend(line.values().filter_map(counter));
    lines.extend(line.gaps().into_iter().enumerate().flat_map(gap));
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;
    use strobe_model::measurement::{Content, Timeline, TimelineBuilder, Unit};

    use super::super::subjects;
    use super::*;

    fn written(line: Timeline) -> Vec<Value> {
        let mut measurement = subjects::measurement();
        measurement.push("timeline", "time line", Content::Timeline(Box::new(line)));
        measurement.check().expect("sound");
        let mut out = Vec::new();
        Chrome.write(&measurement, &Choice::default(), &mut out).expect("a vector takes all");
        let mut document: Value = serde_json::from_slice(&out).expect("JSON");
        match document["traceEvents"].take() {
            Value::Array(events) => events,
            other => panic!("{other}"),
        }
    }

    fn builder() -> TimelineBuilder {
        TimelineBuilder::new(Unit::NANOSECONDS)
    }

    /// Nanoseconds.
    fn time(event: &Value, key: &str) -> u64 {
        (event[key].as_f64().expect("a time") * 1000.0).round() as u64
    }

    proptest! {
        /// Slices of any kind are all there, and what is on a thread lies beside or inside one
        /// another.
        #[test]
        fn threads_have_nothing_that_overlaps(
            spans in proptest::collection::vec((0..2usize, 0..50u64, 0..30u64), 0..40),
        ) {
            let mut line = builder();
            for (track, begin, length) in &spans {
                let kind = [TrackKind::Thread, TrackKind::Exception][*track];
                let track = line.track(kind, None, "of it");
                line.span(track, None, *begin as i64, (begin + length) as i64);
            }
            let all = written(line.finish());
            let of = |phase: &str| all.iter().filter(|e| e["ph"] == phase).collect::<Vec<_>>();
            prop_assert_eq!(of("X").len() + of("b").len(), spans.len());
            let length: u64 = of("X").iter().map(|e| time(e, "dur")).sum();
            let ends: u64 = of("e").iter().map(|e| time(e, "ts")).sum();
            let begins: u64 = of("b").iter().map(|e| time(e, "ts")).sum();
            let wanted = spans.iter().map(|(_, _, length)| length).sum::<u64>();
            prop_assert_eq!(length + ends - begins, wanted);
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
        let mut line = builder();
        for number in [1, 2] {
            let track = line.track(TrackKind::Counter, Some(number), "level");
            line.value(track, 5, 7);
        }
        let all = written(line.finish());
        let values: Vec<&Value> = all.iter().filter(|e| e["ph"] == "C").collect();
        assert_eq!((&values[0]["id"], &values[1]["id"]), (&Value::Null, &Value::from(1)));
    }

    #[test]
    fn losses_may_overlap() {
        let mut line = builder();
        line.gap(0, 10, None, "overflow");
        line.gap(5, 15, None, "overflow");
        let all = written(line.finish());
        let phases: Vec<&str> = all.iter().filter_map(|event| event["ph"].as_str()).collect();
        assert_eq!(phases, ["M", "b", "e", "b", "e"]);
    }

    #[test]
    fn samples_are_moments_on_a_track_of_their_own() {
        let all = written(match &subjects::timeline().sections[0].content {
            Content::Timeline(line) => Timeline::clone(line),
            other => panic!("{other:?}"),
        });
        let samples: Vec<&Value> = all.iter().filter(|e| e["pid"] == 6 && e["ph"] == "i").collect();
        assert_eq!(samples.len(), 3);
        assert_eq!((&samples[0]["name"], time(samples[0], "ts")), (&Value::from("main"), 100));
        assert!(all.iter().any(|e| e["ph"] == "M" && e["args"]["name"] == "Samples"));
    }
}
