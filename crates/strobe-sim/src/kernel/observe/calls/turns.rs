//! Turns of a loop that are not executed: what the calls of one turn have cost, so many times more.
//!
//! Only nodes change from turn to turn: a turn that leaves something else behind (a call that is
//! still open, a log of allocations, another thread) cannot be repeated.

use super::{CallTree, Node};
use crate::kernel::observe::Moment;

/// Nodes of a turn that are kept; loops that wait call few functions.
const MAX_VISITED: usize = 64;

/// What a node had cost when the turn first came to it.
#[derive(Debug, Clone, Copy)]
struct Visited {
    node: u32,
    calls: u64,
    cycles: u64,
    asleep: u64,
    instructions: u64,
}

/// What a turn that can be repeated leaves as it was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct State {
    current: u32,
    open_calls: usize,
    cut_calls: u64,
    sites: usize,
    /// Calls of allocators so far.
    allocations: u64,
}

/// The turn under way.
#[derive(Debug, Default)]
pub(super) struct Turn {
    open: bool,
    visited: Vec<Visited>,
    /// The state that a turn must leave as it was.
    begin: State,
}

impl Turn {
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// The turn comes to a node.
    pub(super) fn visit(&mut self, number: u32, node: &Node) {
        if self.visited.iter().any(|visited| visited.node == number) {
            return;
        }
        if self.visited.len() == MAX_VISITED {
            self.abandon();
            return;
        }
        let &Node { calls, cycles, asleep, instructions, .. } = node;
        self.visited.push(Visited { node: number, calls, cycles, asleep, instructions });
    }

    /// More happens than can be repeated.
    pub(super) fn abandon(&mut self) {
        self.open = false;
    }
}

impl CallTree {
    pub(super) fn note_turn(&mut self, now: Moment) {
        self.turn.open = false;
        self.charge(now);
        self.turn.visited.clear();
        self.turn.open = true;
        self.turn.begin = self.turn_state();
    }

    fn turn_state(&self) -> State {
        State {
            current: self.running.current,
            open_calls: self.running.frames.len(),
            cut_calls: self.cut,
            sites: self.sites.len(),
            allocations: self.heap.as_ref().map_or(0, |heap| heap.log.begun()),
        }
    }

    /// Whether a turn that has ended can be repeated.
    pub(super) fn close_turn(&mut self, now: Moment) -> bool {
        let is_whole = self.turn.open && self.turn.begin == self.turn_state();
        // Without a transfer nothing has been charged.
        let has_calls = !self.turn.visited.is_empty();
        self.charge(now);
        self.turn.open = false;
        if !has_calls {
            self.turn.visited.clear();
        }
        is_whole && (!has_calls || self.chosen.all.is_empty())
    }

    pub(super) fn multiply_turn(&mut self, times: u64, now: Moment) {
        if self.turn.visited.is_empty() || !self.active {
            // All of it is the running function's, and of the open calls of chosen ones.
            self.charge(now);
            return;
        }
        for before in std::mem::take(&mut self.turn.visited) {
            let node = &mut self.nodes[before.node as usize];
            node.calls += times * (node.calls - before.calls);
            node.cycles += times * (node.cycles - before.cycles);
            node.asleep += times * (node.asleep - before.asleep);
            node.instructions += times * (node.instructions - before.instructions);
        }
        self.last_cycle = now.cycle;
        self.last_asleep = now.asleep;
        self.last_instruction = now.instructions;
    }
}
