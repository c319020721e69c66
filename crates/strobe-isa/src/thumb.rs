//! Thumb: ARMv6-M (DDI 0419), ARMv7-M and ARMv7E-M with FPv4-SP (DDI 0403).

pub mod arch;
pub mod decode;
pub mod insn;
pub mod op;

pub use arch::Architecture;
pub use decode::{decode, is_wide};
pub use insn::Insn;
