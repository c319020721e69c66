//! Symbols from outside: against LLVM and hand-made ELF files, damage, unwinding, disassembly.
//!
//! One binary: every further one would link the crates anew.

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
