//! Thumb: ARMv6-M (DDI 0419), ARMv7-M and ARMv7E-M with FPv4-SP (DDI 0403).

pub mod access;
pub mod arch;
mod code;
mod conventions;
pub mod decode;
mod effects;
pub mod flow;
pub mod insn;
pub mod op;
pub mod registers;

pub use access::{Access, Address, Transfers};
pub use arch::Architecture;
pub use code::Code;
pub use conventions::CONVENTIONS;
pub use decode::{decode, is_wide};
pub use flow::Flow;
pub use insn::Insn;
pub use registers::Registers;
