//! The trace hardware of a board: how it is set up, and the links that bring its bytes here.
//!
//! - [`registers`] turns a set-up into writes, for the chips of [`target`].
//! - [`script`] spells them for OpenOCD, GDB and probe-rs.
//! - [`place`] reads the names of sources, and [`links`] opens any of them as it is wanted.
//! - [`link`] is what brings bytes; [`stream`], [`tcp`], [`serial`], [`capture`], [`openocd`] and
//!   [`probe`] are such links, and [`orbflow`] is one around another; [`open`] opens those that
//!   only listen.
//! - [`rtt`] reads a buffer in RAM over a debug port instead of a pin.
//! - [`program`] carries out writes over the last two, and reads them back; [`flash`] programs the
//!   firmware over them.
//!
//! None of this decodes what comes.

pub mod capture;
pub mod flash;
pub mod link;
pub mod links;
pub mod open;
pub mod openocd;
pub mod orbflow;
mod pieces;
pub mod place;
pub mod probe;
#[cfg(feature = "probe")]
pub mod probe_rs;
pub mod program;
pub mod registers;
pub mod rtt;
pub mod script;
#[cfg(unix)]
pub mod serial;
pub mod stream;
pub mod target;
pub mod tcp;
