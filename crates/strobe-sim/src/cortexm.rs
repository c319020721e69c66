//! ARMv6-M cores: Cortex-M0 and Cortex-M0+.

mod alu;
pub mod block;
mod careful;
mod core;
pub mod cpu;
pub mod decode;
mod exception;
mod exec;
mod fast;
pub mod fault;
pub mod insn;
mod jit;
mod run;
pub mod system;
pub mod timing;

pub use self::core::{CoreOptions, Machine};
pub use self::fault::{Fault, FaultReport};
pub use self::run::Stop;
