//! The trace hardware of a real board: how it is set up, what its pin can carry, and the links that bring its bytes here.
//!
//! - [`plan`] says what a set-up needs and what the pin has.
//! - [`registers`] turns a set-up into writes, for the chips of [`target`].
//! - [`script`] spells them for OpenOCD, GDB and probe-rs.
//! - [`link`] is what brings bytes; [`stream`], [`tcp`], [`serial`] and [`capture`] are such links.
//!
//! None of this decodes what comes.

pub mod capture;
pub mod link;
mod orbflow;
pub mod plan;
pub mod registers;
pub mod script;
#[cfg(unix)]
pub mod serial;
pub mod stream;
pub mod target;
pub mod tcp;
