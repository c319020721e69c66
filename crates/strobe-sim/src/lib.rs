//! Simulated boards, cycle by cycle: cores, timing, bus, devices, observers.
//!
//! The crate runs firmware images given as bytes at load addresses. It knows neither ELF files nor
//! symbols nor reports: what it sees goes to observers as plain values.
//!
//! Its folders are layers, and imports lead down only: [`kernel`], on it `cores` and `devices`,
//! which do not know each other, on them `boards`, and [`machine`] on top. Inside the crate
//! everything is imported from its layer; the other names below are for callers.

pub mod boards;
pub mod cores;
pub(crate) mod devices;
pub mod kernel;
pub mod machine;
#[cfg(test)]
pub(crate) mod rig;

pub use self::boards as board;
pub use self::boards::svd;
pub use self::cores::{arm as cortexm, avr};
pub use self::kernel::{
    bus, clock, device, flash, memory, model, observe, semihost, signal, unmodelled, warnings,
};
