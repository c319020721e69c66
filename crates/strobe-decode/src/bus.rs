//! Serial buses out of a capture: edges pushed into a decoder, events out of it.
//!
//! A decoder keeps the word it is in and nothing else. [`uart`], [`spi`] and [`i2c`] also have a
//! `decode` each, which pushes a capture through and ends in the lanes, transfers and faults of
//! `strobe_model`.

pub mod baud;
mod core;
pub mod i2c;
mod measurement;
pub mod report;
pub mod spi;
pub mod uart;

use crate::bus::report::{
    BusFault, BusLane, BusReport, BusTransfer, BusWord, FaultKind, LaneSummary, Stretched,
};
use crate::pins::report::CaptureSummary;
use crate::summary::ValueSummary;

use crate::capture::Capture;

pub use measurement::{Listing, measurement};

/// What a decoder found, before it becomes a report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decoded {
    /// One for each line that carries data.
    pub lanes: Vec<BusLane>,
    /// Words that belong together.
    pub transfers: Vec<BusTransfer>,
    /// By time.
    pub faults: Vec<BusFault>,
    /// I2C: how long the clock was held low.
    pub clock_low_ps: Option<ValueSummary>,
    /// I2C: clock lows far longer than the others.
    pub stretched: Option<Stretched>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

impl Decoded {
    /// Takes in what another decoder found on other lines of the same capture.
    pub fn join(&mut self, other: Decoded) {
        self.lanes.extend(other.lanes);
        self.transfers.extend(other.transfers);
        self.faults.extend(other.faults);
        self.faults.sort_by_key(|fault| fault.start_ps);
        self.notes.extend(other.notes);
    }

    /// As a report on a capture; settings are the caller's to add.
    pub fn report(self, protocol: &str, from: &Capture, capture: CaptureSummary) -> BusReport {
        let core = core::meanwhile(&self, from);
        let mut fault_counts = std::collections::BTreeMap::new();
        for fault in &self.faults {
            *fault_counts.entry(fault.kind).or_default() += 1;
        }
        let gaps = self.transfers.windows(2).map(|t| t[1].start_ps.saturating_sub(t[0].end_ps));
        let gaps = gaps.map(|gap| u64::try_from(gap).unwrap_or(0)).collect();
        BusReport {
            capture,
            protocol: protocol.to_owned(),
            settings: Vec::new(),
            lanes: self.lanes,
            transfer_gaps_ps: ValueSummary::of(gaps),
            transfers: self.transfers,
            clock_low_ps: self.clock_low_ps,
            stretched: self.stretched,
            unit: None,
            core,
            fault_counts,
            faults: self.faults,
            notes: self.notes,
        }
    }
}

/// A lane of words.
fn lane(name: &str, pin: &str, words: Vec<BusWord>, capture: &Capture) -> BusLane {
    let summary = LaneSummary::of(&words, capture.ps(capture.end));
    BusLane { name: name.to_owned(), pin: pin.to_owned(), baud: None, words, summary }
}

fn fault(
    capture: &Capture,
    (start, end): (u64, u64),
    lane: &str,
    kind: FaultKind,
    text: impl Into<String>,
) -> BusFault {
    BusFault {
        start_ps: capture.at_ps(start),
        end_ps: capture.at_ps(end),
        lane: lane.to_owned(),
        kind,
        text: text.into(),
    }
}
