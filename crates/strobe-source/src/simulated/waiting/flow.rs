//! The loops of a function: its strongly connected instructions, which are not always neighbours.
//! Compilers put the way out of a loop between its instructions, and rarely taken parts of its body
//! far behind.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::program::Function;

/// Loops within loops that are looked into.
const MAX_NESTED: usize = 8;

/// Ways round of one loop that are looked at.
const MAX_PARTS: usize = 8;

/// A loop: the addresses of its instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loop {
    pub body: BTreeSet<u32>,
    /// The instruction by which it is entered.
    pub head: u32,
    /// It is one way round of a loop with several: `while (!flag) {}` at the beginning of a loop
    /// that does something else, too.
    pub part: bool,
}

/// The loops with one entry, each behind the one around it.
pub(super) fn loops(function: &Function) -> Vec<Loop> {
    let mut predecessors: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for step in function.steps.values().flatten() {
        for to in step.successors() {
            predecessors.entry(to).or_default().push(step.address);
        }
    }
    let mut out = Vec::new();
    let all: BTreeSet<u32> = function.steps.keys().copied().collect();
    let mut open = vec![(all, None, 0)];
    while let Some((inside, closed, depth)) = open.pop() {
        for body in connected(function, &inside, closed) {
            let enters = |at: &u32| {
                let from = predecessors.get(at).into_iter().flatten();
                *at == function.range.start || from.into_iter().any(|from| !body.contains(from))
            };
            let mut entries = body.iter().filter(|at| enters(at));
            // Entered at two places, or by a table alone.
            let (Some(&head), None) = (entries.next(), entries.next()) else { continue };
            if depth < MAX_NESTED {
                open.push((body.clone(), Some(head), depth + 1));
            }
            out.extend(parts(&body, head, &predecessors));
            out.push(Loop { body, head, part: false });
        }
    }
    // The outermost first.
    out.sort_by_key(|one| std::cmp::Reverse(one.body.len()));
    out
}

/// The ways round of a loop by each of the jumps back to its head, if there are several.
fn parts(body: &BTreeSet<u32>, head: u32, predecessors: &BTreeMap<u32, Vec<u32>>) -> Vec<Loop> {
    let inside = |at: u32| {
        predecessors.get(&at).into_iter().flatten().copied().filter(|from| body.contains(from))
    };
    let back: Vec<u32> = inside(head).collect();
    if back.len() < 2 {
        return Vec::new();
    }
    let way = |&from: &u32| {
        let (mut way, mut open) = (BTreeSet::from([head]), vec![from]);
        while let Some(at) = open.pop() {
            if way.insert(at) {
                open.extend(inside(at));
            }
        }
        Loop { body: way, head, part: true }
    };
    let ways = back.iter().take(MAX_PARTS).map(way);
    ways.filter(|way| way.body.len() < body.len()).collect()
}

/// What is strongly connected in there without jumps to the instruction that is closed.
fn connected(
    function: &Function,
    inside: &BTreeSet<u32>,
    closed: Option<u32>,
) -> Vec<BTreeSet<u32>> {
    let addresses: Vec<u32> = inside.iter().copied().collect();
    let place = |at: u32| addresses.binary_search(&at).ok().map(NodeIndex::new);
    let mut graph: DiGraph<u32, ()> = DiGraph::new();
    for &at in &addresses {
        graph.add_node(at);
    }
    for (from, &at) in addresses.iter().enumerate() {
        let successors = function.step(at).map(|step| step.successors()).unwrap_or_default();
        for to in successors.into_iter().filter(|to| Some(*to) != closed).filter_map(place) {
            graph.add_edge(NodeIndex::new(from), to, ());
        }
    }
    let is_loop = |nodes: &Vec<NodeIndex>| match nodes.as_slice() {
        [one] => graph.contains_edge(*one, *one),
        _ => true,
    };
    let found = tarjan_scc(&graph).into_iter().filter(is_loop);
    found.map(|nodes| nodes.into_iter().map(|node| graph[node]).collect()).collect()
}
