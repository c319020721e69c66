//! Counts samples by address and by who had the core.

use rustc_hash::FxHashMap;
use strobe_model::Who;

/// Places kept apart; firmware has fewer instructions, noise does not.
pub const MOST_PLACES: usize = 1 << 20;

/// Samples by place.
#[derive(Debug, Clone, Default)]
pub struct Places {
    counts: FxHashMap<(u32, Option<Who>), u64>,
    /// Samples for which there was no room.
    beyond: u64,
}

impl Places {
    /// One more sample; `who` had the core, if that is known.
    pub(super) fn add(&mut self, pc: u32, who: Option<Who>) {
        self.add_several(pc, who, 1);
    }

    fn add_several(&mut self, pc: u32, who: Option<Who>, n: u64) {
        if let Some(count) = self.counts.get_mut(&(pc, who)) {
            *count += n;
        } else if self.counts.len() < MOST_PLACES {
            self.counts.insert((pc, who), n);
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
        let mut all: Vec<_> = self.counts.iter().map(|(&(pc, who), &n)| (pc, who, n)).collect();
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
