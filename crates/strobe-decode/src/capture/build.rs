//! Builds a capture change by change, within a limit.

use super::{Channel, Edge, Edges, Error, Level, Place};

/// A channel under construction.
struct Line {
    name: String,
    initial: Level,
    edges: Edges,
    /// The last edge, which another change at its tick replaces.
    pending: Option<Edge>,
}

impl Line {
    /// The level before the pending edge.
    fn settled(&self) -> Level {
        self.edges.last().map_or(self.initial, Edge::level)
    }

    fn finish(mut self) -> Channel {
        self.settle();
        Channel { name: self.name, initial: self.initial, edges: self.edges }
    }

    fn settle(&mut self) {
        if let Some(edge) = self.pending.take() {
            self.edges.push(edge);
        }
    }
}

/// Channels under construction.
pub(super) struct Builder {
    lines: Vec<Line>,
    edges: usize,
    limit: usize,
}

impl Builder {
    pub(super) fn new(limit: usize) -> Self {
        Builder { lines: Vec::new(), edges: 0, limit }
    }

    pub(super) fn channel(&mut self, name: String) -> usize {
        let initial = Level::Unknown;
        self.lines.push(Line { name, initial, edges: Edges::default(), pending: None });
        self.lines.len() - 1
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The line has this level from `at` on, which must not be before the last change. Of several
    /// changes at one tick the last one counts: no width of zero is ever measured.
    #[inline]
    pub(super) fn set(
        &mut self,
        channel: usize,
        at: u64,
        level: Level,
        place: impl FnOnce() -> Place,
    ) -> Result<(), Error> {
        let Some(line) = self.lines.get_mut(channel) else { return Ok(()) };
        if at == 0 {
            line.initial = level;
            return Ok(());
        }
        if line.pending.is_some_and(|last| last.at() == at) {
            line.pending = None;
            self.edges -= 1;
        }
        let before = line.pending.map_or_else(|| line.settled(), Edge::level);
        if before == level {
            return Ok(());
        }
        if self.edges >= self.limit {
            return Err(Error::TooManyEdges { place: place(), limit: self.limit });
        }
        line.settle();
        line.pending = Some(Edge::new(at, level));
        self.edges += 1;
        Ok(())
    }

    /// Multiplies the times of all edges, after a change to a finer time base. Returns whether all
    /// of them fit.
    pub(super) fn rescale(&mut self, factor: u64) -> bool {
        let lasts = self.lines.iter().filter_map(|line| line.pending);
        let fits = |at: u64| at.checked_mul(factor).is_some_and(|at| at <= Edge::MAX_TICK);
        if !lasts.map(Edge::at).all(fits) {
            return false;
        }
        self.retime(|at| at * factor);
        true
    }

    /// Maps the times of all edges to another time base, in the same order. Edges that coincide are
    /// kept.
    pub(super) fn retime(&mut self, time: impl Fn(u64) -> u64) {
        for line in &mut self.lines {
            let retimed = |edge: Edge| Edge::new(time(edge.at()), edge.level());
            line.edges = line.edges.iter().map(retimed).collect();
            line.pending = line.pending.map(retimed);
        }
    }

    pub(super) fn finish(self) -> Vec<Channel> {
        self.lines.into_iter().map(Line::finish).collect()
    }
}
