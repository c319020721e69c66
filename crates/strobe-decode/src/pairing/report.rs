//! Two recordings of the same pins side by side, as a measured one and a simulated one: each
//! figure's difference, with what either does not know, and what follows.

use crate::pins::report::CaptureSummary;

/// Recording `b` beside recording `a`.
#[derive(Debug, Clone, PartialEq)]
pub struct Against {
    /// One.
    pub a: CaptureSummary,
    /// The other.
    pub b: CaptureSummary,
    /// By how much the clocks of the two may be apart, in millionths: every time of `b` is taken
    /// to be known no better.
    pub clock_tolerance_ppm: u64,
    /// Pins, and times between edges, that were compared.
    pub pairs: Vec<Pair>,
    /// What the reader should know, each a sentence or two.
    pub notes: Vec<String>,
}

/// A pin, or times between two edges, in both.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// In `a`.
    pub a: String,
    /// In `b`.
    pub b: String,
    /// Figure by figure.
    pub figures: Vec<FigurePair>,
}

/// A figure in both.
#[derive(Debug, Clone, PartialEq)]
pub struct FigurePair {
    /// Of what: `high`, `low`, `period`, `duty`, `time`.
    pub of: String,
    /// Which: `min`, `mean`, `median`, `max`, `deviation`.
    pub figure: String,
    /// The unit of all values.
    pub unit: FigureUnit,
    /// In `a`.
    pub a: Option<Estimate>,
    /// In `b`.
    pub b: Option<Estimate>,
    /// `b` less `a`.
    pub difference: Option<Difference>,
    /// What follows.
    pub verdict: Verdict,
    /// Why nothing follows, where nothing does.
    pub reason: Option<Reason>,
}

/// What a figure is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureUnit {
    /// Picoseconds.
    Ps,
    /// Millionths.
    Ppm,
}

/// A figure with all that is not known of it: of a capture the resolution of its clock, of a
/// simulation the models' bounds; of `b` the tolerance of the clocks; of a mean two standard
/// errors, because other pulses would have had another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// How many values it is of.
    pub count: u64,
    /// The figure.
    pub value: u64,
    /// At least.
    pub low: u64,
    /// At most.
    pub high: u64,
}

/// A difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// Of the figures.
    pub value: i64,
    /// At least.
    pub low: i64,
    /// At most.
    pub high: i64,
}

/// What follows from a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The figures may be the same, and what is not known of them is little.
    Agree,
    /// They cannot be the same.
    Differ,
    /// Neither is shown.
    CannotTell,
}

/// Why a figure is inconclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// One side has no values at all.
    NoValues,
    /// What is not known is more than a quarter of the figure.
    TooWide,
    /// The side without the extreme has fewer values, and may have missed it.
    FewerValues,
}
