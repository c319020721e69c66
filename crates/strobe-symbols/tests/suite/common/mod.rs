//! What the tests share: programs built at test time, hand-made files, judges; `exercise` and `hex` serve the fuzz targets as well.

pub(crate) mod build;
pub(crate) mod discarded;
pub(crate) mod exercise;
pub(crate) mod handmade;
pub(crate) mod hex;
pub(crate) mod judge;
