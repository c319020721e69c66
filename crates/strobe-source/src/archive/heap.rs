//! Blocks of the heap, from being taken to being freed.

mod threads;

use std::collections::HashMap;

use crate::archive::report::{HeapSeen, HeapSite};
use strobe_decode::summary::{ValueCounts, ValueSummary};

use self::threads::Threads;
use super::Names;
use super::windows::length;
use crate::growth::{Growth, Life};

/// Who takes a block: the thread and the return addresses, the innermost first.
type Site = (Option<i64>, Vec<u32>);

#[derive(Debug, Clone, Copy)]
struct Block {
    bytes: u64,
    at: i64,
    site: usize,
    /// Who took it, in [`Heap::threads`].
    thread: usize,
    /// In [`Heap::lives`].
    life: usize,
}

/// The heap so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heap {
    live: HashMap<u64, Block>,
    /// Blocks that a call under way resizes.
    resizing: HashMap<u64, Block>,
    sites: HashMap<Site, usize>,
    all_sites: Vec<HeapSite>,
    callers: Vec<Vec<u32>>,
    threads: Threads,
    ages: ValueCounts,
    /// Every block with its site.
    lives: Vec<(usize, i64, Option<i64>, u64)>,
    seen: HeapSeen,
}

/// A block that is taken.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) thread: Option<i64>,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) requested: Option<u64>,
    pub(crate) callers: Vec<u32>,
}

impl Heap {
    /// Bytes in use.
    pub(super) fn live_bytes(&self) -> u64 {
        self.seen.live_bytes
    }

    /// A block is taken.
    pub(crate) fn alloc(&mut self, at: i64, taken: Taken) {
        if taken.address == 0 {
            self.seen.failed += 1;
            self.threads.fails(taken.thread);
            return;
        }
        if let Some(old) = self.live.remove(&taken.address) {
            self.replaced(at, old);
        }
        let bytes = taken.bytes;
        let thread = self.threads.of(taken.thread);
        self.threads.takes(thread, bytes);
        let site = self.site(taken.thread, taken.callers);
        let all = &mut self.all_sites[site];
        (all.allocations, all.bytes) = (all.allocations + 1, all.bytes.saturating_add(bytes));
        (all.live, all.live_bytes) = (all.live + 1, all.live_bytes.saturating_add(bytes));
        let life = self.lives.len();
        self.lives.push((site, at, None, bytes));
        self.live.insert(taken.address, Block { bytes, at, site, thread, life });
        let seen = &mut self.seen;
        seen.allocations += 1;
        seen.total_bytes = seen.total_bytes.saturating_add(bytes);
        seen.live_bytes = seen.live_bytes.saturating_add(bytes);
        if seen.live_bytes > seen.peak_bytes {
            (seen.peak_bytes, seen.peak_ns) = (seen.live_bytes, Some(at));
            self.threads.peak();
        }
        if let Some(requested) = taken.requested {
            let sum = seen.requested_bytes.unwrap_or(0).saturating_add(requested);
            seen.requested_bytes = Some(sum);
        }
    }

    fn site(&mut self, thread: Option<i64>, callers: Vec<u32>) -> usize {
        let next = self.all_sites.len();
        let site = *self.sites.entry((thread, callers.clone())).or_insert(next);
        if site == next {
            let texts = callers.iter().map(|address| format!("{address:#010x}")).collect();
            self.all_sites.push(HeapSite { thread, callers: texts, ..HeapSite::default() });
            self.callers.push(callers);
        }
        site
    }

    fn gone(&mut self, at: i64, block: Block) {
        if let Some((_, _, gone, _)) = self.lives.get_mut(block.life) {
            *gone = Some(at);
        }
        self.seen.live_bytes = self.seen.live_bytes.saturating_sub(block.bytes);
        self.threads.loses(block.thread, block.bytes);
        let site = &mut self.all_sites[block.site];
        site.live -= 1;
        site.live_bytes = site.live_bytes.saturating_sub(block.bytes);
    }

    /// A block is gone, though nobody was seen to free it.
    fn replaced(&mut self, at: i64, block: Block) {
        self.seen.replaced += 1;
        self.gone(at, block);
    }

    /// A block that was being resized counts again.
    fn counts_again(&mut self, block: Block) {
        self.seen.live_bytes = self.seen.live_bytes.saturating_add(block.bytes);
        self.threads.keeps(block.thread, block.bytes);
    }

    /// A block is freed, by a thread if that is known.
    pub(crate) fn free(&mut self, at: i64, address: u64, by: Option<i64>) {
        if address == 0 {
            // Which C allows, and does nothing.
            return;
        }
        if self.resizing.contains_key(&address) {
            // How it is resized: the outer call counts.
            return;
        }
        self.seen.frees += 1;
        let block = self.live.remove(&address);
        self.threads.frees(by, block.map(|block| block.thread));
        match block {
            Some(block) => {
                self.ages.add(length(block.at, at));
                self.gone(at, block);
            }
            None => self.seen.unknown_frees += 1,
        }
    }

    /// A call begins to resize a block, which is freed if it succeeds.
    pub(crate) fn resizing(&mut self, at: i64, address: u64, by: Option<i64>) {
        match self.live.remove(&address) {
            Some(block) => {
                self.seen.live_bytes = self.seen.live_bytes.saturating_sub(block.bytes);
                self.threads.loses(block.thread, block.bytes);
                if let Some(other) = self.resizing.insert(address, block) {
                    self.counts_again(other);
                    self.replaced(at, other);
                }
            }
            None => self.free(at, address, by),
        }
    }

    /// That call is over: with a block, with none because there is no room, or with none because
    /// none was asked for.
    pub(crate) fn resized(&mut self, at: i64, before: u64, taken: Taken) {
        let old = self.resizing.remove(&before);
        if let Some(block) = old {
            self.counts_again(block);
            // One that was taken there meanwhile: something between was lost.
            if let Some(other) = self.live.insert(before, block) {
                self.replaced(at, other);
            }
        }
        match (taken.address, taken.bytes) {
            (0, 1..) => {
                self.seen.failed += 1;
                self.threads.fails(taken.thread);
            }
            (0, 0) if old.is_some() => self.free(at, before, taken.thread),
            (0, 0) => {}
            _ => {
                if old.is_some() {
                    self.free(at, before, taken.thread);
                }
                self.alloc(at, taken);
            }
        }
    }

    /// Which sites keep growing between the trace's first event and its last one.
    fn find_leaks(&mut self, (first, last): (i64, i64)) {
        let mut by_site = vec![Vec::new(); self.all_sites.len()];
        for &(site, born, gone, bytes) in &self.lives {
            let since = |at| length(first, at);
            by_site[site].push(Life { born: since(born), gone: gone.map(since), bytes });
        }
        for (site, lives) in self.all_sites.iter_mut().zip(by_site) {
            let growth = Growth::of(lives.into_iter(), length(first, last));
            site.leak = growth.is_leak().then(|| growth.ends());
        }
    }

    /// What there was from the trace's first event to its last one; `lost` states whether anything
    /// may be missing.
    pub(crate) fn finish(
        mut self,
        names: &dyn Names,
        span: (i64, i64),
        lost: bool,
    ) -> Option<HeapSeen> {
        if self.seen.allocations + self.seen.frees + self.seen.failed == 0 {
            return None;
        }
        if !lost {
            self.find_leaks(span);
        }
        for (site, callers) in self.all_sites.iter_mut().zip(&self.callers) {
            // A return address is behind the call, which may be the last instruction of its
            // function.
            site.names = callers.iter().map(|at| names.name((at & !1).saturating_sub(2))).collect();
        }
        let by = |site: &HeapSite| (site.live_bytes, site.bytes);
        self.all_sites.sort_by(|a, b| by(b).cmp(&by(a)).then_with(|| a.callers.cmp(&b.callers)));
        let mut seen = self.seen;
        seen.live = self.live.len() as u64;
        seen.ages = ValueSummary::of_counts(&self.ages, |ns| ns, None);
        seen.sites = self.all_sites;
        seen.threads = self.threads.finish();
        seen.uncertain = lost;
        Some(seen)
    }
}
