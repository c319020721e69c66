//! What is told of a recording while it runs: how much comes, how much of it is understood, and how much is missing.

use std::time::Duration;

use strobe_decode::swo::itm::{self, Decoder};
use strobe_decode::swo::packet::{Packet, Raw};
use strobe_decode::swo::tpiu;
use strobe_model::TraceSettings;

/// Counts of what has come.
#[derive(Default)]
pub struct Live {
    bytes: u64,
    polled: u64,
    frames: Option<tpiu::Decoder>,
    /// The stream in the frames.
    stream: u8,
    packets: Decoder,
    counts: Counts,
    /// Samples that should come each second.
    expected: Option<f64>,
}

#[derive(Default)]
struct Counts {
    samples: u64,
    overflows: u64,
    exceptions: u64,
}

impl itm::Sink for Counts {
    fn packet(&mut self, raw: Raw) {
        match raw.packet() {
            Some(Packet::PcSample(_) | Packet::Sleep) => self.samples += 1,
            Some(Packet::Overflow) => self.overflows += 1,
            Some(Packet::Exception { .. }) => self.exceptions += 1,
            _ => {}
        }
    }

    fn undecodable(&mut self, _: u64, _: u64) {}
}

/// Hands the bytes of one stream on.
struct Unpack<'a> {
    stream: u8,
    packets: &'a mut Decoder,
    counts: &'a mut Counts,
}

impl tpiu::Sink for Unpack<'_> {
    fn bytes(&mut self, stream: u8, _: u64, bytes: &[u8]) {
        if stream == self.stream {
            self.packets.push(bytes, self.counts);
        }
    }

    fn undecodable(&mut self, _: u64, _: u64) {}
}

impl Live {
    /// Nothing has come; the settings say how it is to be read.
    pub fn new(settings: Option<&TraceSettings>) -> Self {
        let frames = settings.is_some_and(|s| s.formatter).then(tpiu::Decoder::new);
        Live {
            frames,
            stream: settings.map_or(1, |s| s.bus_id.value()),
            expected: settings.and_then(TraceSettings::samples_per_second),
            ..Live::default()
        }
    }

    /// Bytes of the pin.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let Live { frames, stream, packets, counts, .. } = self;
        match frames {
            Some(frames) => frames.push(bytes, &mut Unpack { stream: *stream, packets, counts }),
            None => packets.push(bytes, counts),
        }
    }

    /// Samples that were polled.
    pub fn polled(&mut self, samples: usize) {
        self.polled += samples as u64;
    }

    /// Whether anything has come at all.
    pub fn anything(&self) -> bool {
        self.bytes + self.polled > 0
    }

    /// Bytes that have come.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes that nothing can be made of.
    fn undecodable(&self) -> u64 {
        let framed = self.frames.as_ref().map_or(0, |frames| frames.stats().undecodable_bytes);
        framed + self.packets.stats().undecodable_bytes
    }

    /// Whether so much is undecodable that the line is not what was said: random bytes mostly look like packets, so a quarter is a lot.
    pub fn is_garbage(&self) -> bool {
        self.bytes >= 4096 && self.undecodable() > self.bytes / 8
    }

    /// Part of the samples that have not come, if it is known how many should have.
    fn missing(&self, elapsed: Duration) -> Option<f64> {
        let expected = self.expected? * elapsed.as_secs_f64();
        (expected >= 1.0).then(|| (1.0 - self.counts.samples as f64 / expected).max(0.0))
    }

    /// One line.
    pub fn line(&self, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs_f64().max(1e-3);
        let per_second = |n: u64| grouped((n as f64 / seconds).round() as u64);
        if self.polled > 0 {
            return format!(
                "{:.1} s, {} samples polled, {}/s",
                elapsed.as_secs_f64(),
                grouped(self.polled),
                per_second(self.polled)
            );
        }
        let stats = self.packets.stats();
        let mut line = format!(
            "{:.1} s, {} bytes ({}/s), {} packets ({}/s), {} samples ({}/s), {} overflows, {} bytes undecodable",
            elapsed.as_secs_f64(),
            grouped(self.bytes),
            per_second(self.bytes),
            grouped(stats.packets),
            per_second(stats.packets),
            grouped(self.counts.samples),
            per_second(self.counts.samples),
            grouped(self.counts.overflows),
            grouped(self.undecodable()),
        );
        if self.counts.exceptions > 0 {
            line += &format!(", {} exception packets", grouped(self.counts.exceptions));
        }
        if let Some(missing) = self.missing(elapsed) {
            line += &format!(", about {:.0} % of the samples missing", missing * 100.0);
        }
        line
    }
}

/// Digits in groups of three.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
