//! Shared parts of the tests: programs built at test time, hand-made files, reference tools; the
//! fuzz targets use `exercise`, `hex` and `window` too.

pub(crate) mod build;
pub(crate) mod discarded;
pub(crate) mod exercise;
pub(crate) mod handmade;
pub(crate) mod hex;
pub(crate) mod judge;
pub(crate) mod window;
