//! Common Trace Format written by an independent encoder: whole, cut and damaged; and every error
//! in metadata.

use crate::common::traces::streams;
use proptest::prelude::*;
use strobe_decode::ctf::{DecodeError, Item, Lost, Options, Reader, Stats, Trace, merge};
use strobe_synth::Rng;
use strobe_synth::ctf::{CtfEvent, CtfTrace, packetised};
use strobe_synth::tracer;

/// All items of a stream; the reader's statistics must balance.
fn read<'t>(trace: &'t Trace, stream: &[u8]) -> (Vec<Item<'t>>, Stats) {
    let mut reader = Reader::new(trace, stream, &Options::default());
    let mut items = Vec::new();
    while let Some(item) = reader.next() {
        items.push(item);
    }
    let stats = reader.stats();
    let bad = |item: &Item| if let Item::Undecodable(bad) = item { bad.bytes } else { 0 };
    assert_eq!(items.iter().map(bad).sum::<u64>(), stats.undecodable_bytes);
    assert_eq!(stats.bytes, stream.len() as u64);
    assert_eq!(
        stats.bytes,
        stats.packet_bytes + stats.mark_bytes + stats.undecodable_bytes,
        "{stats:?}"
    );
    (items, stats)
}

fn events(items: &[Item]) -> Vec<CtfEvent> {
    let event = |item: &Item| match item {
        Item::Event(event) => Some(CtfEvent {
            name: event.class.name.clone(),
            ticks: event.time?,
            fields: event.fields.as_ref().map_or(String::new(), ToString::to_string),
        }),
        _ => None,
    };
    items.iter().filter_map(event).collect()
}

proptest! {
    #[test]
    fn made_up_traces_are_read_back(seed in any::<u64>(), characters in 1usize..400) {
        let made = CtfTrace::generate(seed);
        let plain = Trace::parse(made.metadata.as_bytes()).unwrap();
        let trace = Trace::parse(&packetised(&made.metadata, characters, seed % 2 == 0)).unwrap();
        // Equal lines and columns imply equal parsing.
        prop_assert!(plain == trace);
        let (items, stats) = read(&trace, &made.stream);
        prop_assert_eq!(events(&items), &made.events[..]);
        prop_assert_eq!(stats.undecodable_bytes, 0);
        prop_assert_eq!(stats.lost_events, made.lost);
        prop_assert!(made.stream.is_empty() || stats.packets == made.packets);
        prop_assert_eq!(stats.backwards, 0);
    }

    #[test]
    fn cut_streams_keep_what_was_before(seed in any::<u64>(), cut in any::<prop::sample::Index>()) {
        let made = CtfTrace::generate(seed);
        let trace = Trace::parse(made.metadata.as_bytes()).unwrap();
        let cut = cut.index(made.stream.len() + 1);
        let (items, _) = read(&trace, &made.stream[..cut]);
        let found = events(&items);
        prop_assert_eq!(&found[..], &made.events[..found.len()]);
    }

    #[test]
    fn damaged_streams_are_accounted_for(seed in any::<u64>(), flips in 1usize..20) {
        let made = CtfTrace::generate(seed);
        let trace = Trace::parse(made.metadata.as_bytes()).unwrap();
        let (mut stream, mut rng) = (made.stream.clone(), Rng::new(seed));
        for _ in 0..flips.min(stream.len()) {
            let at = rng.below(stream.len() as u32) as usize;
            stream[at] ^= 1 << rng.below(8);
        }
        read(&trace, &stream);
        stream.drain(..rng.below(stream.len() as u32 + 1) as usize);
        read(&trace, &stream);
    }

    #[test]
    fn damaged_metadata_is_refused_or_read(seed in any::<u64>(), flips in 1usize..6) {
        let made = CtfTrace::generate(seed);
        let (mut text, mut rng) = (made.metadata.into_bytes(), Rng::new(seed));
        for _ in 0..flips {
            let at = rng.below(text.len() as u32) as usize;
            match rng.below(3) {
                0 => text[at] ^= 1 << rng.below(8),
                // At least one byte is left undecoded, which the next flip can be in.
                1 if text.len() > 1 => drop(text.remove(at)),
                _ => text.truncate(at.max(1)),
            }
        }
        if let Ok(trace) = Trace::parse(&text) {
            read(&trace, &made.stream);
        }
    }
}

#[test]
fn noise_is_reported_and_the_next_packet_found() {
    let made = (0..).map(CtfTrace::generate).find(|t| t.in_packets && t.packets >= 2).unwrap();
    let trace = Trace::parse(made.metadata.as_bytes()).unwrap();
    let mut stream = b"boot: hello\r\n".to_vec();
    stream.extend_from_slice(&made.stream);
    stream.extend_from_slice(b"bye");
    let (items, stats) = read(&trace, &stream);
    assert_eq!(events(&items), made.events);
    assert_eq!((stats.packets, stats.undecodable_bytes), (made.packets, 13 + 3));
    let Some(Item::Undecodable(first)) = items.first() else { panic!("{:?}", items.first()) };
    assert_eq!((first.at, first.bytes, &first.why), (0, 13, &DecodeError::Magic));
}

const SMALL: &str = "typealias integer { size = 8; } := u8;
trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000000; offset_s = 5; offset = 7; };
stream { event.header := struct { u8 id; u8 timestamp; }; };
event { name = a; id = 0; fields := struct { u8 n; u8 text[n]; }; };
event { name = none; id = 1; };
";

#[test]
fn clocks_wrap_and_have_offsets() {
    let trace = Trace::parse(SMALL.as_bytes()).unwrap();
    let (items, stats) = read(&trace, &[1, 250, 1, 3, 1, 3, 1, 2]);
    let time = |item: &Item| match item {
        Item::Event(event) => event.time.zip(event.nanoseconds()),
        _ => None,
    };
    let times: Vec<(u64, i128)> = items.iter().filter_map(time).collect();
    assert_eq!(times.iter().map(|t| t.0).collect::<Vec<_>>(), [250, 259, 259, 514]);
    assert_eq!(times[0].1, 5_000_000_000 + (250 + 7) * 1000);
    assert_eq!(stats.backwards, 0);
}

#[test]
fn excessive_length_is_an_error_without_allocation() {
    let metadata = SMALL.replace("u8 n;", "integer { size = 64; align = 8; } n;");
    let trace = Trace::parse(metadata.as_bytes()).unwrap();
    let mut stream = vec![0, 1];
    stream.extend_from_slice(&u64::MAX.to_le_bytes());
    stream.extend_from_slice(&[1, 2, 3]);
    let (items, stats) = read(&trace, &stream);
    assert_eq!((stats.events, stats.undecodable_bytes), (0, stream.len() as u64));
    let Some(Item::Undecodable(bad)) = items.last() else { panic!("{items:?}") };
    let why = bad.why.to_string();
    assert_eq!(why, "`text` needs 8 bits and the packet has 0 more");
}

/// Arrays of empty elements would run without end and allocate without limit, without a bit in the
/// stream.
#[test]
fn elements_without_bits_are_bounded() {
    let empty = "struct { struct { } a[4000000000]; } b[4000000000]";
    let metadata = SMALL.replace("u8 n;", &format!("u8 n; {empty};"));
    let trace = Trace::parse(metadata.as_bytes()).unwrap();
    let (items, _) = read(&trace, &[0, 0, 0, 0, 0]);
    let Some(Item::Undecodable(bad)) = items.last() else { panic!("{items:?}") };
    assert!(matches!(bad.why, DecodeError::Elements(_)), "{bad:?}");
    let metadata = "trace { byte_order = le; }; event { name = a; fields := struct { }; };";
    let trace = Trace::parse(metadata.as_bytes()).unwrap();
    let (items, stats) = read(&trace, &[0; 9]);
    assert_eq!((items.len(), stats.undecodable_bytes), (2, 9));
}

#[test]
fn losses_are_placed_between_packets() {
    let made = (0..).map(CtfTrace::generate).find(|t| t.packets >= 3 && t.lost > 0).unwrap();
    let trace = Trace::parse(made.metadata.as_bytes()).unwrap();
    let (items, _) = read(&trace, &made.stream);
    let mut end = None;
    let mut lost = 0;
    for pair in items.windows(2) {
        if let Item::Lost(Lost { events, from, to, .. }) = pair[0] {
            let Item::Packet(packet) = &pair[1] else { panic!("{:?}", pair[1]) };
            assert_eq!((from, to), (end, packet.end));
            lost += events;
        }
        if let Item::Packet(packet) = &pair[1] {
            end = packet.end;
        }
    }
    assert_eq!(lost, made.lost);
}

#[test]
fn streams_are_merged_by_time() {
    let made = (0..).map(CtfTrace::generate).find(|t| t.in_packets && t.events.len() > 10).unwrap();
    let trace = Trace::parse(made.metadata.as_bytes()).unwrap();
    let options = Options::default();
    let readers = (0..3).map(|_| Reader::new(&trace, &made.stream, &options)).collect();
    let all: Vec<(usize, Item)> = merge(readers).collect();
    let items: Vec<Item> = all.iter().map(|(_, item)| item.clone()).collect();
    let times: Vec<u64> = events(&items).iter().map(|event| event.ticks).collect();
    assert_eq!(times.len(), 3 * made.events.len());
    assert!(times.is_sorted());
    assert_eq!(all.iter().filter(|(stream, _)| *stream == 2).count(), all.len() / 3);
}

#[test]
fn a_tracers_streams_to_the_last_byte() {
    let trace = Trace::parse(tracer::metadata().as_bytes()).unwrap();
    let mut count = 0;
    for (name, stream) in streams() {
        let (items, stats) = read(&trace, &stream.bytes);
        assert!(events(&items) == stream.events, "{name}: other events than were written");
        assert_eq!((stats.mark_bytes, stats.packets, stats.backwards), (4, 1, 0), "{name}");
        assert_eq!(stats.undecodable_bytes, (stream.noise + stream.tail) as u64, "{name}");
        let Some(Item::Undecodable(first)) = items.first() else { panic!("{:?}", items.first()) };
        let noise = stream.noise as u64;
        assert_eq!((first.at, first.bytes, &first.why), (0, noise, &DecodeError::Preamble));
        let cut = items.last().filter(|_| stream.tail > 0);
        if let Some(last) = cut {
            let Item::Undecodable(last) = last else { panic!("{name}: {last:?}") };
            assert_eq!((last.at + last.bytes, last.bytes), (stats.bytes, stream.tail as u64));
        }
        // Truncated in the last event: all complete events are reported.
        let whole = stream.whole_events();
        let (items, cut) = read(&trace, &whole[..whole.len() - 1]);
        assert!(events(&items) == stream.events[..stream.events.len() - 1], "{name}");
        assert!(cut.undecodable_bytes >= 8, "{name}: {cut:?}");
        count += stream.events.len();
    }
    assert!(count > 50_000, "{count}");
}

#[test]
fn every_cut_of_a_stream_and_of_its_metadata() {
    let trace = Trace::parse(SMALL.as_bytes()).unwrap();
    let stream = [0, 1, 3, 7, 8, 9, 1, 5, 0, 9, 0];
    let whole = [0, 6, 8, 11];
    for cut in 0..=stream.len() {
        let (_, stats) = read(&trace, &stream[..cut]);
        let before = whole.iter().rev().find(|end| **end <= cut).unwrap();
        assert_eq!(stats.undecodable_bytes, (cut - before) as u64, "{cut}");
    }
    for cut in 0..SMALL.len() {
        let _ = Trace::parse(&SMALL.as_bytes()[..cut]);
    }
}

/// Each fault, the text that the error must point to, and the error.
#[test]
fn errors_in_metadata_name_their_place() {
    let cases = [
        ("u8 id;", "u9 id;", "u9", "no type `u9` is defined before this"),
        ("[n]", "[m]", "m]", "`m` does not name an unsigned integer that comes before this"),
        ("size = 8", "size = 65", "size", "size cannot be 65; expected 1 to 64"),
        ("size = 8;", "", "integer", "integer needs `size`"),
        ("name = a; ", "", "event {", "event needs `name`"),
        ("id = 1;", "id = 0;", "event { name = none", "`event 0 of stream 0` is defined twice"),
        (
            "id = 1;",
            "id = 1; stream_id = 3;",
            "event { name = none",
            "event belongs to stream 3, which is not described",
        ),
        ("u8 timestamp;", "u8 id;", "id; }; };", "`id` is defined twice"),
        (
            "= le;",
            "= up;",
            "byte_order",
            "byte_order cannot be `up`; expected le, be, network or native",
        ),
        (
            "stream {",
            "scream {",
            "scream",
            "expected trace, stream, event, clock, env, callsite or a definition, found `scream`",
        ),
        ("};\nevent", "}\nevent", "event { name = a", "expected ;, found `event`"),
        ("freq = 1000000", "freq = 0", "freq", "freq cannot be 0; expected ticks per second"),
    ];
    for (from, to, place, wanted) in cases {
        let metadata = SMALL.replacen(from, to, 1);
        assert_ne!(metadata, SMALL, "{from}");
        let before = &metadata[..metadata.find(place).unwrap()];
        let (line, column) =
            (before.lines().count(), before.lines().last().unwrap_or("").len() + 1);
        let (line, column) =
            if before.ends_with('\n') { (line + 1, 1) } else { (line.max(1), column) };
        let error = Trace::parse(metadata.as_bytes()).unwrap_err().to_string();
        assert_eq!(error, format!("metadata, line {line}, column {column}: {wanted}"));
    }
    let lacks = Trace::parse(b"").unwrap_err().to_string();
    assert_eq!(lacks, "metadata: there is no `trace` block; is this CTF metadata?");
    let mut packet = packetised(SMALL, 4000, false);
    packet.truncate(100);
    let error = Trace::parse(&packet).unwrap_err().to_string();
    assert_eq!(error, "metadata packet at byte 0: its sizes do not fit it or the file");
}

/// A few lines of metadata can describe types of any depth and size.
#[test]
fn types_are_bounded() {
    let deep = format!("{} u8 x; {}", "struct { ".repeat(100), "} x; ".repeat(100));
    let error = Trace::parse(format!("{SMALL} struct d {{ {deep} }};").as_bytes()).unwrap_err();
    assert!(error.to_string().contains("nested more than 64 deep"), "{error}");
    let mut doubling = "struct s0 { u8 a; };".to_owned();
    for i in 0..40 {
        doubling += &format!(" struct s{} {{ struct s{i} a; struct s{i} b; }};", i + 1);
    }
    let error = Trace::parse(format!("{SMALL} {doubling}").as_bytes()).unwrap_err();
    assert!(error.to_string().contains("more than 1048576 parts"), "{error}");
    let open = format!("{SMALL} event {}", "{ a := struct ".repeat(100_000));
    assert!(Trace::parse(open.as_bytes()).is_err());
}
