//! AVR: AVRe and AVRe+ (Microchip's instruction set manual, DS40002198).
//!
//! Addresses of code are in bytes.

pub mod arch;
mod conventions;
pub mod decode;
mod effects;
pub mod insn;

pub use arch::{Architecture, CoreKind};
pub use conventions::CONVENTIONS;
pub use decode::decode;
pub use effects::{Access, Flow, Place, Registers};
pub use insn::Insn;
