//! AVR cores: AVRe and AVRe+, with program counters of 16 and 22 bits.
//!
//! Addresses are those of avr-gcc's ELF files: program memory from 0, data space from [`DATA`].
//! Registers 0 to 31, the stack pointer, the status register, RAMPZ and EIND belong to the core
//! although they lie in the data space; everything else below the RAM is devices'. The manual is
//! Microchip's instruction set manual, DS40002198.

mod alu;
mod block;
mod core;
pub mod cpu;
mod driven;
#[cfg(test)]
mod effects_tests;
mod exec;
pub mod fault;
mod flow;
mod interrupt;
mod lean;
mod port;
mod run;
pub mod timing;
mod turns;

pub use strobe_isa::avr::{Architecture, CoreKind};

pub use self::core::{CoreOptions, Machine};
pub use self::fault::{Fault, FaultReport};

/// Why a run stopped.
pub type Stop = crate::kernel::core::Stop<FaultReport>;

/// Where the data space begins, as avr-gcc's ELF files have it.
pub const DATA: u32 = 0x80_0000;

/// Exceptions are numbered as on Arm cores, so that observers need not know which core they see:
/// vector `n` is exception `16 + n`.
pub const FIRST_EXCEPTION: u16 = 16;
