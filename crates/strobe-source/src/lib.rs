//! Where measurements come from: each source runs or reads something and ends in a
//! [`Record`](strobe_model::Record).
//!
//! There are the simulated board and the trace pin. Sources know nothing of reports.

pub mod cycles;
mod names;
pub mod network;
pub mod serial;
pub mod simulated;
pub mod traced;
