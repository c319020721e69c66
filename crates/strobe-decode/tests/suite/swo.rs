//! Trace streams written by an independent encoder, whole, cut and damaged.

use proptest::prelude::*;
use strobe_decode::swo::itm::{Decoder, Sink};
use strobe_decode::swo::packet::{Counters, ExceptionAction, Packet, Raw, Relation};
use strobe_decode::swo::tpiu;
use strobe_synth::Rng;
use strobe_synth::swo::{Stream, frames, mixed};

#[derive(Debug, Default, PartialEq)]
struct Log {
    packets: Vec<(u64, Packet)>,
    undecodable: Vec<(u64, u64)>,
}

impl Sink for Log {
    fn packet(&mut self, raw: Raw) {
        self.packets.push((raw.at, raw.packet().expect("the decoder emits only defined packets")));
    }

    fn undecodable(&mut self, at: u64, bytes: u64) {
        self.undecodable.push((at, bytes));
    }
}

/// All packets in the pieces; the decoder's statistics must balance.
fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Log, strobe_decode::swo::itm::Stats) {
    let (mut decoder, mut log) = (Decoder::new(), Log::default());
    pieces.into_iter().for_each(|piece| decoder.push(piece, &mut log));
    decoder.finish(&mut log);
    let stats = decoder.stats();
    assert_eq!(stats.packets, log.packets.len() as u64);
    assert_eq!(stats.undecodable_bytes, log.undecodable.iter().map(|bad| bad.1).sum::<u64>());
    assert_eq!(stats.disruptions, log.undecodable.len() as u64, "{stats:?} {log:?}");
    assert_eq!(
        stats.packet_bytes + stats.undecodable_bytes + stats.padding_bytes,
        stats.bytes,
        "{stats:?}"
    );
    (log, stats)
}

fn packets(bytes: &[u8]) -> Vec<Packet> {
    let (log, _) = decode([bytes]);
    assert_eq!(log.undecodable, [], "{bytes:02x?}");
    log.packets.into_iter().map(|(_, packet)| packet).collect()
}

#[test]
fn every_kind_of_packet() {
    use Packet::*;
    let mut stream = Stream::new();
    stream.sync().overflow().instrumentation(0, b"a").instrumentation(31, &[1, 2]);
    stream.page(7).instrumentation(31, &[1, 2, 3, 4]).page(0);
    for (relation, ticks) in [(0, 3), (0, 7), (1, 200), (2, 70_000), (3, 0x0fff_ffff)] {
        stream.local_timestamp(ticks, relation);
    }
    stream.global_timestamp1(0x3ff_fffe, true, false).global_timestamp1(5, false, true);
    stream.global_timestamp2(0x20_0001, false).global_timestamp2(0x20_0000_0001, true);
    stream.event_counters(0x21).exception(15, 1).exception(511, 2).exception(0, 3);
    stream.pc_sample(0x0800_1234).sleep().hardware(2, &[0xff]).hardware(3, &[0x82]);
    stream.data_pc(3, 0x0800_0100).hardware(0b01010, &[1]);
    stream.data_address(2, 0xbeef).hardware(0b01001, &[1, 2, 3, 4]);
    stream.data_value(1, true, &[9]).data_value(0, false, &[1, 0, 0, 0x80]).sync();
    let local = |ticks, relation| LocalTimestamp { ticks, relation };
    let exception = |number, action| Exception { number, action };
    assert_eq!(
        packets(&stream.bytes),
        [
            Sync,
            Overflow,
            Instrumentation { port: 0, bytes: 1, value: 0x61 },
            Instrumentation { port: 31, bytes: 2, value: 0x201 },
            Page(7),
            Instrumentation { port: 255, bytes: 4, value: 0x0403_0201 },
            Page(0),
            local(3, Relation::Synchronous),
            local(7, Relation::Synchronous),
            local(200, Relation::TimestampDelayed),
            local(70_000, Relation::EventDelayed),
            local(0x0fff_ffff, Relation::BothDelayed),
            GlobalTimestamp1 { low: 0x3ff_fffe, bits: 26, wrapped: true, clock_changed: false },
            GlobalTimestamp1 { low: 5, bits: 26, wrapped: false, clock_changed: true },
            GlobalTimestamp2 { high: 0x20_0001, wide: false },
            GlobalTimestamp2 { high: 0x20_0000_0001, wide: true },
            EventCounter(Counters(Counters::CPI | Counters::CYCLES)),
            exception(15, ExceptionAction::Entered),
            exception(511, ExceptionAction::Exited),
            exception(0, ExceptionAction::Returned),
            PcSample(0x0800_1234),
            Sleep,
            Prohibited,
            PmuOverflow(0x82),
            DataTracePc { comparator: 3, pc: 0x0800_0100 },
            DataTraceMatch { comparator: 1 },
            DataTraceAddress { comparator: 2, bytes: 2, address: 0xbeef },
            DataTraceAddress { comparator: 0, bytes: 4, address: 0x0403_0201 },
            DataTraceValue { comparator: 1, write: true, bytes: 1, value: 9 },
            DataTraceValue { comparator: 0, write: false, bytes: 4, value: 0x8000_0001 },
            Sync,
        ]
    );
}

/// No encoder has extensions, because no hardware sends them: by hand, from table D4-5.
#[test]
fn extensions_and_short_global_timestamps() {
    let of = |bytes: &[u8]| packets(bytes);
    assert_eq!(of(&[0x2c]), [Packet::Extension { of_dwt: true, value: 2 }]);
    assert_eq!(of(&[0x98, 0x7f]), [Packet::Extension { of_dwt: false, value: 1 | 0x7f << 3 }]);
    let whole = Packet::Extension { of_dwt: false, value: u32::MAX };
    assert_eq!(of(&[0xf8, 0xff, 0xff, 0xff, 0xff]), [whole]);
    let short =
        |low, bits| Packet::GlobalTimestamp1 { low, bits, wrapped: false, clock_changed: false };
    assert_eq!(of(&[0x94, 0x7f]), [short(0x7f, 7)]);
    assert_eq!(of(&[0x94, 0x80, 0x80, 0x01]), [short(1 << 14, 21)]);
}

#[test]
fn undecodable_bytes_are_counted() {
    let bad = |bytes: &[u8]| decode([bytes]).0.undecodable;
    // Reserved headers, and source packets that no hardware sends.
    for header in [0x04, 0x24, 0x80, 0x90, 0xa4, 0xf4, 0x25, 0x0d, 0xc7, 0x06] {
        assert_eq!(bad(&[header, 0x70])[0], (0, 1), "{header:02x}");
    }
    // A timestamp without an end; an exception without a function; an invalid sleep packet.
    for bytes in [&[0xc0, 0x80, 0x80, 0x80, 0x80, 0x70][..], &[0x0e, 3, 0, 0x70], &[0x15, 7, 0x70]]
    {
        assert_eq!(bad(bytes)[0].0, 0, "{bytes:02x?}");
    }
    // Zeros without the final one bit, and the end of the stream within a packet.
    assert_eq!(bad(&[0, 0, 0, 0, 0x80, 0x70])[0], (0, 5));
    assert_eq!(bad(&[0x70, 0, 0, 0, 0, 0, 0]), [(1, 6)]);
    assert_eq!(bad(&[0x70, 0x17, 1, 2]), [(1, 3)]);
}

#[test]
fn synchronisation_is_found_inside_a_wrong_packet() {
    // The four-byte header consumes zeros of the pattern after it.
    let mut bytes = vec![0x03, 0x55];
    bytes.extend([0, 0, 0, 0, 0, 0x80, 0x70]);
    let (log, stats) = decode([&bytes[..]]);
    let packets: Vec<Packet> = log.packets.iter().map(|(_, packet)| *packet).collect();
    assert_eq!(packets[1..], [Packet::Sync, Packet::Overflow]);
    assert_eq!(stats.undecodable_bytes, 0, "the fault cannot be detected");
}

#[test]
fn zeros_are_decoded_in_no_time_and_memory() {
    let zeros = vec![0; 1 << 20];
    let (log, stats) = decode((0..100).map(|_| &zeros[..]));
    assert_eq!(log.undecodable, [(0, 100 << 20)]);
    assert_eq!((stats.packets, stats.disruptions), (0, 1));
}

#[test]
fn a_long_stream_is_the_same_in_every_piece() {
    let stream = mixed(50_000, 3).bytes;
    let (whole, stats) = decode([&stream[..]]);
    assert_eq!((stats.undecodable_bytes, stats.packets), (0, 50_010));
    for size in [1, 2, 3, 7, 64, 4095, 4096, 4097, 10_000] {
        let (cut, cut_stats) = decode(stream.chunks(size));
        assert!(cut == whole && cut_stats == stats, "in pieces of {size}");
    }
}

/// Flips bits and leaves out bytes.
fn damaged(stream: &[u8], seed: u64, one_in: u32) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut out = Vec::new();
    for &byte in stream {
        match rng.one_in(one_in) {
            true if rng.one_in(2) => {}
            true => out.push(byte ^ 1 << rng.below(8)),
            false => out.push(byte),
        }
    }
    out
}

#[test]
fn after_damage_the_decoder_finds_back() {
    let stream = mixed(50_000, 4).bytes;
    let (whole, _) = decode([&stream[..]]);
    let bytes = damaged(&stream, 9, 1000);
    let (log, stats) = decode([&bytes[..]]);
    // Each of 175 faults costs its packet and a few more.
    assert!(stats.disruptions > 30 && stats.undecodable_bytes < 1000, "{stats:?}");
    let right = whole.packets.len() as u64;
    assert!(stats.packets.abs_diff(right) < right / 100, "{} of {right}", stats.packets);
    assert_eq!(stats.packets, log.packets.len() as u64);
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces(
        bytes in proptest::collection::vec(any::<u8>(), 0..6000),
        cuts in proptest::collection::vec(1usize..300, 1..20),
    ) {
        let (whole, stats) = decode([&bytes[..]]);
        let mut rest = &bytes[..];
        let mut pieces = Vec::new();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() { break }
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        let (cut, cut_stats) = decode(pieces);
        prop_assert_eq!(whole, cut);
        prop_assert_eq!(stats, cut_stats);
    }

    /// Mostly bytes of the patterns that matter.
    #[test]
    fn synchronisation_in_any_pieces(
        bytes in proptest::collection::vec(
            prop::sample::select(vec![0u8, 0, 0, 0x80, 0x03, 0x70, 0x17, 0xc0]),
            0..60,
        ),
        at in 0usize..60,
    ) {
        let (whole, stats) = decode([&bytes[..]]);
        let (a, b) = bytes.split_at(at.min(bytes.len()));
        let (cut, cut_stats) = decode([a, b]);
        prop_assert_eq!(whole, cut);
        prop_assert_eq!(stats, cut_stats);
    }

    #[test]
    fn frames_give_back_their_streams(
        parts in proptest::collection::vec(
            (1u8..4, proptest::collection::vec(any::<u8>(), 1..40)),
            1..20,
        ),
        every in 1usize..5,
        size in 1usize..50,
    ) {
        #[derive(Default)]
        struct Streams([Vec<u8>; 4], u64);
        impl tpiu::Sink for Streams {
            fn bytes(&mut self, stream: u8, _: u64, bytes: &[u8]) {
                self.0[stream as usize].extend(bytes);
            }
            fn undecodable(&mut self, _: u64, bytes: u64) {
                self.1 += bytes;
            }
        }
        let bytes = frames(&parts, every);
        let (mut decoder, mut streams) = (tpiu::Decoder::new(), Streams::default());
        bytes.chunks(size).for_each(|piece| decoder.push(piece, &mut streams));
        decoder.finish(&mut streams);
        for stream in 1..4u8 {
            let sent = parts.iter().filter(|part| part.0 == stream).flat_map(|part| part.1.clone());
            prop_assert_eq!(&streams.0[stream as usize], &sent.collect::<Vec<_>>());
        }
        let stats = decoder.stats();
        prop_assert_eq!(streams.1, 0);
        prop_assert_eq!(stats.frames * 16 + stats.sync_bytes, stats.bytes);
    }
}
