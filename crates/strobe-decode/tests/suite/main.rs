//! The decoders from outside: made-up streams, captures and traces, damage, and what other programs read in the same bytes.
//!
//! One binary: every further one would link the crates anew.

mod buses;
mod captures;
mod common;
mod container;
mod ctf;
mod ctf_babeltrace;
mod kit;
mod orbflow;
mod swo;
mod swo_timeline;
