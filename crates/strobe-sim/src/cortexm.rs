//! Arm cores: Cortex-M0 and Cortex-M0+ (ARMv6-M), Cortex-M3 and Cortex-M4 (ARMv7-M, ARMv7E-M).

mod alu;
pub mod arch;
pub mod block;
mod careful;
mod core;
pub mod cpu;
pub mod decode;
mod decode32;
mod decode_data;
mod decode_fp;
mod decode_mem;
mod decode_mul;
mod exception;
mod exec;
mod exec_branch;
mod exec_data;
mod exec_dsp;
mod exec_fp;
mod exec_mem;
mod fast;
pub mod fault;
pub mod fp;
mod fp_convert;
pub mod insn;
mod irregular;
mod jit;
pub mod op;
mod run;
mod special;
pub mod system;
pub mod timing;
mod timing_v7m;

pub use self::arch::Architecture;
pub use self::core::{CoreOptions, Machine};
pub use self::fault::{Fault, FaultReport};
pub use self::run::Stop;
