//! Plain memories: flash and RAM as byte arrays at an address.

use crate::kernel::device::Size;

/// An access that no memory or device answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("bus fault at {address:#010x}")]
pub struct BusFault {
    /// The address accessed.
    pub address: u32,
}

/// What a memory is, which decides how it may be written and how long it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryKind {
    /// Read-only to the firmware; has wait states.
    Flash,
    /// Read and write without wait states.
    Ram,
}

/// A memory region.
#[derive(Debug, Clone)]
pub struct Memory {
    /// Name as the board file gives it.
    pub name: String,
    /// Kind.
    pub kind: MemoryKind,
    /// First address.
    pub base: u32,
    /// Whether firmware can write it: RAM, and what stands in for flash on FPGA boards.
    pub writable: bool,
    /// Contents.
    pub data: Vec<u8>,
    /// Only the core reaches it, no other bus master (as core-coupled memory).
    pub core_only: bool,
    /// First address of each bank but the first: banks are slaves of their own, so that two
    /// masters in different ones do not wait for each other.
    pub banks: Vec<u32>,
}

impl Memory {
    /// A memory of `size` bytes; flash starts erased (all ones), RAM as zero.
    pub fn new(name: &str, kind: MemoryKind, base: u32, size: u32) -> Self {
        let fill = if kind == MemoryKind::Flash { 0xff } else { 0 };
        Memory {
            name: name.to_owned(),
            kind,
            base,
            writable: kind == MemoryKind::Ram,
            data: vec![fill; size as usize],
            core_only: false,
            banks: Vec::new(),
        }
    }

    /// Which of its banks holds an address.
    pub fn bank_of(&self, address: u32) -> usize {
        self.banks.partition_point(|&start| start <= address)
    }

    /// Whether `address` lies in it.
    pub fn contains(&self, address: u32) -> bool {
        ((address.wrapping_sub(self.base)) as usize) < self.data.len()
    }

    /// Little-endian read; `None` outside.
    #[inline(always)]
    pub fn read(&self, address: u32, size: Size) -> Option<u32> {
        let at = address.wrapping_sub(self.base) as usize;
        Some(match size {
            Size::Byte => u32::from(*self.data.get(at)?),
            Size::Half => u32::from(u16::from_le_bytes(
                self.data.get(at..at.checked_add(2)?)?.try_into().ok()?,
            )),
            Size::Word => {
                u32::from_le_bytes(self.data.get(at..at.checked_add(4)?)?.try_into().ok()?)
            }
        })
    }

    /// Little-endian write; `None` outside.
    #[inline(always)]
    pub fn write(&mut self, address: u32, size: Size, value: u32) -> Option<()> {
        let at = address.wrapping_sub(self.base) as usize;
        match size {
            Size::Byte => *self.data.get_mut(at)? = value as u8,
            Size::Half => self
                .data
                .get_mut(at..at.checked_add(2)?)?
                .copy_from_slice(&(value as u16).to_le_bytes()),
            Size::Word => {
                self.data.get_mut(at..at.checked_add(4)?)?.copy_from_slice(&value.to_le_bytes());
            }
        }
        Some(())
    }
}
