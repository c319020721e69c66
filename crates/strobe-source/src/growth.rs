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

/// Periods of which the fewest live blocks are looked at: the quarter before the middle, too.
const PERIODS: usize = QUARTERS as usize + 1;

/// How a place's live blocks went on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Growth {
    /// Live blocks in the middle of the run and at the end of each quarter of its second half.
    pub blocks: [u64; QUARTERS as usize + 1],
    /// Live bytes in the middle and at the end.
    pub bytes: (u64, u64),
    /// The fewest live blocks of each period, where the blocks look like a leak.
    floors: Option<[u64; PERIODS]>,
}

impl Growth {
    /// The course of some blocks' number over a run that ends then.
    pub fn of(lives: impl Iterator<Item = Life> + Clone, end: u64) -> Self {
        let mut growth = Growth::default();
        let half = end / 2;
        let mark = |n: u64| half + (end - half) / QUARTERS * n;
        for life in lives.clone() {
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
        // Most places need no closer look.
        if rises(&growth.blocks) {
            growth.floors = Some(floors(lives, end));
        }
        growth
    }

    /// Blocks in the middle of the run and at its end.
    pub fn ends(&self) -> (u64, u64) {
        (self.blocks[0], self.blocks[QUARTERS as usize])
    }

    /// Whether it looks like a leak: more and more, in every quarter but one at most, and never
    /// fewer. The fewest of each quarter go up as well, by a third of that at least, because of
    /// blocks that come and go there are more at some moments by chance. The last block to leak may
    /// not be among the fewest, and one that comes and goes may be.
    pub fn is_leak(&self) -> bool {
        let (middle, end) = self.ends();
        let stays = |floors: &[u64; PERIODS]| {
            let grown = floors[PERIODS - 1].saturating_sub(floors[0]);
            let falls = floors.windows(2).any(|pair| pair[1] + 1 < pair[0]);
            !falls && grown + 1 >= LEAST && grown * 3 >= end - middle
        };
        rises(&self.blocks) && self.floors.as_ref().is_some_and(stays)
    }
}

fn rises(course: &[u64; PERIODS]) -> bool {
    let steps = || course.windows(2).map(|pair| (pair[0], pair[1]));
    let grown = course[PERIODS - 1].saturating_sub(course[0]);
    let up = steps().filter(|(before, after)| after > before).count() as u64;
    grown >= LEAST && up + 1 >= QUARTERS && steps().all(|(before, after)| after >= before)
}

/// The fewest blocks that were live at one time, of the quarter before the middle and of each one
/// of the second half.
fn floors(lives: impl Iterator<Item = Life>, end: u64) -> [u64; PERIODS] {
    let half = end / 2;
    let quarter = (end - half) / QUARTERS;
    let begin = half.saturating_sub(quarter);
    let mut now = 0u64;
    let mut changes: Vec<(u64, bool)> = Vec::new();
    for life in lives {
        match life.born <= begin {
            true if life.gone.is_some_and(|gone| gone <= begin) => continue,
            true => now += 1,
            false => changes.push((life.born, true)),
        }
        changes.extend(life.gone.map(|gone| (gone, false)));
    }
    // What is born when another one goes was never beside it.
    changes.sort_unstable();
    let mut changes = changes.into_iter().peekable();
    std::array::from_fn(|n| {
        let until = if n + 1 == PERIODS { u64::MAX } else { begin + quarter * (n as u64 + 1) };
        let mut fewest = now;
        while let Some((_, born)) = changes.next_if(|(at, _)| *at <= until) {
            now = if born { now + 1 } else { now.saturating_sub(1) };
            fewest = fewest.min(now);
        }
        fewest
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(born: u64, gone: Option<u64>) -> Life {
        Life { born, gone, bytes: 10 }
    }

    #[test]
    fn steady_growth_is_a_leak() {
        let leak: Vec<Life> = (0..100).map(|n| block(n * 10, None)).collect();
        let growth = Growth::of(leak.into_iter(), 1000);
        assert!(growth.is_leak(), "{growth:?}");
        assert_eq!(growth.bytes, (510, 1000));
    }

    #[test]
    fn permanent_and_passing_blocks_are_not_a_leak() {
        let start: Vec<Life> = (0..100).map(|n| block(n, None)).collect();
        assert!(!Growth::of(start.into_iter(), 1000).is_leak());
        let passing: Vec<Life> = (0..100).map(|n| block(n * 10, Some(n * 10 + 35))).collect();
        assert!(!Growth::of(passing.into_iter(), 1000).is_leak());
        assert!(!Growth::of([].into_iter(), 0).is_leak());
    }

    /// More at each mark than at the one before, but in between there are none again and again.
    #[test]
    fn chance_growth_at_the_marks_is_not_a_leak() {
        let all = (0..1000).step_by(20);
        let passing = all.flat_map(|at| {
            let n = if at < 500 { 2 } else { 2 + (at - 500) / 120 };
            (0..n).map(move |_| block(at + 1, (at < 980).then_some(at + 18)))
        });
        let at_marks = (0..5).map(|n| block(500 + n * 125 - 3, None));
        let growth = Growth::of(passing.clone(), 1000);
        assert!(!growth.is_leak(), "{growth:?}");
        let both = passing.chain(at_marks);
        assert!(Growth::of(both, 1000).is_leak());
    }
}
