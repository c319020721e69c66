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
    /// Whether only something outside of the core ends it (a flag, a tick, a variable that a
    /// handler sets), so that its time is that one's and not the core's own. Of a loop that counts
    /// as well nobody knows which of the two has ended it.
    pub outside: bool,
    /// Turns, or calls of the function.
    pub rounds: u64,
    /// Cycles that are not idle already, with those of functions that it calls to look.
    pub cycles: Bounds,
}
