//! Counts samples by address and by who had the core.

use rustc_hash::FxHashMap;
use strobe_model::Who;

/// Places kept apart; firmware has fewer instructions, noise does not.
pub const MOST_PLACES: usize = 1 << 20;
/// Samples that are counted together.
const TOGETHER: usize = 1024;

/// Samples by place.
///
/// One is counted for each sample, and what that takes is waiting for memory: together, many wait
/// at once.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// By [`key`]: one word to hash and compare.
    counts: FxHashMap<u64, u64>,
    /// The last ones, which are not among the counts.
    recent: Vec<u64>,
    /// Samples for which there was no room.
    beyond: u64,
}

impl Places {
    /// One more sample; `who` had the core, if that is known.
    pub(super) fn add(&mut self, pc: u32, who: Option<Who>) {
        self.recent.push(key(pc, who));
        if self.recent.len() == TOGETHER {
            self.settle();
        }
    }

    /// Counts the last samples.
    fn settle(&mut self) {
        let mut recent = std::mem::take(&mut self.recent);
        recent.drain(..).for_each(|key| self.count(key, 1));
        self.recent = recent;
    }

    fn count(&mut self, key: u64, n: u64) {
        if let Some(count) = self.counts.get_mut(&key) {
            *count += n;
        } else if self.counts.len() < MOST_PLACES {
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

    /// Noise has more places than there is room for; no sample is lost.
    #[test]
    fn what_has_no_room_is_counted() {
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
