//! Any bytes received on a link: OpenOCD's messages, orbuculum's frames. The same result whole and
//! in pieces, and every byte accounted for. (A serial port's marks have a test of their own.)
//!
//! `cargo +nightly fuzz run -s none links -- -max_len=4096 -rss_limit_mb=1024 -timeout=10`
#![no_main]

use strobe_decode::orbflow::{self, Decoder};
use strobe_link::trace::openocd::messages::{Answer, Messages, answer, event, words};

/// The events of all messages, and the bytes of the pin in them.
fn openocd<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<String>, Vec<u8>) {
    let (mut messages, mut events, mut pin) = (Messages::default(), Vec::new(), Vec::new());
    for piece in pieces {
        messages.push(piece);
        while let Some(message) = messages.next_whole().expect("they are short") {
            let event = event(&message, &mut pin);
            let answer = match answer(&message) {
                Answer::Ok(result) => format!("{:?}", words(result)),
                other => format!("{other:?}"),
            };
            events.push(format!("{event:?} {answer}"));
        }
    }
    (events, pin)
}

#[derive(Default, PartialEq, Debug)]
struct Log {
    frames: Vec<(u8, Vec<u8>)>,
    damaged: Vec<u64>,
}

impl orbflow::Sink for Log {
    fn frame(&mut self, tag: u8, data: &[u8]) {
        self.frames.push((tag, data.to_vec()));
    }

    fn damaged(&mut self, bytes: u64) {
        self.damaged.push(bytes);
    }
}

fn frames<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Log {
    let (mut decoder, mut log) = (Decoder::new(), Log::default());
    pieces.for_each(|piece| decoder.push(piece, &mut log));
    decoder.finish(&mut log);
    let stats = decoder.stats();
    assert_eq!(stats.bytes, stats.data_bytes + stats.overhead_bytes + stats.damaged_bytes);
    assert_eq!(stats.frames, log.frames.len() as u64);
    assert_eq!(stats.damaged_bytes, log.damaged.iter().sum::<u64>());
    log
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let size = 1 + bytes.first().map_or(0, |&byte| usize::from(byte) % 40);
    assert_eq!(openocd(std::iter::once(bytes)), openocd(bytes.chunks(size)));
    assert_eq!(frames(std::iter::once(bytes)), frames(bytes.chunks(size)));
    orbflow::looks_like(bytes);
    // Encoded data is decoded again.
    let tag = bytes.last().copied().unwrap_or_default();
    let sent: Vec<(u8, Vec<u8>)> =
        bytes.chunks(8 * size).map(|data| (tag, data.to_vec())).collect();
    assert_eq!(
        frames(std::iter::once(&*strobe_synth::orbflow::frames(tag, bytes, 8 * size))).frames,
        sent
    );
});
