//! Who refers to whom in an image, from machine code and data: the graph behind `--why`.
//!
//! `thumb.rs` and `avr.rs` find what instructions call, jump to and take the address of, `words.rs`
//! the pointers in data; `resolve.rs` decides which numbers are addresses, `paths.rs` answers
//! questions about the whole. Nodes are symbols, and pieces without a symbol (string literals),
//! which begin wherever something refers to. Unlike the call graph for stacks, this one follows no
//! values: it wants every reference, not every path.

mod avr;
mod paths;
mod resolve;
#[cfg(test)]
mod tests;
mod thumb;
mod words;

use std::ops::Range;

use strobe_symbols::{Firmware, FunctionId, Owner};

pub(crate) use self::paths::Dominators;
use self::resolve::Resolver;

/// A number that stands for a node.
pub(crate) type Id = usize;

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// A function.
    Function(FunctionId),
    /// A variable or constant, by its index in [`Firmware::data_symbols`].
    Data(u32),
    /// Bytes without a symbol.
    Unnamed,
}

/// How one node refers to another; what shows more of the program comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ReferenceKind {
    /// By a call.
    Calls,
    /// By a jump, as the call at a function's end becomes.
    Jumps,
    /// Control goes on there behind the last instruction.
    Falls,
    /// By an instruction that takes the address.
    Takes,
    /// By a pointer in data.
    Points,
}

impl ReferenceKind {
    /// As a sentence's verb.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            ReferenceKind::Calls => "calls",
            ReferenceKind::Jumps => "jumps to",
            ReferenceKind::Falls => "goes on in",
            ReferenceKind::Takes => "takes the address of",
            ReferenceKind::Points => "points to",
        }
    }
}

/// A node: who owns bytes.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) what: NodeKind,
    /// Its first address at run time.
    pub(crate) address: u64,
}

/// A reference; of several between two nodes, the one that shows most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) from: Id,
    pub(crate) to: Id,
    /// It is a guess: the number may be something else.
    is_guess: bool,
    pub(crate) how: ReferenceKind,
    /// The instruction or the pointer.
    pub(crate) site: u32,
}

/// Where the program is entered from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) node: Id,
    /// By what, as `reset`.
    pub(crate) name: String,
}

/// The graph.
#[derive(Debug, Default)]
pub(crate) struct References {
    pub(crate) nodes: Vec<Node>,
    /// Which node bytes belong to: sorted and disjoint.
    pub(crate) pieces: Vec<(Range<u64>, Id)>,
    pub(crate) roots: Vec<Root>,
    /// Sorted by where they come from.
    edges: Vec<Edge>,
    /// Where each node's edges begin in `edges`.
    first: Vec<usize>,
    /// Edges by where they lead to, as indices.
    into: Vec<usize>,
    /// Where each node's edges begin in `into`.
    first_into: Vec<usize>,
}

/// Something that may refer to an address, as instructions and data show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reference {
    site: u32,
    to: To,
    how: ReferenceKind,
}

/// What a sighting shows of its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    /// An address, beyond doubt: of a branch, a relocation, an instruction that has no other use.
    Address(u32),
    /// A number that a program of 32 bits has in a literal pool, a variable or two instructions.
    Word(u32),
    /// A number of 16 bits in two AVR instructions: an address of RAM, or of flash, or of flash in
    /// words, or no address; of code only if they are not in Y, the frame pointer.
    Pair {
        /// The number.
        number: u16,
        /// It is put into Y.
        is_frame: bool,
    },
    /// The same in data.
    Half(u16),
}

impl References {
    /// The graph of an image that is entered at these addresses.
    pub(crate) fn new(firmware: &Firmware, entries: &[(u32, String)]) -> References {
        let resolver = Resolver::new(firmware);
        let mut references = words::code(firmware, &resolver);
        references.extend(words::data(firmware, &resolver));
        let mut references = resolver.graph(references);
        for (address, name) in entries {
            let node = references.at(u64::from(*address));
            if let Some(node) = node.filter(|node| references.roots.iter().all(|r| r.node != *node))
            {
                references.roots.push(Root { node, name: name.clone() });
            }
        }
        references.settle();
        references
    }

    /// The node that an address belongs to.
    pub(crate) fn at(&self, address: u64) -> Option<Id> {
        let after = self.pieces.partition_point(|(range, _)| range.start <= address);
        let (range, node) = self.pieces[..after].last()?;
        (address < range.end).then_some(*node)
    }

    /// What a node refers to.
    pub(crate) fn from(&self, node: Id) -> &[Edge] {
        &self.edges[self.first[node]..self.first[node + 1]]
    }

    /// What refers to a node.
    pub(crate) fn to(&self, node: Id) -> impl Iterator<Item = &Edge> {
        let range = self.first_into[node]..self.first_into[node + 1];
        self.into[range].iter().map(|edge| &self.edges[*edge])
    }

    /// A guess counts only for what nothing else leads to: where compilers and linkers leave no
    /// doubt how something is reached, a number that looks like its address is a number.
    fn settle(&mut self) {
        let edges = std::mem::take(&mut self.edges);
        let (guesses, sure) = edges.into_iter().partition(|edge| edge.is_guess);
        self.set_edges(sure);
        let reached = self.reached();
        let mut edges = std::mem::take(&mut self.edges);
        let guesses: Vec<Edge> = guesses;
        edges.extend(guesses.into_iter().filter(|edge| !reached[edge.to]));
        edges.sort_unstable();
        self.set_edges(edges);
    }

    fn set_edges(&mut self, edges: Vec<Edge>) {
        let count = self.nodes.len();
        let begins = |of: &dyn Fn(usize) -> Id| {
            let mut begins = vec![0; count + 1];
            for at in 0..edges.len() {
                begins[of(at) + 1] += 1;
            }
            for node in 0..count {
                begins[node + 1] += begins[node];
            }
            begins
        };
        self.first = begins(&|at| edges[at].from);
        self.first_into = begins(&|at| edges[at].to);
        self.into = (0..edges.len()).collect();
        self.into.sort_by_key(|at| (edges[*at].to, edges[*at].from));
        self.edges = edges;
    }
}

impl From<Owner> for NodeKind {
    fn from(owner: Owner) -> Self {
        match owner {
            Owner::Function(id) => NodeKind::Function(id),
            Owner::Data(index) => NodeKind::Data(index),
        }
    }
}
