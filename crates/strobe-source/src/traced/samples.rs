//! Counts samples by address and by who had the core.

use crate::code_profile::Who;
use rustc_hash::FxHashMap;

/// Places kept apart; firmware has fewer instructions, noise does not.
pub const MOST_PLACES: usize = 1 << 20;
/// Samples that are counted together.
const TOGETHER: usize = 1024;

/// Samples by place.
///
/// One is counted for each sample, and most of its time goes into waiting for memory: together,
/// many wait at once.
#[derive(Debug, Clone, Default)]
pub struct Places {
    pages: Pages,
    /// By [`key`], what is in no page: one word to hash and compare.
    counts: FxHashMap<u64, u64>,
    /// The last ones, which are not among the counts.
    recent: Vec<u64>,
    /// Samples for which there was no room.
    beyond: u64,
}

impl Places {
    /// One more sample; `who` had the core, if that is known.
    #[inline]
    pub(super) fn add(&mut self, pc: u32, who: Option<Who>) {
        self.recent.push(key(pc, who));
        if self.recent.len() == TOGETHER {
            self.settle();
        }
    }

    /// Counts the last samples.
    #[inline(never)]
    fn settle(&mut self) {
        let mut recent = std::mem::take(&mut self.recent);
        for key in recent.drain(..) {
            let Some(at) = self.pages.counter(key) else {
                self.count(key, 1);
                continue;
            };
            let count = &mut self.pages.counters[at];
            if *count > 0 {
                *count += 1;
            } else if self.pages.used + self.counts.len() < MOST_PLACES {
                *count = 1;
                self.pages.used += 1;
            } else {
                self.beyond += 1;
            }
        }
        self.recent = recent;
    }

    fn count(&mut self, key: u64, n: u64) {
        if let Some(count) = self.counts.get_mut(&key) {
            *count += n;
        } else if self.pages.used + self.counts.len() < MOST_PLACES {
            self.counts.insert(key, n);
        } else {
            self.beyond += n;
        }
    }

    /// Samples for which there was no room.
    pub fn beyond(&self) -> u64 {
        self.beyond
    }

    /// Every place with its samples, in order.
    pub(super) fn sorted(&self) -> Vec<(u32, Option<Who>, u64)> {
        let mut all: Vec<(u64, u64)> = self.counts.iter().map(|(&key, &n)| (key, n)).collect();
        all.extend(self.pages.counted());
        all.extend(self.recent.iter().map(|&key| (key, 1)));
        all.sort_unstable_by_key(|(key, _)| *key);
        all.dedup_by(|next, first| {
            let is_same = next.0 == first.0;
            first.1 += if is_same { next.1 } else { 0 };
            is_same
        });
        all.into_iter().map(|(key, n)| ((key >> 32) as u32, who(key as u32), n)).collect()
    }

    /// Addresses with their samples.
    ///
    /// For lists of samples that somebody else took: there is nothing else to add up then.
    pub fn of(samples: impl IntoIterator<Item = (u32, u64)>) -> Self {
        let mut places = Places::default();
        samples.into_iter().for_each(|(pc, n)| places.count(key(pc, None), n));
        places
    }
}

/// Code that a page has counters for: small, because few functions are sampled in each handler.
const PAGE_BYTES: u32 = 1 << 10;
/// Instructions of Thumb are at even addresses.
const PAGE_COUNTERS: usize = PAGE_BYTES as usize / 2;
/// Pages of counters: 64 MB of them. Noise would have one for each of its addresses.
const MOST_PAGES: usize = 1 << 14;

/// Pages that are found without a hash: 64 KB of code, or a few handlers' parts of it.
const LAST_PAGES: usize = 64;
/// No page's key: their low half has 22 bits.
const NO_PAGE: u64 = u64::MAX;

/// Counters by address, in pages: one for each owner and piece of code that was sampled.
///
/// The table of pages is small enough for the first cache where one of all places is not.
#[derive(Debug, Clone)]
struct Pages {
    /// Index of a page's first counter, by [`page_of`].
    first: FxHashMap<u64, u32>,
    /// The pages that were counted in last, each at its place by its key: nearly all samples find
    /// theirs here, without a hash.
    last: [(u64, u32); LAST_PAGES],
    counters: Vec<u64>,
    /// Counters above zero.
    used: usize,
}

impl Default for Pages {
    fn default() -> Self {
        let (first, counters) = Default::default();
        Pages { first, last: [(NO_PAGE, 0); LAST_PAGES], counters, used: 0 }
    }
}

impl Pages {
    /// Index of a place's counter; `None` if it has none: an odd address, or all pages are taken.
    #[inline]
    fn counter(&mut self, key: u64) -> Option<usize> {
        let pc = (key >> 32) as u32;
        let inside = pc % PAGE_BYTES;
        if inside % 2 == 1 {
            return None;
        }
        let page = page_of(key);
        let last = (page ^ page >> 32) as usize % LAST_PAGES;
        if self.last[last].0 != page {
            self.last[last] = (page, self.page(page)?);
        }
        Some(self.last[last].1 as usize + inside as usize / 2)
    }

    /// Index of the first counter of a page.
    #[inline(never)]
    fn page(&mut self, page: u64) -> Option<u32> {
        match self.first.get(&page) {
            Some(first) => Some(*first),
            None => self.new_page(page),
        }
    }

    #[cold]
    fn new_page(&mut self, page: u64) -> Option<u32> {
        if self.first.len() == MOST_PAGES {
            return None;
        }
        let first = self.counters.len();
        self.counters.resize(first + PAGE_COUNTERS, 0);
        // Below 2^23, as there are no more pages.
        let first = first as u32;
        self.first.insert(page, first);
        Some(first)
    }

    /// Every place that has samples, with its key.
    fn counted(&self) -> impl Iterator<Item = (u64, u64)> {
        self.first.iter().flat_map(|(page, first)| {
            let counters = &self.counters[*first as usize..][..PAGE_COUNTERS];
            let all = (0u64..).zip(counters).filter(|(_, n)| **n > 0);
            all.map(move |(at, n)| (key_in(*page, 2 * at), *n))
        })
    }
}

/// A page's key: its owner above its number, both in bits that the hash makes use of.
#[inline]
fn page_of(key: u64) -> u64 {
    key << 32 | key >> 32 >> PAGE_BYTES.ilog2()
}

/// The key of a place `inside` bytes after the beginning of a page.
fn key_in(page: u64, inside: u64) -> u64 {
    ((page << PAGE_BYTES.ilog2()) + inside) << 32 | page >> 32
}

/// Threads have numbers below this; all that came later would be one.
const MOST_THREADS: u32 = (1 << 31) - 2;

/// The address, and in the low half who had the core.
fn key(pc: u32, who: Option<Who>) -> u64 {
    let who = match who {
        None => 0,
        Some(Who::Thread(n)) => 1 + n.min(MOST_THREADS),
        Some(Who::Interrupt(n)) => 1 << 31 | u32::from(n),
    };
    u64::from(pc) << 32 | u64::from(who)
}

fn who(key: u32) -> Option<Who> {
    match key {
        0 => None,
        1..0x8000_0000 => Some(Who::Thread(key - 1)),
        _ => Some(Who::Interrupt(key as u16)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_distinguish_places_and_their_owners() {
        let owners = [
            None,
            Some(Who::Thread(0)),
            Some(Who::Thread(MOST_THREADS)),
            Some(Who::Interrupt(0)),
            Some(Who::Interrupt(u16::MAX)),
        ];
        let mut places = Places::default();
        let mut all = Vec::new();
        for (n, pc) in [0, 1, 0x0800_0000, u32::MAX].into_iter().enumerate() {
            for (m, owner) in owners.into_iter().enumerate() {
                let times = (n * owners.len() + m + 1) as u64;
                (0..times).for_each(|_| places.add(pc, owner));
                all.push((pc, owner, times));
            }
        }
        all.sort_unstable();
        assert_eq!(places.sorted(), all);
    }

    /// A place is counted once, in a page or in the table of the others.
    #[test]
    fn odd_addresses_and_places_beyond_the_pages_are_counted() {
        let mut places = Places::default();
        let far = |n: u32| n * PAGE_BYTES;
        let mut all = Vec::new();
        for n in 0..MOST_PAGES as u32 + 10 {
            for pc in [far(n), far(n) + 1, far(n) + PAGE_BYTES - 2] {
                (0..2).for_each(|_| places.add(pc, None));
                all.push((pc, None, 2));
            }
        }
        assert_eq!(places.sorted(), all);
    }

    /// Noise has more places than there is room for; no sample is lost.
    #[test]
    fn samples_beyond_the_room_are_counted() {
        let mut places = Places::default();
        let n = (MOST_PLACES + 2 * TOGETHER) as u32;
        (0..n).for_each(|n| places.add(2 * n, None));
        (0..7).for_each(|_| places.add(0, None));
        let sorted = places.sorted();
        assert_eq!(sorted[0], (0, None, 8));
        let kept: u64 = sorted.iter().map(|(_, _, n)| n).sum();
        assert_eq!(kept + places.beyond(), u64::from(n) + 7);
        assert!(sorted.len() <= MOST_PLACES + TOGETHER);
    }
}
