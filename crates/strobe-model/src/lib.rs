//! What Stroboscope measures, as plain values.
//!
//! Every instrument (simulated board, trace pin, capture file) ends in a
//! [`Measurement`](measurement::Measurement), and every view, export and comparison starts from
//! one. What instruments collect until then are types of their own: a [`Record`] of code that ran,
//! [`EventsReport`], [`PinsReport`] and others. None of them knows a file, probe, clock or
//! terminal.

pub mod against;
mod allocations;
mod bounds;
mod bus;
mod calls;
mod cause;
mod counts;
mod cycles;
mod distribution;
mod events;
mod exception;
mod form;
mod kit;
pub mod measurement;
mod messages;
pub mod number;
mod pins;
mod plan;
mod profile;
mod published;
mod record;
mod rows;
mod scheduling;
pub mod spelling;
mod trace_settings;
mod traced;
mod tree;
pub mod visible;
mod waits;

pub use allocations::*;
pub use bounds::Bounds;
pub use bus::*;
pub use calls::*;
pub use cause::{Cause, CauseCycles};
pub use counts::ValueCounts;
pub use cycles::*;
pub use distribution::{Bin, Distribution, DistributionBounds};
pub use events::*;
pub use exception::exception_name;
pub use kit::*;
pub use messages::*;
pub use pins::*;
pub use plan::*;
pub use profile::{AddressSample, AddressShare, Frame, Function, Place, Profile, Share, TreeNode};
pub use published::*;
pub use record::*;
pub use rows::{By, Called, Row, Spot};
pub use scheduling::*;
pub use trace_settings::*;
pub use traced::*;
pub use tree::NodeSum;
pub use waits::{Until, Wait};
