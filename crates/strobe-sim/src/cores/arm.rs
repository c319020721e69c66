//! Arm cores: Cortex-M0 and Cortex-M0+ (ARMv6-M), Cortex-M3 and Cortex-M4 (ARMv7-M, ARMv7E-M).

mod alu;
mod bit_band;
pub mod block;
mod careful;
mod core;
pub mod cpu;
mod debug;
mod driven;
#[cfg(test)]
mod effects_tests;
mod exception;
mod exec;
mod exec_branch;
mod exec_data;
mod exec_dsp;
mod exec_fp;
mod exec_mem;
mod fast;
pub mod fault;
pub mod fault_status;
pub mod fp;
mod fp_convert;
mod frame;
mod guard;
mod ids;
mod irregular;
#[cfg(feature = "compiler")]
mod jit;
#[cfg(not(feature = "compiler"))]
#[path = "arm/jit/without.rs"]
mod jit;
mod mpu;
pub mod neighbours;
mod nvic;
mod port;
mod raise;
mod report;
mod residual;
mod run;
mod several;
mod special;
mod stack_source;
pub mod system;
mod systick;
pub mod timing;
mod timing_v7m;
mod trace;
mod turns;

pub use strobe_isa::thumb::Architecture;

pub use self::core::{CoreOptions, Machine, TraceGate};
pub use self::fault::{Fault, FaultAccess, FaultReport, HandledFault};
pub use self::fault_status::FaultStatus;
pub use self::mpu::Purpose;
pub use self::residual::Residual;
pub use self::run::Stop;
pub use self::trace::{Coding, Depths};
