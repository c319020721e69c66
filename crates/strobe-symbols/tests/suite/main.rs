//! The crate's API tested against LLVM and with hand-made ELF files: damage, unwinding,
//! disassembly.
//!
//! One binary: every further one would link the crates again.

mod agreement;
mod avr;
mod bad_input;
mod common;
mod detail;
mod disassembly;
mod hex;
mod pathological;
mod symbols;
mod types;
mod unwinding;
