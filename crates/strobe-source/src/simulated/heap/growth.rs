//! Which places in the code leak: not whatever is live at the end, which may be what the firmware
//! needs, but what keeps growing.

use super::replay::Block;

/// Quarters of the second half of the run.
const QUARTERS: u64 = 4;

/// A place must have gained at least so many blocks in the second half of the run.
const LEAST: u64 = 3;

/// How a place's live blocks went on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Growth {
    /// Live blocks in the middle of the run and at the end of each quarter of its second half.
    pub blocks: [u64; QUARTERS as usize + 1],
    /// Live bytes in the middle and at the end.
    pub bytes: (u64, u64),
}

impl Growth {
    /// The course of some blocks' number over a run of so many cycles.
    pub fn of<'a>(blocks: impl IntoIterator<Item = &'a Block>, end: u64) -> Self {
        let mut growth = Growth::default();
        let half = end / 2;
        let mark = |n: u64| half + (end - half) / QUARTERS * n;
        for block in blocks {
            let lives = |at: u64| block.born.0 <= at && block.gone.is_none_or(|g| g.at.0 > at);
            for (n, count) in (0..QUARTERS).zip(&mut growth.blocks) {
                *count += u64::from(lives(mark(n)));
            }
            growth.blocks[QUARTERS as usize] += u64::from(block.gone.is_none());
            growth.bytes.0 += u64::from(block.size) * u64::from(lives(half));
            growth.bytes.1 += u64::from(block.size) * u64::from(block.gone.is_none());
        }
        growth
    }

    /// Whether it looks like a leak: more and more, in every quarter but one at most, and never
    /// fewer.
    pub fn is_leak(&self) -> bool {
        let steps = || self.blocks.windows(2).map(|pair| (pair[0], pair[1]));
        let grown = self.blocks[QUARTERS as usize].saturating_sub(self.blocks[0]);
        let up = steps().filter(|(before, after)| after > before).count() as u64;
        grown >= LEAST && up + 1 >= QUARTERS && steps().all(|(before, after)| after >= before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::heap::replay::{Gone, How};

    fn block(born: u64, gone: Option<u64>) -> Block {
        let at = |cycle| Gone { at: (cycle, 0), how: How::Freed, by: None };
        let (pointer, size, usable) = (0x2000_0000, 10, None);
        let gone = gone.map(at);
        Block { pointer, size, usable, heap: 0, made_by: 0, born: (born, 0), gone }
    }

    #[test]
    fn what_keeps_growing_is_a_leak() {
        let leak: Vec<Block> = (0..100).map(|n| block(n * 10, None)).collect();
        let growth = Growth::of(&leak, 1000);
        assert!(growth.is_leak(), "{growth:?}");
        assert_eq!(growth.bytes, (510, 1000));
    }

    #[test]
    fn what_is_there_from_the_start_or_comes_and_goes_is_none() {
        let start: Vec<Block> = (0..100).map(|n| block(n, None)).collect();
        assert!(!Growth::of(&start, 1000).is_leak());
        let passing: Vec<Block> = (0..100).map(|n| block(n * 10, Some(n * 10 + 35))).collect();
        assert!(!Growth::of(&passing, 1000).is_leak());
        assert!(!Growth::of(&[], 0).is_leak());
    }
}
