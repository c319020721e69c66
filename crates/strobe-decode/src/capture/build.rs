//! Builds a capture change by change, within a limit.

use super::{Channel, Edge, Error, Level, Place};

/// Channels under construction.
pub(super) struct Builder {
    channels: Vec<Channel>,
    edges: usize,
    limit: usize,
}

impl Builder {
    pub(super) fn new(limit: usize) -> Self {
        Builder { channels: Vec::new(), edges: 0, limit }
    }

    pub(super) fn channel(&mut self, name: String) -> usize {
        self.channels.push(Channel { name, initial: Level::Unknown, edges: Vec::new() });
        self.channels.len() - 1
    }

    pub(super) fn len(&self) -> usize {
        self.channels.len()
    }

    /// The line has this level from `at` on, which must not be before the last change. Of several
    /// changes at one tick the last one counts: no width of zero is ever measured.
    pub(super) fn set(
        &mut self,
        channel: usize,
        at: u64,
        level: Level,
        place: impl FnOnce() -> Place,
    ) -> Result<(), Error> {
        let Some(line) = self.channels.get_mut(channel) else { return Ok(()) };
        if at == 0 {
            line.initial = level;
            return Ok(());
        }
        if line.edges.last().is_some_and(|last| last.at() == at) {
            line.edges.pop();
            self.edges -= 1;
        }
        let before = line.edges.last().map_or(line.initial, |last| last.level());
        if before == level {
            return Ok(());
        }
        if self.edges >= self.limit {
            return Err(Error::TooManyEdges { place: place(), limit: self.limit });
        }
        line.edges.push(Edge::new(at, level));
        self.edges += 1;
        Ok(())
    }

    /// Multiplies the times of all edges, after a change to a finer time base. Returns whether all
    /// of them fit.
    pub(super) fn rescale(&mut self, factor: u64) -> bool {
        let edges = self.channels.iter_mut().flat_map(|c| &mut c.edges);
        for edge in edges {
            match edge.at().checked_mul(factor).filter(|at| *at <= Edge::MAX_TICK) {
                Some(at) => *edge = Edge::new(at, edge.level()),
                None => return false,
            }
        }
        true
    }

    /// Maps the times of all edges to a coarser time base, in the same order. Edges that coincide
    /// are kept.
    pub(super) fn retime(&mut self, time: impl Fn(u64) -> u64) {
        for edge in self.channels.iter_mut().flat_map(|c| &mut c.edges) {
            *edge = Edge::new(time(edge.at()), edge.level());
        }
    }

    pub(super) fn finish(self) -> Vec<Channel> {
        self.channels
    }
}
