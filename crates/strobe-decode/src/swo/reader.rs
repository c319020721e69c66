//! The whole way from a trace pin's bytes to events: frames, if there are any, packets, times.

use super::itm;
use super::timeline::{self, Events, Timeline};
use super::tpiu;

/// What the bytes of a trace pin are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Packets of ITM and DWT, one after the other.
    Bare,
    /// Frames of the TPIU's formatter. Packets are those of this stream; of the first one with data if `None`.
    Frames(Option<u8>),
}

/// Streams that a formatter can tell apart.
const STREAMS: usize = 128;

/// Reads a trace pin.
#[derive(Debug, Clone)]
pub struct Reader {
    frames: Option<tpiu::Decoder>,
    stream: Option<u8>,
    /// Bytes by stream.
    streams: Box<[u64; STREAMS]>,
    packets: itm::Decoder,
    timeline: Timeline,
}

impl Reader {
    /// A reader at the beginning of a recording.
    pub fn new(framing: Framing) -> Self {
        let (frames, stream) = match framing {
            Framing::Bare => (None, None),
            Framing::Frames(stream) => (Some(tpiu::Decoder::new()), stream),
        };
        Reader {
            frames,
            stream,
            streams: Box::new([0; STREAMS]),
            packets: itm::Decoder::new(),
            timeline: Timeline::new(),
        }
    }

    /// Reads the next bytes.
    pub fn push<E: Events>(&mut self, bytes: &[u8], events: &mut E) {
        let Reader { frames, stream, streams, packets, timeline } = self;
        match frames {
            None => packets.push(bytes, &mut timeline.sink(events)),
            Some(frames) => {
                let mut unpack = Unpack { stream, streams, packets, timeline, events };
                frames.push(bytes, &mut unpack);
            }
        }
    }

    /// The recording is over.
    pub fn finish<E: Events>(&mut self, events: &mut E) {
        let Reader { frames, stream, streams, packets, timeline } = self;
        if let Some(frames) = frames {
            frames.finish(&mut Unpack { stream, streams, packets, timeline, events });
        }
        packets.finish(&mut timeline.sink(events));
        timeline.finish(events);
    }

    /// What the frames were, if there are any.
    pub fn frames(&self) -> Option<tpiu::Stats> {
        self.frames.as_ref().map(tpiu::Decoder::stats)
    }

    /// Bytes of each stream that had any, by its number.
    pub fn streams(&self) -> Vec<(u8, u64)> {
        let all = (0u8..).zip(self.streams.iter().copied());
        all.filter(|(_, bytes)| *bytes > 0).collect()
    }

    /// The stream whose packets are read.
    pub fn stream(&self) -> Option<u8> {
        self.stream
    }

    /// What the packets were.
    pub fn packets(&self) -> itm::Stats {
        self.packets.stats()
    }

    /// How well they could be timed.
    pub fn times(&self) -> timeline::Stats {
        self.timeline.stats()
    }

    /// Ticks of the local timestamp since the beginning.
    pub fn ticks(&self) -> u64 {
        self.timeline.now()
    }
}

/// Where the bytes of frames go.
struct Unpack<'a, E> {
    stream: &'a mut Option<u8>,
    streams: &'a mut [u64; STREAMS],
    packets: &'a mut itm::Decoder,
    timeline: &'a mut Timeline,
    events: &'a mut E,
}

impl<E: Events> tpiu::Sink for Unpack<'_, E> {
    fn bytes(&mut self, stream: u8, _: u64, bytes: &[u8]) {
        self.streams[usize::from(stream) % STREAMS] += bytes.len() as u64;
        // Stream 0 is padding, those from 0x70 on are reserved.
        if self.stream.is_none() && (1..0x70).contains(&stream) {
            *self.stream = Some(stream);
        }
        if *self.stream == Some(stream) {
            self.packets.push(bytes, &mut self.timeline.sink(self.events));
        }
    }

    /// The decoder counts them.
    fn undecodable(&mut self, _: u64, _: u64) {}
}

/// How bytes from the beginning of a recording make most sense. Both ways are tried: frames as bare packets, and packets as frames, are mostly
/// nonsense.
pub fn framing(beginning: &[u8]) -> Framing {
    let understood = |framing| {
        let mut reader = Reader::new(framing);
        let mut nothing = |_| {};
        reader.push(beginning, &mut nothing);
        let packets = reader.packets();
        let good = packets.packet_bytes + packets.padding_bytes - in_doubt(&packets);
        let frames = reader.frames().map_or(0, |f| f.undecodable_bytes);
        (good.saturating_sub(packets.undecodable_bytes + frames), reader.frames())
    };
    let (bare, _) = understood(Framing::Bare);
    match understood(Framing::Frames(None)) {
        (framed, Some(frames)) if frames.frames > 0 && framed > bare => Framing::Frames(None),
        _ => Framing::Bare,
    }
}

/// About how many bytes packets in doubt have.
fn in_doubt(stats: &itm::Stats) -> u64 {
    let (bytes, packets) = (u128::from(stats.packet_bytes), u128::from(stats.packets.max(1)));
    (bytes * u128::from(stats.packets_in_doubt) / packets) as u64
}
