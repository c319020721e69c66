//! What is shown of a recording while it runs: how much comes, how much of it is understood, and
//! how much is missing.

use std::borrow::Cow;
use std::time::Duration;

use strobe_decode::container::Header;
use strobe_decode::kit;
use strobe_decode::swo::packet::Packet;
use strobe_decode::swo::timeline::{Event, EventKind, Events};
use strobe_decode::trace_settings::TraceSettings;
use strobe_report::grouped;
use strobe_source::traced::{Intake, Listener, Payload};

/// Counts of what has come.
#[derive(Clone)]
pub struct Live {
    bytes: u64,
    polled: u64,
    intake: Intake,
    counts: Counts,
    /// Samples that should come each second.
    expected: Option<f64>,
}

#[derive(Default, Clone)]
struct Counts {
    packets: u64,
    samples: u64,
    overflows: u64,
    exceptions: u64,
    kit: kit::Decoder,
}

impl Events for Counts {
    fn event(&mut self, event: Event) {
        match event.what {
            EventKind::Undecodable | EventKind::Gap | EventKind::Doubtful(_) => {}
            EventKind::Packet(packet) => {
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

impl Listener for Counts {
    fn begin(&mut self, _: Payload) {}

    fn kit_bytes(&mut self, bytes: &[u8]) {
        self.kit.push(bytes, &mut |_| {});
    }

    fn kit_gap(&mut self) {
        self.kit.gap(&mut |_| {});
    }

    fn channel_bytes(&mut self, _: &[u8]) {}

    fn channel_gap(&mut self) {}
}

impl Live {
    /// Nothing has come; the recording's header states how it is to be read.
    pub fn new(header: &Header) -> Self {
        let settings = header.settings.as_ref();
        Live {
            bytes: 0,
            polled: 0,
            intake: Intake::of(Some(header), None),
            counts: Counts::default(),
            expected: settings.and_then(TraceSettings::samples_per_second),
        }
    }

    /// More bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.intake.push(bytes, &mut self.counts);
    }

    /// Bytes are missing here.
    pub fn gap(&mut self) {
        self.intake.gap(&mut self.counts);
    }

    /// No more will come.
    pub fn finish(&mut self) {
        self.intake.finish(&mut self.counts);
        self.counts.kit.finish(&mut |_| {});
    }

    /// As if no more came, while the first bytes are held back until it is known what they are.
    fn so_far(&self) -> Cow<'_, Live> {
        if !self.intake.holds_back() {
            return Cow::Borrowed(self);
        }
        let mut now = self.clone();
        now.finish();
        Cow::Owned(now)
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
        match (self.intake.reader(), self.intake.payload()) {
            (Some(reader), _) => {
                let framed = reader.frames().map_or(0, |frames| frames.undecodable_bytes);
                framed + reader.packets().undecodable_bytes
            }
            (None, Some(Payload::Kit)) => self.counts.kit.stats().undecodable_bytes,
            (None, _) => 0,
        }
    }

    /// Whether so much is undecodable that the line is not what was said: random bytes mostly look
    /// like packets, so a quarter is a lot.
    pub fn is_garbage(&self) -> bool {
        self.bytes >= 4096 && self.so_far().undecodable() > self.bytes / 8
    }

    /// Part of the samples that have not come, if it is known how many should have.
    fn missing(&self, elapsed: Duration) -> Option<f64> {
        let expected = self.expected? * elapsed.as_secs_f64();
        (expected >= 1.0).then(|| (1.0 - self.counts.samples as f64 / expected).max(0.0))
    }

    /// One line.
    pub fn line(&self, elapsed: Duration) -> String {
        self.so_far().shown(elapsed)
    }

    fn shown(&self, elapsed: Duration) -> String {
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
        if self.intake.payload() == Some(Payload::Kit) {
            let kit = &self.counts.kit;
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
        if self.intake.payload() == Some(Payload::Channel) {
            return format!(
                "{:.1} s, {} bytes ({}/s) of a channel",
                elapsed.as_secs_f64(),
                grouped(self.bytes),
                per_second(self.bytes)
            );
        }
        let mut line = format!(
            "{:.1} s, {} bytes ({}/s), {} packets ({}/s), {} samples ({}/s), {} overflows, {} \
             bytes undecodable",
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
