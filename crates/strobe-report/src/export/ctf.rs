//! Common Trace Format 1.8: a metadata text and one stream.
//!
//! Threads and interrupts have the names that Zephyr's tracer gives their events, so that whoever
//! understands those understands these.

use std::cmp::Reverse;

use strobe_model::measurement::{Measurement, TrackKind};

use super::timed::Timed;
use super::{About, Choice, Export, ExportError, InputKind, Output};

/// The format.
pub(super) struct Ctf;

/// The text that describes the stream.
const METADATA: &str = r#"/* CTF 1.8 */

typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = true; } := int64_t;

trace {
	major = 1;
	minor = 8;
	byte_order = le;
	packet.header := struct { uint32_t magic; uint32_t stream_id; };
};

clock {
	name = time;
	description = "nanoseconds since the beginning";
	freq = 1000000000;
};

typealias integer { size = 64; align = 8; signed = false; map = clock.time.value; } := clock_t;

stream {
	id = 0;
	packet.context := struct {
		clock_t timestamp_begin;
		clock_t timestamp_end;
		uint64_t content_size;
		uint64_t packet_size;
		uint64_t events_discarded;
	};
	event.header := struct { clock_t timestamp; uint8_t id; };
};

event { name = thread_switched_in; id = 0; fields := struct { int64_t thread_id; string name; }; };
event { name = thread_switched_out; id = 1; fields := struct { int64_t thread_id; string name; }; };
event { name = isr_enter; id = 2; fields := struct { int64_t irq; string name; }; };
event { name = isr_exit; id = 3; fields := struct { int64_t irq; string name; }; };
event { name = function_begin; id = 4; fields := struct { string track; string name; }; };
event { name = function_end; id = 5; fields := struct { string track; string name; }; };
event { name = mark_begin; id = 6; fields := struct { string track; string name; }; };
event { name = mark_end; id = 7; fields := struct { string track; string name; }; };
event { name = mark; id = 8; fields := struct { string track; string name; }; };
event { name = counter; id = 9; fields := struct { string track; int64_t value; }; };
event { name = lost; id = 10;
    fields := struct { uint64_t from; uint64_t to; uint64_t events; string why; }; };
event { name = sample; id = 11; fields := struct { string track; string function; }; };
"#;

const MAGIC: u32 = 0xc1fc_1fc1;
/// Magic, stream, two times, two sizes, a count.
const HEADER: usize = 4 + 4 + 5 * 8;
/// A packet is ended when it has more than this.
const PACKET: usize = 1 << 16;

/// Where an event goes among those of the same time: what ends makes room for what begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    /// The inner ones first, which began last.
    End(Reverse<i64>),
    /// The outer ones first, which end last.
    Begin(Reverse<i64>),
    Moment,
    /// The end of what took no time.
    EndAtOnce,
}

impl Export for Ctf {
    fn about(&self) -> About {
        About {
            name: "ctf",
            aliases: &[],
            extension: None,
            takes: InputKind::Timeline,
            help: "a directory in Common Trace Format 1.8, for babeltrace2 and Trace Compass",
        }
    }

    fn write(
        &self,
        measurement: &Measurement,
        choice: &Choice,
        out: &mut dyn Output,
    ) -> Result<(), ExportError> {
        let line = Timed::new(measurement, super::timeline(measurement, choice, self.about())?)?;
        let mut all = Vec::new();
        slices(&line, &mut all);
        moments(&line, &mut all);
        all.sort_by_key(|(at, order, _)| (*at, *order));
        out.file("metadata")?.write_all(METADATA.as_bytes())?;
        out.file("stream")?.write_all(&packets(&all))?;
        Ok(())
    }
}

/// An event: when, where among those of its time, and its bytes behind the timestamp.
type Event = (i64, Order, Vec<u8>);

/// A text and the zero at its end; a zero within it would be another end.
fn text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.push(0);
}

fn slices(line: &Timed, all: &mut Vec<Event>) {
    for span in line.spans() {
        let Some(track) = line.tracks().get(span.track) else { continue };
        let body = |id: u8| {
            let mut body = vec![id];
            match track.kind {
                TrackKind::Thread | TrackKind::Exception => {
                    body.extend_from_slice(&track.number.unwrap_or(-1).to_le_bytes());
                }
                _ => text(&mut body, &track.name),
            }
            text(&mut body, span.name);
            body
        };
        let begin = match track.kind {
            TrackKind::Thread => 0,
            TrackKind::Exception => 2,
            TrackKind::Functions => 4,
            TrackKind::Marks | TrackKind::Counter | TrackKind::Samples => 6,
        };
        let (from, to) = (span.begin_ns, span.end_ns);
        all.push((from, Order::Begin(Reverse(to)), body(begin)));
        let order = if to == from { Order::EndAtOnce } else { Order::End(Reverse(from)) };
        all.push((to, order, body(begin + 1)));
    }
}

fn moments(line: &Timed, all: &mut Vec<Event>) {
    let track = |index: usize| line.tracks().get(index);
    let name = |index: usize| track(index).map_or("", |track| track.name.as_str());
    for moment in line.moments() {
        let is_sample = track(moment.track).is_some_and(|t| t.kind == TrackKind::Samples);
        let mut body = vec![if is_sample { 11 } else { 8 }];
        text(&mut body, name(moment.track));
        text(&mut body, moment.name);
        all.push((moment.at_ns, Order::Moment, body));
    }
    for value in line.values() {
        let mut body = vec![9];
        text(&mut body, name(value.track));
        body.extend_from_slice(&value.value.to_le_bytes());
        all.push((value.at_ns, Order::Moment, body));
    }
    for gap in line.gaps() {
        let mut body = vec![10];
        for number in [gap.from_ns, gap.to_ns] {
            body.extend_from_slice(&number.max(0).to_le_bytes());
        }
        body.extend_from_slice(&gap.events.unwrap_or(0).to_le_bytes());
        text(&mut body, gap.why);
        all.push((gap.to_ns, Order::Moment, body));
    }
}

/// Packets of events in their order. Timestamps have no sign: what is before the time line's
/// beginning moves there.
fn packets(all: &[Event]) -> Vec<u8> {
    let mut stream = Vec::new();
    let time = |at: i64| at.max(0) as u64;
    let mut rest = all;
    while let Some((begin, ..)) = rest.first() {
        let mut content = Vec::new();
        let begin = time(*begin);
        let mut end = begin;
        let mut count = 0;
        for (at, _, body) in rest {
            content.extend_from_slice(&time(*at).to_le_bytes());
            content.extend_from_slice(body);
            (end, count) = (time(*at), count + 1);
            if content.len() > PACKET {
                break;
            }
        }
        rest = &rest[count..];
        stream.extend_from_slice(&MAGIC.to_le_bytes());
        stream.extend_from_slice(&0u32.to_le_bytes());
        let bits = (HEADER + content.len()) as u64 * 8;
        for number in [begin, end, bits, bits, 0] {
            stream.extend_from_slice(&number.to_le_bytes());
        }
        stream.append(&mut content);
    }
    stream
}
