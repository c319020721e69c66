//! Operands of ARMv7-M instructions that are more than a register number (ARMv7-M Architecture
//! Reference Manual, DDI 0403, A5.3): which operation, shift, width, index form.
//!
//! Each fits one byte, so that an instruction stays at eight.

use crate::Size;

/// Data processing with two operands (A5.3.1, A5.3.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // The manual's mnemonics.
pub enum DataOp {
    And,
    Bic,
    Orr,
    Orn,
    Eor,
    Add,
    Adc,
    Sbc,
    Sub,
    Rsb,
    Mov,
    Mvn,
    Tst,
    Teq,
    Cmn,
    Cmp,
}

/// Shifts of a register operand (A7.4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Shift {
    /// Left, by 0 to 31.
    Lsl,
    /// Right with zeros, by 1 to 32.
    Lsr,
    /// Right with the sign, by 1 to 32.
    Asr,
    /// Around, by 1 to 31.
    Ror,
    /// Right by one, the carry coming in.
    Rrx,
}

/// What a load or store transfers; the signed ones are loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Width {
    /// 32 bits.
    Word,
    /// 16 bits, zero extended.
    Half,
    /// 8 bits, zero extended.
    Byte,
    /// 16 bits, sign extended.
    SignedHalf,
    /// 8 bits, sign extended.
    SignedByte,
}

impl Width {
    /// What is transferred.
    #[inline]
    pub fn size(self) -> Size {
        match self {
            Width::Word => Size::Word,
            Width::Half | Width::SignedHalf => Size::Half,
            Width::Byte | Width::SignedByte => Size::Byte,
        }
    }

    /// A value that was loaded, with its sign or zeros in front.
    #[inline]
    pub fn extend(self, value: u32) -> u32 {
        match self {
            Width::SignedHalf => value as i16 as u32,
            Width::SignedByte => value as i8 as u32,
            _ => value,
        }
    }
}

impl From<Size> for Width {
    fn from(size: Size) -> Width {
        match size {
            Size::Word => Width::Word,
            Size::Half => Width::Half,
            Size::Byte => Width::Byte,
        }
    }
}

/// How an immediate offset is applied (A4.6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Index {
    /// Added; the base stays.
    Offset,
    /// Added, and the sum is the new base.
    Pre,
    /// The base is the address, the sum the new base.
    Post,
}

/// A load or store of several registers: which way it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Direction {
    /// Upwards from the base (IA).
    Up,
    /// Below the base (DB).
    Down,
}

/// Multiplications with a 64-bit result (A5.3.17); the DSP ones come last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // The manual's mnemonics.
pub enum LongOp {
    Smull,
    Umull,
    Smlal,
    Umlal,
    Umaal,
    Smlalbb,
    Smlalbt,
    Smlaltb,
    Smlaltt,
    Smlald,
    Smlaldx,
    Smlsld,
    Smlsldx,
}

/// Adding and subtracting bytes or halfwords in parallel: which lanes (A5.3.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // The manual's mnemonics, without their prefixes.
pub enum Lanes {
    Add16,
    Asx,
    Sax,
    Sub16,
    Add8,
    Sub8,
}

/// What parallel arithmetic makes of each lane's result: the mnemonic's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum LaneResult {
    /// S: signed, wrapping, setting GE.
    Signed,
    /// Q: signed, saturating.
    SignedSaturating,
    /// SH: signed, halved.
    SignedHalving,
    /// U: unsigned, wrapping, setting GE.
    Unsigned,
    /// UQ: unsigned, saturating.
    UnsignedSaturating,
    /// UH: unsigned, halved.
    UnsignedHalving,
}

/// QADD and its kin (A5.3.15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // The manual's mnemonics.
pub enum SaturatingOp {
    Qadd,
    Qdadd,
    Qsub,
    Qdsub,
}

/// Sign or zero extension of bytes or halfwords (A5.3.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // The manual's mnemonics.
pub enum Extension {
    Sxth,
    Uxth,
    Sxtb16,
    Uxtb16,
    Sxtb,
    Uxtb,
}

/// Operations on singles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // The manual's mnemonics, without the V.
pub enum FpOp {
    Mla,
    Mls,
    Nmla,
    Nmls,
    Mul,
    Nmul,
    Add,
    Sub,
    Div,
    Fma,
    Fms,
    Fnma,
    Fnms,
    Mov,
    Abs,
    Neg,
    Sqrt,
    Cmp,
    CmpE,
    CmpZero,
    CmpEZero,
}

/// Conversions from one register to another (VCVT, VCVTR, VCVTB, VCVTT).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
// Named after what they convert; "rounded" ones use FPSCR's mode, not towards zero.
#[allow(missing_docs)]
pub enum Conversion {
    HalfBottomToSingle,
    HalfTopToSingle,
    SingleToHalfBottom,
    SingleToHalfTop,
    UnsignedToSingle,
    SignedToSingle,
    SingleToUnsigned,
    SingleToSigned,
    SingleToUnsignedRounded,
    SingleToSignedRounded,
}
