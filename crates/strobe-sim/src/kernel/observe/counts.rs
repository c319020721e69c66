//! How often each instruction ran and where its cycles went, exactly.
//!
//! While the board runs, a block costs one increment; what that means for each instruction is
//! worked out when the counts are asked for.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use strobe_model::{Bounds, Cause, CauseCycles};

use super::code::{BlockId, Code, SKIPPED};
use super::schedule::Who;
use super::{Observer, Wait};
use crate::kernel::bus::Bus;

/// What one instruction address saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AddressCount {
    /// Times retired.
    pub count: u64,
    /// Times it changed the flow.
    pub jumped: u64,
    /// Times its condition failed, so that it did nothing (IT).
    pub skipped: u64,
    /// Of `count`, in empty loops that only an interrupt ends.
    pub idle: u64,
    /// Cycles by cause, in the model of the run.
    pub cycles: CauseCycles,
}

impl AddressCount {
    fn is_empty(&self) -> bool {
        self.count == 0 && self.cycles == CauseCycles::ZERO
    }
}

impl AddAssign for AddressCount {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.jumped += other.jumped;
        self.skipped += other.skipped;
        self.idle += other.idle;
        // Where a port saves cycles one part may be less than nothing; the sum is right.
        for (cause, cycles) in other.cycles.iter() {
            self.cycles[cause] = self.cycles[cause].wrapping_add(cycles);
        }
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

    /// A table of nothing for the same memories.
    pub(crate) fn another(&self) -> Self {
        let regions = self.regions.iter();
        let regions = regions.map(|(base, values)| (*base, vec![T::default(); values.len()]));
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

/// Runs of a block that are not counted as whole ones.
#[derive(Debug, Clone, Default)]
struct Odd {
    idle_runs: u64,
    /// Instructions that retired outside whole runs: (count, jumped).
    single: Vec<(u64, u64)>,
    /// How often a run was left before each instruction; empty if none ever was.
    left_before: Vec<u64>,
    /// How often each instruction's condition failed; empty if none ever did.
    skipped: Vec<u64>,
}

/// Counts that belong together.
#[derive(Debug)]
struct Tally {
    /// Whole runs of each block that went on at its end, and that jumped: apart, to stay in the
    /// cache.
    runs: Vec<[u64; 2]>,
    odd: Vec<Odd>,
    /// Where in `entries` an address has its counts, from 1; 0 for addresses that saw nothing.
    index: AddressTable<u32>,
    entries: Vec<(u32, AddressCount)>,
    /// By cause, in the order of [`Cause::ALL`].
    leeway: [Leeway; Cause::ALL.len()],
}

/// By how many cycles waits whose length no manual gives could be shorter and longer, in sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Leeway {
    /// With the minimum of each, instead of the likely figure.
    pub shorter: u64,
    /// With the maximum of each.
    pub longer: u64,
}

impl Leeway {
    /// So many cycles with these waits in them.
    pub fn around(self, cycles: u64) -> Bounds {
        Bounds {
            low: cycles.saturating_sub(self.shorter),
            likely: cycles,
            high: cycles.saturating_add(self.longer),
        }
    }
}

impl AddAssign for Leeway {
    fn add_assign(&mut self, other: Leeway) {
        self.shorter = self.shorter.saturating_add(other.shorter);
        self.longer = self.longer.saturating_add(other.longer);
    }
}

/// What one thread or handler saw.
#[derive(Debug)]
pub struct Share {
    /// Who.
    pub who: Who,
    /// What each address saw of it, in address order.
    pub counts: Vec<(u32, AddressCount)>,
}

impl Tally {
    fn new(index: AddressTable<u32>) -> Self {
        Tally {
            runs: Vec::new(),
            odd: Vec::new(),
            index,
            entries: Vec::new(),
            leeway: Default::default(),
        }
    }

    /// Makes room for so many blocks.
    fn fit(&mut self, blocks: usize) {
        self.runs.resize(blocks, [0; 2]);
        self.odd.resize_with(blocks, Odd::default);
    }

    fn entry(&mut self, address: u32) -> &mut AddressCount {
        let at = self.index.at(address);
        if *at == 0 {
            self.entries.push((address, AddressCount::default()));
            *at = self.entries.len() as u32;
        }
        &mut self.entries[*at as usize - 1].1
    }

    fn add_leeway(&mut self, Wait { cause, low, likely, high }: Wait) {
        self.leeway[cause as usize] +=
            Leeway { shorter: likely.abs_diff(low), longer: high.abs_diff(likely) };
    }

    /// Moves block counts to their addresses.
    fn fold(&mut self, blocks: &[Code]) {
        self.fit(blocks.len());
        let (runs, odd) = (std::mem::take(&mut self.runs), std::mem::take(&mut self.odd));
        for ((block, [straight, jumps]), odd) in blocks.iter().zip(runs).zip(odd) {
            let mut begun: u64 = odd.left_before.iter().sum();
            for (at, meta) in block.instructions.iter().enumerate() {
                begun -= odd.left_before.get(at).copied().unwrap_or(0);
                let last = at + 1 == block.instructions.len();
                let (single, single_jumps) = odd.single.get(at).copied().unwrap_or_default();
                let count = straight + jumps + single + begun + odd.idle_runs;
                if count == 0 {
                    continue;
                }
                let jumped = single_jumps + if last { jumps } else { 0 };
                let idle_jumps = if last { odd.idle_runs } else { 0 };
                let skipped = odd.skipped.get(at).copied().unwrap_or(0);
                let executed = count - skipped;
                let mut cycles = meta.cost.cycles(executed, jumped + idle_jumps);
                cycles[Cause::Execute] += u64::from(SKIPPED) * skipped;
                let wait = meta.data_wait;
                cycles[Cause::DataWait] += wait.likely * executed;
                if block.idle {
                    // An empty loop that only an interrupt ends is waiting, not work.
                    cycles = CauseCycles::of(Cause::Asleep, cycles.total());
                }
                let [low, likely, high] =
                    [wait.low, wait.likely, wait.high].map(|each| (each * executed) as i64);
                self.add_leeway(Wait { cause: Cause::DataWait, low, likely, high });
                let jumped = jumped + idle_jumps;
                let idle = if block.idle { count } else { 0 };
                *self.entry(block.start + 2 * u32::from(meta.offset)) +=
                    AddressCount { count, jumped, skipped, idle, cycles };
            }
        }
    }
}

/// Counts every retired instruction and every cycle, if asked to for each thread and handler apart.
#[derive(Debug)]
pub struct Counts {
    blocks: Vec<Code>,
    /// Of whoever runs now.
    tally: Tally,
    /// Who that is, and the others' counts.
    who: Option<Who>,
    others: Vec<(Who, Tally)>,
    active: bool,
}

impl Counts {
    /// Counts of nothing yet, for a board with these memories.
    pub fn new(bus: &Bus) -> Self {
        Counts {
            blocks: Vec::new(),
            tally: Tally::new(AddressTable::new(bus)),
            who: None,
            others: Vec::new(),
            active: true,
        }
    }

    /// Switches counting on or off: a measuring window.
    pub fn set_active(&mut self, active: bool) {
        self.active = active;
    }

    /// What each address saw, in address order; addresses that saw nothing are left out.
    pub fn finish(&mut self) -> Vec<(u32, AddressCount)> {
        self.fold();
        let mut sums: BTreeMap<u32, AddressCount> = BTreeMap::new();
        let tallies = self.others.iter().map(|(_, tally)| tally).chain([&self.tally]);
        for (address, count) in tallies.flat_map(|tally| &tally.entries) {
            *sums.entry(*address).or_default() += *count;
        }
        sums.into_iter().filter(|(_, count)| !count.is_empty()).collect()
    }

    /// The same for each thread and handler, where they were distinguished. Call after
    /// [`Counts::finish`].
    pub fn apart(&self) -> impl Iterator<Item = Share> + '_ {
        let present = self.who.map(|who| (who, &self.tally));
        let others = self.others.iter().map(|(who, tally)| (*who, tally));
        present.into_iter().chain(others).map(|(who, tally)| {
            let mut counts = tally.entries.clone();
            counts.retain(|(_, count)| !count.is_empty());
            counts.sort_unstable_by_key(|(address, _)| *address);
            Share { who, counts }
        })
    }

    /// How much shorter and longer the modelled waits of a cause could be. Call after
    /// [`Counts::finish`].
    pub fn leeway(&self, cause: Cause) -> Leeway {
        let mut sum = self.tally.leeway[cause as usize];
        self.others.iter().for_each(|(_, tally)| sum += tally.leeway[cause as usize]);
        sum
    }

    fn fold(&mut self) {
        for tally in self.others.iter_mut().map(|(_, tally)| tally).chain([&mut self.tally]) {
            tally.fold(&self.blocks);
        }
        self.blocks.clear();
    }
}

impl Observer for Counts {
    const COUNTS: bool = true;

    fn decoded(&mut self, id: BlockId, code: &Code) {
        debug_assert_eq!(id as usize, self.blocks.len());
        self.blocks.push(code.clone());
        self.tally.fit(self.blocks.len());
    }

    fn forget(&mut self) {
        self.fold();
    }

    #[inline(always)]
    fn block(&mut self, id: BlockId, jumped: bool, times: u64) {
        if self.active {
            self.tally.runs[id as usize][usize::from(jumped)] += times;
        }
    }

    fn idle_block(&mut self, id: BlockId, times: u64) {
        if self.active {
            self.tally.odd[id as usize].idle_runs += times;
        }
    }

    fn retired(&mut self, id: BlockId, at: usize, jumped: bool) {
        self.retired_again(id, at, jumped, 1);
    }

    fn retired_again(&mut self, id: BlockId, at: usize, jumped: bool, times: u64) {
        if self.active {
            let single = &mut self.tally.odd[id as usize].single;
            if single.is_empty() {
                *single = vec![(0, 0); self.blocks[id as usize].instructions.len()];
            }
            single[at].0 += times;
            single[at].1 += if jumped { times } else { 0 };
        }
    }

    fn retired_before(&mut self, id: BlockId, at: usize) {
        if self.active && at > 0 {
            let left_before = &mut self.tally.odd[id as usize].left_before;
            if left_before.is_empty() {
                *left_before = vec![0; self.blocks[id as usize].instructions.len()];
            }
            left_before[at] += 1;
        }
    }

    fn skipped(&mut self, id: BlockId, at: usize, times: u64) {
        if self.active {
            let skipped = &mut self.tally.odd[id as usize].skipped;
            if skipped.is_empty() {
                *skipped = vec![0; self.blocks[id as usize].instructions.len()];
            }
            skipped[at] += times;
        }
    }

    fn wait(&mut self, pc: u32, wait: Wait) {
        if self.active {
            let entry = self.tally.entry(pc);
            // A port that saves cycles takes them off the same cause at the same address, which the
            // instruction's own count (folded in later) always covers.
            let sum = &mut entry.cycles[wait.cause];
            *sum = sum.wrapping_add_signed(wait.likely);
            self.tally.add_leeway(wait);
        }
    }

    fn belongs_to(&mut self, who: Who) {
        match self.who.replace(who) {
            // What was counted so far is the first one's.
            None => {}
            Some(before) if before == who => {}
            Some(before) => {
                let known = self.others.iter().position(|(other, _)| *other == who);
                let mut next = match known {
                    Some(at) => self.others.swap_remove(at).1,
                    None => Tally::new(self.tally.index.another()),
                };
                next.fit(self.blocks.len());
                self.others.push((before, std::mem::replace(&mut self.tally, next)));
            }
        }
    }
}
