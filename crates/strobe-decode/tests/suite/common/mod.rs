//! Shared parts of the tests; the fuzz targets use `exercise` and `recording` too.

pub mod exercise;
pub mod lines;
pub mod recording;
pub mod traces;
