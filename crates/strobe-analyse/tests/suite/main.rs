//! The crate from outside.

mod founding;
mod simulation;
mod statistics;
