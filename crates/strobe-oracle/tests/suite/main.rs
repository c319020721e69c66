//! The oracles: traces of QEMU, the independent count of cycles.
//!
//! One binary: every further one would link the crates again.

mod count;
mod trace;
