//! What a reader makes of a stream, as plain values: packets, events, losses, undecodable bytes and
//! their numbers.

use super::super::error::DecodeError;
use super::super::trace::{Clock, EventClass, StreamClass};
use super::super::value::Value;

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
