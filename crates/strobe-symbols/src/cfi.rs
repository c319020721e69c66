//! Index of `.debug_frame`: which call frame information applies to an address.
//!
//! The index is built once; the rules themselves are parsed during a stack walk, which is rare.
//! This module must not know registers or memory.

use std::collections::HashMap;
use std::ops::Range;

use gimli::{
    BaseAddresses, CieOrFde, CommonInformationEntry, DebugFrame, LittleEndian, UnwindSection as _,
};
use object::elf::SHF_COMPRESSED;

use crate::code::CodeMap;
use crate::dwarf::{Live, Reader};
use crate::elf::Elf;
use crate::error::Warnings;

/// The functions that `.debug_frame` describes.
#[derive(Debug, Default)]
pub(crate) struct CallFrameIndex {
    /// The section's bytes in the file.
    section: Range<usize>,
    /// Sorted by start.
    entries: Vec<IndexEntry>,
}

#[derive(Debug, Clone, Copy)]
struct IndexEntry {
    start: u64,
    end: u64,
    /// Offset in the section.
    offset: usize,
}

impl CallFrameIndex {
    pub(crate) fn new(elf: &Elf<'_>, code: &CodeMap, warnings: &mut Warnings) -> Self {
        let Some(section) =
            elf.section(".debug_frame").filter(|section| !section.has(SHF_COMPRESSED))
        else {
            return CallFrameIndex::default();
        };
        let start = section.file_offset as usize;
        let mut index =
            CallFrameIndex { section: start..start + section.data.len(), entries: Vec::new() };
        if let Err(error) = index.fill(&frames(section.data), &Live::new(code)) {
            let detail = format!("{error}: stacks cannot be walked through some functions");
            warnings.push(".debug_frame", section.file_offset, detail);
        }
        index.entries.sort_by_key(|entry| entry.start);
        index
    }

    fn fill(&mut self, frames: &DebugFrame<Reader<'_>>, live: &Live<'_>) -> gimli::Result<()> {
        let bases = BaseAddresses::default();
        let mut shared: HashMap<usize, CommonInformationEntry<Reader<'_>>> = HashMap::new();
        let mut entries = frames.entries(&bases);
        while let Some(entry) = entries.next()? {
            let CieOrFde::Fde(partial) = entry else { continue };
            let parsed = partial.parse(|section, bases, offset| match shared.get(&offset.0) {
                Some(common) => Ok(common.clone()),
                None => {
                    let common = section.cie_from_offset(bases, offset)?;
                    shared.insert(offset.0, common.clone());
                    Ok(common)
                }
            });
            let Ok(parsed) = parsed else { continue };
            if let Some((start, end)) = live.clip(parsed.initial_address(), parsed.end_address()) {
                self.entries.push(IndexEntry { start, end, offset: parsed.offset() });
            }
        }
        Ok(())
    }

    /// Offset of the entry that covers an address.
    pub(crate) fn find(&self, address: u32) -> Option<usize> {
        let address = u64::from(address);
        let after = self.entries.partition_point(|entry| entry.start <= address);
        self.entries[..after].last().filter(|entry| address < entry.end).map(|entry| entry.offset)
    }

    /// The section, to read entries from.
    pub(crate) fn frames<'a>(&self, file: &'a [u8]) -> DebugFrame<Reader<'a>> {
        frames(file.get(self.section.clone()).unwrap_or_default())
    }
}

fn frames(data: &[u8]) -> DebugFrame<Reader<'_>> {
    let mut frames = DebugFrame::new(data, LittleEndian);
    // Before version 4 the entries do not have this field.
    frames.set_address_size(4);
    frames
}
