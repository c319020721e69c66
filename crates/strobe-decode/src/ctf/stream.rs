//! A stream: a sequence of packets, the events in them, and errors and losses (section 5).

mod item;
mod packets;

use std::collections::VecDeque;

use super::decode::{Decoder, Keeps, Reading};
use super::error::DecodeError;
use super::trace::{Clock, StreamClass, Trace};

pub use item::{Event, Item, Lost, Packet, Stats, Undecodable};

/// The tracer's mark is searched for up to this offset.
const MARK_WINDOW: usize = 1 << 16;

/// How to read a stream.
#[derive(Debug, Clone)]
pub struct Options {
    /// The mark that tracers without packets send before their first event, on lines that carry
    /// other output before: the stream begins after it, if it is found in the first 64 KiB.
    /// Ignored where packets have magic numbers.
    pub marks: Vec<Vec<u8>>,
    /// Events have their payload only: headers and contexts are read, but not kept, unless other
    /// fields refer to them.
    pub payload_only: bool,
}

impl Default for Options {
    /// With the mark of NuttX's CTF tracer, as used by micro-ROS.
    fn default() -> Self {
        Options { marks: vec![vec![0xbe, 0xbe, 0xde, 0xad]], payload_only: false }
    }
}

/// The packet being read.
#[derive(Debug)]
struct Open<'t, 'd> {
    decoder: Decoder<'t, 'd>,
    at: usize,
    /// Where the next packet begins.
    end: usize,
    content_bits: u64,
    stream: &'t StreamClass,
    /// Bytes of the packet beyond the end of the stream.
    missing: u64,
    /// It was there before.
    repeats: bool,
}

/// Splits a stream into packets and events.
#[derive(Debug)]
pub struct Reader<'t, 'd> {
    trace: &'t Trace,
    bytes: &'d [u8],
    /// Where the next packet begins.
    at: usize,
    open: Option<Box<Open<'t, 'd>>>,
    keeps: Keeps,
    items: VecDeque<Item<'t>>,
    clock: Option<&'t Clock>,
    time: u64,
    last_event: Option<u64>,
    /// Counters of the packet before: events discarded and sequence number.
    discarded: Option<u64>,
    sequence: Option<u64>,
    last_end: Option<u64>,
    /// The last packets with events: their begin, and where they are.
    recent: VecDeque<(u64, usize, usize)>,
    /// Remaining budget for values without bits.
    empty: u64,
    stats: Stats,
}

impl<'t, 'd> Reader<'t, 'd> {
    /// A reader of a whole stream.
    pub fn new(trace: &'t Trace, bytes: &'d [u8], options: &Options) -> Self {
        let mut reader = Reader {
            trace,
            bytes,
            at: 0,
            open: None,
            keeps: if options.payload_only && !trace.has_references {
                Keeps::Payload
            } else {
                Keeps::All
            },
            items: VecDeque::new(),
            clock: None,
            time: 0,
            last_event: None,
            discarded: None,
            sequence: None,
            last_end: None,
            recent: VecDeque::new(),
            empty: bytes.len() as u64 * 8 + 4096,
            stats: Stats { bytes: bytes.len() as u64, ..Stats::default() },
        };
        if reader.magic_order().is_none() {
            reader.skip_to_mark(&options.marks);
        }
        reader
    }

    /// Statistics so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The next item of the stream.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator could not be asked for statistics"
    )]
    pub fn next(&mut self) -> Option<Item<'t>> {
        loop {
            if let Some(item) = self.items.pop_front() {
                return Some(item);
            }
            match self.open.take() {
                Some(open) => {
                    if let Some(event) = self.read_event(open) {
                        return Some(Item::Event(event));
                    }
                }
                None if self.at < self.bytes.len() => self.begin_packet(),
                None => return None,
            }
        }
    }

    fn skip_to_mark(&mut self, marks: &[Vec<u8>]) {
        let window = &self.bytes[..self.bytes.len().min(MARK_WINDOW)];
        let found = marks.iter().filter(|mark| !mark.is_empty()).find_map(|mark| {
            let at = window.windows(mark.len()).position(|bytes| bytes == mark)?;
            Some((at, mark.len()))
        });
        let Some((at, length)) = found else { return };
        self.undecodable(0, at, DecodeError::Preamble);
        self.stats.mark_bytes = length as u64;
        self.at = at + length;
    }

    fn undecodable(&mut self, at: usize, bytes: usize, why: DecodeError) {
        // A packet that is truncated in its padding has no undecodable byte, but is reported.
        if bytes > 0 || matches!(why, DecodeError::CutShort { .. }) {
            let (at, bytes) = (at as u64, bytes as u64);
            self.stats.undecodable_bytes += bytes;
            self.items.push_back(Item::Undecodable(Undecodable { at, bytes, why }));
        }
    }

    /// The full time of a reading; advances the clock to it.
    fn read_clock(&mut self, reading: Reading) -> u64 {
        self.clock = self.trace.clocks.get(reading.clock);
        self.time = reading.after(self.time);
        self.time
    }

    fn read_event(&mut self, mut open: Box<Open<'t, 'd>>) -> Option<Event<'t>> {
        let start = open.decoder.bits.at();
        let align = open.stream.event_header.as_ref().map_or(1, |header| header.align());
        // Bits before the next possible event are padding of the last byte.
        if start.next_multiple_of(align) >= open.content_bits {
            return None;
        }
        // The rest of a stream that is truncated in the padding has nothing to read.
        let failed = if open.decoder.bits.left() == 0 {
            Err(DecodeError::CutShort { missing: open.missing })
        } else {
            self.event(&mut open)
        };
        self.empty = open.decoder.empty;
        match failed {
            Ok(event) => {
                self.open = Some(open);
                Some(event)
            }
            Err(why) => {
                let at = open.at + (start / 8) as usize;
                let content = usize::try_from(open.content_bits.div_ceil(8)).unwrap_or(usize::MAX);
                let bytes = open.end.min(open.at.saturating_add(content)).saturating_sub(at);
                let is_cut = open.missing > 0 && matches!(why, DecodeError::PastEnd { .. });
                let why =
                    if is_cut { DecodeError::CutShort { missing: open.missing } } else { why };
                self.stats.packet_bytes -= bytes as u64;
                self.undecodable(at, bytes, why);
                None
            }
        }
    }

    fn event(&mut self, open: &mut Open<'t, 'd>) -> Result<Event<'t>, DecodeError> {
        let (decoder, stream) = (&mut open.decoder, open.stream);
        let start = decoder.bits.at();
        let keeps = self.keeps;
        let control = decoder.scope(2, stream.event_header.as_deref(), keeps)?;
        let id = control.id.unwrap_or(0);
        let class = self.trace.event(stream.id, id);
        let class = class.ok_or(DecodeError::UnknownEvent { id, stream: stream.id })?;
        let mut later = None;
        for (scope, ty) in [(3, &stream.event_context), (4, &class.context), (5, &class.fields)] {
            let keeps = if scope == 5 { Keeps::All } else { keeps };
            later = decoder.scope(scope, ty.as_deref(), keeps)?.clock.or(later);
        }
        if decoder.bits.at() == start {
            return Err(DecodeError::NoBits(id));
        }
        let time = control.clock.map(|reading| self.read_clock(reading));
        // Events without a time of their own have the last reading of the clock.
        let time = time.or(self.clock.map(|_| self.time));
        if time < self.last_event {
            self.stats.backwards += 1;
            let (now, before) = (time.unwrap_or(0), self.last_event.unwrap_or(0));
            let back = self.clock.map_or(0, |c| c.nanoseconds(before) - c.nanoseconds(now));
            let back = u64::try_from(back).unwrap_or(u64::MAX);
            self.stats.back_ns = self.stats.back_ns.saturating_add(back);
        }
        self.last_event = time;
        let [_, _, header, stream_context, context, fields] = &mut decoder.done;
        self.stats.events += 1;
        let event = Event {
            class,
            stream,
            at: open.at as u64 + start / 8,
            time,
            clock: self.clock,
            header: header.take(),
            stream_context: stream_context.take(),
            context: context.take(),
            fields: fields.take(),
        };
        if let Some(reading) = later {
            self.read_clock(reading);
        }
        Ok(event)
    }
}
