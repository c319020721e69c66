//! Where measurements come from: each source runs or reads something and ends in a
//! [`Record`](strobe_model::Record).
//!
//! For now there is one: the simulated board. Sources know nothing of reports.

pub mod cycles;
pub mod network;
pub mod serial;
pub mod simulated;
pub mod trace;
