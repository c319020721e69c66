//! The trace pin of simulated boards, from the registers to the decoded packets, held against the
//! exact profile of the same run.

pub(crate) mod bench;
mod lossless;
mod saturated;
mod shares;
