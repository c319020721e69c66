//! Any bytes as frames of the target kit, up to the record and the time line: the same result whole
//! and in pieces, and every byte accounted for; and any records of heaps and threads, whose sums by
//! thread are those of all.
//!
//! `cargo +nightly fuzz run -s none kit -- -max_len=4096 -rss_limit_mb=1024 -timeout=10`
#![no_main]

use strobe_decode::kit::{Decoder, Event, Stats, is_likely, values_of};
use strobe_source::archive::report::HeapThread;
use strobe_decode::kit::Transport;
use strobe_source::traced::{Accumulator, KitSetting, Settings, Tracks};
use strobe_synth::kit::{frame, head};

fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Event>, Stats) {
    let (mut decoder, mut events) = (Decoder::new(), Vec::new());
    let mut take = |event| events.push(event);
    pieces.for_each(|piece| decoder.push(piece, &mut take));
    decoder.finish(&mut take);
    let stats = decoder.stats();
    assert_eq!(stats.frame_bytes + stats.padding_bytes + stats.undecodable_bytes, stats.bytes);
    assert_eq!(stats.frame_bytes, 11 * stats.frames + 5 * stats.values);
    (events, stats)
}

fn record<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> String {
    let settings = Settings {
        core_hz: Some(16_000_000),
        tick_cycles: Some(3),
        kit: Some(KitSetting { way: Transport::Rtt, number: 3 }),
        ..Settings::default()
    };
    let mut accumulator = Accumulator::new(None);
    let mut tracks = Tracks::new(&settings).expect("a clock");
    for piece in pieces {
        accumulator.kit_bytes(piece);
        tracks.kit_bytes(piece);
    }
    accumulator.kit_gap();
    tracks.kit_gap();
    let record = accumulator.record(None, None, &settings).expect("totals balance");
    format!("{record:?} {:?}", tracks.finish(None))
}

/// Frames of what the heap's part of the kit sends, or may send: eight bytes are a record.
fn framed(bytes: &[u8]) -> Vec<u8> {
    const KINDS: [u32; 5] = [6, 12, 13, 14, 15];
    let (mut number, mut frames) = (0u16, Vec::new());
    for piece in bytes.chunks_exact(8) {
        let kind = KINDS[usize::from(piece[0]) % KINDS.len()];
        let id = match kind {
            15 => u32::from(piece[1] % 3) << 8 | u32::from(piece[2] % 40),
            _ => u32::from(piece[1] & 1) << 9 | u32::from(piece[2] & 15),
        };
        number = number.wrapping_add(1 + u16::from(piece[3] & 15 == 0));
        let few = piece[4..].iter().cycle().map(|&byte| u32::from(byte) & 31);
        let values = few.take(values_of(kind).unwrap_or_default());
        frames.extend(frame(&[[head(kind, id, number), 7].to_vec(), values.collect()].concat()));
    }
    frames
}

fn by_thread(bytes: &[u8]) {
    let settings = Settings::default();
    let mut accumulator = Accumulator::new(None);
    accumulator.kit_bytes(bytes);
    let record = accumulator.record(None, None, &settings).expect("totals balance");
    let kit = record.traced.kit.as_ref();
    let Some(heap) = kit.and_then(|kit| kit.heap.as_ref()) else { return };
    let sum = |of: fn(&HeapThread) -> u64| heap.threads.iter().map(of).sum::<u64>();
    assert_eq!(sum(|of| of.allocations), heap.allocations);
    assert_eq!(sum(|of| of.bytes), heap.total_bytes);
    assert_eq!(sum(|of| of.live_bytes), heap.live_bytes);
    assert_eq!(sum(|of| of.live), heap.live);
    assert_eq!(sum(|of| of.peak_bytes), heap.peak_bytes);
    assert_eq!(sum(|of| of.frees), heap.frees);
    assert_eq!(sum(|of| of.failed), heap.failed);
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let size = 1 + bytes.first().map_or(0, |&byte| usize::from(byte) % 40);
    assert_eq!(decode(std::iter::once(bytes)), decode(bytes.chunks(size)));
    assert_eq!(record(std::iter::once(bytes)), record(bytes.chunks(size)));
    is_likely(bytes);
    by_thread(bytes);
    by_thread(&framed(bytes));
});
