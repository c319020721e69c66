//! What Stroboscope measures, as plain values.
//!
//! Every instrument (simulated board, trace pin, capture file) ends in these types, and every view,
//! export and comparison starts from them. They know no file, probe, clock or terminal.

mod bounds;
mod cause;

pub use bounds::Bounds;
pub use cause::{Cause, CauseCycles};
