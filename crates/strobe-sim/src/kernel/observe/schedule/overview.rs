//! The whole run in short: how much of each stretch of time everybody had, in memory that does not
//! grow with the run.
//!
//! Stretches are equally long. When there are too many, each two become one.

use super::{Segment, Who};

/// Stretches of a lane; when time goes on, their width doubles.
const CAPACITY: u64 = 2048;

/// How long the first stretches are, in nanoseconds: shorter than any exception takes.
const FIRST_WIDTH: u64 = 256;

/// What somebody has of a stretch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Nanoseconds in which it ran.
    pub busy_ns: u64,
    /// Nanoseconds in which it had the core, asleep.
    pub asleep_ns: u64,
    /// How often it began to run or went on.
    pub begun: u64,
}

/// What somebody has of every stretch up to the last one in which it had anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Who.
    pub who: Who,
    /// The stretches from reset on.
    pub stretches: Vec<Stretch>,
}

/// Everybody's time, by stretches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    width_ns: u64,
    lanes: Vec<Lane>,
}

impl Default for Overview {
    fn default() -> Self {
        Overview { width_ns: FIRST_WIDTH, lanes: Vec::new() }
    }
}

impl Overview {
    /// How long a stretch is, in nanoseconds.
    pub fn width_ns(&self) -> u64 {
        self.width_ns
    }

    /// Everybody who ran, in the order in which they first did.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// Takes in a segment that lasted from one nanosecond to another. Its sleep comes last.
    pub(super) fn add(&mut self, segment: &Segment, from_ns: u64, to_ns: u64) {
        while to_ns.saturating_sub(1) / self.width_ns >= CAPACITY {
            self.widen();
        }
        let cycles = segment.end.saturating_sub(segment.begin).max(1);
        let length = u128::from(to_ns.saturating_sub(from_ns));
        let asleep = length * u128::from(segment.asleep.min(cycles)) / u128::from(cycles);
        let asleep_from = to_ns - asleep as u64;
        let width = self.width_ns;
        let lane = self.lane(segment.who);
        lane.at(from_ns / width).begun += 1;
        lane.fill(width, from_ns, asleep_from, |stretch| &mut stretch.busy_ns);
        lane.fill(width, asleep_from, to_ns, |stretch| &mut stretch.asleep_ns);
    }

    fn lane(&mut self, who: Who) -> &mut Lane {
        let known = self.lanes.iter().position(|lane| lane.who == who);
        let at = known.unwrap_or_else(|| {
            self.lanes.push(Lane { who, stretches: Vec::new() });
            self.lanes.len() - 1
        });
        &mut self.lanes[at]
    }

    fn widen(&mut self) {
        self.width_ns *= 2;
        for lane in &mut self.lanes {
            lane.stretches = lane.stretches.chunks(2).map(sum).collect();
        }
    }
}

fn sum(stretches: &[Stretch]) -> Stretch {
    stretches.iter().fold(Stretch::default(), |sum, stretch| Stretch {
        busy_ns: sum.busy_ns + stretch.busy_ns,
        asleep_ns: sum.asleep_ns + stretch.asleep_ns,
        begun: sum.begun + stretch.begun,
    })
}

impl Lane {
    fn at(&mut self, stretch: u64) -> &mut Stretch {
        let at = stretch as usize;
        if self.stretches.len() <= at {
            self.stretches.resize(at + 1, Stretch::default());
        }
        &mut self.stretches[at]
    }

    fn fill(&mut self, width: u64, from: u64, to: u64, part: fn(&mut Stretch) -> &mut u64) {
        let mut from = from;
        while from < to {
            let stretch = from / width;
            let end = to.min((stretch + 1) * width);
            *part(self.at(stretch)) += end - from;
            from = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Start;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_time_is_lost_however_long_the_run(
            parts in prop::collection::vec((0u32..5, 0u64..1 << 22, 0u64..1 << 20), 1..200),
        ) {
            let mut overview = Overview::default();
            let (mut now, mut busy, mut slept) = (0, 0, 0);
            for (who, cycles, asleep) in &parts {
                let who = Who::Thread(*who);
                let (begin, end) = (now, now + cycles);
                let asleep = *asleep.min(cycles);
                let segment = Segment { who, start: Start::Resumed, begin, end, asleep };
                overview.add(&segment, begin, end);
                now = end;
                busy += cycles - asleep;
                slept += asleep;
            }
            let all: Vec<&Stretch> = overview.lanes().iter().flat_map(|l| &l.stretches).collect();
            prop_assert_eq!(all.iter().map(|s| s.busy_ns).sum::<u64>(), busy);
            prop_assert_eq!(all.iter().map(|s| s.asleep_ns).sum::<u64>(), slept);
            prop_assert_eq!(all.iter().map(|s| s.begun).sum::<u64>(), parts.len() as u64);
            let longest = overview.lanes().iter().map(|l| l.stretches.len()).max().unwrap_or(0);
            prop_assert!(longest as u64 <= CAPACITY + 1);
            // Nobody has more of a stretch than there is of it, all together neither.
            for at in 0..longest {
                let stretches = overview.lanes().iter().filter_map(|lane| lane.stretches.get(at));
                let taken: u64 = stretches.map(|s| s.busy_ns + s.asleep_ns).sum();
                prop_assert!(taken <= overview.width_ns());
            }
        }
    }
}
