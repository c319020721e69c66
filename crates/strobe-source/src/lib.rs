//! Where measurements come from: each source runs or reads something and ends in a
//! [`Measurement`](strobe_model::measurement::Measurement).
//!
//! - `simulated` runs firmware on a simulated board: profiles, pins, heap, benchmarks, rigs.
//! - `cycles` works out what each instruction of a function takes.
//! - [`trace`] plans what a trace pin carries, opens links to one, and programs firmware.
//! - [`traced`] adds up what a trace pin or the firmware's kit has sent.
//! - [`archive`] gives meaning to events and samples that others recorded.
//! - [`defmt`], [`serial`] and [`network`] are the host's ends of messages, ports and cables.
//!
//! The first two are there with the feature `simulator`. No source knows views or exports.

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
pub mod network;
pub mod serial;
#[cfg(feature = "simulator")]
pub mod simulated;
pub mod trace;
pub mod traced;

pub use attach::{Attach, attach};
