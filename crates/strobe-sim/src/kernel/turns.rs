//! Turns of a loop that are accounted for without being executed.
//!
//! A core records one turn of a loop, proves that the next ones do the same, and skips them: time,
//! counts and counters advance at once, to what they would have been. Here are values that change
//! with each turn, which both cores need.

mod compare;
mod value;

pub(crate) use self::compare::Flags;
pub(crate) use self::value::{Turns, Value};
