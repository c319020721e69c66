//! Instructions of the cores that Stroboscope knows: encodings, operands, effects and flow.
//!
//! A folder for each instruction set. `decode` makes an instruction of its halfwords, and all that
//! reads machine code starts from that value: the simulated cores, call graphs, references, stack
//! frames, waiting loops and cycle counts. Nothing here has a state; a machine that runs the
//! instructions is `strobe-sim`.

pub mod avr;
mod machine;
pub mod thumb;

pub use machine::{Conventions, Machine, Space};

/// Width of an access, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Size {
    /// 8 bits.
    Byte = 1,
    /// 16 bits.
    Half = 2,
    /// 32 bits.
    Word = 4,
}

impl Size {
    /// Bytes.
    #[inline]
    pub fn bytes(self) -> u32 {
        self as u32
    }

    /// All value bits set.
    #[inline]
    pub fn mask(self) -> u32 {
        match self {
            Size::Byte => 0xff,
            Size::Half => 0xffff,
            Size::Word => 0xffff_ffff,
        }
    }
}
