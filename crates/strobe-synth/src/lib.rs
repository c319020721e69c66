//! Builds test inputs: Thumb and AVR instructions, whole instruction sequences, ELF files and
//! signals, valid or deliberately broken.
//!
//! A test that builds its input with the code under test proves nothing, so this crate shares no
//! table and no layout with the simulator's decoder or the ELF reader, and depends on neither. It
//! must not know either side's types.
//!
//! - [`Insn`] encodes every ARMv6-M and ARMv7-M instruction, DSP and floating point included;
//!   [`Insn::form`] names the encoding, so that coverage can be asserted.
//! - [`Assembler`] places instructions, labels and literal pools.
//! - [`Sequence`] generates a seeded, self-contained program which ends by itself, free of
//!   UNPREDICTABLE behaviour.
//! - [`AvrForm`] encodes every AVRe and AVRe+ instruction, [`AvrSequence`] generates programs of
//!   them.
//! - [`ElfBuilder`] writes ELF files, with any field overridden on request.
//! - [`ctf::CtfTrace`] is a trace in Common Trace Format with types and values of all kinds.
//! - [`tracer`] writes event streams in the form of a small tracer, [`archive`] files in the form
//!   of benchmarking tools of 2019.
//! - [`captures`] are sessions of sigrok with a trace pin or an SPI bus.
//! - [`CubeFrame`] is the content of an LED cube, [`card_image`] a memory card with a file on it.
//! - [`UartWave`], [`SpiWave`] and [`I2cWave`] send bytes over lines, with faults on request.
//!
//! ```
//! use strobe_synth::{Options, Sequence};
//!
//! let sequence = Sequence::generate(7, &Options::default());
//! assert_eq!(&sequence.elf()[..4], b"\x7fELF");
//! ```

pub mod archive;
mod asm;
mod avr;
pub mod captures;
pub mod ctf;
mod cube;
mod elf;
mod forms;
mod insn;
pub mod kit;
pub mod orbflow;
pub mod rng;
mod sequence;
pub mod sigrok;
pub mod swo;
mod text;
pub mod tracer;
mod wave;
mod wide;

pub use asm::{Assembler, Label, Value};
pub use avr::{AVR_FORMS, AvrForm, AvrPart, AvrSequence, Needs as AvrNeeds};
pub use cube::{CardLayout, CubeFrame, PACKET_BYTES, SIDE, animation_file, card_image};
pub use elf::{ElfBuilder, Section, Segment, Symbol};
pub use forms::{FORMS, FORMS_V7M};
pub use insn::{
    AddSub, Barrier, Cond, DataOp, Extend, Hint, Imm8Op, Insn, LoadStore, Reg, Reverse, Shift,
    Special,
};
pub use rng::Rng;
pub use sequence::{Core, Options, Sequence};
pub use wave::{I2cWave, Line, ParityBit, SpiWave, UartWave};
pub use wide::{Extension as WideExtension, Form as WideForm, Wide, forms as wide_forms};
