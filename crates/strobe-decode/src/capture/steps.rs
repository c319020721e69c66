//! Several lines in parallel: the input of a bus decoder.

use super::{Channel, Edge, EdgesIter, Level};

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
    /// Of each line that was recorded, the edges after its next one.
    edges: [Option<EdgesIter<'a>>; N],
    /// The next edge of each line that has one.
    next: [Option<Edge>; N],
    levels: [Level; N],
    begun: bool,
}

impl<'a, const N: usize> Steps<'a, N> {
    pub(super) fn new(lines: [Option<&'a Channel>; N]) -> Self {
        let mut edges = lines.map(|line| line.map(|line| line.edges.iter()));
        Steps {
            next: edges.each_mut().map(following),
            edges,
            levels: lines.map(|line| line.map_or(Level::Unknown, |line| line.initial)),
            begun: false,
        }
    }
}

fn following(edges: &mut Option<EdgesIter<'_>>) -> Option<Edge> {
    edges.as_mut().and_then(Iterator::next)
}

impl<const N: usize> Iterator for Steps<'_, N> {
    type Item = Step<N>;

    fn next(&mut self) -> Option<Step<N>> {
        if !self.begun {
            self.begun = true;
            return Some(Step { at: 0, levels: self.levels });
        }
        let at = self.next.iter().flatten().map(|edge| edge.at()).min()?;
        for n in 0..N {
            if let Some(edge) = self.next[n].filter(|edge| edge.at() == at) {
                self.levels[n] = edge.level();
                self.next[n] = following(&mut self.edges[n]);
            }
        }
        Some(Step { at, levels: self.levels })
    }
}
