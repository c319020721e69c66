//! Sources from outside: the simulated pin, events of archives, trace plans.
//!
//! One binary: every further one would link the crates anew.

mod archive_events;
mod heap;
mod heap_sampling;
mod heap_shapes;
mod measurement;
mod models;
mod swo;
mod trace_plan;
mod unwinding;
mod waits;
