//! The frames of a flame graph: call chains with a common beginning share it.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::super::chains::{Chains, Name};

/// A frame.
#[derive(Debug)]
pub(super) struct Node {
    /// Who it is; none for the root.
    pub name: Option<Name>,
    /// With all that it calls.
    pub value: i128,
    /// By itself.
    pub own: i128,
    children: Vec<usize>,
}

/// The frames, whose root is number 0. Each comes behind its caller.
#[derive(Debug)]
pub(super) struct Tree(Vec<Node>);

impl Tree {
    /// The first measure of some chains.
    pub fn new(chains: &Chains) -> Tree {
        let node = |name| Node { name, value: 0, own: 0, children: Vec::new() };
        let mut nodes = vec![node(None)];
        let mut index: HashMap<(usize, Name), usize> = HashMap::new();
        for sample in chains.samples.iter().filter(|sample| sample.values[0] != 0) {
            let value = i128::from(sample.values[0]);
            let mut at = 0;
            nodes[0].value += value;
            for frame in chains.frames(sample, true) {
                let next = *index.entry((at, frame.name)).or_insert_with(|| {
                    nodes.push(node(Some(frame.name)));
                    let new = nodes.len() - 1;
                    nodes[at].children.push(new);
                    new
                });
                nodes[next].value += value;
                at = next;
            }
            nodes[at].own += value;
        }
        Tree(nodes)
    }

    pub fn node(&self, node: usize) -> &Node {
        &self.0[node]
    }

    /// The value of everything.
    pub fn total(&self) -> i128 {
        self.0[0].value
    }

    /// What a frame calls, the most first; time in which nothing is done is last.
    pub fn children(&self, node: usize) -> Vec<usize> {
        let mut children = self.0[node].children.clone();
        children.sort_by_key(|child| {
            let Node { name, value, .. } = &self.0[*child];
            (matches!(name, Some(Name::Idle(_))), Reverse(*value), *name)
        });
        children
    }

    /// A frame and all below it.
    pub fn size(&self, node: usize) -> u64 {
        let (mut size, mut left) = (0, vec![node]);
        while let Some(node) = left.pop() {
            size += 1;
            left.extend(&self.0[node].children);
        }
        size
    }
}
