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
    /// Bytes from before it was known how they are framed.
    beginning: Vec<u8>,
    reader: Option<Reader>,
    /// Frames of the kit for the target, if that is what comes.
    kit: Option<kit::Decoder>,
    /// If it is not that, it is a channel's bytes and not a pin's.
    is_channel: bool,
    counts: Counts,
    /// Samples that should come each second.
    expected: Option<f64>,
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
        Live {
            bytes: 0,
            polled: 0,
            hint,
            beginning: Vec::new(),
            reader: (hint == Hint::Bare).then(|| Reader::new(Framing::Bare)),
            kit: (carries == Carries::Kit).then(kit::Decoder::new),
            is_channel: carries == Carries::Channel,
            counts: Counts::default(),
            expected: settings.and_then(TraceSettings::samples_per_second),
        }
    }

    /// Bytes of the pin.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if let Some(kit) = &mut self.kit {
            return kit.push(bytes, &mut |_| {});
        }
        match &mut self.reader {
            Some(reader) => reader.push(bytes, &mut self.counts),
            None if self.is_channel && self.bytes > 2 * BEGINNING as u64 => {}
            None => {
                self.beginning.extend(bytes);
                if self.beginning.len() >= BEGINNING {
                    self.begin();
                }
            }
        }
    }

    /// Bytes are missing here.
    pub fn gap(&mut self) {
        if self.kit.is_none() && self.reader.is_none() && !self.beginning.is_empty() {
            self.begin();
        }
        if let Some(kit) = &mut self.kit {
            kit.gap(&mut |_| {});
        } else if let Some(reader) = &mut self.reader {
            reader.gap(&mut self.counts);
        }
    }

    /// No more will come.
    pub fn finish(&mut self) {
        self.begin();
        if let Some(kit) = &mut self.kit {
            kit.finish(&mut |_| {});
        } else if let Some(reader) = &mut self.reader {
            reader.finish(&mut self.counts);
        }
    }

    fn begin(&mut self) {
        let bytes = std::mem::take(&mut self.beginning);
        if self.hint == Hint::Unknown && kit::is_likely(&bytes) {
            self.kit = Some(kit::Decoder::new());
        }
        if let Some(kit) = &mut self.kit {
            return kit.push(&bytes, &mut |_| {});
        }
        if self.is_channel {
            return;
        }
        let hint = self.hint;
        let reader = self.reader.get_or_insert_with(|| Reader::new(framing(&bytes, hint)));
        reader.push(&bytes, &mut self.counts);
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
        if let Some(kit) = &self.kit {
            return kit.stats().undecodable_bytes;
        }
        let Some(reader) = &self.reader else { return 0 };
        let framed = reader.frames().map_or(0, |frames| frames.undecodable_bytes);
        framed + reader.packets().undecodable_bytes
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
        if let Some(kit) = &self.kit {
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
        let mut live = Live::new(None, Carries::Unsaid);
        let mut stream = strobe_synth::swo::Stream::new();
        stream.pc_sample(0x0800_0100).pc_sample(0x0800_0102);
        live.push(&stream.bytes[..7]);
        live.gap();
        live.push(&stream.bytes);
        live.finish();
        assert_eq!((live.counts.samples, live.undecodable()), (3, 2));
    }
}
