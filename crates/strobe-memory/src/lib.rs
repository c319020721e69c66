//! What an image alone shows of memory: what fills flash and RAM, how deep stacks can get.
//!
//! [`size`] gives every byte of every loaded segment to exactly one holder, [`stack`] finds the
//! worst case of every stack; each ends in a measurement. They read no file: the caller brings the
//! firmware, and, where there is one, the linker's map or the annotations.

mod callgraph;
mod references;
pub mod size;
pub mod stack;
