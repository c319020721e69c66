//! Where a run waits busily: loops that do nothing but wait.

use std::ops::Range;

use crate::Bounds;

/// A loop that only waits, or a function that the user calls a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// Function, file and line.
    pub place: String,
    /// Its instructions.
    pub addresses: Range<u32>,
    /// What it waits for, as far as its instructions show.
    pub waits_for: String,
    /// Turns, or calls of the function.
    pub rounds: u64,
    /// Cycles that are not idle already, with those of functions that it calls to look.
    pub cycles: Bounds,
}
