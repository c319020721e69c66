//! Any bytes from a trace pin, as packets, as TPIU frames, as events and as a record: the same
//! result whole and in pieces, and every byte accounted for.
//!
//! `cargo +nightly fuzz run -s none swo -- -max_len=4096 -rss_limit_mb=1024 -timeout=10`
#![no_main]

use strobe_decode::swo::reader::{Hint, Reader, framing};
use strobe_decode::swo::timeline::Event;
use strobe_decode::swo::{itm, packet::Raw, tpiu};
use strobe_source::traced::{Accumulator, Settings};

#[derive(Default, PartialEq, Debug)]
struct Log {
    packets: Vec<Raw>,
    streams: Vec<(u8, u64, Vec<u8>)>,
    undecodable: Vec<(u64, u64)>,
}

impl itm::Sink for Log {
    fn packet(&mut self, raw: Raw) {
        assert!(raw.packet().is_some());
        self.packets.push(raw);
    }

    fn undecodable(&mut self, at: u64, bytes: u64) {
        self.undecodable.push((at, bytes));
    }
}

impl tpiu::Sink for Log {
    fn bytes(&mut self, stream: u8, at: u64, bytes: &[u8]) {
        self.streams.push((stream, at, bytes.to_vec()));
    }

    fn undecodable(&mut self, at: u64, bytes: u64) {
        self.undecodable.push((at, bytes));
    }
}

fn packets<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Log, itm::Stats) {
    let (mut decoder, mut log) = (itm::Decoder::new(), Log::default());
    pieces.for_each(|piece| decoder.push(piece, &mut log));
    decoder.finish(&mut log);
    let stats = decoder.stats();
    assert_eq!(stats.packet_bytes + stats.padding_bytes + stats.undecodable_bytes, stats.bytes);
    assert_eq!(stats.undecodable_bytes, log.undecodable.iter().map(|bad| bad.1).sum::<u64>());
    (log, stats)
}

fn frames<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Log, tpiu::Stats) {
    let (mut decoder, mut log) = (tpiu::Decoder::new(), Log::default());
    pieces.for_each(|piece| decoder.push(piece, &mut log));
    decoder.finish(&mut log);
    let stats = decoder.stats();
    assert_eq!(16 * stats.frames + stats.sync_bytes + stats.undecodable_bytes, stats.bytes);
    assert_eq!(stats.undecodable_bytes, log.undecodable.iter().map(|bad| bad.1).sum::<u64>());
    (log, stats)
}

/// Events, and the record made of them, which must balance. The input decides where a gap is.
fn events<'a>(bytes: &[u8], pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Event> {
    let mut reader = Reader::new(framing(bytes, Hint::Unknown));
    let mut accumulator = Accumulator::new(Some(1)).with_kit(Some(1));
    let mut all = Vec::new();
    let mut take = |event: Event| {
        all.push(event);
        strobe_decode::swo::timeline::Events::event(&mut accumulator, event);
    };
    pieces.for_each(|piece| reader.push(piece, &mut take));
    reader.gap(&mut take);
    reader.push(&bytes[..bytes.len() / 2], &mut take);
    reader.finish(&mut take);
    let settings = Settings {
        core_hz: Some(16_000_000),
        tick_cycles: Some(1),
        period_cycles: Some(64),
        ..Settings::default()
    };
    let record = accumulator.record(Some(&reader), None, &settings).expect("totals balance");
    std::hint::black_box(record.measurement());
    all
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let size = 1 + bytes.first().map_or(0, |&byte| usize::from(byte) % 40);
    assert_eq!(packets(std::iter::once(bytes)), packets(bytes.chunks(size)));
    assert_eq!(frames(std::iter::once(bytes)), frames(bytes.chunks(size)));
    assert_eq!(events(bytes, std::iter::once(bytes)), events(bytes, bytes.chunks(size)));
});
