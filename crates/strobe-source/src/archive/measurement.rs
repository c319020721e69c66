//! Archives as measurements: traces of events, texts of allocations, samples with a profile that
//! was published of them.

mod activity;
mod allocations;
mod calls;
mod events;
mod heap;
mod memory;
mod missing;
mod published;
#[cfg(test)]
mod tests;

pub use allocations::allocations;
pub use events::{events, events_with_timeline};
pub(crate) use heap::{Callers, HeapView};
pub use published::published;
