//! Lanes of a track: spans of one lane lie beside or inside one another.
//!
//! Each span goes to the first lane with room for it. A file may have as many lanes as spans, so
//! the lane is looked up in a tree and not by trying each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Span;

/// The lanes of one track so far.
#[derive(Default)]
pub(super) struct Lanes<'a> {
    /// The spans of each lane.
    pub spans: Vec<Vec<Span<'a>>>,
    /// When the open spans of each lane end, the innermost last.
    open: Vec<Vec<i64>>,
    /// When the open spans of all lanes end, with their lanes; the earliest first.
    ends: BinaryHeap<Reverse<(i64, usize)>>,
    room: LaneSpace,
}

impl<'a> Lanes<'a> {
    /// Adds a span. They come in the order of their beginnings, the outer ones first.
    pub fn add(&mut self, span: Span<'a>) {
        self.close(span.begin_ns);
        let lane = self.room.first(span.end_ns).unwrap_or_else(|| {
            self.spans.push(Vec::new());
            self.open.push(Vec::new());
            self.spans.len() - 1
        });
        self.spans[lane].push(span);
        self.open[lane].push(span.end_ns);
        self.ends.push(Reverse((span.end_ns, lane)));
        self.room.set(lane, span.end_ns);
    }

    /// Closes the spans that end before `now`.
    fn close(&mut self, now: i64) {
        while let Some(Reverse((end, lane))) = self.ends.peek().copied()
            && end <= now
        {
            self.ends.pop();
            let open = &mut self.open[lane];
            while open.pop_if(|end| *end <= now).is_some() {}
            self.room.set(lane, open.last().copied().unwrap_or(i64::MAX));
        }
    }
}

/// Until when each lane has room, as a binary tree in which a node has the maximum of the two
/// below it: node `n` is above nodes `2n` and `2n + 1`, and the last half of them are the lanes.
#[derive(Default)]
struct LaneSpace(Vec<i64>);

impl LaneSpace {
    /// A lane that is not there yet has no room.
    const NONE: i64 = i64::MIN;

    fn capacity(&self) -> usize {
        self.0.len() / 2
    }

    /// The first lane with room until `end`.
    fn first(&self, end: i64) -> Option<usize> {
        let mut node = 1;
        self.0.get(node).filter(|room| **room != Self::NONE && **room >= end)?;
        while node < self.capacity() {
            node *= 2;
            node += usize::from(self.0[node] == Self::NONE || self.0[node] < end);
        }
        Some(node - self.capacity())
    }

    fn set(&mut self, lane: usize, until: i64) {
        if lane >= self.capacity() {
            self.grow(lane + 1);
        }
        let mut node = self.capacity() + lane;
        self.0[node] = until;
        while node > 1 {
            node /= 2;
            self.0[node] = self.0[2 * node].max(self.0[2 * node + 1]);
        }
    }

    fn grow(&mut self, lanes: usize) {
        let old = self.0.split_off(self.capacity());
        let capacity = lanes.next_power_of_two();
        self.0 = vec![Self::NONE; capacity];
        self.0.extend(old);
        self.0.resize(2 * capacity, Self::NONE);
        for node in (1..capacity).rev() {
            self.0[node] = self.0[2 * node].max(self.0[2 * node + 1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Tries each lane in turn.
    fn plainly<'a>(spans: &[Span<'a>]) -> Vec<Vec<Span<'a>>> {
        let mut lanes: Vec<(Vec<Span>, Vec<i64>)> = Vec::new();
        for span in spans {
            let fits = lanes.iter_mut().position(|(_, open)| {
                while open.pop_if(|end| *end <= span.begin_ns).is_some() {}
                open.last().is_none_or(|end| *end >= span.end_ns)
            });
            let lane = fits.unwrap_or_else(|| {
                lanes.push(Default::default());
                lanes.len() - 1
            });
            lanes[lane].0.push(*span);
            lanes[lane].1.push(span.end_ns);
        }
        lanes.into_iter().map(|(spans, _)| spans).collect()
    }

    proptest! {
        #[test]
        fn spans_take_the_first_lane_with_room(
            times in proptest::collection::vec((0..60i64, 0..40i64), 0..60),
        ) {
            let span = |(begin_ns, length): &(i64, i64)| {
                Span { track: 0, name: "", begin_ns: *begin_ns, end_ns: begin_ns + length }
            };
            let mut spans: Vec<Span> = times.iter().map(span).collect();
            spans.sort_by_key(|span| (span.begin_ns, Reverse(span.end_ns)));
            let mut lanes = Lanes::default();
            spans.iter().for_each(|span| lanes.add(*span));
            let times = |lanes: &[Vec<Span>]| -> Vec<Vec<(i64, i64)>> {
                let of = |lane: &Vec<Span>| lane.iter().map(|s| (s.begin_ns, s.end_ns)).collect();
                lanes.iter().map(of).collect()
            };
            prop_assert_eq!(times(&lanes.spans), times(&plainly(&spans)));
        }
    }
}
