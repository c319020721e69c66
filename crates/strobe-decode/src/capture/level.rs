//! Levels and edges. An edge is one word.

/// A level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// Low.
    Low,
    /// High.
    High,
    /// Unknown: `x` or `z` in a VCD file, or not recorded.
    Unknown,
}

impl Level {
    /// High for `true`.
    pub fn of(high: bool) -> Level {
        if high { Level::High } else { Level::Low }
    }

    /// The level of its number as an enum, in edges.
    #[inline]
    pub(super) fn from_code(code: u64) -> Level {
        match code {
            0 => Level::Low,
            1 => Level::High,
            _ => Level::Unknown,
        }
    }

    /// Whether it is certainly high.
    pub fn is_high(self) -> bool {
        self == Level::High
    }

    /// Whether it is certainly low.
    pub fn is_low(self) -> bool {
        self == Level::Low
    }

    /// The other level, as an inverting driver makes it.
    #[inline]
    pub fn inverted(self) -> Level {
        match self {
            Level::Low => Level::High,
            Level::High => Level::Low,
            Level::Unknown => Level::Unknown,
        }
    }
}

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge(u64);

impl Edge {
    /// The last tick that an edge can represent.
    pub const MAX_TICK: u64 = u64::MAX >> 2;

    /// An edge to `level` at a tick.
    ///
    /// # Panics
    /// Beyond [`Edge::MAX_TICK`], which the readers refuse.
    #[inline]
    pub fn new(at: u64, level: Level) -> Edge {
        assert!(at <= Edge::MAX_TICK, "tick {at} is beyond what an edge can hold");
        Edge(at << 2 | level as u64)
    }

    /// When, in ticks from the beginning of the recording.
    #[inline]
    pub fn at(self) -> u64 {
        self.0 >> 2
    }

    /// The level from then on.
    #[inline]
    pub fn level(self) -> Level {
        Level::from_code(self.0 & 3)
    }
}
