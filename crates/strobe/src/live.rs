//! What is told of a recording while it runs: how much comes, how much of it is understood, and how much is missing.

use std::time::Duration;

use strobe_decode::container::Carries;
use strobe_decode::kit;
use strobe_decode::swo::packet::Packet;
use strobe_decode::swo::reader::{Framing, Hint, Reader, framing};
use strobe_decode::swo::timeline::{Event, Events, What};
use strobe_model::TraceSettings;
use strobe_report::grouped;

/// Bytes that decide how the rest is framed, where nobody has said.
const BEGINNING: usize = 1 << 12;

/// Counts of what has come.
pub struct Live {
    bytes: u64,
    polled: u64,
    hint: Hint,
    /// Where it is not the kit's frames, it is a channel's bytes and not a pin's.
    is_channel: bool,
    stream: Stream,
    counts: Counts,
    /// Samples that should come each second.
    expected: Option<f64>,
}

/// What comes.
enum Stream {
    /// Not known yet, nor how it is framed: the bytes so far.
    Unknown(Vec<u8>),
    /// A trace pin's packets.
    Pin(Box<Reader>),
    /// Frames of the kit for the target.
    Kit(kit::Decoder),
    /// Bytes of one channel.
    Channel,
}

#[derive(Default)]
struct Counts {
    packets: u64,
    samples: u64,
    overflows: u64,
    exceptions: u64,
}

impl Events for Counts {
    fn event(&mut self, event: Event) {
        match event.what {
            What::Undecodable | What::Gap => {}
            What::Packet(packet) => {
                self.packets += 1;
                match packet {
                    Packet::PcSample(_) | Packet::Sleep => self.samples += 1,
                    Packet::Overflow => self.overflows += 1,
                    Packet::Exception { .. } => self.exceptions += 1,
                    _ => {}
                }
            }
        }
    }
}

impl Live {
    /// Nothing has come; the settings say how it is to be read.
    pub fn new(settings: Option<&TraceSettings>, carries: Carries) -> Self {
        let hint = match settings {
            None => Hint::Unknown,
            Some(settings) if settings.formatter => Hint::Frames(Some(settings.bus_id.value())),
            Some(_) => Hint::Bare,
        };
        let stream = match carries {
            Carries::Kit => Stream::Kit(kit::Decoder::new()),
            _ if hint == Hint::Bare => Stream::Pin(Box::new(Reader::new(Framing::Bare))),
            _ => Stream::Unknown(Vec::new()),
        };
        Live {
            bytes: 0,
            polled: 0,
            hint,
            is_channel: carries == Carries::Channel,
            stream,
            counts: Counts::default(),
            expected: settings.and_then(TraceSettings::samples_per_second),
        }
    }

    /// More bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if let Stream::Unknown(beginning) = &mut self.stream {
            beginning.extend(bytes);
            if beginning.len() >= BEGINNING {
                self.begin();
            }
        } else {
            self.take(bytes);
        }
    }

    /// Bytes are missing here.
    pub fn gap(&mut self) {
        if !matches!(&self.stream, Stream::Unknown(beginning) if beginning.is_empty()) {
            self.begin();
        }
        match &mut self.stream {
            Stream::Pin(reader) => reader.gap(&mut self.counts),
            Stream::Kit(kit) => kit.gap(&mut |_| {}),
            Stream::Channel | Stream::Unknown(_) => {}
        }
    }

    /// No more will come.
    pub fn finish(&mut self) {
        self.begin();
        match &mut self.stream {
            Stream::Pin(reader) => reader.finish(&mut self.counts),
            Stream::Kit(kit) => kit.finish(&mut |_| {}),
            Stream::Channel | Stream::Unknown(_) => {}
        }
    }

    /// Enough has come to tell what it is, or all there is.
    fn begin(&mut self) {
        let Stream::Unknown(beginning) = &mut self.stream else { return };
        let bytes = std::mem::take(beginning);
        self.stream = if self.hint == Hint::Unknown && kit::is_likely(&bytes) {
            Stream::Kit(kit::Decoder::new())
        } else if self.is_channel {
            Stream::Channel
        } else {
            Stream::Pin(Box::new(Reader::new(framing(&bytes, self.hint))))
        };
        self.take(&bytes);
    }

    fn take(&mut self, bytes: &[u8]) {
        match &mut self.stream {
            Stream::Pin(reader) => reader.push(bytes, &mut self.counts),
            Stream::Kit(kit) => kit.push(bytes, &mut |_| {}),
            Stream::Channel | Stream::Unknown(_) => {}
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
        match &self.stream {
            Stream::Pin(reader) => {
                let framed = reader.frames().map_or(0, |frames| frames.undecodable_bytes);
                framed + reader.packets().undecodable_bytes
            }
            Stream::Kit(kit) => kit.stats().undecodable_bytes,
            Stream::Channel | Stream::Unknown(_) => 0,
        }
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
        if let Stream::Kit(kit) = &self.stream {
            return format!(
                "{:.1} s, {} bytes ({}/s), {} records ({}/s), {} bytes undecodable",
                elapsed.as_secs_f64(),
                grouped(self.bytes),
                per_second(self.bytes),
                grouped(kit.stats().frames),
                per_second(kit.stats().frames),
                grouped(self.undecodable()),
            );
        }
        if self.is_channel {
            return format!(
                "{:.1} s, {} bytes ({}/s) of a channel",
                elapsed.as_secs_f64(),
                grouped(self.bytes),
                per_second(self.bytes)
            );
        }
        let mut line = format!(
            "{:.1} s, {} bytes ({}/s), {} packets ({}/s), {} samples ({}/s), {} overflows, {} bytes undecodable",
            elapsed.as_secs_f64(),
            grouped(self.bytes),
            per_second(self.bytes),
            grouped(self.counts.packets),
            per_second(self.counts.packets),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a packet before a gap does not take its other half from behind it, also before it is known whether there are frames.
    #[test]
    fn a_gap_among_the_first_bytes_is_one() {
        let mut live = Live::new(None, Carries::Unspecified);
        let mut stream = strobe_synth::swo::Stream::new();
        stream.pc_sample(0x0800_0100).pc_sample(0x0800_0102);
        live.push(&stream.bytes[..7]);
        live.gap();
        live.push(&stream.bytes);
        live.finish();
        assert_eq!((live.counts.samples, live.undecodable()), (3, 2));
    }
}
