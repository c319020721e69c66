//! Simulated boards: models of peripherals, board files, and the machines that are built from them.
//!
//! Cores, bus, clocks and observers are those of `strobe-sim`; its `kernel` states what a device is
//! and its `cores` what a board may have. No ELF file, symbol or report is known here.
//!
//! The modules are layers, and imports lead down only: `devices`, on them [`boards`], and
//! [`machine`] on top.

pub mod boards;
pub(crate) mod devices;
pub mod machine;
#[cfg(test)]
pub(crate) mod rig;

pub use self::boards as board;
pub use self::boards::svd;
