//! How often each instruction ran and where its cycles went, exactly.
//!
//! While the board runs, a block costs one increment; what that means for each instruction is worked out
//! when the counts are asked for.

use strobe_model::{Bounds, Cause, CauseCycles};

use super::{Observer, Wait};
use crate::bus::Bus;
use crate::cortexm::block::{Block, BlockId, Meta};
use crate::cortexm::timing::SKIPPED;

/// What one instruction address saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AddressCount {
    /// Times retired.
    pub count: u64,
    /// Times it changed the flow.
    pub jumped: u64,
    /// Times its condition failed, so that it did nothing (IT).
    pub skipped: u64,
    /// Cycles by cause, likely figures.
    pub cycles: CauseCycles,
    /// Cycles that models might have counted too many.
    pub slack_low: u64,
    /// Cycles that models might have counted too few.
    pub slack_high: u64,
}

impl AddressCount {
    /// Total cycles with bounds.
    pub fn bounds(&self) -> Bounds {
        let likely = self.cycles.total();
        Bounds {
            low: likely.saturating_sub(self.slack_low),
            likely,
            high: likely + self.slack_high,
        }
    }

    fn is_empty(&self) -> bool {
        self.count == 0 && self.cycles == CauseCycles::ZERO
    }
}

/// Values by halfword address, dense over the memories that can hold code.
#[derive(Debug, Default)]
pub(crate) struct AddressTable<T> {
    regions: Vec<(u32, Vec<T>)>,
    elsewhere: std::collections::BTreeMap<u32, T>,
}

impl<T: Copy + Default> AddressTable<T> {
    pub(crate) fn new(bus: &Bus) -> Self {
        let memories = [&bus.flash, &bus.ram].into_iter().chain(&bus.more);
        let regions = memories.map(|m| (m.base, vec![T::default(); m.data.len().div_ceil(2)]));
        AddressTable { regions: regions.collect(), elsewhere: Default::default() }
    }

    #[inline]
    pub(crate) fn at(&mut self, address: u32) -> &mut T {
        for (base, values) in &mut self.regions {
            let index = (address.wrapping_sub(*base) / 2) as usize;
            if index < values.len() {
                return &mut values[index];
            }
        }
        self.elsewhere.entry(address).or_default()
    }
}

#[derive(Debug)]
struct Counted {
    idle_runs: u64,
    start: u32,
    meta: Box<[Meta]>,
    /// Instructions that retired outside whole runs: (count, jumped).
    single: Vec<(u64, u64)>,
    /// How often each instruction's condition failed; empty if none ever did.
    skipped: Vec<u64>,
    idle: bool,
}

/// Counts every retired instruction and every cycle.
#[derive(Debug)]
pub struct Counts {
    blocks: Vec<Counted>,
    /// Whole runs of each block that went on at its end, and that jumped: apart, to stay in the cache.
    runs: Vec<[u64; 2]>,
    /// Where in `entries` an address has its counts, from 1; 0 for addresses that saw nothing.
    index: AddressTable<u32>,
    entries: Vec<(u32, AddressCount)>,
    /// Cycles of each cause that models might have counted too many and too few.
    slack: [(u64, u64); Cause::ALL.len()],
    active: bool,
}

impl Counts {
    /// Counts of nothing yet, for a board with these memories.
    pub fn new(bus: &Bus) -> Self {
        Counts {
            blocks: Vec::new(),
            runs: Vec::new(),
            index: AddressTable::new(bus),
            entries: Vec::new(),
            slack: Default::default(),
            active: true,
        }
    }

    /// Switches counting on or off: a measuring window.
    pub fn set_active(&mut self, active: bool) {
        self.active = active;
    }

    /// What each address saw, in address order per memory; addresses that saw nothing are left out.
    pub fn finish(&mut self) -> Vec<(u32, AddressCount)> {
        self.fold();
        let mut all = self.entries.clone();
        all.retain(|(_, count)| !count.is_empty());
        all.sort_unstable_by_key(|(address, _)| *address);
        all
    }

    /// How many cycles of `cause` models might have counted too many, and too few. Call after
    /// [`Counts::finish`].
    pub fn slack(&self, cause: Cause) -> (u64, u64) {
        self.slack[cause as usize]
    }

    fn entry(&mut self, address: u32) -> &mut AddressCount {
        let at = self.index.at(address);
        if *at == 0 {
            self.entries.push((address, AddressCount::default()));
            *at = self.entries.len() as u32;
        }
        &mut self.entries[*at as usize - 1].1
    }

    /// Moves block counts to their addresses.
    fn fold(&mut self) {
        let blocks = std::mem::take(&mut self.blocks);
        let runs = std::mem::take(&mut self.runs);
        for (block, [straight, jumps]) in blocks.into_iter().zip(runs) {
            for (at, meta) in block.meta.iter().enumerate() {
                let last = at + 1 == block.meta.len();
                let (single, single_jumps) = block.single.get(at).copied().unwrap_or_default();
                let count = straight + jumps + single + block.idle_runs;
                if count == 0 {
                    continue;
                }
                let jumped = single_jumps + if last { jumps } else { 0 };
                let idle_jumps = if last { block.idle_runs } else { 0 };
                let entry = self.entry(block.start + 2 * u32::from(meta.offset));
                entry.count += count;
                let skipped = block.skipped.get(at).copied().unwrap_or(0);
                let executed = count - skipped;
                entry.jumped += jumped + idle_jumps;
                entry.skipped += skipped;
                let mut cycles = meta.cost.cycles(executed, jumped + idle_jumps);
                cycles[Cause::Execute] += u64::from(SKIPPED) * skipped;
                let wait = meta.literal_bounds();
                cycles[Cause::DataWait] += wait.likely * executed;
                if block.idle {
                    // An empty loop that only an interrupt ends is waiting, not work.
                    cycles = CauseCycles::of(Cause::Asleep, cycles.total());
                }
                entry.cycles += cycles;
                let slack =
                    ((wait.likely - wait.low) * executed, (wait.high - wait.likely) * executed);
                entry.slack_low += slack.0;
                entry.slack_high += slack.1;
                self.slack[Cause::DataWait as usize].0 += slack.0;
                self.slack[Cause::DataWait as usize].1 += slack.1;
            }
        }
    }
}

impl Observer for Counts {
    const COUNTS: bool = true;

    fn decoded(&mut self, id: BlockId, block: &Block) {
        debug_assert_eq!(id as usize, self.blocks.len());
        self.runs.push([0; 2]);
        self.blocks.push(Counted {
            idle_runs: 0,
            start: block.start,
            meta: block.meta.clone(),
            single: Vec::new(),
            skipped: Vec::new(),
            idle: block.is_idle_loop(),
        });
    }

    fn forget(&mut self) {
        self.fold();
    }

    #[inline(always)]
    fn block(&mut self, id: BlockId, jumped: bool, times: u64) {
        if self.active {
            self.runs[id as usize][usize::from(jumped)] += times;
        }
    }

    fn idle_block(&mut self, id: BlockId, times: u64) {
        if self.active {
            self.blocks[id as usize].idle_runs += times;
        }
    }

    fn retired(&mut self, id: BlockId, at: usize, jumped: bool) {
        if self.active {
            let block = &mut self.blocks[id as usize];
            if block.single.is_empty() {
                block.single = vec![(0, 0); block.meta.len()];
            }
            block.single[at].0 += 1;
            block.single[at].1 += u64::from(jumped);
        }
    }

    fn skipped(&mut self, id: BlockId, at: usize, times: u64) {
        if self.active {
            let block = &mut self.blocks[id as usize];
            if block.skipped.is_empty() {
                block.skipped = vec![0; block.meta.len()];
            }
            block.skipped[at] += times;
        }
    }

    fn wait(&mut self, pc: u32, wait: Wait) {
        if self.active {
            let entry = self.entry(pc);
            // A port that saves cycles takes them off the same cause at the same address, which the
            // instruction's own count (folded in later) always covers.
            let sum = &mut entry.cycles[wait.cause];
            *sum = sum.wrapping_add_signed(wait.likely);
            let slack = ((wait.likely - wait.low) as u64, (wait.high - wait.likely) as u64);
            entry.slack_low += slack.0;
            entry.slack_high += slack.1;
            let sum = &mut self.slack[wait.cause as usize];
            sum.0 += slack.0;
            sum.1 += slack.1;
        }
    }
}
