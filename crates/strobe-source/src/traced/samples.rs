//! Counts samples by address and by who had the core.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use strobe_model::Who;

/// Places kept apart; firmware has fewer instructions, noise does not.
pub const MOST_PLACES: usize = 1 << 20;
/// Halfwords of a page.
const HALFWORDS: usize = 512;
/// Pages that there may be: half a million instructions, and 2 MB.
const MOST_PAGES: usize = 1 << 10;

/// Samples by place.
///
/// One is counted for each sample, and what that takes is waiting for memory: so code has counters
/// side by side, and a table only what does not fit them.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// By the [`key`] of the first address of a page: a counter for each halfword.
    pages: FxHashMap<u64, Box<[u32; HALFWORDS]>>,
    /// By [`key`]: what has no page, or is more than its counter holds.
    others: FxHashMap<u64, u64>,
    /// Samples for which there was no room.
    beyond: u64,
}

impl Places {
    /// One more sample; `who` had the core, if that is known.
    pub(super) fn add(&mut self, pc: u32, who: Option<Who>) {
        self.add_several(pc, who, 1);
    }

    fn add_several(&mut self, pc: u32, who: Option<Who>, n: u64) {
        let counter = self.counter(pc, who);
        let sum = counter.as_ref().and_then(|counter| counter.checked_add(n.try_into().ok()?));
        match (counter, sum) {
            (Some(counter), Some(sum)) => *counter = sum,
            _ => self.add_elsewhere(key(pc, who), n),
        }
    }

    /// What counts the samples of a place, if that is at a halfword and there is room for pages.
    fn counter(&mut self, pc: u32, who: Option<Who>) -> Option<&mut u32> {
        let at = pc as usize % (2 * HALFWORDS);
        if at % 2 != 0 {
            return None;
        }
        let page = key(pc - at as u32, who);
        let is_full = self.pages.len() == MOST_PAGES;
        match self.pages.entry(page) {
            Entry::Occupied(page) => Some(&mut page.into_mut()[at / 2]),
            Entry::Vacant(_) if is_full => None,
            Entry::Vacant(page) => Some(&mut page.insert(Box::new([0; HALFWORDS]))[at / 2]),
        }
    }

    fn add_elsewhere(&mut self, key: u64, n: u64) {
        let is_full = self.others.len() == MOST_PLACES;
        match self.others.entry(key) {
            Entry::Occupied(mut count) => *count.get_mut() += n,
            Entry::Vacant(_) if is_full => self.beyond += n,
            Entry::Vacant(place) => _ = place.insert(n),
        }
    }

    /// Samples for which there was no room.
    pub fn beyond(&self) -> u64 {
        self.beyond
    }

    /// Every place with its samples, in order.
    pub(super) fn sorted(&self) -> Vec<(u32, Option<Who>, u64)> {
        let in_page = |(&key, counters): (&u64, &Box<[u32; HALFWORDS]>)| {
            let counters = counters.iter().enumerate().filter(|(_, n)| **n > 0);
            counters
                .map(move |(i, &n)| (key + ((2 * i as u64) << 32), u64::from(n)))
                .collect::<Vec<_>>()
        };
        let mut all: Vec<_> = self.pages.iter().flat_map(in_page).collect();
        all.extend(self.others.iter().map(|(&key, &n)| (key, n)));
        all.sort_unstable();
        // What was more than a counter holds is there twice.
        all.dedup_by(|next, first| {
            let is_same = next.0 == first.0;
            first.1 += if is_same { next.1 } else { 0 };
            is_same
        });
        let place = |(key, n): (u64, u64)| ((key >> 32) as u32, who(key as u32), n);
        let mut all: Vec<_> = all.into_iter().map(place).collect();
        all.sort_unstable();
        all
    }

    /// Addresses with their samples.
    ///
    /// For lists of samples that somebody else took: there is nothing else to add up then.
    pub fn of(samples: impl IntoIterator<Item = (u32, u64)>) -> Self {
        let mut places = Places::default();
        samples.into_iter().for_each(|(pc, n)| places.add_several(pc, None, n));
        places
    }
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
    fn keys_tell_places_and_their_owners_apart() {
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

    #[test]
    fn more_than_a_counter_holds_is_counted_all_the_same() {
        let most = u64::from(u32::MAX);
        let places = Places::of([(4, most), (4, 1), (4, 5), (8, most * most), (8, 1)]);
        assert_eq!(places.sorted(), [(4, None, most + 6), (8, None, most * most + 1)]);
    }

    /// Noise all over the address space has no pages, and in the end no room, and none is lost.
    #[test]
    fn what_has_no_page_is_counted_elsewhere() {
        let mut places = Places::default();
        let pages = (MOST_PAGES + MOST_PLACES + 7) as u32;
        (0..pages).for_each(|n| places.add(n * 2 * HALFWORDS as u32, None));
        places.add(0, None);
        assert_eq!((places.pages.len(), places.others.len()), (MOST_PAGES, MOST_PLACES));
        assert_eq!(places.beyond(), 7);
        let sorted = places.sorted();
        assert_eq!((sorted.len(), sorted[0]), (MOST_PAGES + MOST_PLACES, (0, None, 2)));
    }
}
