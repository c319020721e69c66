//! Why a file cannot be read as firmware.
//!
//! Every error names what failed, the byte in the file where it failed and what to try. Damage that
//! only affects names or source lines is not an error but a [`Warning`]: the firmware can still be
//! run and profiled with less detail. This module must not know the source of the bytes: the caller
//! adds the file's name.

use std::fmt;

use crate::image::{LoadAddress, TOTAL_SIZE_LIMIT};

/// Why the bytes are not a usable firmware image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes do not start with the ELF magic number.
    #[error(
        "neither an ELF file nor Intel HEX (byte 0: {looks_like}); give the linker's .elf output, \
         the file that still has symbols in it"
    )]
    NotElf {
        /// A description of what the first bytes look like.
        looks_like: &'static str,
    },
    /// A header field shows that the file is not supported: word size, byte order, kind or machine.
    #[error("unsupported ELF file (byte {offset:#x}): {found}; {advice}")]
    Unsupported {
        /// Offset of the offending field in the file.
        offset: u64,
        /// A description of the field's value.
        found: String,
        /// What to use instead.
        advice: &'static str,
    },
    /// A table, or contents that it describes, extends past the end of the file.
    #[error(
        "truncated ELF file (byte {offset:#x}): {what} needs {length} bytes there, but the file \
         ends at {file_size:#x}; copy or build the file again"
    )]
    Truncated {
        /// The truncated part.
        what: String,
        /// Offset of the part in the file.
        offset: u64,
        /// Size that the part should have, in bytes.
        length: u64,
        /// Size of the file, in bytes.
        file_size: u64,
    },
    /// A field contradicts the ELF specification or another field.
    #[error("corrupt ELF file (byte {offset:#x}): {detail}; link the firmware again")]
    Malformed {
        /// Offset of the offending field in the file.
        offset: u64,
        /// The fault.
        detail: String,
    },
    /// The file has no bytes to load into memory.
    #[error("nothing to run in this ELF file (byte {offset:#x}): {detail}; {advice}")]
    NothingToLoad {
        /// Offset of the program header table's reference in the ELF header.
        offset: u64,
        /// What is missing.
        detail: &'static str,
        /// What to use instead.
        advice: &'static str,
    },
    /// Two segments would be written to the same memory.
    #[error(
        "overlapping segments (byte {offset:#x}): segment {second} is loaded to {second_at}, \
         inside segment {first} at {first_at}; check the load addresses (AT>, LMA) in the linker \
         script"
    )]
    SegmentsOverlap {
        /// Offset of the second program header.
        offset: u64,
        /// Number of the segment with the lower load address, as `readelf -l` counts.
        first: usize,
        /// Its load address.
        first_at: LoadAddress,
        /// Number of the segment that starts inside it.
        second: usize,
        /// Its load address.
        second_at: LoadAddress,
    },
    /// A line of an Intel HEX file is invalid.
    #[error("corrupt Intel HEX file (line {line}): {detail}; {advice}")]
    Hex {
        /// The line, counted from 1.
        line: u32,
        /// Offset of the line in the file.
        offset: u64,
        /// The fault.
        detail: String,
        /// What to do.
        advice: &'static str,
    },
    /// The segments together exceed the memory of any supported target.
    #[error(
        "image too large (byte {offset:#x}): the segments need {total} bytes of memory, the limit \
         is {TOTAL_SIZE_LIMIT}; check the section addresses and sizes in the linker script"
    )]
    TooLarge {
        /// Offset of the program header at which the limit was passed.
        offset: u64,
        /// Bytes needed up to and including that segment.
        total: u64,
    },
}

impl Error {
    /// Offset in the file, in bytes, of the wrong field or part.
    pub fn offset(&self) -> u64 {
        match self {
            Error::NotElf { .. } => 0,
            Error::Unsupported { offset, .. }
            | Error::Truncated { offset, .. }
            | Error::Malformed { offset, .. }
            | Error::NothingToLoad { offset, .. }
            | Error::SegmentsOverlap { offset, .. }
            | Error::Hex { offset, .. }
            | Error::TooLarge { offset, .. } => *offset,
        }
    }
}

/// A fault in the symbols or the debug information that costs detail, but does not affect the
/// image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The section concerned, such as `.debug_info`.
    pub section: String,
    /// Offset in the file, in bytes, as close to the fault as is known.
    pub offset: u64,
    /// The fault and its effect.
    pub detail: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {:#x}): {}", self.section, self.offset, self.detail)
    }
}

/// Collects warnings up to a limit, so that a broken file does not fill the terminal or the memory.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    list: Vec<Warning>,
}

impl Warnings {
    const LIMIT: usize = 20;

    pub(crate) fn push(&mut self, section: &str, offset: u64, detail: String) {
        if self.list.len() < Self::LIMIT {
            self.list.push(Warning { section: section.to_owned(), offset, detail });
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Warning> {
        self.list
    }
}
