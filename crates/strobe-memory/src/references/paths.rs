//! Questions about the whole graph: what is reached, by which way, and what only one node leads to.

use std::collections::VecDeque;

use super::{Edge, Id, References};

/// What every way to a node passes.
#[derive(Debug)]
pub(crate) struct Dominators {
    /// The last node that every way passes; none for nodes that several roots lead to or that are
    /// not reached.
    pub(crate) above: Vec<Option<Id>>,
    pub(crate) is_reached: Vec<bool>,
    /// Reached nodes, each behind the one above it.
    order: Vec<Id>,
}

impl References {
    /// Which nodes are reached from the roots.
    pub(crate) fn reached(&self) -> Vec<bool> {
        self.reached_without(|_| false)
    }

    /// Which nodes would be reached if some were not there.
    pub(crate) fn reached_without(&self, is_gone: impl Fn(Id) -> bool) -> Vec<bool> {
        let mut reached = vec![false; self.nodes.len()];
        let mut work: Vec<Id> = self.roots.iter().map(|root| root.node).collect();
        while let Some(node) = work.pop() {
            if is_gone(node) || std::mem::replace(&mut reached[node], true) {
                continue;
            }
            work.extend(self.from(node).iter().map(|edge| edge.to));
        }
        reached
    }

    /// For each node that is reached without passing `avoided`, the edge of a shortest way there;
    /// none for roots. The second list has who is reached.
    pub(crate) fn shortest(&self, avoided: Id) -> (Vec<Option<Edge>>, Vec<bool>) {
        let mut edges = vec![None; self.nodes.len()];
        let mut reached = vec![false; self.nodes.len()];
        let mut work = VecDeque::new();
        for root in &self.roots {
            if root.node != avoided && !std::mem::replace(&mut reached[root.node], true) {
                work.push_back(root.node);
            }
        }
        while let Some(node) = work.pop_front() {
            for edge in self.from(node) {
                if edge.to != avoided && !std::mem::replace(&mut reached[edge.to], true) {
                    edges[edge.to] = Some(*edge);
                    work.push_back(edge.to);
                }
            }
        }
        (edges, reached)
    }

    /// The dominators of all nodes, after K. Cooper, T. Harvey and K. Kennedy, "A Simple, Fast
    /// Dominance Algorithm" (2001). Above all roots there is one more node, the outside.
    pub(crate) fn dominators(&self) -> Dominators {
        let outside = self.nodes.len();
        let order = self.order();
        let mut rank = vec![usize::MAX; outside + 1];
        rank[outside] = 0;
        for (at, node) in order.iter().enumerate() {
            rank[*node] = at + 1;
        }
        let mut above = vec![usize::MAX; outside + 1];
        above[outside] = outside;
        let meet = |above: &[usize], mut a: usize, mut b: usize| {
            while a != b {
                if rank[a] > rank[b] { a = above[a] } else { b = above[b] }
            }
            a
        };
        let mut is_root = vec![false; outside];
        self.roots.iter().for_each(|root| is_root[root.node] = true);
        let mut has_changed = true;
        while std::mem::take(&mut has_changed) {
            for &node in &order {
                let mut new = is_root[node].then_some(outside);
                for edge in self.to(node).filter(|edge| above[edge.from] != usize::MAX) {
                    new = Some(new.map_or(edge.from, |new| meet(&above, new, edge.from)));
                }
                let new = new.unwrap_or(outside);
                has_changed |= std::mem::replace(&mut above[node], new) != new;
            }
        }
        let above = above[..outside].iter().map(|at| Some(*at).filter(|at| *at < outside));
        let is_reached = rank[..outside].iter().map(|rank| *rank != usize::MAX).collect();
        Dominators { above: above.collect(), is_reached, order }
    }

    /// Reached nodes, each before what it leads to as far as there are no loops.
    fn order(&self) -> Vec<Id> {
        let mut order = Vec::new();
        let mut is_seen = vec![false; self.nodes.len()];
        for root in &self.roots {
            if std::mem::replace(&mut is_seen[root.node], true) {
                continue;
            }
            let mut work = vec![(root.node, 0)];
            while let Some((node, next)) = work.pop() {
                let Some(edge) = self.from(node).get(next) else {
                    order.push(node);
                    continue;
                };
                work.push((node, next + 1));
                if !std::mem::replace(&mut is_seen[edge.to], true) {
                    work.push((edge.to, 0));
                }
            }
        }
        order.reverse();
        order
    }
}

impl Dominators {
    /// What each node takes together with everything that only it leads to.
    pub(crate) fn sums<T: Copy + std::ops::AddAssign>(&self, own: &[T]) -> Vec<T> {
        let mut sums = own.to_vec();
        for &node in self.order.iter().rev() {
            if let Some(above) = self.above[node] {
                let sum = sums[node];
                sums[above] += sum;
            }
        }
        sums
    }

    /// Whether every way to a node passes another.
    pub(crate) fn is_below(&self, node: Id, other: Id) -> bool {
        let mut at = Some(node);
        while let Some(now) = at {
            if now == other {
                return true;
            }
            at = self.above[now];
        }
        false
    }

    /// Whether a node would not be reached without this edge to it.
    pub(crate) fn is_only(&self, references: &References, edge: &Edge) -> bool {
        let is_root = references.roots.iter().any(|root| root.node == edge.to);
        let others = references
            .to(edge.to)
            .filter(|other| self.is_reached[other.from] && !self.is_below(other.from, edge.to));
        let mut others = others.map(|other| other.from);
        !is_root && others.next() == Some(edge.from) && others.next().is_none()
    }
}
