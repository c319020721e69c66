//! Counts samples by address and by who had the core.

use rustc_hash::FxHashMap;
use strobe_model::Who;

/// Places kept apart; firmware has fewer instructions, noise does not.
pub const MOST_PLACES: usize = 1 << 20;

/// Samples by place.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// By [`key`]: one word to hash and compare, as this is looked up once for each sample.
    counts: FxHashMap<u64, u64>,
    /// Samples for which there was no room.
    beyond: u64,
}

impl Places {
    /// One more sample; `who` had the core, if that is known.
    pub(super) fn add(&mut self, pc: u32, who: Option<Who>) {
        self.add_several(pc, who, 1);
    }

    fn add_several(&mut self, pc: u32, who: Option<Who>, n: u64) {
        let key = key(pc, who);
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
        let place = |(&at, &n): (&u64, &u64)| ((at >> 32) as u32, who(at as u32), n);
        let mut all: Vec<_> = self.counts.iter().map(place).collect();
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
}
