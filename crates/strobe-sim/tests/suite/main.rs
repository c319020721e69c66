//! The simulated cores from outside: lockstep with QEMU, cycles against the manuals, the system
//! part.
//!
//! One binary: every further one would link the crates anew.

mod lockstep;
mod system;
mod timing;
