//! All stages from a trace pin's bytes to events: frames, if there are any, packets, times.

use std::collections::BTreeMap;

use super::doubt::{self, Doubt};
use super::packet::Raw;
use super::timeline::{self, Events, Timeline};
use super::tpiu;
use super::{etm, itm};

/// The framing of a trace pin's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Unframed packets of ITM and DWT.
    Bare,
    /// Frames of the TPIU's formatter.
    Frames {
        /// The stream that has the packets.
        stream: u8,
        /// The first frame begins after so many bytes; `None` to wait for a synchronisation.
        skip: Option<u8>,
    },
    /// Unframed instruction trace of an ETM, which is not read.
    Instructions,
}

/// What is known of a stream's framing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Hint {
    /// Nothing.
    #[default]
    Unknown,
    /// No frames.
    Bare,
    /// Frames; packets are in this stream if it is known.
    Frames(Option<u8>),
}

/// Number of streams that a formatter can multiplex.
const STREAMS: usize = 128;

/// Bytes of each stream that is not read by which it is recognised.
const OTHERS: usize = 4096;

/// Decodes a trace pin.
#[derive(Debug, Clone)]
pub struct Reader {
    frames: Option<tpiu::Decoder>,
    stream: u8,
    /// Bytes by stream.
    streams: Box<[u64; STREAMS]>,
    packets: itm::Decoder,
    doubt: Doubt,
    timeline: Timeline,
    /// Nothing was read since the last gap.
    cut: bool,
    /// Gaps behind something that was read.
    gaps: u64,
    /// Bytes of an ETM without frames.
    instructions: Option<u64>,
    /// The first bytes of streams that are not read.
    others: BTreeMap<u8, Vec<u8>>,
}

impl Reader {
    /// A reader at the beginning of a recording.
    pub fn new(framing: Framing) -> Self {
        let (frames, stream) = match framing {
            Framing::Bare | Framing::Instructions => (None, 0),
            Framing::Frames { stream, skip } => (Some(deframer(skip)), stream),
        };
        Reader {
            frames,
            stream,
            streams: Box::new([0; STREAMS]),
            packets: itm::Decoder::new(),
            doubt: Doubt::default(),
            timeline: Timeline::new(),
            cut: true,
            gaps: 0,
            instructions: (framing == Framing::Instructions).then_some(0),
            others: BTreeMap::new(),
        }
    }

    /// Decodes the next bytes.
    pub fn push<E: Events>(&mut self, bytes: &[u8], events: &mut E) {
        if let Some(instructions) = &mut self.instructions {
            *instructions += bytes.len() as u64;
            return;
        }
        let (frames, mut packets) = self.stages(events);
        match frames {
            None => packets.push(bytes),
            Some(frames) => frames.push(bytes, &mut packets),
        }
    }

    /// A gap: bytes are missing here.
    pub fn gap<E: Events>(&mut self, events: &mut E) {
        self.gaps += u64::from(!self.cut);
        let (frames, mut packets) = self.stages(events);
        if let Some(frames) = frames {
            frames.gap(&mut packets);
        }
        packets.gap();
    }

    /// The end of the recording.
    pub fn finish<E: Events>(&mut self, events: &mut E) {
        let (frames, mut packets) = self.stages(events);
        if let Some(frames) = frames {
            frames.finish(&mut packets);
        }
        packets.finish();
    }

    /// The decoder of frames, and what is behind it.
    fn stages<'a, E: Events>(
        &'a mut self,
        events: &'a mut E,
    ) -> (Option<&'a mut tpiu::Decoder>, Unpack<'a, E>) {
        let Reader { frames, stream, streams, packets, doubt, timeline, cut, others, .. } = self;
        let stream = *stream;
        let unpack = Unpack { stream, streams, packets, doubt, timeline, cut, others, events };
        (frames.as_mut(), unpack)
    }

    /// Statistics of the frames, if there are any.
    pub fn frames(&self) -> Option<tpiu::Stats> {
        self.frames.as_ref().map(tpiu::Decoder::stats)
    }

    /// Bytes of each stream that has any, by its number.
    pub fn streams(&self) -> Vec<(u8, u64)> {
        let all = (0u8..).zip(self.streams.iter().copied());
        all.filter(|(_, bytes)| *bytes > 0).collect()
    }

    /// The stream whose packets are read.
    pub fn stream(&self) -> Option<u8> {
        self.frames.as_ref().map(|_| self.stream)
    }

    /// Bytes of unframed instruction trace, if the recording is such.
    pub fn instructions(&self) -> Option<u64> {
        self.instructions
    }

    /// Streams that are instruction trace of an ETM. They are not read.
    pub fn instruction_streams(&self) -> impl Iterator<Item = u8> {
        let all = self.others.iter().filter(|(_, first)| etm::is_likely(first));
        all.map(|(stream, _)| *stream)
    }

    /// Streams that read as packets of ITM and DWT as well as the one that is read.
    pub fn other_packet_streams(&self) -> impl Iterator<Item = u8> {
        let is_one = |(stream, first): &(&u8, &Vec<u8>)| {
            SOURCES.contains(*stream) && first.len() >= FEWEST && are_packets(first)
        };
        self.others.iter().filter(is_one).map(|(stream, _)| *stream)
    }

    /// Statistics of the packets.
    pub fn packets(&self) -> itm::Stats {
        self.packets.stats()
    }

    /// Statistics of the packets that may be wrong.
    pub fn doubt(&self) -> doubt::Stats {
        let stats = self.doubt.stats();
        doubt::Stats { damage: stats.damage + self.strays(), ..stats }
    }

    /// Places where bytes went to the wrong stream, or to none.
    fn strays(&self) -> u64 {
        let is_trace = |stream| self.others.get(&stream).is_some_and(|b| etm::is_likely(b));
        self.frames.as_ref().map_or(0, |frames| frames.wrong_places(self.stream, is_trace))
    }

    /// Gaps that were reported, one for each place behind something that was read.
    pub fn gaps(&self) -> u64 {
        self.gaps
    }

    /// Statistics of the timestamps.
    pub fn times(&self) -> timeline::Stats {
        self.timeline.stats()
    }

    /// Ticks of the local timestamp since the beginning.
    pub fn ticks(&self) -> u64 {
        self.timeline.now()
    }
}

/// Receives the bytes of frames, or bytes without frames.
struct Unpack<'a, E> {
    stream: u8,
    streams: &'a mut [u64; STREAMS],
    packets: &'a mut itm::Decoder,
    doubt: &'a mut Doubt,
    timeline: &'a mut Timeline,
    cut: &'a mut bool,
    others: &'a mut BTreeMap<u8, Vec<u8>>,
    events: &'a mut E,
}

impl<E: Events> Unpack<'_, E> {
    fn push(&mut self, bytes: &[u8]) {
        *self.cut &= bytes.is_empty();
        self.packets.push(bytes, &mut self.doubt.screen(self.timeline.sink(self.events)));
    }

    fn gap(&mut self) {
        *self.cut = true;
        let mut screen = self.doubt.screen(self.timeline.sink(self.events));
        screen.cut();
        self.packets.gap(&mut screen);
        self.timeline.gap(self.packets.stats().bytes, self.events);
    }

    fn finish(&mut self) {
        let mut screen = self.doubt.screen(self.timeline.sink(self.events));
        screen.cut();
        self.packets.finish(&mut screen);
        self.timeline.finish(self.events);
    }
}

impl<E: Events> tpiu::Sink for Unpack<'_, E> {
    fn bytes(&mut self, stream: u8, _: u64, bytes: &[u8]) {
        self.streams[usize::from(stream) % STREAMS] += bytes.len() as u64;
        if self.stream == stream {
            self.push(bytes);
        } else {
            let first = self.others.entry(stream).or_default();
            let room = OTHERS.saturating_sub(first.len());
            first.extend_from_slice(&bytes[..room.min(bytes.len())]);
        }
    }

    /// The decoder counts them. With them packets are missing.
    fn undecodable(&mut self, _: u64, _: u64) {
        if !*self.cut {
            self.gap();
        }
    }
}

/// Bytes of a frame.
const FRAME: u8 = 16;
/// The usual stream of ITM and DWT, for when detection is not possible.
const USUAL: u8 = 1;
/// The stream that is padding and never read.
const NONE: u8 = 0;
/// Streams of sources: the others are padding and reserved.
const SOURCES: std::ops::Range<u8> = 1..0x70;

/// A stream of fewer bytes shows nothing of what it is.
const FEWEST: usize = 256;
/// Of so many bytes of packets at most one belongs to none. Of noise one in eight does.
const ONE_IN: u64 = 50;

fn deframer(skip: Option<u8>) -> tpiu::Decoder {
    skip.map_or_else(tpiu::Decoder::new, tpiu::Decoder::aligned)
}

/// The most plausible framing of the beginning of a recording. All are tried: frames read as bare
/// packets, packets read as frames, and frames at the wrong offset decode to nonsense mostly.
pub fn framing(beginning: &[u8], hint: Hint) -> Framing {
    let mut best = match hint {
        Hint::Bare | Hint::Unknown if etm::is_likely(beginning) => return Framing::Instructions,
        Hint::Bare => return Framing::Bare,
        Hint::Unknown => (sense(beginning), Framing::Bare),
        Hint::Frames(stream) => {
            (i64::MIN, Framing::Frames { stream: stream.unwrap_or(USUAL), skip: None })
        }
    };
    let wanted = if let Hint::Frames(stream) = hint { stream } else { None };
    // Frames marked by a synchronisation come first: frames found by trial must score higher.
    for skip in std::iter::once(None).chain((0..FRAME).map(Some)) {
        let mut streams = Streams::default();
        let mut frames = deframer(skip);
        frames.push(beginning, &mut streams);
        if frames.stats().frames == 0 || frames.is_misaligned() {
            continue;
        }
        // Where bits are wrong, frames read as packets may make more sense than what is in them.
        if best.1 == Framing::Bare && frames.is_regular() && !are_packets(beginning) {
            best.0 = i64::MIN;
        }
        let Some((_, stream)) = streams.best(wanted).or_else(|| streams.instructions()) else {
            continue;
        };
        let bad = frames.stats().undecodable_bytes + 16 * frames.stats().reserved_streams;
        let sense = streams.sense() - bad as i64;
        if sense > best.0 {
            best = (sense, Framing::Frames { stream, skip });
        }
    }
    best.1
}

/// Score of the packets: decodable bytes minus undecodable ones.
fn sense(bytes: &[u8]) -> i64 {
    let mut packets = itm::Decoder::new();
    packets.push(bytes, &mut Ignored);
    let stats = packets.stats();
    let good = stats.packet_bytes + stats.padding_bytes - in_doubt(&stats) / 2;
    good as i64 - stats.undecodable_bytes as i64
}

/// Whether bytes read as packets, also from the middle of one on.
fn are_packets(bytes: &[u8]) -> bool {
    let mut packets = itm::Decoder::new();
    packets.push(bytes, &mut Ignored);
    let stats = packets.stats();
    let is_odd = stats.undecodable_bytes * ONE_IN > stats.packet_bytes
        || stats.padding_bytes > stats.packet_bytes;
    !is_odd && !etm::is_likely(bytes)
}

/// Estimated size of packets in doubt.
fn in_doubt(stats: &itm::Stats) -> u64 {
    let (bytes, packets) = (u128::from(stats.packet_bytes), u128::from(stats.packets.max(1)));
    (bytes * u128::from(stats.packets_in_doubt) / packets) as u64
}

/// A sink that discards packets.
struct Ignored;

impl itm::Sink for Ignored {
    fn packet(&mut self, _: Raw) {}
    fn undecodable(&mut self, _: u64, _: u64) {}
}

/// The bytes of each stream.
#[derive(Default)]
struct Streams(BTreeMap<u8, Vec<u8>>);

impl tpiu::Sink for Streams {
    fn bytes(&mut self, stream: u8, _: u64, bytes: &[u8]) {
        self.0.entry(stream).or_default().extend_from_slice(bytes);
    }

    fn undecodable(&mut self, _: u64, _: u64) {}
}

impl Streams {
    /// The stream that scores highest as packets, and its score. Stream 0 is padding, those from
    /// 0x70 on are reserved.
    fn best(&self, wanted: Option<u8>) -> Option<(i64, u8)> {
        let may_be = |stream: u8| wanted.map_or(SOURCES.contains(&stream), |w| w == stream);
        let candidates = self.0.iter().filter(|(stream, _)| may_be(**stream));
        let candidates = candidates.filter(|(_, bytes)| !etm::is_likely(bytes));
        let best = candidates.map(|(stream, bytes)| (sense(bytes), *stream));
        best.max_by_key(|(sense, stream)| (*sense, std::cmp::Reverse(*stream)))
    }

    /// The score of all of them: streams that are not read show as well whether frames are right.
    fn sense(&self) -> i64 {
        let all = self.0.iter().filter(|(stream, _)| SOURCES.contains(*stream));
        let each =
            all.map(
                |(_, bytes)| {
                    if etm::is_likely(bytes) { bytes.len() as i64 } else { sense(bytes).max(0) }
                },
            );
        each.sum()
    }

    /// Where there is nothing but instruction trace, frames are right that show it; then the usual
    /// stream is read, or none if that is where it is.
    fn instructions(&self) -> Option<(i64, u8)> {
        let traces = || self.0.iter().filter(|(_, bytes)| etm::is_likely(bytes));
        let stream = if traces().any(|(stream, _)| *stream == USUAL) { NONE } else { USUAL };
        let bytes: usize = traces().map(|(_, bytes)| bytes.len()).sum();
        (bytes > 0).then_some((bytes as i64, stream))
    }
}
