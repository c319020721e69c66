//! Several lines in parallel: the input of a bus decoder.

use super::{Channel, Edge, Level};

/// The levels from one tick on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<const N: usize> {
    /// When, in ticks from the beginning of the recording.
    pub at: u64,
    /// The level of each line from then on.
    pub levels: [Level; N],
}

/// Steps through the changes of some lines; the first step is the beginning of the recording.
#[derive(Debug, Clone)]
pub struct Steps<'a, const N: usize> {
    edges: [&'a [Edge]; N],
    levels: [Level; N],
    begun: bool,
}

impl<'a, const N: usize> Steps<'a, N> {
    pub(super) fn new(lines: [Option<&'a Channel>; N]) -> Self {
        Steps {
            edges: lines.map(|line| line.map_or(&[] as &[Edge], |line| &line.edges)),
            levels: lines.map(|line| line.map_or(Level::Unknown, |line| line.initial)),
            begun: false,
        }
    }
}

impl<const N: usize> Iterator for Steps<'_, N> {
    type Item = Step<N>;

    fn next(&mut self) -> Option<Step<N>> {
        if !self.begun {
            self.begun = true;
            return Some(Step { at: 0, levels: self.levels });
        }
        let at = self.edges.iter().filter_map(|edges| edges.first()).map(|e| e.at()).min()?;
        for (edges, level) in self.edges.iter_mut().zip(&mut self.levels) {
            if let Some((edge, rest)) = edges.split_first()
                && edge.at() == at
            {
                *level = edge.level();
                *edges = rest;
            }
        }
        Some(Step { at, levels: self.levels })
    }
}
