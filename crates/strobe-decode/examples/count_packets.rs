//! Counts the packets of a trace stream with one of several decoders; `cargo xtask bench --swo`
//! times it.
//!
//! `packets` finds packets; `timed` joins each to its timestamp; `events` also decodes each; `itm`
//! is the crate of that name.

use std::fs::File;
use std::io::{BufReader, Read};

use strobe_decode::swo::itm::{Decoder, Sink};
use strobe_decode::swo::packet::Raw;
use strobe_decode::swo::reader::{Framing, Reader};
use strobe_decode::swo::timeline::{Event, Events, Group};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [how, path] = arguments.as_slice() else { panic!("packets|timed|events|itm FILE") };
    let file = File::open(path).expect("a readable file");
    let packets = match how.as_str() {
        "packets" => packets(file),
        "timed" => timed(file),
        "events" => events(file),
        "itm" => other(file),
        how => panic!("{how} is none of packets, timed, events, itm"),
    };
    println!("packets {packets}");
}

fn pieces(mut file: File, mut take: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer).expect("a readable file") {
            0 => return,
            n => take(&buffer[..n]),
        }
    }
}

/// Folds each packet into a checksum, so that the compiler cannot drop any.
#[derive(Default)]
struct Count {
    packets: u64,
    sum: u64,
}

impl Sink for Count {
    fn packet(&mut self, raw: Raw) {
        self.packets += 1;
        self.sum = self.sum.wrapping_add(raw.payload ^ u64::from(raw.header));
    }

    fn undecodable(&mut self, _: u64, _: u64) {}
}

fn packets(file: File) -> u64 {
    let (mut decoder, mut count) = (Decoder::new(), Count::default());
    pieces(file, |bytes| decoder.push(bytes, &mut count));
    decoder.finish(&mut count);
    std::hint::black_box(count.sum);
    count.packets
}

impl Events for Count {
    /// Not used: events are received in groups.
    fn event(&mut self, _: Event) {}

    fn group(&mut self, group: &Group<'_>) {
        for (piece, time) in group.pieces() {
            if let Some(raw) = piece.packet() {
                self.packet(*raw);
            }
            self.sum = self.sum.wrapping_add(time.earliest ^ time.likely());
        }
    }
}

fn timed(file: File) -> u64 {
    let (mut reader, mut count) = (Reader::new(Framing::Bare), Count::default());
    pieces(file, |bytes| reader.push(bytes, &mut count));
    reader.finish(&mut count);
    std::hint::black_box(count.sum);
    count.packets
}

fn events(file: File) -> u64 {
    let (mut reader, mut packets) = (Reader::new(Framing::Bare), 0);
    let mut count = |event| {
        std::hint::black_box(event);
        packets += 1;
    };
    pieces(file, |bytes| reader.push(bytes, &mut count));
    reader.finish(&mut count);
    packets
}

fn other(file: File) -> u64 {
    let options = itm::DecoderOptions { ignore_eof: false };
    let decoder = itm::Decoder::new(BufReader::with_capacity(1 << 18, file), options);
    // Malformed packets count too: the crate has found a packet there.
    decoder.singles().count() as u64
}
