//! A trace as its metadata describes it: streams, events, clocks, environment.

use std::collections::HashMap;
use std::sync::Arc;

use super::error::MetadataError;
use super::types::{ByteOrder, Type};

/// What the metadata says.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Which end of numbers comes first, where they do not say it themselves.
    pub order: ByteOrder,
    /// The trace's UUID, which its packets repeat.
    pub uuid: Option<[u8; 16]>,
    /// What every packet begins with.
    pub packet_header: Option<Arc<Type>>,
    /// Kinds of streams.
    pub streams: Vec<StreamClass>,
    /// Kinds of events.
    pub events: Vec<EventClass>,
    /// Clocks.
    pub clocks: Vec<Clock>,
    /// The tracer and its machine, in the order of the metadata.
    pub environment: Vec<(String, EnvValue)>,
    pub(super) by_id: HashMap<(u64, u64), usize>,
}

/// A kind of stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamClass {
    /// As packets name it.
    pub id: u64,
    /// What follows the header of each packet.
    pub packet_context: Option<Arc<Type>>,
    /// What each event begins with.
    pub event_header: Option<Arc<Type>>,
    /// What follows the header of each event.
    pub event_context: Option<Arc<Type>>,
}

/// A kind of event.
#[derive(Debug, Clone, PartialEq)]
pub struct EventClass {
    /// Its name.
    pub name: String,
    /// As headers name it.
    pub id: u64,
    /// Of the stream.
    pub stream: u64,
    /// How important it is, as LTTng counts: 0 is an emergency, 14 is for debugging.
    pub log_level: Option<u64>,
    /// What follows the stream's context of events.
    pub context: Option<Arc<Type>>,
    /// What it tells.
    pub fields: Option<Arc<Type>>,
}

/// A clock (section 8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    /// Its name.
    pub name: String,
    /// Ticks in a second.
    pub hz: u64,
    /// Ticks that a reading may be wrong by.
    pub precision: u64,
    /// What a reading of 0 means, in seconds of the epoch; `offset` is to be added.
    pub offset_s: i64,
    /// Ticks to be added.
    pub offset: i64,
    /// In words.
    pub description: String,
}

impl Clock {
    /// A reading as nanoseconds since its epoch.
    pub fn nanoseconds(&self, ticks: u64) -> i128 {
        let ticks = i128::from(ticks) + i128::from(self.offset);
        let nanoseconds = if self.hz == 1_000_000_000 {
            ticks
        } else {
            // Rounded down, as everybody does.
            (ticks * 1_000_000_000).div_euclid(i128::from(self.hz.max(1)))
        };
        i128::from(self.offset_s) * 1_000_000_000 + nanoseconds
    }
}

/// A value of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvValue {
    /// A number.
    Number(i128),
    /// A text.
    Text(String),
}

impl Trace {
    /// Reads metadata: TSDL as plain text, or in packets (section 7.1).
    ///
    /// # Errors
    /// When it is not TSDL, refers to what is not there, or lacks what streams cannot be read without.
    pub fn parse(metadata: &[u8]) -> Result<Trace, MetadataError> {
        super::metadata::parse(metadata)
    }

    /// The kind of event that a stream's headers name so.
    pub fn event(&self, stream: u64, id: u64) -> Option<&EventClass> {
        self.by_id.get(&(stream, id)).map(|index| &self.events[*index])
    }

    /// The kind of stream that packets name so.
    pub fn stream(&self, id: u64) -> Option<&StreamClass> {
        self.streams.iter().find(|stream| stream.id == id)
    }
}
