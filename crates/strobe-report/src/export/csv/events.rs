//! What is on a time line, in the order of time: spans, moments, values, and where something is
//! missing or only summed up.

use std::io::{self, Write};

use super::super::timed::Timed;
use super::{heading, line};

/// Times in nanoseconds; spans and gaps end somewhere, values and gaps have a number.
const HEADS: [&str; 6] = ["at (ns)", "until (ns)", "kind", "track", "name", "value"];

/// A line, with its time for the order.
type Row = (i64, [String; 6]);

pub(super) fn rows(timed: &Timed<'_>, out: &mut dyn Write) -> io::Result<()> {
    let track = |number: usize| timed.tracks().get(number);
    let name = |number: usize| track(number).map_or(String::new(), |track| track.name.clone());
    let row = |at: i64, until: Option<i64>, kind: &str, texts: [String; 3]| -> Row {
        let [track, name, value] = texts;
        let until = until.map_or(String::new(), |until| until.to_string());
        (at, [at.to_string(), until, kind.to_owned(), track, name, value])
    };
    let spans = timed.spans().map(|span| {
        let texts = [name(span.track), span.name.to_owned(), String::new()];
        row(span.begin_ns, Some(span.end_ns), "span", texts)
    });
    let moments = timed.moments().map(|moment| {
        let texts = [name(moment.track), moment.name.to_owned(), String::new()];
        row(moment.at_ns, None, "moment", texts)
    });
    let values = timed.values().map(|value| {
        let unit = track(value.track).and_then(|track| track.unit.as_ref());
        let texts = [heading(&name(value.track), unit), String::new(), value.value.to_string()];
        row(value.at_ns, None, "value", texts)
    });
    let gaps = timed.gaps().into_iter().map(|gap| {
        let events = gap.events.map_or(String::new(), |events| events.to_string());
        row(gap.from_ns, Some(gap.to_ns), "gap", [String::new(), gap.why.to_owned(), events])
    });
    let mut all: Vec<Row> = spans.chain(moments).chain(values).chain(gaps).collect();
    all.sort_by_key(|(at, _)| *at);
    line(&HEADS.map(str::to_owned), out)?;
    all.iter().try_for_each(|(_, cells)| line(cells, out))
}
