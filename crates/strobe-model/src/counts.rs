//! Values by how often they occur: what figures of millions of values are made of, in memory that
//! grows with the different values only.

use std::collections::HashMap;

/// Values below this have a counter each. Widths of pulses in ticks are small numbers.
const DENSE: usize = 4096;

/// How often each value occurs.
#[derive(Debug, Clone, Default)]
pub struct ValueCounts {
    dense: Vec<u64>,
    /// Hashed with random keys: a file may be made to collide.
    others: HashMap<u64, u64>,
}

impl ValueCounts {
    /// Counts a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        match self.dense.get_mut(value as usize) {
            Some(count) => *count += 1,
            None => self.add_new(value),
        }
    }

    fn add_new(&mut self, value: u64) {
        if value < DENSE as u64 {
            self.dense.resize(DENSE, 0);
            self.dense[value as usize] += 1;
        } else {
            *self.others.entry(value).or_default() += 1;
        }
    }

    /// The values from the smallest on with their counts, each converted by a function that keeps
    /// their order.
    pub fn sorted(&self, convert: impl Fn(u64) -> u64) -> Vec<(u64, u64)> {
        let dense = (0..).zip(&self.dense).filter(|(_, count)| **count > 0);
        let others = self.others.iter().map(|(value, count)| (*value, count));
        let all = dense.chain(others).map(|(value, count)| (convert(value), *count));
        let mut all: Vec<(u64, u64)> = all.collect();
        all.sort_unstable();
        all.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += if is_same { next.1 } else { 0 };
            is_same
        });
        all
    }
}

impl FromIterator<u64> for ValueCounts {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Self {
        let mut counts = ValueCounts::default();
        values.into_iter().for_each(|value| counts.add(value));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_sorted_by_value() {
        let counts: ValueCounts = [5000, 3, 1 << 40, 3, 5000, 4].into_iter().collect();
        assert_eq!(counts.sorted(|v| v), [(3, 2), (4, 1), (5000, 2), (1 << 40, 1)]);
        assert_eq!(counts.sorted(|v| v / 5), [(0, 3), (1000, 2), ((1 << 40) / 5, 1)]);
    }
}
