//! Any metadata with any stream: the input up to its first `\xff\xfe` is metadata, the rest a
//! stream. Every byte is accounted for, and the events of a synthetic trace are found whatever else
//! is in its stream.
//!
//! `cargo +nightly fuzz run -s none ctf -- -max_len=4096 -rss_limit_mb=1024 -timeout=10`
#![no_main]

use strobe_decode::ctf::{Item, Options, Reader, Trace};
use strobe_synth::ctf::CtfTrace;

fn read(trace: &Trace, stream: &[u8]) -> u64 {
    let mut reader = Reader::new(trace, stream, &Options::default());
    let mut bad = 0;
    while let Some(item) = reader.next() {
        match item {
            Item::Undecodable(undecodable) => bad += undecodable.bytes,
            Item::Event(event) => drop(event.fields.map(|fields| fields.to_string())),
            Item::Packet(_) | Item::Lost(_) => {}
        }
    }
    let stats = reader.stats();
    assert_eq!(stats.undecodable_bytes, bad);
    assert_eq!(stats.packet_bytes + stats.mark_bytes + stats.undecodable_bytes, stats.bytes);
    stats.events
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let cut = bytes.windows(2).position(|two| two == [0xff, 0xfe]).unwrap_or(bytes.len());
    let (metadata, stream) = bytes.split_at(cut);
    let stream = stream.get(2..).unwrap_or_default();
    if let Ok(trace) = Trace::parse(metadata) {
        read(&trace, stream);
    }
    // Valid metadata, so that the fuzzer reaches the stream.
    let seed = bytes.first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
    let made = CtfTrace::generate(seed);
    let trace = Trace::parse(made.metadata.as_bytes()).expect("synthetic metadata is valid");
    read(&trace, bytes);
    assert_eq!(read(&trace, &made.stream), made.events.len() as u64);
});
