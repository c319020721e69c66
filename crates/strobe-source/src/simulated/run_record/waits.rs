//! Where a run waits busily: loops that do nothing but wait.

use std::ops::Range;

use strobe_model::Bounds;

/// A loop that only waits, or a function that the user calls a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// Function, file and line.
    pub place: String,
    /// Its instructions.
    pub addresses: Range<u32>,
    /// What it waits for, as far as its instructions show.
    pub waits_for: String,
    /// What ends it.
    pub until: Until,
    /// Turns, or calls of the function.
    pub rounds: u64,
    /// Cycles that are not idle already, with those of functions that it calls to look; bounds are
    /// of the share that the loop has of a function which others call as well.
    pub cycles: Bounds,
}

/// What ends a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Only something outside of the core (a flag, a tick, a variable that a handler sets): its
    /// time is that one's and not the core's own.
    Outside,
    /// The loop itself, that has counted: its time is the core's own.
    Counted,
    /// One of the two, and nobody knows which: a flag with a timeout that is counted.
    Either,
}
