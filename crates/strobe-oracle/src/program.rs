//! The initial memory of a program, for loading it and for looking up the instructions of a trace,
//! which has addresses only.

use object::LittleEndian;
use object::elf::PT_LOAD;
use object::read::elf::{ElfFile32, ProgramHeader};

/// Why a program could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// Not a program of the expected format.
    #[error("not a 32-bit little-endian ELF program")]
    NotElf(#[from] object::Error),
    /// A segment's bytes are not in the file.
    #[error("the segment loaded at {0:#010x} is beyond the end of the file")]
    Cut(u32),
}

/// The initialised memory of an ELF file.
#[derive(Clone, Debug)]
pub struct Program {
    segments: Vec<Segment>,
}

#[derive(Clone, Debug)]
struct Segment {
    loaded_at: u32,
    runs_at: u32,
    bytes: Vec<u8>,
}

impl Program {
    /// Reads the loadable segments of an ELF file.
    pub fn from_elf(bytes: &[u8]) -> Result<Self, ProgramError> {
        let file = ElfFile32::<LittleEndian>::parse(bytes)?;
        let endian = LittleEndian;
        let mut segments = Vec::new();
        for header in file.elf_program_headers() {
            if header.p_type(endian) != PT_LOAD {
                continue;
            }
            let (loaded_at, runs_at) = (header.p_paddr(endian), header.p_vaddr(endian));
            let data = header.data(endian, bytes).map_err(|()| ProgramError::Cut(loaded_at))?;
            segments.push(Segment { loaded_at, runs_at, bytes: data.to_vec() });
        }
        Ok(Self { segments })
    }

    /// The contents to program into the chip: address and bytes of each piece.
    pub fn image(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.segments.iter().map(|s| (s.loaded_at, &s.bytes[..]))
    }

    /// The halfword at a run-time address, if the file has it.
    ///
    /// Code that the program itself copies to RAM is found, because its segment has the run-time
    /// address; code generated at run time is not.
    pub fn halfword(&self, address: u32) -> Option<u16> {
        self.segments.iter().find_map(|segment| {
            let at = address.checked_sub(segment.runs_at)? as usize;
            let pair = segment.bytes.get(at..at.checked_add(2)?)?;
            Some(u16::from_le_bytes([pair[0], pair[1]]))
        })
    }
}
