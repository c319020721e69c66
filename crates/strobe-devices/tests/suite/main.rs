//! The simulated boards from outside: lockstep with simavr, compiled code and skipped waits against
//! plain execution, what boards report to the host, board files.
//!
//! One binary: every further one would link the crates anew.

mod avr_core;
mod avr_lockstep;
mod avr_waits;
mod board_files;
mod calls;
mod common;
mod compiled;
mod flash_waits;
mod host;
mod registers;
mod stack_marks;
mod traced;
mod waits;
