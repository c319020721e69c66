//! What the tests share: firmware built on the spot by the real compilers, and `llvm-symbolizer` as the judge.

// Each test binary uses a different part of this.
#![allow(dead_code)]

pub(crate) mod build;
pub(crate) mod discarded;
pub(crate) mod exercise;
pub(crate) mod handmade;
pub(crate) mod judge;
