//! Heaps of a simulated firmware: its allocators are found by name, their calls are logged while it
//! runs, and from the log follow what is allocated, by whom, what is not freed, and what is wrong.
//!
//! Nothing is asked of the firmware, and nothing of it is changed.

mod allocators;
mod arena;
mod growth;
mod measurement;
mod replay;
#[cfg(test)]
mod tests;

use strobe_model::measurement::{Balance, Finding, Measurement, Section, Total};
use strobe_symbols::Firmware;

pub use allocators::Allocators;
pub(super) use allocators::{Found, find};

use super::drive::Run;
use super::scheduling;

/// What was seen of a firmware's heaps, as parts of a measurement.
#[derive(Debug, Clone, Default)]
pub struct Heaps {
    /// Headline figures.
    pub totals: Vec<Total>,
    /// What became of all bytes and blocks.
    pub balances: Vec<Balance>,
    /// Misuse, leaks, failures.
    pub findings: Vec<Finding>,
    /// The figures.
    pub sections: Vec<Section>,
}

impl Heaps {
    /// Adds all of it to the measurement of a run.
    pub fn add_to(self, measurement: &mut Measurement) {
        measurement.totals.extend(self.totals);
        measurement.balances.extend(self.balances);
        measurement.findings.extend(self.findings);
        measurement.sections.extend(self.sections);
    }

    /// Makes of the measurement of a run one of its heaps alone: what else the run was measured by
    /// goes, its findings stay.
    pub fn instead_of(self, measurement: &mut Measurement) {
        measurement.totals.clear();
        measurement.balances.clear();
        measurement.sections.clear();
        // These are about cycles.
        let is_about_time = ["modelled", "advice"];
        measurement.findings.retain(|finding| !is_about_time.contains(&finding.code.as_str()));
        self.add_to(measurement);
    }
}

/// Blocks that were allocated from one cycle to another, and their bytes; unknown where allocators
/// are not watched or calls of them are missing.
pub(super) fn allocated(run: &Run, from: u64, to: u64) -> Option<(u64, u64)> {
    let log = &run.machine.observer().1.0.heap.as_ref()?.log;
    let found = run.allocators.as_ref()?;
    if log.missed > 0 {
        return None;
    }
    let shadow = replay::replay(found, log);
    let blocks = shadow.blocks.iter().filter(|block| (from..to).contains(&block.born.0));
    Some(blocks.fold((0, 0), |(n, bytes), block| (n + 1, bytes + u64::from(block.size))))
}

/// What the log of a run says of the heaps, if it was kept.
pub(super) fn seen(firmware: &Firmware, run: &Run) -> Option<Heaps> {
    let calls = &run.machine.observer().1.0;
    let log = &calls.heap.as_ref()?.log;
    let found = run.allocators.as_ref()?;
    let shadow = replay::replay(found, log);
    let seen = measurement::Seen {
        firmware,
        bus: run.machine.bus(),
        found,
        log,
        shadow: &shadow,
        end: run.machine.cycles(),
        threads: scheduling::names(firmware, &calls.threads),
    };
    Some(measurement::heaps(&seen))
}
