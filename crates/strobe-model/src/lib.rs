//! What Stroboscope measures, as plain values.
//!
//! Every instrument (simulated board, trace pin, capture file) ends in a [`Record`], and every view,
//! export and comparison starts from one. The types here know no file, probe, clock or terminal.

mod balance;
mod bounds;
mod cause;
mod profile;
mod record;

pub use balance::{Balance, Parts, Unbalanced};
pub use bounds::Bounds;
pub use cause::{Cause, CauseCycles};
pub use profile::{AddressSample, By, Frame, Function, Place, Profile, Row, TreeNode};
pub use record::*;
