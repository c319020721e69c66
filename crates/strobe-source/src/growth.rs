//! Which places in the code leak: not whatever is live at the end, which may be what the firmware
//! needs, but what keeps growing.

/// A block's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// When it was allocated, in the unit of the run's end.
    pub born: u64,
    /// When it was freed.
    pub gone: Option<u64>,
    /// Its bytes.
    pub bytes: u64,
}

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
    /// The course of some blocks' number over a run that ends then.
    pub fn of(lives: impl IntoIterator<Item = Life>, end: u64) -> Self {
        let mut growth = Growth::default();
        let half = end / 2;
        let mark = |n: u64| half + (end - half) / QUARTERS * n;
        for life in lives {
            let lives = |at: u64| life.born <= at && life.gone.is_none_or(|gone| gone > at);
            for (n, count) in (0..QUARTERS).zip(&mut growth.blocks) {
                *count += u64::from(lives(mark(n)));
            }
            let stays = u64::from(life.gone.is_none());
            growth.blocks[QUARTERS as usize] += stays;
            let (middle, end) = (life.bytes * u64::from(lives(half)), life.bytes * stays);
            growth.bytes.0 = growth.bytes.0.saturating_add(middle);
            growth.bytes.1 = growth.bytes.1.saturating_add(end);
        }
        growth
    }

    /// Blocks in the middle of the run and at its end.
    pub fn ends(&self) -> (u64, u64) {
        (self.blocks[0], self.blocks[QUARTERS as usize])
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

    fn block(born: u64, gone: Option<u64>) -> Life {
        Life { born, gone, bytes: 10 }
    }

    #[test]
    fn what_keeps_growing_is_a_leak() {
        let leak: Vec<Life> = (0..100).map(|n| block(n * 10, None)).collect();
        let growth = Growth::of(leak, 1000);
        assert!(growth.is_leak(), "{growth:?}");
        assert_eq!(growth.bytes, (510, 1000));
    }

    #[test]
    fn what_is_there_from_the_start_or_comes_and_goes_is_none() {
        let start: Vec<Life> = (0..100).map(|n| block(n, None)).collect();
        assert!(!Growth::of(start, 1000).is_leak());
        let passing: Vec<Life> = (0..100).map(|n| block(n * 10, Some(n * 10 + 35))).collect();
        assert!(!Growth::of(passing, 1000).is_leak());
        assert!(!Growth::of([], 0).is_leak());
    }
}
