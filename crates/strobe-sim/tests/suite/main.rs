//! The simulated boards from outside: lockstep with QEMU and simavr, cycles against the manuals,
//! the system part, board files.
//!
//! One binary: every further one would link the crates anew.

mod avr_lockstep;
mod avr_waits;
mod board_files;
mod calls;
mod common;
mod compiled;
mod lockstep;
mod stack_marks;
mod system;
mod timing;
mod traced;
mod waits;
