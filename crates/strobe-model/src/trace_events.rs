//! Things on a time line, for viewers: spans, moments and counters on tracks, and where something is missing.
//!
//! What any instrument can give and any trace format can hold. Unlike a record it keeps every single event.

/// What a track stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrackKind {
    /// A thread of the target. Its slices are the times that it ran.
    Thread,
    /// An exception or interrupt. Its slices are its handler's.
    Exception,
    /// Functions of a thread, one inside the other.
    Functions,
    /// What somebody marked: windows, transfers, pulses.
    Marks,
    /// A value over time.
    Counter,
}

/// A line of the display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Track {
    /// What it stands for.
    pub kind: TrackKind,
    /// The target's number for it: a thread's, an exception's.
    pub number: Option<i64>,
    /// What it is called.
    pub name: String,
    /// Of a counter, what its values are.
    pub unit: Option<String>,
}

/// Something that took time. Slices of one track lie beside or inside one another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// Index of its track.
    pub track: usize,
    /// What to call it; the track's name if empty.
    pub name: String,
    /// When it began, in nanoseconds.
    pub begin_ns: u64,
    /// When it ended, not before that.
    pub end_ns: u64,
}

/// Something that took none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instant {
    /// Index of its track.
    pub track: usize,
    /// What to call it.
    pub name: String,
    /// When, in nanoseconds.
    pub at_ns: u64,
}

/// A counter's value from a moment on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterValue {
    /// Index of its track.
    pub track: usize,
    /// From when, in nanoseconds.
    pub at_ns: u64,
    /// The value.
    pub value: i64,
}

/// Something is missing here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Not before this, in nanoseconds.
    pub from_ns: u64,
    /// Not after this.
    pub to_ns: u64,
    /// Events that are missing, where that is known.
    pub events: Option<u64>,
    /// Why, in words.
    pub why: String,
}

/// Everything on a time line. Times count from its beginning; nothing needs to be in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceEvents {
    /// What was traced, for a title.
    pub name: String,
    /// The lines of the display.
    pub tracks: Vec<Track>,
    /// What took time.
    pub slices: Vec<Slice>,
    /// What took none.
    pub instants: Vec<Instant>,
    /// Values over time.
    pub counters: Vec<CounterValue>,
    /// What is missing.
    pub gaps: Vec<Gap>,
}

impl TraceEvents {
    /// The track of that kind and number or name, which is made if there is none.
    pub fn track(&mut self, kind: TrackKind, number: Option<i64>, name: &str) -> usize {
        let same = |track: &Track| {
            track.kind == kind && track.number == number && (number.is_some() || track.name == name)
        };
        if let Some(found) = self.tracks.iter().position(same) {
            return found;
        }
        self.tracks.push(Track { kind, number, name: name.to_owned(), unit: None });
        self.tracks.len() - 1
    }
}
