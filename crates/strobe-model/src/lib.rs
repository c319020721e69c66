//! What Stroboscope measures, as plain values.
//!
//! Every instrument (simulated board, trace pin, capture file) ends in a
//! [`Measurement`](measurement::Measurement), and every view, export and comparison starts from
//! one. Beside it there are the causes of cycles and the bounds of modelled figures, which a
//! simulator counts in, and how numbers and units are spelled. Nothing here knows a file, a probe,
//! a clock or a terminal.

mod bounds;
mod cause;
pub mod measurement;
pub mod number;
pub mod spelling;
pub mod visible;

pub use bounds::Bounds;
pub use cause::{Cause, CauseCycles};
