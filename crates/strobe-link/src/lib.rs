//! The host's ends of links to boards: the one crate with sockets, terminals, serial devices and
//! debug probes.
//!
//! - [`trace`] sets up trace hardware, opens links to its pin, and programs firmware.
//! - [`serial`] and [`network`] are the host's ends of a simulated board's ports and cables.
//!
//! A link brings bytes with notes about losses and knows neither their meaning nor a simulator: a
//! simulated board that is read as a link is handed in as a [`trace::links::Startable`].

pub mod network;
pub mod serial;
pub mod trace;
