//! Common Trace Format 1.8: a metadata text and one stream.
//!
//! Threads and interrupts have the names that Zephyr's tracer gives their events, so that whoever understands those understands these.

use std::cmp::Reverse;

use strobe_model::{TraceEvents, TrackKind};

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
event { name = lost; id = 10; fields := struct { uint64_t from; uint64_t to; uint64_t events; string why; }; };
"#;

const MAGIC: u32 = 0xc1fc_1fc1;
/// Magic, stream, two times, two sizes, a count.
const HEADER: usize = 4 + 4 + 5 * 8;
/// A packet is ended when it has more than this.
const PACKET: usize = 1 << 16;

/// Bytes of the two files: `metadata` and the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// The file `metadata`.
    pub metadata: String,
    /// The stream, whose file may have any name.
    pub stream: Vec<u8>,
}

/// Where an event goes among those of the same time: what ends makes room for what begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    /// The inner ones first, which began last.
    End(Reverse<u64>),
    /// The outer ones first, which end last.
    Begin(Reverse<u64>),
    Moment,
    /// The end of what took no time.
    EndAtOnce,
}

/// Writes a time line.
pub fn write(events: &TraceEvents) -> Files {
    let mut all: Vec<(u64, Order, Vec<u8>)> = Vec::new();
    slices(events, &mut all);
    moments(events, &mut all);
    all.sort_by_key(|(at, order, _)| (*at, *order));
    Files { metadata: METADATA.to_owned(), stream: packets(&all) }
}

/// A text and the zero at its end; a zero within it would be another end.
fn text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.push(0);
}

fn slices(events: &TraceEvents, all: &mut Vec<(u64, Order, Vec<u8>)>) {
    for slice in &events.slices {
        let Some(track) = events.tracks.get(slice.track) else { continue };
        let name = if slice.name.is_empty() { &track.name } else { &slice.name };
        let body = |id: u8| {
            let mut body = vec![id];
            match track.kind {
                TrackKind::Thread | TrackKind::Exception => {
                    body.extend_from_slice(&track.number.unwrap_or(-1).to_le_bytes());
                }
                _ => text(&mut body, &track.name),
            }
            text(&mut body, name);
            body
        };
        let begin = match track.kind {
            TrackKind::Thread => 0,
            TrackKind::Exception => 2,
            TrackKind::Functions => 4,
            TrackKind::Marks | TrackKind::Counter => 6,
        };
        let end_ns = slice.end_ns.max(slice.begin_ns);
        all.push((slice.begin_ns, Order::Begin(Reverse(end_ns)), body(begin)));
        let order = match end_ns == slice.begin_ns {
            true => Order::EndAtOnce,
            false => Order::End(Reverse(slice.begin_ns)),
        };
        all.push((end_ns, order, body(begin + 1)));
    }
}

fn moments(events: &TraceEvents, all: &mut Vec<(u64, Order, Vec<u8>)>) {
    let track = |index: usize| events.tracks.get(index).map_or("", |track| track.name.as_str());
    for instant in &events.instants {
        let mut body = vec![8];
        text(&mut body, track(instant.track));
        text(&mut body, &instant.name);
        all.push((instant.at_ns, Order::Moment, body));
    }
    for value in &events.counters {
        let mut body = vec![9];
        text(&mut body, track(value.track));
        body.extend_from_slice(&value.value.to_le_bytes());
        all.push((value.at_ns, Order::Moment, body));
    }
    for gap in &events.gaps {
        let mut body = vec![10];
        for number in [gap.from_ns, gap.to_ns, gap.events.unwrap_or(0)] {
            body.extend_from_slice(&number.to_le_bytes());
        }
        text(&mut body, &gap.why);
        all.push((gap.to_ns, Order::Moment, body));
    }
}

fn packets(all: &[(u64, Order, Vec<u8>)]) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut rest = all;
    while let Some((begin, ..)) = rest.first() {
        let mut content = Vec::new();
        let mut end = *begin;
        let mut count = 0;
        for (at, _, body) in rest {
            content.extend_from_slice(&at.to_le_bytes());
            content.extend_from_slice(body);
            (end, count) = (*at, count + 1);
            if content.len() > PACKET {
                break;
            }
        }
        rest = &rest[count..];
        stream.extend_from_slice(&MAGIC.to_le_bytes());
        stream.extend_from_slice(&0u32.to_le_bytes());
        let bits = (HEADER + content.len()) as u64 * 8;
        for number in [*begin, end, bits, bits, 0] {
            stream.extend_from_slice(&number.to_le_bytes());
        }
        stream.append(&mut content);
    }
    stream
}
