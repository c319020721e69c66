//! The crate from outside.

mod simulation;
mod statistics;
