//! Values of watched variables.

use std::collections::HashMap;

use crate::traced::totals::Watched;

/// Values kept of a comparator, the first ones.
const KEPT: usize = 1 << 16;
/// Code addresses kept apart for a comparator.
const MOST_PLACES: usize = 1 << 16;

#[derive(Debug, Clone, Default)]
pub(super) struct Comparator {
    pub totals: Watched,
    pub from: HashMap<u32, u64>,
    any: bool,
}

/// Follows the four comparators.
#[derive(Debug, Clone, Default)]
pub(super) struct Comparators {
    pub all: [Comparator; 4],
}

impl Comparators {
    pub fn value(&mut self, comparator: u8, write: bool, value: u32, now: u64) {
        let one = &mut self.all[usize::from(comparator & 3)];
        let totals = &mut one.totals;
        *if write { &mut totals.writes } else { &mut totals.reads } += 1;
        totals.min = if one.any { totals.min.min(value) } else { value };
        totals.max = if one.any { totals.max.max(value) } else { value };
        one.any = true;
        if totals.values.len() < KEPT {
            totals.values.push((now, value));
        } else {
            totals.more += 1;
        }
    }

    /// A match with the address of the code.
    pub fn code(&mut self, comparator: u8, pc: u32) {
        let one = &mut self.all[usize::from(comparator & 3)];
        one.totals.matches += 1;
        if one.from.len() < MOST_PLACES || one.from.contains_key(&pc) {
            *one.from.entry(pc).or_default() += 1;
        }
    }

    /// A match without the address of the code.
    pub fn matched(&mut self, comparator: u8) {
        self.all[usize::from(comparator & 3)].totals.matches += 1;
    }
}
