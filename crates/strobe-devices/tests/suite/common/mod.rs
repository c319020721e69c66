//! What the tests share, some of it with the fuzz targets.

pub mod exercise_board;
