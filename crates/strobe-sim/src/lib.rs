//! Simulated boards, cycle by cycle: cores, timing, bus, devices, observers.
//!
//! The crate runs firmware images given as bytes at load addresses. It knows neither ELF files nor symbols
//! nor reports: what it sees goes to observers as plain values.

pub mod avr;
pub mod board;
pub mod bus;
pub mod clock;
pub mod cortexm;
pub mod device;
pub mod flash;
pub mod machine;
pub mod memory;
pub mod observe;
pub mod semihost;
pub mod signal;
pub mod svd;
pub mod unmodelled;
pub mod warnings;
