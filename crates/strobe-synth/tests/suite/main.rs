//! Tests of the builders of test inputs with independent readers.
//!
//! One binary: every further one would link the crates again.

mod elf;
mod encoder;
mod sequence;
mod wide;
