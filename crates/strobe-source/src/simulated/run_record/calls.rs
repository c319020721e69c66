//! What single calls of functions and single windows of a run took, where sums are not enough.

use crate::simulated::run_record::SimTime;
use strobe_model::measurement::Spread;

/// The calls of a function, each from entry to return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionCalls {
    /// The function.
    pub name: String,
    /// Cycles of each whole call with its callees, without handlers and other threads. A call from
    /// within a call of the same function is part of the outermost one. A function that it jumps
    /// on to, and that returns in its place, is a callee.
    pub with_callees: Spread,
    /// Of these, in the function itself.
    pub alone: Spread,
    /// Cycles from entry to return, handlers and other threads included.
    pub elapsed: Spread,
    /// The call with the most cycles with callees.
    pub worst: Option<WorstCall>,
    /// Calls from within a call of the same function.
    pub nested: u64,
    /// Calls that ended in a jump to another function, which returns in their place.
    pub tails: u64,
    /// Calls that were under way when measuring began or ended.
    pub parts: u64,
    /// Cycles of these inside measuring, with callees.
    pub part_cycles: u64,
}

/// The worst call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorstCall {
    /// Its entry.
    pub at: SimTime,
    /// Cycles with callees.
    pub with_callees: u64,
    /// Cycles in the function itself.
    pub alone: u64,
    /// Cycles from entry to return.
    pub elapsed: u64,
    /// Where it was called from, or the thread or exception whose first function it was.
    pub caller: String,
}

/// How long the windows of a run were.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Windows {
    /// Cycles of each.
    pub cycles: Spread,
    /// When the longest began.
    pub longest: Option<SimTime>,
    /// Cycles of the one that was open at the end of the run, which is in no figure above.
    pub part: Option<u64>,
    /// How often the place where a window begins was reached while one was open.
    pub reopened: u64,
    /// How often the place where a window ends was reached while none was open.
    pub closed_again: u64,
}

impl Windows {
    /// Takes a window in, which began at a moment and took so many cycles.
    pub fn add(&mut self, cycles: u64, began: SimTime) {
        if self.cycles.max().is_none_or(|longest| longest < cycles) {
            self.longest = Some(began);
        }
        self.cycles.add(cycles);
    }
}
