//! The deepest stack that a call graph allows, by function, with the chain of calls.
//!
//! Functions that call each other in a ring (strongly connected components, Tarjan 1972) are taken
//! together: their depth is bounded only if an annotation bounds every ring. What is reached by an
//! unknown edge is not in the figure, which then is a lower bound.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::annotations::Resolved;
use crate::callgraph::{Graph, Target};

/// An edge of the graph.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub(super) to: u32,
    /// Bytes on the stack when the callee begins, since the caller began.
    pub(super) bytes: u64,
}

/// How the deepest stack of a function comes about.
#[derive(Debug, Clone, Copy)]
enum Via {
    /// By itself.
    Own,
    /// By a call.
    Call(Edge),
    /// By calls in a ring, of so many bytes, until this one of it goes on.
    Ring { bytes: u64, exit: u32 },
}

#[derive(Debug, Clone, Copy)]
struct Best {
    bytes: u64,
    via: Via,
}

/// One function of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) function: u32,
    /// Bytes that it contributes.
    pub(super) bytes: u64,
    /// It stands for a ring of calls.
    pub(super) is_ring: bool,
}

/// Functions that call each other in a ring, or one that calls itself.
#[derive(Debug, Clone)]
pub(super) struct Ring {
    /// By address.
    pub(super) members: Vec<u32>,
    /// Whether annotations bound it.
    pub(super) is_bounded: bool,
}

/// The deepest stacks of all functions.
#[derive(Debug, Default)]
pub(super) struct Worst {
    edges: BTreeMap<u32, Vec<Edge>>,
    best: HashMap<u32, Best>,
    /// Of members of a ring: without calls within it.
    exits: HashMap<u32, Best>,
    /// Functions whose figure is a lower bound.
    open: BTreeSet<u32>,
    pub(super) rings: Vec<Ring>,
}

impl Worst {
    pub(super) fn new(graph: &Graph, resolved: &Resolved) -> Worst {
        let mut worst = Worst { edges: edges(graph, resolved), ..Worst::default() };
        for component in components(&worst.edges) {
            worst.component(graph, resolved, component);
        }
        worst
    }

    /// Bytes, or at least so many.
    pub(super) fn bytes(&self, function: u32) -> u64 {
        self.best.get(&function).map_or(0, |best| best.bytes)
    }

    /// Whether the figure is a lower bound only.
    pub(super) fn is_open(&self, function: u32) -> bool {
        self.open.contains(&function) || !self.best.contains_key(&function)
    }

    /// Whether a figure of a function that calls a certain one, or a pointer if there is none to
    /// name, is a lower bound for another reason than this call.
    pub(super) fn is_open_beside(
        &self,
        graph: &Graph,
        resolved: &Resolved,
        function: u32,
        callee: Option<u32>,
    ) -> bool {
        let edges = || self.edges.get(&function).into_iter().flatten();
        let is_direct = callee.is_some_and(|callee| edges().any(|edge| edge.to == callee));
        let is_ring = self.rings.iter().any(|ring| ring.members.contains(&function));
        let unknown = unknown(graph, resolved, function).len();
        unknown > usize::from(!is_direct)
            || grows(graph, resolved, function)
            || is_ring && self.is_open(function)
            || edges().any(|edge| Some(edge.to) != callee && self.is_open(edge.to))
    }

    /// What a function reaches, itself included.
    pub(super) fn reached(&self, function: u32) -> BTreeSet<u32> {
        let mut seen = BTreeSet::from([function]);
        let mut work = vec![function];
        while let Some(at) = work.pop() {
            for edge in self.edges.get(&at).into_iter().flatten() {
                if seen.insert(edge.to) {
                    work.push(edge.to);
                }
            }
        }
        seen
    }

    /// The deepest chain, outermost first; the bytes add up to the figure.
    pub(super) fn chain(&self, function: u32) -> Vec<Link> {
        let mut chain = Vec::new();
        let mut at = function;
        let mut next = self.best.get(&at);
        // Every step leads to another component or out of the one that it is in.
        while let Some(best) = next.filter(|_| chain.len() <= 2 * self.best.len()) {
            let (bytes, is_ring) = match best.via {
                Via::Own => (best.bytes, false),
                Via::Call(edge) => (edge.bytes, false),
                Via::Ring { bytes, .. } => (bytes, bytes > 0),
            };
            chain.push(Link { function: at, bytes, is_ring });
            (at, next) = match best.via {
                Via::Own => return chain,
                Via::Call(edge) => (edge.to, self.best.get(&edge.to)),
                Via::Ring { exit, .. } => (exit, self.exits.get(&exit)),
            };
        }
        chain
    }

    fn component(&mut self, graph: &Graph, resolved: &Resolved, component: Vec<u32>) {
        let members: BTreeSet<u32> = component.iter().copied().collect();
        let calls_itself = |at: &u32| self.edges[at].iter().any(|edge| edge.to == *at);
        let is_ring = component.len() > 1 || component.iter().any(calls_itself);
        let mut is_open = false;
        for at in &component {
            let Some(function) = graph.functions.get(at) else { continue };
            let mut best = Best { bytes: u64::from(function.deepest), via: Via::Own };
            for edge in self.edges[at].iter().filter(|edge| !members.contains(&edge.to)) {
                is_open |= self.is_open(edge.to);
                let bytes = edge.bytes.saturating_add(self.bytes(edge.to));
                if bytes > best.bytes {
                    best = Best { bytes, via: Via::Call(*edge) };
                }
            }
            is_open |= !unknown(graph, resolved, *at).is_empty() || grows(graph, resolved, *at);
            self.exits.insert(*at, best);
        }
        if is_ring {
            is_open |= !self.ring(resolved, &component, &members);
        } else {
            let exits = &self.exits;
            self.best.extend(component.iter().filter_map(|at| Some((*at, *exits.get(at)?))));
        }
        if is_open {
            self.open.extend(members);
        }
    }

    /// The figures of a ring's members; whether annotations bound it.
    fn ring(&mut self, resolved: &Resolved, component: &[u32], members: &BTreeSet<u32>) -> bool {
        let within: BTreeMap<u32, Vec<Edge>> = component
            .iter()
            .map(|at| {
                let edges = self.edges.get(at).into_iter().flatten();
                (*at, edges.filter(|edge| members.contains(&edge.to)).copied().collect())
            })
            .collect();
        if within.values().flatten().all(|edge| edge.bytes == 0) {
            // Jumps among parts of a loop: nothing grows.
            let exit = within.keys().max_by_key(|at| self.exits[at].bytes).copied();
            for at in within.keys() {
                let exit = exit.unwrap_or(*at);
                let via = Via::Ring { bytes: 0, exit };
                self.best.insert(*at, Best { bytes: self.exits[&exit].bytes, via });
            }
            return true;
        }
        let counted = |at: &u32| resolved.recursion.get(at).map(|(_, times)| u64::from(*times));
        let rest: BTreeMap<u32, Vec<Edge>> = within
            .iter()
            .map(|(at, edges)| {
                (*at, if counted(at).is_some() { Vec::new() } else { edges.clone() })
            })
            .collect();
        let order = components(&rest);
        let cuts = |c: &Vec<u32>| c.len() == 1 && rest[&c[0]].iter().all(|e| e.to != c[0]);
        let is_bounded = order.iter().all(cuts);
        let mut sorted = component.to_vec();
        sorted.sort_unstable();
        self.rings.push(Ring { members: sorted, is_bounded });
        if is_bounded {
            self.bounded(&within, &order, &rest, counted);
        } else {
            self.once(&within);
        }
        is_bounded
    }

    /// Every ring goes through counted functions: between two of these, calls go down `rest`, which
    /// has no ring.
    fn bounded(
        &mut self,
        within: &BTreeMap<u32, Vec<Edge>>,
        order: &[Vec<u32>],
        rest: &BTreeMap<u32, Vec<Edge>>,
        counted: impl Fn(&u32) -> Option<u64>,
    ) {
        let mut down: HashMap<u32, u64> = HashMap::new();
        for at in order.iter().flatten() {
            let edges = rest[at].iter();
            let deepest =
                edges.map(|e| e.bytes.saturating_add(down.get(&e.to).copied().unwrap_or(0)));
            down.insert(*at, deepest.max().unwrap_or(0));
        }
        let longest = down.values().copied().max().unwrap_or(0);
        let heads = within.iter().filter(|(at, _)| counted(at).is_some());
        let head = heads.flat_map(|(_, edges)| edges).map(|e| e.bytes).max().unwrap_or(0);
        let times: u64 = within.keys().filter_map(&counted).sum();
        // Where all are counted, the last one active calls none of them.
        let all = within.keys().all(|at| counted(at).is_some());
        let rounds = if all { times.saturating_sub(1) } else { times };
        let around = rounds.saturating_mul(head.saturating_add(longest));
        let Some(exit) = within.keys().max_by_key(|at| self.exits[at].bytes).copied() else {
            return;
        };
        for at in within.keys() {
            let bytes = around.saturating_add(down[at]);
            let best = Best {
                bytes: bytes.saturating_add(self.exits[&exit].bytes),
                via: Via::Ring { bytes, exit },
            };
            self.best.insert(*at, best);
        }
    }

    /// Without a bound: what is certain is the deepest way on which nobody is twice.
    fn once(&mut self, within: &BTreeMap<u32, Vec<Edge>>) {
        let mut done: HashMap<u32, Best> = HashMap::new();
        let mut on_path = BTreeSet::new();
        for root in within.keys() {
            let mut path: Vec<(u32, usize)> = Vec::new();
            if !done.contains_key(root) {
                path.push((*root, 0));
                on_path.insert(*root);
            }
            while let Some((at, next)) = path.last_mut() {
                if let Some(edge) = within[at].get(*next) {
                    *next += 1;
                    if !done.contains_key(&edge.to) && on_path.insert(edge.to) {
                        path.push((edge.to, 0));
                    }
                    continue;
                }
                let mut best = self.exits[at];
                for edge in &within[at] {
                    let Some(below) = done.get(&edge.to) else { continue };
                    let bytes = edge.bytes.saturating_add(below.bytes);
                    if bytes > best.bytes {
                        best = Best { bytes, via: Via::Call(*edge) };
                    }
                }
                done.insert(*at, best);
                path.pop();
            }
        }
        self.best.extend(done);
    }
}

/// Whether a function takes bytes of the stack by itself that nothing bounds.
fn grows(graph: &Graph, resolved: &Resolved, at: u32) -> bool {
    graph.functions.get(&at).is_some_and(|function| {
        !function.dynamic.is_empty() && !resolved.dynamic.contains_key(&at)
            || !function.unbounded.is_empty()
            || function.is_cut
    })
}

/// The unknown calls of a function that no annotation resolves.
pub(super) fn unknown(graph: &Graph, resolved: &Resolved, at: u32) -> Vec<(u32, Target)> {
    let Some(function) = graph.functions.get(&at) else { return Vec::new() };
    let mut out: Vec<(u32, Target)> = function
        .calls
        .keys()
        .filter(|(site, to, _)| match to {
            Target::Known(to) => !graph.functions.contains_key(to),
            Target::Unknown => {
                !resolved.callers.contains_key(&at) && !resolved.sites.contains_key(site)
            }
        })
        .map(|(site, to, _)| (*site, *to))
        .collect();
    out.dedup();
    out
}

fn edges(graph: &Graph, resolved: &Resolved) -> BTreeMap<u32, Vec<Edge>> {
    let of = |function: &crate::callgraph::Function| {
        let mut edges = Vec::new();
        for ((at, to, is_tail), call) in &function.calls {
            let pushed = if *is_tail { 0 } else { graph.call_bytes };
            let bytes = u64::from(call.depth) + u64::from(pushed);
            let annotated = resolved.sites.get(at).or(resolved.callers.get(&function.start));
            match to {
                Target::Known(to) => edges.push(Edge { to: *to, bytes }),
                Target::Unknown => {
                    let targets = annotated.map(|(_, targets)| targets.as_slice());
                    let targets = targets.unwrap_or_default().iter();
                    edges.extend(targets.map(|to| Edge { to: *to, bytes }));
                }
            }
        }
        // A jump to the reset vector of an AVR starts the program, and its stack, again.
        let restarts = |edge: &Edge| graph.call_bytes > 0 && edge.to == 0;
        edges.retain(|edge| graph.functions.contains_key(&edge.to) && !restarts(edge));
        edges
    };
    graph.functions.iter().map(|(at, function)| (*at, of(function))).collect()
}

/// The strongly connected components, callees before callers.
fn components(edges: &BTreeMap<u32, Vec<Edge>>) -> Vec<Vec<u32>> {
    let mut search = Search::new(edges);
    for root in edges.keys() {
        search.from(*root);
    }
    search.out
}

struct Search<'a> {
    edges: &'a BTreeMap<u32, Vec<Edge>>,
    /// Number and lowest number reachable.
    numbers: HashMap<u32, (usize, usize)>,
    stack: Vec<u32>,
    on_stack: BTreeSet<u32>,
    out: Vec<Vec<u32>>,
}

impl<'a> Search<'a> {
    fn new(edges: &'a BTreeMap<u32, Vec<Edge>>) -> Self {
        Search {
            edges,
            numbers: HashMap::new(),
            stack: Vec::new(),
            on_stack: BTreeSet::new(),
            out: Vec::new(),
        }
    }

    fn open(&mut self, at: u32) {
        let number = self.numbers.len();
        self.numbers.insert(at, (number, number));
        self.stack.push(at);
        self.on_stack.insert(at);
    }

    fn from(&mut self, root: u32) {
        if self.numbers.contains_key(&root) {
            return;
        }
        self.open(root);
        let mut path = vec![(root, 0)];
        while let Some((at, next)) = path.last_mut() {
            let at = *at;
            if let Some(edge) = self.edges[&at].get(*next) {
                *next += 1;
                let to = edge.to;
                if !self.numbers.contains_key(&to) {
                    self.open(to);
                    path.push((to, 0));
                } else if self.on_stack.contains(&to) {
                    let low = self.numbers[&to].0;
                    self.lower(at, low);
                }
                continue;
            }
            path.pop();
            let (number, low) = self.numbers[&at];
            if let Some((caller, _)) = path.last() {
                self.lower(*caller, low);
            }
            if number == low {
                self.close(at);
            }
        }
    }

    fn lower(&mut self, at: u32, to: usize) {
        if let Some((_, low)) = self.numbers.get_mut(&at) {
            *low = (*low).min(to);
        }
    }

    fn close(&mut self, root: u32) {
        let mut component = Vec::new();
        while let Some(member) = self.stack.pop() {
            self.on_stack.remove(&member);
            component.push(member);
            if member == root {
                break;
            }
        }
        self.out.push(component);
    }
}
