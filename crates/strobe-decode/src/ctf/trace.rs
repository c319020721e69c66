//! A trace as described by its metadata: streams, events, clocks, environment.

use std::collections::HashMap;
use std::sync::Arc;

use super::error::MetadataError;
use super::types::{ByteOrder, Type};

/// The content of the metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Native byte order, for numbers without one of their own.
    pub order: ByteOrder,
    /// The trace's UUID, which its packets repeat.
    pub uuid: Option<[u8; 16]>,
    /// Type of the packet header.
    pub packet_header: Option<Arc<Type>>,
    /// Stream classes.
    pub streams: Vec<StreamClass>,
    /// Event classes.
    pub events: Vec<EventClass>,
    /// Clocks.
    pub clocks: Vec<Clock>,
    /// Tracer and machine, in the order of the metadata.
    pub environment: Vec<(String, EnvValue)>,
    pub(super) by_id: EventIds,
    /// Whether the length or the type of a value is read from another field.
    pub(super) has_references: bool,
}

/// A stream class.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamClass {
    /// The id in packet headers.
    pub id: u64,
    /// Type of the packet context.
    pub packet_context: Option<Arc<Type>>,
    /// Type of the event header.
    pub event_header: Option<Arc<Type>>,
    /// Type of the event context that all events of the stream share.
    pub event_context: Option<Arc<Type>>,
}

/// An event class.
#[derive(Debug, Clone, PartialEq)]
pub struct EventClass {
    /// Its name.
    pub name: String,
    /// Its place among the trace's event classes.
    pub index: usize,
    /// The id in event headers.
    pub id: u64,
    /// The id of its stream.
    pub stream: u64,
    /// Log level, as LTTng counts: 0 is an emergency, 14 is for debugging.
    pub log_level: Option<u64>,
    /// Type of the event's own context.
    pub context: Option<Arc<Type>>,
    /// Type of the event's payload.
    pub fields: Option<Arc<Type>>,
}

/// A clock (section 8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    /// Its name.
    pub name: String,
    /// Ticks in a second.
    pub hz: u64,
    /// Uncertainty of a reading, in ticks.
    pub precision: u64,
    /// The epoch offset in seconds; `offset` is to be added.
    pub offset_s: i64,
    /// The epoch offset in ticks, to be added.
    pub offset: i64,
    /// Description.
    pub description: String,
}

impl Clock {
    /// A reading as nanoseconds since the clock's epoch.
    pub fn nanoseconds(&self, ticks: u64) -> i128 {
        let ticks = i128::from(ticks) + i128::from(self.offset);
        let nanoseconds = if self.hz == 1_000_000_000 {
            ticks
        } else {
            // Rounded down, as other readers do.
            (ticks * 1_000_000_000).div_euclid(i128::from(self.hz.max(1)))
        };
        i128::from(self.offset_s) * 1_000_000_000 + nanoseconds
    }
}

/// An environment value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvValue {
    /// A number.
    Number(i128),
    /// A string.
    Text(String),
}

/// The event classes by their ids.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct EventIds {
    all: HashMap<(u64, u64), usize>,
    /// The same for small ids of the stream 0, which most events have.
    small: Vec<Option<usize>>,
}

/// Ids below this are looked up in a table.
const SMALL_IDS: u64 = 1 << 12;

impl EventIds {
    /// Adds a class; returns whether its id is new.
    pub(super) fn insert(&mut self, stream: u64, id: u64, index: usize) -> bool {
        if stream == 0 && id < SMALL_IDS {
            let needed = self.small.len().max(id as usize + 1);
            self.small.resize(needed, None);
            self.small[id as usize] = Some(index);
        }
        self.all.insert((stream, id), index).is_none()
    }

    fn index(&self, stream: u64, id: u64) -> Option<usize> {
        if stream == 0 && id < SMALL_IDS {
            return *self.small.get(id as usize)?;
        }
        self.all.get(&(stream, id)).copied()
    }
}

impl Trace {
    /// Reads metadata: TSDL as plain text, or in packets (section 7.1).
    ///
    /// # Errors
    /// When it is not valid TSDL, has an undefined reference, or lacks what reading a stream needs.
    pub fn parse(metadata: &[u8]) -> Result<Trace, MetadataError> {
        super::metadata::parse(metadata)
    }

    /// The event class with this id in a stream.
    pub fn event(&self, stream: u64, id: u64) -> Option<&EventClass> {
        self.events.get(self.by_id.index(stream, id)?)
    }

    /// The stream class with this id.
    pub fn stream(&self, id: u64) -> Option<&StreamClass> {
        self.streams.iter().find(|stream| stream.id == id)
    }
}
