//! Simulated cores, cycle by cycle: execution, timing, bus, clocks, observers.
//!
//! The crate runs firmware images given as bytes at load addresses. It knows neither ELF files nor
//! symbols nor reports: what it sees goes to observers as plain values. It has no model of a
//! peripheral and no board: those are in `strobe-devices`, which builds a bus with devices on it.
//!
//! Its folders are layers, and imports lead down only: [`kernel`], and `cores` on it. Inside the
//! crate everything is imported from its layer; the other names below are for callers.

pub mod cores;
pub mod kernel;

pub use self::cores::{arm as cortexm, avr};
pub use self::kernel::{
    bus, clock, device, flash, memory, model, observe, semihost, signal, unmodelled, warnings,
};
