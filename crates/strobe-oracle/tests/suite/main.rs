//! The oracles: traces of QEMU, the independent count of cycles.
//!
//! One binary: every further one would link the crates anew.

mod count;
mod trace;
