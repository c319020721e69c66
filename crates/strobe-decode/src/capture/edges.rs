//! The edges of a channel, coded by their distances: captures have a hundred million samples, and
//! an edge takes one byte or two here instead of the eight of an [`Edge`].
//!
//! An edge is a LEB128 number: the ticks since the edge before, times two. Where the level is not
//! the opposite of the one before, the number is odd and a byte with the level follows.

use super::{Edge, Level};

/// Bits of a byte of LEB128; the one above them states that another byte follows.
const PAYLOAD_BITS: u32 = 7;
const CONTINUES: u8 = 1 << PAYLOAD_BITS;

/// Edges by time.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Edges {
    bytes: Vec<u8>,
    len: usize,
    last: Option<Edge>,
}

impl Edges {
    /// The number of edges.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the level never changes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The last edge.
    pub fn last(&self) -> Option<Edge> {
        self.last
    }

    /// Adds an edge. One that lies before the last edge counts as simultaneous with it.
    pub fn push(&mut self, edge: Edge) {
        let (from, before) = state(self.last);
        let ticks = edge.at().saturating_sub(from);
        let is_opposite = before != Level::Unknown && edge.level() == before.inverted();
        self.number(ticks << 1 | u64::from(!is_opposite));
        if !is_opposite {
            self.bytes.push(edge.level() as u8);
        }
        self.last = Some(Edge::new(from + ticks, edge.level()));
        self.len += 1;
    }

    fn number(&mut self, mut number: u64) {
        while number >= u64::from(CONTINUES) {
            self.bytes.push(number as u8 | CONTINUES);
            number >>= PAYLOAD_BITS;
        }
        self.bytes.push(number as u8);
    }

    /// The edges in order.
    pub fn iter(&self) -> EdgesIter<'_> {
        EdgesIter { bytes: self.bytes.iter(), last: None, left: self.len }
    }
}

/// When the next edge counts from, and the level before it.
fn state(last: Option<Edge>) -> (u64, Level) {
    last.map_or((0, Level::Unknown), |last| (last.at(), last.level()))
}

impl std::fmt::Debug for Edges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl FromIterator<Edge> for Edges {
    fn from_iter<I: IntoIterator<Item = Edge>>(edges: I) -> Self {
        let mut all = Edges::default();
        edges.into_iter().for_each(|edge| all.push(edge));
        all
    }
}

impl<'a> IntoIterator for &'a Edges {
    type Item = Edge;
    type IntoIter = EdgesIter<'a>;

    fn into_iter(self) -> EdgesIter<'a> {
        self.iter()
    }
}

/// Decodes the edges of a channel in order.
#[derive(Debug, Clone)]
pub struct EdgesIter<'a> {
    bytes: std::slice::Iter<'a, u8>,
    last: Option<Edge>,
    left: usize,
}

impl EdgesIter<'_> {
    fn number(&mut self) -> Option<u64> {
        let first = *self.bytes.next()?;
        if first < CONTINUES {
            return Some(u64::from(first));
        }
        let mut number = u64::from(first & !CONTINUES);
        let mut shift = PAYLOAD_BITS;
        loop {
            let byte = *self.bytes.next()?;
            number |= u64::from(byte & !CONTINUES) << shift;
            if byte < CONTINUES {
                return Some(number);
            }
            shift += PAYLOAD_BITS;
        }
    }
}

impl Iterator for EdgesIter<'_> {
    type Item = Edge;

    #[inline]
    fn next(&mut self) -> Option<Edge> {
        let (from, before) = state(self.last);
        let number = self.number()?;
        let level = if number & 1 == 0 {
            before.inverted()
        } else {
            Level::from_code(u64::from(*self.bytes.next()?))
        };
        self.last = Some(Edge::new(from + (number >> 1), level));
        self.left -= 1;
        self.last
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for EdgesIter<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_read_as_pushed() {
        let (low, high, unknown) = (Level::Low, Level::High, Level::Unknown);
        let all = [
            (1, high),
            (64, low),
            (64, high),
            (200, unknown),
            (201, high),
            (202, unknown),
            (1 << 30, low),
            (Edge::MAX_TICK, high),
        ];
        let edges: Edges = all.iter().map(|(at, level)| Edge::new(*at, *level)).collect();
        let read: Vec<_> = edges.iter().map(|edge| (edge.at(), edge.level())).collect();
        assert_eq!((read.as_slice(), edges.len()), (all.as_slice(), all.len()));
        assert_eq!(edges.last(), edges.iter().last());
    }

    #[test]
    fn near_edges_take_a_byte() {
        let edges: Edges = (1..=1000).map(|n| Edge::new(n * 60, Level::of(n % 2 == 0))).collect();
        assert_eq!(edges.bytes.len(), 1001);
    }

    #[test]
    fn an_edge_before_the_last_is_simultaneous() {
        let edges: Edges = [(5, Level::High), (3, Level::Low), (9, Level::High)]
            .iter()
            .map(|(at, level)| Edge::new(*at, *level))
            .collect();
        assert_eq!(edges.iter().map(Edge::at).collect::<Vec<_>>(), [5, 5, 9]);
    }
}
