//! Converts program headers to [`Segment`]s, and validates them.
//!
//! Normalises the habits of linkers: headers mapped as if they were code, load addresses left at
//! zero, and empty segments. This module must not know symbols.

use std::ops::Range;
use std::sync::Arc;

use object::LittleEndian as LE;
use object::elf::{self, ProgramHeader32};

use crate::elf::{Elf, PHOFF_FIELD, bytes_at, malformed};
use crate::error::Error;
use crate::image::{LoadAddress, Permissions, Segment, TOTAL_SIZE_LIMIT};

/// Maximum number of loadable segments: more than any linker makes; the limit keeps the checks
/// below linear.
const MOST_SEGMENTS: usize = 1024;

/// The segments in order of load address, none overlapping.
pub(crate) fn segments(elf: &Elf<'_>, file: &Arc<[u8]>) -> Result<Vec<Segment>, Error> {
    let loadable = || elf.program_headers.iter().enumerate().filter(|(_, ph)| is_loadable(ph));
    // Some linkers leave every physical address zero; then the image is not relocated (GNU BFD
    // applies the same rule).
    let has_load_addresses = loadable().any(|(_, ph)| ph.p_paddr.get(LE) != 0);
    if let Some((index, _)) = loadable().nth(MOST_SEGMENTS) {
        let detail = format!("more than {MOST_SEGMENTS} loadable segments");
        return Err(malformed(elf.program_header_offset(index), detail));
    }
    let mut segments = Vec::new();
    let mut total = 0;
    for (index, ph) in loadable() {
        let Some(segment) = segment(elf, file, index, ph, has_load_addresses)? else { continue };
        total += u64::from(segment.memory_size);
        if total > TOTAL_SIZE_LIMIT {
            return Err(Error::TooLarge { offset: elf.program_header_offset(index), total });
        }
        segments.push(segment);
    }
    segments.sort_by_key(|segment| (segment.load_address, segment.index));
    check_contents(elf, &segments)?;
    Ok(segments)
}

fn is_loadable(ph: &ProgramHeader32<LE>) -> bool {
    ph.p_type.get(LE) == elf::PT_LOAD && ph.p_memsz.get(LE) > 0
}

fn segment(
    elf: &Elf<'_>,
    file: &Arc<[u8]>,
    index: usize,
    ph: &ProgramHeader32<LE>,
    has_load_addresses: bool,
) -> Result<Option<Segment>, Error> {
    let at = elf.program_header_offset(index);
    let file_start = ph.p_offset.get(LE);
    let file_size = ph.p_filesz.get(LE);
    let memory_size = ph.p_memsz.get(LE);
    let run_address = ph.p_vaddr.get(LE);
    let load_address = if has_load_addresses { ph.p_paddr.get(LE) } else { run_address };
    if file_size > memory_size {
        let detail = format!(
            "segment {index} has {file_size} bytes in the file but {memory_size} in memory"
        );
        return Err(malformed(at, detail));
    }
    // GNU ld leaves the offset of a segment without contents at where a page would begin, which may
    // be behind the end of the file.
    if file_size > 0 {
        let what = || format!("segment {index}");
        bytes_at(elf.data, what, u64::from(file_start), u64::from(file_size))?;
    }
    for (what, start, size) in
        [("run", run_address, memory_size), ("load", load_address, file_size)]
    {
        if u64::from(start) + u64::from(size) > 1 << 32 {
            let detail = format!(
                "segment {index} exceeds the address space: {what} address {start:#x}, {size} bytes"
            );
            return Err(malformed(at, detail));
        }
    }
    let headers = leading_headers(elf, ph);
    if headers >= memory_size {
        return Ok(None);
    }
    let file_range = match file_size {
        0 => 0..0,
        size => {
            let start = file_start as usize;
            start + headers.min(size) as usize..start + size as usize
        }
    };
    let flags = ph.p_flags.get(LE);
    Ok(Some(Segment {
        index,
        load_address: LoadAddress(load_address + headers),
        run_address: run_address + headers,
        memory_size: memory_size - headers,
        permissions: Permissions {
            read: flags.0 & elf::PF_R.0 != 0,
            write: flags.0 & elf::PF_W.0 != 0,
            execute: flags.0 & elf::PF_X.0 != 0,
        },
        file: Arc::clone(file),
        file_range,
    }))
}

/// How many bytes at the start of a segment are the ELF file's own headers and padding. GNU ld maps
/// them into the first segment if it may round addresses down to a page; a programmer would then
/// write below the start of flash.
fn leading_headers(elf: &Elf<'_>, ph: &ProgramHeader32<LE>) -> u32 {
    if ph.p_offset.get(LE) != 0 {
        return 0;
    }
    let start = ph.p_vaddr.get(LE);
    let range: Range<u64> = u64::from(start)..u64::from(start) + u64::from(ph.p_memsz.get(LE));
    let first_section = elf
        .sections
        .iter()
        .filter(|section| section.is_allocated() && range.contains(&u64::from(section.address)))
        .map(|section| section.address)
        .min();
    match first_section {
        Some(address) => address - start,
        None => 0,
    }
}

fn check_contents(elf: &Elf<'_>, segments: &[Segment]) -> Result<(), Error> {
    if segments.iter().all(|segment| segment.data().is_empty()) {
        return Err(Error::NothingToLoad {
            offset: PHOFF_FIELD,
            detail: "no segment has contents",
            advice: "if this is a separate debug file, give the ELF file it was split from",
        });
    }
    // Only bytes in the file are loaded; zeroed memory may share load addresses with anything.
    let mut previous: Option<&Segment> = None;
    for segment in segments.iter().filter(|segment| !segment.data().is_empty()) {
        if let Some(first) = previous {
            let first_end = u64::from(first.load_address.0) + first.data().len() as u64;
            if u64::from(segment.load_address.0) < first_end {
                return Err(Error::SegmentsOverlap {
                    offset: elf.program_header_offset(segment.index),
                    first: first.index,
                    first_at: first.load_address,
                    second: segment.index,
                    second_at: segment.load_address,
                });
            }
        }
        previous = Some(segment);
    }
    Ok(())
}
