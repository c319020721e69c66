//! What the kit for the target sent: marks, regions, values, channels, by the names that the
//! firmware gives them.
//!
//! Times are in core cycles if the length of a tick is known, else in ticks.

use crate::archive::report::HeapSeen;
use strobe_decode::kit::Transport;
use strobe_model::measurement::Spread;

/// Records of the kit: `records` came, `lost` did not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kit {
    /// What they came over.
    pub way: Transport,
    /// The stimulus port that they came through, where they did; values came through the next.
    pub port: u8,
    /// Records that came.
    pub records: u64,
    /// Records that did not, by the numbers of those around them.
    pub lost: u64,
    /// Places where records are missing, or where the target began anew.
    pub losses: u64,
    /// Times that the target began anew.
    pub restarts: u64,
    /// Writes to the two ports, or whole frames, that are no records.
    pub unusable: u64,
    /// When records were missing and how many, the first ones if there are many places.
    pub lost_at: Vec<(u64, u64)>,
    /// Marks, by id.
    pub marks: Vec<KitMark>,
    /// Regions, by id.
    pub regions: Vec<KitRegion>,
    /// Values, by id.
    pub values: Vec<KitValue>,
    /// Channels, by id.
    pub channels: Vec<KitChannel>,
    /// The heap, if its allocators were reported. Times are in ticks; threads are exceptions, 0
    /// standing for all threads.
    pub heap: Option<HeapSeen>,
}

/// Something that happened.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KitMark {
    /// Its id.
    pub id: u16,
    /// Its name.
    pub name: String,
    /// How often.
    pub count: u64,
    /// Times from one to the next that are known to the tick; the next three are theirs.
    pub timed: u64,
    /// Their sum.
    pub sum: u64,
    /// The shortest.
    pub shortest: u64,
    /// The longest.
    pub longest: u64,
    /// Times from one to the next that are known with bounds only.
    pub vague: u64,
    /// The times that are known to the tick.
    pub times: Spread,
}

/// A timed region, from its begin to its end, with all that interrupted it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KitRegion {
    /// Its id.
    pub id: u16,
    /// Its name.
    pub name: String,
    /// Times begun.
    pub begun: u64,
    /// Times ended.
    pub ended: u64,
    /// Begins whose end never came, and ends whose begin never came.
    pub unmatched: u64,
    /// Times known to the tick; the next three are theirs.
    pub timed: u64,
    /// Their sum.
    pub sum: u64,
    /// The shortest.
    pub shortest: u64,
    /// The longest.
    pub longest: u64,
    /// Times known with bounds only.
    pub vague: u64,
    /// The longest that any of either may have been.
    pub at_most: u64,
    /// The times that are known to the tick.
    pub times: Spread,
}

/// A variable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KitValue {
    /// Its id.
    pub id: u16,
    /// Its name.
    pub name: String,
    /// Values that came.
    pub count: u64,
    /// The smallest.
    pub min: i64,
    /// The greatest.
    pub max: i64,
    /// The last.
    pub last: i64,
    /// Values with their times, the first ones if there are many.
    pub values: Vec<(u64, i64)>,
}

/// Bytes with a name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KitChannel {
    /// Its id.
    pub id: u16,
    /// Its name.
    pub name: String,
    /// Bytes that came.
    pub bytes: u64,
    /// Places where something may be missing.
    pub interrupted: u64,
    /// Its text, if it is text: the end of it if there is much. Places where something may be
    /// missing have `[lost?]`.
    pub text: Option<String>,
    /// Bytes of text before it that are not here.
    pub text_skipped: u64,
}
