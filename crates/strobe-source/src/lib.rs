//! Where measurements come from: each source runs or reads something and ends in a
//! [`Measurement`](strobe_model::measurement::Measurement).
//!
//! - `simulated` runs firmware on a simulated board: profiles, pins, heap, benchmarks, rigs.
//! - `cycles` works out what each instruction of a function takes.
//! - [`plan`] works out what a trace pin can carry.
//! - [`traced`] adds up what a trace pin or the firmware's kit has sent.
//! - [`archive`] gives meaning to events and samples that others recorded.
//! - [`defmt`] is the host's end of messages.
//!
//! The first two are there with the feature `simulator`. No source knows views or exports, or opens
//! anything: bytes of boards come over the links of `strobe-link`.

pub mod archive;
mod attach;
mod code_profile;
#[cfg(feature = "simulator")]
pub mod cycles;
pub mod defmt;
mod exception;
mod growth;
mod measuring;
mod names;
pub mod plan;
#[cfg(feature = "simulator")]
pub mod simulated;
pub mod traced;

pub use attach::{Attach, attach};
