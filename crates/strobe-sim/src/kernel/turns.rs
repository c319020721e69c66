//! Turns of a loop that are accounted for without being executed.
//!
//! A core records one turn of a loop, proves that the next ones do the same, and skips them: time,
//! counts and counters advance at once, to what they would have been. Here is what that needs and no
//! core knows better: values that change with each turn.

mod compare;
mod value;

pub(crate) use self::compare::Flags;
pub(crate) use self::value::{Turns, Value};
