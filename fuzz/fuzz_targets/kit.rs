//! Any bytes as frames of the target kit, up to the record and the time line: the same result whole
//! and in pieces, and every byte accounted for.
//!
//! `cargo +nightly fuzz run -s none kit -- -max_len=4096 -rss_limit_mb=1024 -timeout=10`
#![no_main]

use strobe_decode::kit::{Decoder, Event, Stats, is_likely};
use strobe_model::KitWay;
use strobe_source::traced::{Accumulator, KitSetting, Settings, Tracks};

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
        kit: Some(KitSetting { way: KitWay::Rtt, number: 3 }),
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

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let size = 1 + bytes.first().map_or(0, |&byte| usize::from(byte) % 40);
    assert_eq!(decode(std::iter::once(bytes)), decode(bytes.chunks(size)));
    assert_eq!(record(std::iter::once(bytes)), record(bytes.chunks(size)));
    is_likely(bytes);
});
