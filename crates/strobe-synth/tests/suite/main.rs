//! What the builders of test inputs make, read by others.
//!
//! One binary: every further one would link the crates anew.

mod elf;
mod encoder;
mod sequence;
mod wide;
