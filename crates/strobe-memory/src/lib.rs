//! What an image alone says about memory: what fills flash and RAM.
//!
//! [`size`] gives every byte of every loaded segment to exactly one holder and ends in a
//! measurement. It reads no file: the caller brings the firmware, and, where there is one, the
//! linker's map.

pub mod size;
