//! The loadable parts of an image, validated once for all users.
//!
//! This module knows addresses, sizes and bytes. It must not know symbols, debug information or
//! what the memory behind an address is.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
pub use strobe_isa::Machine;

/// Maximum memory of all segments together: 64 MiB, several times the memory of the largest
/// microcontroller, so that a corrupt size is detected before memory is allocated for it.
pub const TOTAL_SIZE_LIMIT: u64 = 64 << 20;

/// Where a programmer writes bytes to (`p_paddr`, LMA). It differs from the address at which code
/// runs and data is used (VMA) for initialised variables, which the start-up code copies from flash
/// to RAM. Addresses at run time are plain `u32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoadAddress(pub u32);

impl fmt::Display for LoadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

/// The address that a call leaves in LR: the instruction after the call, with the Thumb bit set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReturnAddress(pub u32);

impl ReturnAddress {
    /// An address inside the calling instruction, for looking up names and lines: the instruction
    /// after a call may belong to another line, or to another function when the callee never
    /// returns.
    pub fn call_site(self) -> u32 {
        (self.0 & !1).wrapping_sub(2)
    }
}

/// Access permissions of a segment (`p_flags`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Permissions {
    /// The segment may be read.
    pub read: bool,
    /// The segment may be written.
    pub write: bool,
    /// The segment holds code.
    pub execute: bool,
}

/// One contiguous piece of the image (`PT_LOAD`).
#[derive(Clone)]
pub struct Segment {
    /// Index of the program header, as `readelf -l` counts.
    pub index: usize,
    /// The address to program the bytes to.
    pub load_address: LoadAddress,
    /// The address at run time (`p_vaddr`).
    pub run_address: u32,
    /// Size in memory, in bytes; memory beyond [`Segment::data`] starts as zero.
    pub memory_size: u32,
    /// The access permissions.
    pub permissions: Permissions,
    pub(crate) file: Arc<[u8]>,
    pub(crate) file_range: Range<usize>,
}

/// A section that is in memory when the program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionRange {
    /// Its name, such as `.text`.
    pub name: String,
    /// First address.
    pub start: u32,
    /// Size in bytes.
    pub size: u32,
    /// Whether the file has its bytes; without, it starts as zero (`SHT_NOBITS`).
    pub has_contents: bool,
    /// Where in the file its bytes begin.
    pub file_offset: u64,
}

impl Segment {
    /// The bytes to load.
    pub fn data(&self) -> &[u8] {
        &self.file[self.file_range.clone()]
    }

    /// The bytes' range in the file.
    pub fn file_range(&self) -> Range<usize> {
        self.file_range.clone()
    }

    /// Addresses at run time. The end is exclusive and may be 2^32, hence 64 bits.
    pub fn run_range(&self) -> Range<u64> {
        let start = u64::from(self.run_address);
        start..start + u64::from(self.memory_size)
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segment")
            .field("index", &self.index)
            .field("load_address", &self.load_address)
            .field("run_address", &format_args!("{:#010x}", self.run_address))
            .field("memory_size", &self.memory_size)
            .field("file_range", &self.file_range)
            .field("permissions", &self.permissions)
            .finish()
    }
}
