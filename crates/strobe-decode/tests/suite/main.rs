//! The decoders from outside: synthetic streams, captures and traces, damage, and comparisons with
//! other programs.
//!
//! One binary: every further one would link the crates again.

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
mod trace_settings;
