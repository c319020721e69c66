//! The system part of ARMv7-M on small programs: exceptions and what they cost, faults and what
//! they become, memory protection, the debug units.
//!
//! What QEMU models of this is compared with it in the lockstep tests, over random programs; here
//! is what it does not model, and what a firmware's developer sees when it goes wrong.

mod debug;
mod exceptions;
mod faults;
mod program;
mod protection;
mod stops;
mod trace;
