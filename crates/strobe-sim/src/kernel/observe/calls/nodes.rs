//! The nodes of the tree: which functions there are in which chains of callers, and what each has
//! cost.

use super::CallTree;
use crate::kernel::observe::Moment;
use crate::kernel::observe::per_call::Call;
use crate::kernel::observe::schedule::Who;

/// What a node of the tree stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A thread, by its number in [`Threads::all`](crate::kernel::observe::threads::Threads::all);
    /// the first is the code from reset.
    Thread(u32),
    /// A handler and what it calls.
    Exception(u16),
    /// A function, by index into the list given to [`CallTree::new`].
    Function(u32),
    /// Code outside every known function.
    Unknown,
}

/// A node: one function in one chain of callers.
#[derive(Debug, Clone)]
pub struct Node {
    /// What it stands for.
    pub kind: NodeKind,
    /// The caller's node; `None` for threads and exceptions.
    pub parent: Option<u32>,
    /// Times entered.
    pub calls: u64,
    /// Cycles in the function itself, sleep included.
    pub cycles: u64,
    /// Of these, asleep.
    pub asleep: u64,
    /// Instructions of the function itself.
    pub instructions: u64,
    /// The return of an exception has led here, by a frame that its handler made: nothing has
    /// called it.
    pub diverted: bool,
    children: Vec<(NodeKind, u32)>,
    /// The chosen functions that are on the chain up to here.
    pub(super) chosen: u64,
    /// This one, if it is chosen.
    alone: u64,
    /// The same, if it is on the chain above as well.
    nested: u64,
}

/// A call that has been seen: by an instruction, from a node, to an address is a child of the node.
#[derive(Debug, Clone, Copy)]
pub(super) struct CachedStep {
    node: u32,
    from: u32,
    to: u32,
    child: u32,
}

/// Calls that are found at once, whatever their callers; a power of two.
pub(super) const HOPS: usize = 1 << 10;

impl CachedStep {
    /// No instruction is there: where handlers are called from.
    pub(super) const NOWHERE: u32 = u32::MAX;
    /// No node has this number.
    pub(super) const UNSEEN: CachedStep = CachedStep { node: u32::MAX, from: 0, to: 0, child: 0 };
}

/// A bound on memory: wider trees are cut and counted.
const MAX_NODES: usize = 1 << 20;

impl CallTree {
    /// The nodes; parents come before their children.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Whose chain a node is part of.
    pub fn owner(&self, node: u32) -> Who {
        let mut at = node as usize;
        loop {
            match self.nodes[at].kind {
                NodeKind::Thread(thread) => return Who::Thread(thread),
                NodeKind::Exception(exception) => return Who::Handler(exception),
                NodeKind::Function(_) | NodeKind::Unknown => match self.nodes[at].parent {
                    Some(parent) => at = parent as usize,
                    None => return Who::Thread(0),
                },
            }
        }
    }

    #[inline(always)]
    pub(super) fn charge(&mut self, now: Moment) {
        if self.active {
            if self.turn.is_open() {
                self.turn.visit(self.running.current, &self.nodes[self.running.current as usize]);
            }
            let node = &mut self.nodes[self.running.current as usize];
            node.cycles += now.cycle - self.last_cycle;
            node.asleep += now.asleep - self.last_asleep;
            node.instructions += now.instructions - self.last_instruction;
            self.running.opened.charge(now.cycle - self.last_cycle, node.alone);
        }
        self.last_cycle = now.cycle;
        self.last_asleep = now.asleep;
        self.last_instruction = now.instructions;
    }

    pub(super) fn kind_at(&mut self, address: u32) -> NodeKind {
        match *self.function_at.at(address & !1) {
            0 => NodeKind::Unknown,
            index => NodeKind::Function(index - 1),
        }
    }

    pub(super) fn child(&mut self, parent: u32, kind: NodeKind) -> u32 {
        let siblings = &self.nodes[parent as usize].children;
        if let Some(&(_, id)) = siblings.iter().find(|(k, _)| *k == kind) {
            return id;
        }
        if self.nodes.len() >= MAX_NODES {
            self.cut += 1;
            return parent;
        }
        let id = self.add_node(kind, Some(parent));
        self.nodes[parent as usize].children.push((kind, id));
        id
    }

    pub(super) fn add_node(&mut self, kind: NodeKind, parent: Option<u32>) -> u32 {
        let id = self.nodes.len() as u32;
        let alone = match kind {
            NodeKind::Function(function) => self.chosen.bit(function),
            _ => 0,
        };
        let above = parent.map_or(0, |parent| self.nodes[parent as usize].chosen);
        self.nodes.push(Node {
            kind,
            parent,
            calls: 0,
            cycles: 0,
            asleep: 0,
            instructions: 0,
            diverted: false,
            children: Vec::new(),
            chosen: above | alone,
            alone,
            nested: above & alone,
        });
        id
    }

    pub(super) fn enter(&mut self, parent: u32, kind: NodeKind) {
        let child = self.child(parent, kind);
        self.entered(child);
    }

    #[inline(always)]
    pub(super) fn entered(&mut self, child: u32) {
        self.running.current = child;
        if self.active {
            if self.turn.is_open() {
                self.turn.visit(child, &self.nodes[child as usize]);
            }
            let node = &mut self.nodes[child as usize];
            node.calls += 1;
            if node.alone != 0 {
                let nested = node.nested | node.alone & self.running.opened.jumped();
                self.chosen.nested(nested);
            }
        }
    }

    /// The node of what is called at an address from a node, by an instruction.
    #[inline(always)]
    pub(super) fn callee(&mut self, node: u32, from: u32, to: u32) -> u32 {
        let hop = &self.hops[hop(node, from, to)];
        if hop.node == node && hop.from == from && hop.to == to {
            return hop.child;
        }
        self.find_callee(node, from, to)
    }

    #[cold]
    fn find_callee(&mut self, node: u32, from: u32, to: u32) -> u32 {
        self.note(from, to);
        let (kind, cut) = (self.kind_at(to), self.cut);
        let child = self.child(node, kind);
        // Each one that is cut is counted.
        if self.cut == cut {
            self.hops[hop(node, from, to)] = CachedStep { node, from, to, child };
        }
        child
    }

    /// Notes where a call or a jump by a pointer has led.
    pub(super) fn note(&mut self, from: u32, to: u32) {
        let before = *self.sites.entry(from).or_insert(Some(to));
        if before != Some(to) {
            self.sites.insert(from, None);
        }
    }

    /// The core has come to another node, from an address: calls of chosen functions begin or end.
    #[inline]
    pub(super) fn follow(&mut self, now: Moment, from: u32) {
        self.follow_in(now, from, 0);
    }

    /// The same with the cycles that the way in took, which are the call's own.
    #[inline]
    pub(super) fn follow_in(&mut self, now: Moment, from: u32, way_in: u64) {
        let jumped = self.running.opened.returned(self.running.frames.len());
        let mask = self.nodes[self.running.current as usize].chosen | jumped;
        let (node, begin) = (self.running.current, now.cycle);
        let call = Call { begin, from, node, with_callees: 0, alone: 0, elapsed: way_in };
        self.chosen.follow(&mut self.running.opened, mask, call);
    }
}

/// Where a call from a node, by an instruction, to an address is among the hops.
#[inline]
fn hop(node: u32, from: u32, to: u32) -> usize {
    let at = (from >> 1).wrapping_mul(5) ^ to >> 1;
    (node.wrapping_mul(0x9e37_79b1) ^ at) as usize % HOPS
}
