//! A stream: a sequence of packets, the events in them, and errors and losses (section 5).

use std::collections::VecDeque;

use super::decode::{Control, Decoder, Reading};
use super::error::DecodeError;
use super::trace::{Clock, EventClass, StreamClass, Trace};
use super::types::{ByteOrder, Type};
use super::value::Value;

const MAGIC: u32 = 0xc1fc_1fc1;
/// The tracer's mark is searched for up to this offset.
const MARK_WINDOW: usize = 1 << 16;
/// Maximum size of a packet's header and context. In a damaged stream many places may look like the
/// beginning of a packet; each is parsed no further than this.
const MAX_HEADER_BITS: u64 = 8 << 12;
/// Packets before this one that it may repeat.
const RECENT: usize = 16;
/// Counters of so many bits never come to their end: where one goes back, one of its values is
/// wrong.
const WIDE: u8 = 32;

/// How to read a stream.
#[derive(Debug, Clone)]
pub struct Options {
    /// The mark that tracers without packets send before their first event, on lines that carry
    /// other output before: the stream begins after it, if it is found in the first 64 KiB.
    /// Ignored where packets have magic numbers.
    pub marks: Vec<Vec<u8>>,
}

impl Default for Options {
    /// With the mark of NuttX's CTF tracer, as used by micro-ROS.
    fn default() -> Self {
        Options { marks: vec![vec![0xbe, 0xbe, 0xde, 0xad]] }
    }
}

/// A packet.
#[derive(Debug, Clone, PartialEq)]
pub struct Packet<'t> {
    /// Offset of its first byte.
    pub at: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Length in use, without padding.
    pub content_bits: u64,
    /// The stream it belongs to.
    pub stream: &'t StreamClass,
    /// Its clock.
    pub clock: Option<&'t Clock>,
    /// Clock reading when the packet was begun.
    pub begin: Option<u64>,
    /// Clock reading when the packet was complete.
    pub end: Option<u64>,
    /// The packet header.
    pub header: Option<Value<'t>>,
    /// The packet context.
    pub context: Option<Value<'t>>,
}

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event<'t> {
    /// Its class.
    pub class: &'t EventClass,
    /// The stream it belongs to.
    pub stream: &'t StreamClass,
    /// Offset of the byte that it begins in.
    pub at: u64,
    /// The clock reading.
    pub time: Option<u64>,
    /// The clock that was read.
    pub clock: Option<&'t Clock>,
    /// The event header.
    pub header: Option<Value<'t>>,
    /// The stream's event context.
    pub stream_context: Option<Value<'t>>,
    /// The event's own context.
    pub context: Option<Value<'t>>,
    /// The event's payload.
    pub fields: Option<Value<'t>>,
}

impl<'t> Event<'t> {
    /// The time since the clock's epoch.
    pub fn nanoseconds(&self) -> Option<i128> {
        Some(self.clock?.nanoseconds(self.time?))
    }

    /// A field of the payload.
    pub fn get(&self, name: &str) -> Option<&Value<'t>> {
        self.fields.as_ref()?.get(name)
    }
}

/// Events or packets that the tracer discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost<'t> {
    /// Number of events, as counted by the tracer.
    pub events: u64,
    /// Number of packets, from gaps in their sequence numbers.
    pub packets: u64,
    /// When they were lost, on this clock.
    pub clock: Option<&'t Clock>,
    /// The end of the packet before; `None` at the beginning.
    pub from: Option<u64>,
    /// The end of the packet that reports the loss.
    pub to: Option<u64>,
}

/// Bytes that do not match the metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecodable {
    /// Offset of the first of them.
    pub at: u64,
    /// How many.
    pub bytes: u64,
    /// Why.
    pub why: DecodeError,
}

/// An item of a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Item<'t> {
    /// A packet begins.
    Packet(Packet<'t>),
    /// An event.
    Event(Event<'t>),
    /// Events or packets are missing; this precedes the packet that reports the loss.
    Lost(Lost<'t>),
    /// Undecodable bytes.
    Undecodable(Undecodable),
}

/// Statistics of a reader. At the end of the stream `bytes` is the sum of `packet_bytes`,
/// `mark_bytes` and `undecodable_bytes`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of the stream.
    pub bytes: u64,
    /// Bytes of packets, as far as decoded, with their padding.
    pub packet_bytes: u64,
    /// Bytes of the tracer's mark.
    pub mark_bytes: u64,
    /// Undecodable bytes.
    pub undecodable_bytes: u64,
    /// Packets.
    pub packets: u64,
    /// Events.
    pub events: u64,
    /// Events that the tracer discarded.
    pub lost_events: u64,
    /// Missing packets.
    pub lost_packets: u64,
    /// Events with an earlier time than the event before.
    pub backwards: u64,
    /// By how many nanoseconds they are earlier, all together.
    pub back_ns: u64,
    /// Counts of discarded events, and numbers of packets, that are less than the one before.
    pub recounts: u64,
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
    open: Option<Open<'t, 'd>>,
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
                Some(open) => self.read_event(open),
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

    /// The byte order of the magic number, if packets begin with one.
    fn magic_order(&self) -> Option<ByteOrder> {
        let Some(Type::Struct(header)) = self.trace.packet_header.as_deref() else { return None };
        let first = header.fields.first().filter(|field| field.name == "magic")?;
        match &*first.ty {
            Type::Integer(magic) if magic.bits == 32 => {
                Some(magic.order.unwrap_or(self.trace.order))
            }
            _ => None,
        }
    }

    /// The next place from `from` on where a packet may begin, after an unreadable one.
    fn resynchronised(&self, from: usize) -> usize {
        let end = self.bytes.len();
        let Some(order) = self.magic_order() else { return end };
        let magic = match order {
            ByteOrder::Little => MAGIC.to_le_bytes(),
            ByteOrder::Big => MAGIC.to_be_bytes(),
        };
        let rest = self.bytes.get(from..).unwrap_or_default();
        rest.windows(4).position(|bytes| bytes == magic).map_or(end, |found| from + found)
    }

    fn begin_packet(&mut self) {
        let at = self.at;
        match self.packet(at) {
            Ok(open) if open.repeats => {
                self.at = open.end;
                self.undecodable(at, open.end - at, DecodeError::Repeated);
            }
            Ok(open) => {
                self.at = open.end;
                self.stats.packets += 1;
                self.stats.packet_bytes += (open.end - at) as u64;
                self.open = Some(open);
            }
            Err(why) => {
                self.at = self.resynchronised(at + 1);
                self.undecodable(at, self.at - at, why);
            }
        }
    }

    /// Header and context of the packet at the current offset.
    fn packet(&mut self, at: usize) -> Result<Open<'t, 'd>, DecodeError> {
        let rest = &self.bytes[at..];
        if let Some(order) = self.magic_order() {
            let magic = rest.first_chunk().map(|four| match order {
                ByteOrder::Little => u32::from_le_bytes(*four),
                ByteOrder::Big => u32::from_be_bytes(*four),
            });
            if magic != Some(MAGIC) {
                return Err(DecodeError::Magic);
            }
        }
        let mut decoder = Decoder::new(self.trace, rest, self.empty);
        decoder.bits.end_at(MAX_HEADER_BITS);
        let header = decoder.scope(0, self.trace.packet_header.as_deref());
        self.empty = decoder.empty;
        header?;
        let header = decoder.done[0].as_ref();
        self.check_uuid(header)?;
        let stream = header.and_then(|h| h.get("stream_id")).and_then(Value::unsigned);
        let stream = match stream {
            Some(id) => self.trace.stream(id).ok_or(DecodeError::UnknownStream(id))?,
            None if self.trace.streams.len() == 1 => &self.trace.streams[0],
            None => self.trace.stream(0).ok_or(DecodeError::UnknownStream(0))?,
        };
        let control = decoder.scope(1, stream.packet_context.as_deref());
        self.empty = decoder.empty;
        let control = control?;
        let get = |name| decoder.done[1].as_ref()?.get(name).and_then(Value::unsigned);
        let available = rest.len() as u64 * 8;
        let (packet, content) = (get("packet_size"), get("content_size"));
        let packet_bits = packet.or(content).unwrap_or(available);
        let content_bits = content.unwrap_or(packet_bits);
        let used = decoder.bits.at();
        if !(used..=packet_bits).contains(&content_bits) || packet_bits == 0 {
            return Err(DecodeError::Sizes { packet: packet_bits, content: content_bits });
        }
        let bytes = packet_bits.div_ceil(8);
        let missing = bytes.saturating_sub(rest.len() as u64);
        let end = at + rest.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
        if content_bits > used && self.repeats(control, at, end) {
            return Ok(Open { decoder, at, end, content_bits, stream, missing, repeats: true });
        }
        let begin = control.begin.map(|reading| self.read_clock(reading));
        let end_time = control.end.map(|reading| reading.after(begin.unwrap_or(0)));
        let (discarded, sequence) = (get("events_discarded"), get("packet_seq_num"));
        self.lose(discarded, control.discarded_bits, sequence, end_time.or(begin));
        self.last_end = end_time;
        self.items.push_back(Item::Packet(Packet {
            at: at as u64,
            bytes,
            content_bits,
            stream,
            clock: self.clock,
            begin,
            end: end_time,
            header: decoder.done[0].clone(),
            context: decoder.done[1].clone(),
        }));
        decoder.bits.end_at(content_bits);
        Ok(Open { decoder, at, end, content_bits, stream, missing, repeats: false })
    }

    /// Whether a packet with events is one of the last ones once more: a buffer that was written
    /// twice. Packets of no length in time may be alike.
    fn repeats(&mut self, control: Control, at: usize, end: usize) -> bool {
        let Some(begin) = control.begin.map(|reading| reading.after(self.time)) else {
            return false;
        };
        if control.end.is_none_or(|reading| reading.after(begin) <= begin) {
            return false;
        }
        let bytes = self.bytes;
        let is_same = |&(before, from, to): &(u64, usize, usize)| {
            before == begin && bytes.get(from..to) == bytes.get(at..end)
        };
        if self.recent.iter().any(is_same) {
            return true;
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((begin, at, end));
        false
    }

    fn check_uuid(&self, header: Option<&Value>) -> Result<(), DecodeError> {
        let Some(Value::Array(elements)) = header.and_then(|header| header.get("uuid")) else {
            return Ok(());
        };
        let found: Vec<u8> =
            elements.iter().filter_map(|v| u8::try_from(v.unsigned()?).ok()).collect();
        match self.trace.uuid {
            Some(wanted) if found != wanted => {
                let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect();
                Err(DecodeError::Uuid { found: hex(&found), wanted: hex(&wanted) })
            }
            _ => Ok(()),
        }
    }

    /// The full time of a reading; advances the clock to it.
    fn read_clock(&mut self, reading: Reading) -> u64 {
        self.clock = self.trace.clocks.get(reading.clock);
        self.time = reading.after(self.time);
        self.time
    }

    /// Reports what is missing since the packet before, according to the packet's counters.
    fn lose(&mut self, discarded: Option<u64>, bits: u8, sequence: Option<u64>, to: Option<u64>) {
        let mask = u64::MAX >> (64 - bits.clamp(1, 64));
        // The first packet's counter has no predecessor: its events may predate the recording.
        let before = self.discarded.unwrap_or(0);
        let goes_back = bits >= WIDE && discarded.is_some_and(|now| now < before);
        let events = discarded.map_or(0, |now| now.wrapping_sub(before) & mask);
        let events = if goes_back { 0 } else { events };
        let ends = |n: u64| [0xff, 0xffff, 0xffff_ffff].contains(&n);
        let is_earlier = self.sequence.zip(sequence).is_some_and(|(b, n)| n < b && !ends(b));
        self.stats.recounts += u64::from(goes_back) + u64::from(is_earlier);
        let packets = match (self.sequence, sequence) {
            (Some(before), Some(now)) => now.saturating_sub(before.saturating_add(1)),
            _ => 0,
        };
        self.discarded = discarded.or(self.discarded);
        self.sequence = sequence.or(self.sequence);
        if events > 0 || packets > 0 {
            self.stats.lost_events = self.stats.lost_events.saturating_add(events);
            self.stats.lost_packets = self.stats.lost_packets.saturating_add(packets);
            let (clock, from) = (self.clock, self.last_end);
            self.items.push_back(Item::Lost(Lost { events, packets, clock, from, to }));
        }
    }

    fn read_event(&mut self, mut open: Open<'t, 'd>) {
        let start = open.decoder.bits.at();
        let align = open.stream.event_header.as_ref().map_or(1, |header| header.align());
        // Bits before the next possible event are padding of the last byte.
        if start.next_multiple_of(align) >= open.content_bits {
            return;
        }
        // The rest of a stream that is truncated in the padding has nothing to read.
        let failed = if open.decoder.bits.left() == 0 {
            Err(DecodeError::CutShort { missing: open.missing })
        } else {
            self.event(&mut open)
        };
        self.empty = open.decoder.empty;
        match failed {
            Ok(()) => self.open = Some(open),
            Err(why) => {
                let at = open.at + (start / 8) as usize;
                let content = usize::try_from(open.content_bits.div_ceil(8)).unwrap_or(usize::MAX);
                let bytes = open.end.min(open.at.saturating_add(content)).saturating_sub(at);
                let is_cut = open.missing > 0 && matches!(why, DecodeError::PastEnd { .. });
                let why =
                    if is_cut { DecodeError::CutShort { missing: open.missing } } else { why };
                self.stats.packet_bytes -= bytes as u64;
                self.undecodable(at, bytes, why);
            }
        }
    }

    fn event(&mut self, open: &mut Open<'t, 'd>) -> Result<(), DecodeError> {
        let (decoder, stream) = (&mut open.decoder, open.stream);
        let start = decoder.bits.at();
        let control = decoder.scope(2, stream.event_header.as_deref())?;
        let id = control.id.unwrap_or(0);
        let class = self.trace.event(stream.id, id);
        let class = class.ok_or(DecodeError::UnknownEvent { id, stream: stream.id })?;
        let mut later = None;
        for (scope, ty) in [(3, &stream.event_context), (4, &class.context), (5, &class.fields)] {
            later = decoder.scope(scope, ty.as_deref())?.clock.or(later);
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
        self.items.push_back(Item::Event(Event {
            class,
            stream,
            at: open.at as u64 + start / 8,
            time,
            clock: self.clock,
            header: header.take(),
            stream_context: stream_context.take(),
            context: context.take(),
            fields: fields.take(),
        }));
        if let Some(reading) = later {
            self.read_clock(reading);
        }
        Ok(())
    }
}
