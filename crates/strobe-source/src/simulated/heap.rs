//! Heaps of a simulated firmware: its allocators are found by name, their calls are logged while it
//! runs, and from the log follow what is allocated, by whom, what is not freed, and what is wrong.
//!
//! Nothing is asked of the firmware, and nothing of it is changed.

mod allocators;
mod arena;
mod bytes;
mod inspect;
mod measurement;
mod replay;
mod sampling;
#[cfg(test)]
mod tests;

use std::any::Any;

use strobe_model::measurement::{
    Balance, Finding, Measurement, Quantity, Section, Total, Trust, Unit,
};
use strobe_sim::device::Size;
use strobe_sim::observe::heap::{Filter, Inspector};
use strobe_sim::observe::per_call::PerCall;
use strobe_symbols::Firmware;

pub use self::allocators::{Allocators, AllocatorsError, FunctionError, TableError};
pub(super) use self::allocators::{Found, find};
pub(super) use inspect::Inspection;
pub(super) use sampling::Sampler;

use super::bounding_runs;
use super::drive::Run;
use super::scheduling;

/// Whether a firmware has memory allocators that are known by name, from a table of one's own or
/// the project's.
///
/// # Errors
/// Why there is no heap to watch, with what was looked for.
pub fn allocators(firmware: &Firmware, own: Option<&Allocators>) -> Result<(), AllocatorsError> {
    find(firmware, own, false).map(drop)
}

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
    pub fn replace_sections(self, measurement: &mut Measurement) {
        measurement.totals.clear();
        measurement.balances.clear();
        measurement.sections.clear();
        // These are about cycles.
        let is_about_time = ["modelled", bounding_runs::NO_BOUNDS, "advice"];
        measurement.findings.retain(|finding| !is_about_time.contains(&finding.code.as_str()));
        self.add_to(measurement);
    }
}

/// Of a run that did not watch allocators, if the firmware has any: the peak as they keep it
/// themselves, with what they need for each block, or why it is unknown.
fn peak_without_watch(firmware: &Firmware, run: &Run) -> Option<Heaps> {
    let found = find(firmware, None, false).ok()?;
    let word = |address| run.machine.bus().peek(address, Size::Word);
    let kept = found.heaps.iter().find_map(|heap| {
        let (whole, least) = heap.least_free?;
        // Before the first allocation it holds nothing.
        let least = word(least).filter(|least| *least > 0)?;
        let peak = u64::from(whole.checked_sub(least)?);
        Quantity::new(Some(peak.into()), Unit::BYTES, Trust::AtMost).ok()
    });
    let quantity = match kept {
        Some(peak) => peak,
        None => Quantity::unknown(Unit::BYTES, "not watched: --heap measures it"),
    };
    let total = Total { id: "heap-peak".to_owned(), title: "heap peak".to_owned(), quantity };
    Some(Heaps { totals: vec![total], ..Heaps::default() })
}

/// Blocks that were allocated from one cycle to another, and their bytes; unknown where allocators
/// are not watched or calls of them are missing.
pub(super) fn allocated(run: &Run, from: u64, to: u64) -> Option<(u64, u64)> {
    let log = &run.machine.observer().1.0.heap.as_ref()?.log;
    let found = run.allocators.as_ref()?;
    // Samples are no counts.
    if log.missed > 0
        || !found.unseen.is_empty()
        || run.machine.observer().1.0.heap.as_ref()?.filter.is_some()
    {
        return None;
    }
    let shadow = replay::replay(found, log);
    let blocks = shadow.blocks.iter().filter(|block| (from..to).contains(&block.born.0));
    Some(blocks.fold((0, 0), |(n, bytes), block| (n + 1, bytes + u64::from(block.size))))
}

/// When the calls of chosen functions were.
fn chosen_calls(firmware: &Firmware, run: &Run) -> Vec<measurement::Calls> {
    let tree = &run.machine.observer().1.0;
    let names = super::calls::names(firmware, tree.per_call());
    let of = |(name, calls): (String, &PerCall)| {
        let spans = calls.spans.as_ref()?.iter();
        let spans = spans.map(|span| (tree.owner(span.node), span.begin, span.end)).collect();
        Some(measurement::Calls { name, spans })
    };
    names.into_iter().zip(tree.per_call()).filter_map(of).collect()
}

/// What was seen of the heaps.
pub(super) fn seen(firmware: &Firmware, run: &Run) -> Option<Heaps> {
    if run.allocators.is_none() {
        return peak_without_watch(firmware, run);
    }
    let calls = &run.machine.observer().1.0;
    let heap = calls.heap.as_ref()?;
    let log = &heap.log;
    let inspector =
        heap.inspector.as_deref().map(|inspector: &dyn Inspector| inspector as &dyn Any);
    let found = run.allocators.as_ref()?;
    let filter = heap.filter.as_deref().map(|filter: &dyn Filter| filter as &dyn Any);
    let sampler = filter.and_then(<dyn Any>::downcast_ref::<Sampler>);
    let halves = sampler.into_iter().flat_map(|sampler| &sampler.halves);
    let shadow = replay::sampled(found, log, halves.map(|(call, halves)| (*call, *halves)));
    let seen = measurement::Seen {
        firmware,
        bus: run.machine.bus(),
        found,
        log,
        shadow: &shadow,
        inspection: inspector.and_then(<dyn Any>::downcast_ref),
        sampler,
        windows: run.is_marked().then_some(run.spans.as_slice()),
        calls: chosen_calls(firmware, run),
        end: run.machine.cycles(),
        threads: scheduling::names(firmware, &calls.threads),
    };
    Some(measurement::heaps(&seen))
}
