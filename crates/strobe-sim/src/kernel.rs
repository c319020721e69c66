//! What cores, devices and boards have in common: time, wires, memory, the bus, and what a device,
//! a core and an observer are to it. It knows none of them by name.

pub mod bus;
pub mod clock;
pub mod core;
pub mod device;
pub mod flash;
pub(crate) mod masked;
pub mod memory;
pub mod model;
pub mod observe;
pub mod semihost;
pub mod signal;
pub(crate) mod turns;
pub mod unmodelled;
pub mod warnings;
