//! Reports for people: aligned text.
//!
//! [`measurement`] writes any measurement, [`top`] a recording while it grows.

pub(crate) mod layout;
mod top;

pub use crate::view::{Selection, Tree, measurement};
pub use top::{Top, top};
