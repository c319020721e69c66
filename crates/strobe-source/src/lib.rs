//! Where measurements come from: each source runs or reads something and ends in a
//! [`Record`](strobe_model::Record).
//!
//! There are the simulated board, the trace pin, and archives of what others recorded, which end in
//! reports of their own. Sources know nothing of reports.

pub mod archive;
mod attach;
#[cfg(feature = "simulator")]
pub mod cycles;
pub mod defmt;
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
