//! What the tests share; `exercise` and `recording` serve the fuzz targets as well.

pub mod exercise;
pub mod lines;
pub mod recording;
pub mod traces;
