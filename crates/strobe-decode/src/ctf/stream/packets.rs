//! Where packets begin and end, and what their headers and contexts state is missing before them.

use super::super::decode::{Control, Decoder, Keeps};
use super::super::error::DecodeError;
use super::super::trace::StreamClass;
use super::super::types::{ByteOrder, Type};
use super::super::value::Value;
use super::{Item, Lost, Open, Packet, Reader};

const MAGIC: u32 = 0xc1fc_1fc1;
/// Maximum size of a packet's header and context. In a damaged stream many places may look like the
/// beginning of a packet; each is parsed no further than this.
const MAX_HEADER_BITS: u64 = 8 << 12;
/// Packets before this one that it may repeat.
const RECENT: usize = 16;
/// Counters of so many bits never come to their end: where one goes back, one of its values is
/// wrong.
const WIDE: u8 = 32;

impl<'t, 'd> Reader<'t, 'd> {
    /// The byte order of the magic number, if packets begin with one.
    pub(super) fn magic_order(&self) -> Option<ByteOrder> {
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

    pub(super) fn begin_packet(&mut self) {
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
                self.open = Some(Box::new(open));
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
        let header = decoder.scope(0, self.trace.packet_header.as_deref(), Keeps::All);
        self.empty = decoder.empty;
        header?;
        let header = decoder.done[0].as_ref();
        self.check_uuid(header)?;
        let stream = self.stream_of(header)?;
        let control = decoder.scope(1, stream.packet_context.as_deref(), Keeps::All);
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

    /// The stream that a packet with this header belongs to.
    fn stream_of(&self, header: Option<&Value>) -> Result<&'t StreamClass, DecodeError> {
        let id = header.and_then(|h| h.get("stream_id")).and_then(Value::unsigned);
        match id {
            Some(id) => self.trace.stream(id).ok_or(DecodeError::UnknownStream(id)),
            None if self.trace.streams.len() == 1 => Ok(&self.trace.streams[0]),
            None => self.trace.stream(0).ok_or(DecodeError::UnknownStream(0)),
        }
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
}
