//! What happens on pins: widths, periods and times between edges, whatever saw them.
//!
//! All times are in picoseconds, because sampling clocks are no whole number of nanoseconds.
//! Whoever fills these in knows the recording; the types know none.

use crate::summary::ValueSummary;

/// What a capture's pins did.
#[derive(Debug, Clone, PartialEq)]
pub struct PinsReport {
    /// What was looked at.
    pub capture: CaptureSummary,
    /// One entry for each pin.
    pub pins: Vec<PinStatistics>,
    /// Times between edges of two pins.
    pub intervals: Vec<PinInterval>,
    /// What the reader should know, each a sentence or two.
    pub notes: Vec<String>,
}

/// A recording of levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureSummary {
    /// Its file, without folders.
    pub file: String,
    /// Its format, as `sigrok session`.
    pub format: String,
    /// The period of the clock that took it: a time between two edges is known to plus or minus
    /// this much, where the recording is not simulated.
    pub resolution_ps: u64,
    /// Whether the resolution was worked out from the edges, because the file does not state it.
    pub resolution_inferred: bool,
    /// Where it begins on its own time line.
    pub start_ps: i64,
    /// How long it is.
    pub duration_ps: u64,
    /// Its pins; of a simulated board's those that moved.
    pub channels: Vec<String>,
    /// Its times go back behind the end: what follows in the file was not read.
    pub cut: bool,
    /// Where it is none that an instrument took, but what a simulated board did.
    pub simulated: Option<SimulatedCapture>,
}

/// What a recording of simulated pins has beside one of real pins. Its edges are those of
/// one model, to the cycle; the resolution is then a cycle of the core's clock, at its
/// fastest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatedCapture {
    /// The board.
    pub board: String,
    /// Modelled waits are in its times: in one recording their bounds are not known.
    pub is_modelled: bool,
}

/// A pin's level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinLevel {
    /// Low.
    Low,
    /// High.
    High,
    /// Neither for certain.
    Unknown,
}

/// What one pin did. Only what begins and ends inside the recording is measured: the first and the
/// last level are of unknown length, and so is what borders on an unknown level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinStatistics {
    /// The pin.
    pub pin: String,
    /// Its level at the beginning.
    pub initial: PinLevel,
    /// Edges from low to high.
    pub rising: u64,
    /// Edges from high to low.
    pub falling: u64,
    /// How often its level became unknown.
    pub unknown: u64,
    /// Of the recording, how long it was high for certain.
    pub high_total_ps: u64,
    /// Of the recording, how long it was low for certain.
    pub low_total_ps: u64,
    /// Widths of high pulses, from a rising edge to the next falling one.
    pub high_ps: Option<ValueSummary>,
    /// Widths of low pulses, from a falling edge to the next rising one.
    pub low_ps: Option<ValueSummary>,
    /// From a rising edge to the next one.
    pub period_ps: Option<ValueSummary>,
    /// The high part of each period, in millionths.
    pub duty_ppm: Option<ValueSummary>,
    /// How uneven the period is.
    pub jitter: Option<Jitter>,
}

/// How uneven periods are. Sampling alone makes some: a steady signal that does not fit the
/// sampling clock has a deviation of up to half its period, and periods that differ from the next
/// by one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jitter {
    /// Period jitter: the sample standard deviation of the period.
    pub period_ps: u64,
    /// Cycle-to-cycle jitter: by how much each period differs from the one before, without sign.
    pub cycle_to_cycle_ps: ValueSummary,
}

/// Times from an edge to another edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinInterval {
    /// Where it starts, as `IRQ rising`.
    pub from: String,
    /// Where it ends, as `LED falling`.
    pub to: String,
    /// From each start to the first end after it.
    pub times_ps: Option<ValueSummary>,
    /// Starts with no end before the next start, or before the end of the recording.
    pub unanswered: u64,
}
