//! What was seen of heaps as parts of a measurement: totals, balances, findings, sections.

mod accesses;
mod blocks;
mod each;
mod findings;
mod line;
mod places;
mod profile;
mod sampled;
mod sites;
mod tables;
mod windows;

use strobe_model::measurement::{
    Balance, Content, Finding, Loss, Parts, Quantity, Section, Severity, Total, Trust, Unit,
};
use strobe_sim::bus::Bus;
use strobe_sim::observe::heap::{Call, Log};
use strobe_sim::observe::schedule::Who;
use strobe_symbols::Firmware;

use super::Heaps;
use super::allocators::{Found, Role};
use super::arena::{self, FragmentationSeries};
use super::inspect::Inspection;
use super::replay::{Block, FreeKind, Shadow};
use super::sampling::Sampler;
use crate::simulated::record::exception_label;
pub(super) use each::Calls;
use places::Places;
use sites::Sites;

const MISSED: &str = "calls of the allocators are missing: there were too many, or a stack was too \
                      deep to follow";

const NOT_SEEN: &str = "calls of the allocators are missing where the compiler has left none";

/// All there is to measure heaps by.
pub(super) struct Seen<'a> {
    pub firmware: &'a Firmware,
    pub bus: &'a Bus,
    pub found: &'a Found,
    pub log: &'a Log,
    pub shadow: &'a Shadow,
    /// What every access was, if they were checked.
    pub inspection: Option<&'a Inspection>,
    /// Who has chosen the blocks, if they are samples.
    pub sampler: Option<&'a Sampler>,
    /// From which cycle to which each window was, if there are any marks.
    pub windows: Option<&'a [(u64, u64)]>,
    /// The calls of chosen functions.
    pub calls: Vec<Calls>,
    /// Cycles of the run.
    pub end: u64,
    /// Names of threads by number.
    pub threads: Vec<String>,
}

impl Seen<'_> {
    fn call(&self, index: u32) -> Option<&Call> {
        self.log.calls.get(index as usize)
    }

    fn block(&self, index: u32) -> Option<&Block> {
        self.shadow.blocks.get(index as usize)
    }

    fn nanoseconds(&self, cycle: u64) -> u64 {
        self.bus.clocks.nanoseconds_at(cycle)
    }

    /// How long a block has been there, in nanoseconds.
    fn age(&self, block: &Block) -> u64 {
        let end = block.gone.map_or(self.end, |gone| gone.at.0);
        self.nanoseconds(end).saturating_sub(self.nanoseconds(block.born.0))
    }

    fn who(&self, who: Who) -> (&'static str, String) {
        match who {
            Who::Thread(thread) => {
                let name = self.threads.get(thread as usize).cloned();
                ("thread", name.unwrap_or_else(|| format!("(thread {thread})")))
            }
            Who::Handler(exception) => ("handler", exception_label(self.bus, exception)),
        }
    }

    /// Who made a block.
    fn maker(&self, block: &Block) -> Option<Who> {
        Some(self.call(block.made_by)?.who)
    }

    /// Whether every call was seen.
    fn is_whole(&self) -> bool {
        self.log.missed == 0 && self.found.unseen.is_empty()
    }

    /// Why calls are missing.
    fn missed(&self) -> String {
        match self.found.unseen.as_slice() {
            [] => MISSED.to_owned(),
            all => format!("{NOT_SEEN}: {}", all.join("; ")),
        }
    }

    /// A count that may be more where calls, or the sizes of blocks, are missing.
    fn counted(&self, n: u64, unit: Unit) -> Quantity {
        let has_unknown = unit == Unit::BYTES && !self.unsized_functions().is_empty();
        if self.is_whole() && !has_unknown {
            Quantity::exact(n, unit)
        } else {
            Quantity::at_least(n, unit)
        }
    }

    /// Whether blocks are there that a garbage collector frees.
    fn collects(&self) -> bool {
        let is_collected = |block: &Block| self.is_collected(block);
        self.found.heaps.iter().any(|heap| heap.collects)
            && self.shadow.blocks.iter().any(is_collected)
    }

    /// Whether a garbage collector frees a block.
    fn is_collected(&self, block: &Block) -> bool {
        self.found.heaps.get(block.heap).is_some_and(|heap| heap.collects)
    }

    /// The allocators and functions whose blocks are of a size that nothing states.
    fn unsized_functions(&self) -> Vec<&str> {
        let both = self.found.functions.iter().zip(&self.shadow.calls);
        let is_unsized = |role: Role| matches!(role, Role::Allocate { size: None, .. });
        let called = both.filter(|(known, calls)| **calls > 0 && is_unsized(known.role));
        called.map(|(known, _)| known.name.as_str()).collect()
    }

    /// What was live at a time.
    fn level(&self, n: u64, unit: Unit) -> Quantity {
        let has_unknown = unit == Unit::BYTES && !self.unsized_functions().is_empty();
        match (self.is_whole(), self.collects(), has_unknown) {
            (false, ..) => Quantity::unknown(unit, self.missed()),
            (true, false, false) => Quantity::exact(n, unit),
            (true, false, true) => Quantity::at_least(n, unit),
            (true, true, true) => Quantity::unknown(unit, "blocks of unknown size, and collected"),
            (true, true, false) => Quantity::new(Some(n.into()), unit.clone(), Trust::AtMost)
                .unwrap_or_else(|invalid| Quantity::unknown(unit, invalid.to_string())),
        }
    }

    /// A figure that means nothing where calls are missing.
    fn known(&self, n: u64, unit: Unit) -> Quantity {
        if self.is_whole() {
            Quantity::exact(n, unit)
        } else {
            Quantity::unknown(unit, self.missed())
        }
    }
}

/// Bytes and blocks of some blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Amount {
    bytes: u64,
    blocks: u64,
}

impl Amount {
    fn add(&mut self, block: &Block) {
        self.bytes += u64::from(block.size);
        self.blocks += 1;
    }
}

/// All blocks, and what became of them, in one pass: there may be millions.
#[derive(Debug, Clone, Copy, Default)]
struct BlockFates {
    all: Amount,
    freed: Amount,
    live: Amount,
    reset: Amount,
    replaced: Amount,
    collected: Amount,
}

impl BlockFates {
    fn of(blocks: &[Block]) -> Self {
        let mut fates = BlockFates::default();
        for block in blocks {
            fates.all.add(block);
            let fate = match block.how() {
                Some(FreeKind::Freed) => &mut fates.freed,
                Some(FreeKind::Reset) => &mut fates.reset,
                Some(FreeKind::Replaced) => &mut fates.replaced,
                Some(FreeKind::Collected) => &mut fates.collected,
                None => &mut fates.live,
            };
            fate.add(block);
        }
        fates
    }
}

/// One of an amount's two figures.
type Part = fn(Amount) -> u64;

/// The parts of a measurement.
pub(super) fn heaps(seen: &Seen) -> Heaps {
    if let Some(sampler) = seen.sampler {
        return sampled::heaps(seen, sampler);
    }
    let mut places = Places::new(seen);
    let courses = arena::courses(seen.found, seen.shadow);
    let sites = Sites::new(seen, &mut places);
    let fates = BlockFates::of(&seen.shadow.blocks);
    let mut out = Heaps {
        totals: totals(seen, &fates, &sites, &courses),
        balances: Vec::new(),
        findings: findings::findings(seen, &mut places, &sites),
        sections: Vec::new(),
    };
    balances(seen, &fates, &mut out);
    out.findings.extend(each::finding(seen));
    let sections = [
        windows::windows(seen),
        windows::by_site(seen, &sites),
        each::windows(seen),
        each::calls(seen),
        Some(tables::calls(seen)),
        sites.table(seen, &fates),
        accesses::by_site(seen, &sites),
        accesses::by_block(seen, &mut places),
        sites::leaks(seen, &sites),
        tables::threads(seen, &fates),
        tables::heaps(seen),
        tables::sizes(seen, &fates),
        tables::spreads(seen),
        sites::repeated(seen, &sites),
        blocks::biggest(seen, &mut places),
        blocks::live(seen, &mut places),
        blocks::failures(seen, &mut places),
        blocks::fragmentation(seen, &courses),
        profile::profile(seen),
        line::section(seen, &courses),
    ];
    out.sections.extend(sections.into_iter().flatten());
    out
}

fn section(id: &str, title: impl Into<String>, content: Content) -> Section {
    Section { id: id.to_owned(), title: title.into(), notes: Vec::new(), content }
}

fn totals(
    seen: &Seen,
    fates: &BlockFates,
    sites: &Sites,
    courses: &[FragmentationSeries],
) -> Vec<Total> {
    let shadow = seen.shadow;
    let BlockFates { all, freed, live, .. } = *fates;
    let total = |id: &str, title: &str, quantity| Total {
        id: id.to_owned(),
        title: title.to_owned(),
        quantity,
    };
    let leaks = sites.leaks().count() as u64;
    let mut out = vec![
        total("heap-peak", "heap peak", seen.level(shadow.peak.bytes, Unit::BYTES)),
        total(
            "heap-peak-blocks",
            "blocks at the peak",
            seen.level(shadow.peak.blocks, Unit::COUNT),
        ),
        total("heap-live", "live at the end", seen.level(live.bytes, Unit::BYTES)),
        total("heap-live-blocks", "blocks live", seen.level(live.blocks, Unit::COUNT)),
        total("heap-bytes", "allocated in all", seen.counted(all.bytes, Unit::BYTES)),
        total("heap-blocks", "allocations", seen.counted(all.blocks, Unit::COUNT)),
        total("heap-freed-blocks", "blocks freed", seen.counted(freed.blocks, Unit::COUNT)),
        total("heap-leaks", "places that leak", seen.known(leaks, Unit::COUNT)),
        total(
            "heap-failed",
            "failed allocations",
            seen.counted(shadow.failures.len() as u64, Unit::COUNT),
        ),
    ];
    out.extend(accesses::totals(seen));
    let last = courses.iter().filter_map(|course| course.samples.last());
    let largest = last.map(|sample| sample.largest).max();
    out.push(match largest {
        Some(bytes) => {
            total("heap-largest-free", "largest free piece", Quantity::exact(bytes, Unit::BYTES))
        }
        None => {
            let why = courses.iter().find_map(|course| course.unknown.clone());
            let why = why.unwrap_or_else(|| "nothing was allocated".to_owned());
            total("heap-largest-free", "largest free piece", Quantity::unknown(Unit::BYTES, why))
        }
    });
    out
}

/// Allocated = freed + live + what a reset or something else ended.
fn balances(seen: &Seen, fates: &BlockFates, out: &mut Heaps) {
    let BlockFates { all, freed, live, reset, replaced, collected } = *fates;
    let lost = || if seen.is_whole() { Loss::Known(0) } else { Loss::Unknown(seen.missed()) };
    let kinds: [(&str, Unit, Part); 2] = [
        ("heap bytes", Unit::BYTES, |amount| amount.bytes),
        ("heap blocks", Unit::COUNT, |amount| amount.blocks),
    ];
    for (what, unit, part) in kinds {
        let unattributed = [
            ("live at the end", live),
            ("ended by a reset", reset),
            ("overwritten without a free", replaced),
            ("collected, and allocated anew", collected),
        ];
        let parts = Parts {
            what: what.to_owned(),
            unit,
            taken_as: "allocated".to_owned(),
            attributed_as: "freed".to_owned(),
            taken: part(all),
            attributed: part(freed),
            unattributed: unattributed
                .into_iter()
                .map(|(what, amount)| (what.to_owned(), part(amount)))
                .filter(|(what, n)| *n > 0 || what == "live at the end")
                .collect(),
            idle: 0,
            lost: lost(),
        };
        match Balance::new(parts) {
            Ok(balance) => out.balances.push(balance),
            Err(error) => {
                out.findings.push(Finding::new(Severity::Fault, "unbalanced", error.to_string()));
            }
        }
    }
}
