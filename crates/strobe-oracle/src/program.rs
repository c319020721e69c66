//! The memory a program starts with, to look up the instructions that a trace names by address only.

use object::{Object, ObjectSegment};

/// Why a program could not be loaded.
#[derive(Debug, thiserror::Error)]
#[error("not an ELF program that can be traced")]
pub struct ProgramError(#[from] object::Error);

/// The initialised memory of an ELF file.
#[derive(Clone, Debug)]
pub struct Program {
    segments: Vec<(u32, Vec<u8>)>,
}

impl Program {
    /// Reads the segments of an ELF file.
    ///
    /// They are taken where they run. Code that the program itself copies to RAM is found because its segment says so
    /// too; code made at run time is not.
    pub fn from_elf(bytes: &[u8]) -> Result<Self, ProgramError> {
        let file = object::File::parse(bytes)?;
        let mut segments = Vec::new();
        for segment in file.segments() {
            // An address beyond 32 bits cannot occur in an ELF32 file.
            segments.push((segment.address() as u32, segment.data()?.to_vec()));
        }
        Ok(Self { segments })
    }

    /// The halfword at an address, if the file has it.
    pub fn halfword(&self, address: u32) -> Option<u16> {
        self.segments.iter().find_map(|(start, bytes)| {
            let at = address.checked_sub(*start)? as usize;
            let pair = bytes.get(at..at.checked_add(2)?)?;
            Some(u16::from_le_bytes([pair[0], pair[1]]))
        })
    }
}
