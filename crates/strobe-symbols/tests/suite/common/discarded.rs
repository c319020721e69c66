//! Hides the records of discarded functions from the reference symboliser.
//!
//! The linker drops unused functions but leaves their debug information at address 0. Where code is
//! linked near 0, as on QEMU's boards, the reference attributes a discarded function's lines to the
//! live code. In the copy made here those addresses are -1, the value that DWARF 5 reserves for "no
//! code" and that LLVM skips. Nothing else changes, so the reference's answers for the copy are
//! those for the same code linked elsewhere.

use std::ops::Range;
use std::path::{Path, PathBuf};

use gimli::{AttributeValue, EndianSlice, LittleEndian};
use object::{Object as _, ObjectSection as _};

use super::build::Workshop;

const NO_CODE: [u8; 4] = [0xff; 4];

/// A copy of an ELF file without code at address 0 and without debug information at address 0.
pub(crate) fn hide(elf: &Path, workshop: &Workshop) -> PathBuf {
    // The index of addresses only repeats the units' ranges; without it the reference uses those.
    let copy = workshop.objcopy(elf, "judged.elf", &["-R", ".debug_aranges"]);
    let mut bytes = std::fs::read(&copy).expect("the copy");
    let patches = patches(&bytes);
    for at in patches {
        bytes[at..at + 4].copy_from_slice(&NO_CODE);
    }
    std::fs::write(&copy, bytes).expect("the patched copy");
    copy
}

/// Offsets in the file of discarded addresses.
fn patches(bytes: &[u8]) -> Vec<usize> {
    let mut patches = lines(bytes);
    patches.extend(addresses(bytes));
    patches.extend(range_lists(bytes));
    patches.extend(entries(bytes));
    patches
}

fn section(bytes: &[u8], name: &str) -> Range<usize> {
    let file = object::File::parse(bytes).expect("an ELF file");
    let range = file.section_by_name(name).and_then(|section| section.file_range());
    range.map_or(0..0, |(start, size)| start as usize..(start + size) as usize)
}

fn is_zero(bytes: &[u8], at: usize) -> bool {
    bytes.get(at..at + 4) == Some(&[0; 4])
}

/// `DW_LNE_set_address 0`: extended opcode, length 5, opcode 2, address.
fn lines(bytes: &[u8]) -> Vec<usize> {
    let range = section(bytes, ".debug_line");
    let pattern = [0, 5, 2, 0, 0, 0, 0];
    bytes[range.clone()]
        .windows(7)
        .enumerate()
        .filter(|(_, w)| *w == pattern)
        .map(|(at, _)| range.start + at + 3)
        .collect()
}

/// Zero entries of the address tables of DWARF 5.
fn addresses(bytes: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    let range = section(bytes, ".debug_addr");
    let mut at = range.start;
    while at + 8 <= range.end {
        let length = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
        let end = at + 4 + length;
        found.extend((at + 8..end).step_by(4).filter(|&at| is_zero(bytes, at)));
        at = end;
    }
    found
}

/// Entries of DWARF 5 range lists that contain an address.
fn range_lists(bytes: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    let range = section(bytes, ".debug_rnglists");
    let mut at = range.start;
    while at + 12 <= range.end {
        let word = |at: usize| {
            u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
        };
        let end = at + 4 + word(at);
        at += 12 + 4 * word(at + 8);
        while at < end {
            let kind = gimli::DwRle(bytes[at]);
            at += 1;
            let (addresses, numbers) = match kind {
                gimli::DW_RLE_end_of_list => (0, 0),
                gimli::DW_RLE_base_addressx => (0, 1),
                gimli::DW_RLE_startx_endx
                | gimli::DW_RLE_startx_length
                | gimli::DW_RLE_offset_pair => (0, 2),
                gimli::DW_RLE_base_address => (1, 0),
                gimli::DW_RLE_start_end => (2, 0),
                gimli::DW_RLE_start_length => (1, 1),
                other => panic!("unknown range list entry {other}"),
            };
            if addresses > 0 && is_zero(bytes, at) {
                found.push(at);
            }
            at += 4 * addresses;
            for _ in 0..numbers {
                while bytes[at] & 0x80 != 0 {
                    at += 1;
                }
                at += 1;
            }
        }
    }
    found
}

/// `DW_AT_low_pc 0` of functions, inlined calls and units with one range, and zero starts in the
/// range lists of units before DWARF 5.
fn entries(bytes: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    let load = |id: gimli::SectionId| {
        Ok::<_, gimli::Error>(EndianSlice::new(&bytes[section(bytes, id.name())], LittleEndian))
    };
    let dwarf = gimli::Dwarf::load(load).expect("sections");
    let info = section(bytes, ".debug_info").start;
    let ranges = section(bytes, ".debug_ranges");
    let mut headers = dwarf.units();
    while let Some(header) = headers.next().expect("a sound unit") {
        let unit = dwarf.unit(header).expect("a sound unit");
        let start = info + unit.header.debug_info_offset().expect("a unit of .debug_info").0;
        let mut entries = unit.entries_raw(None).expect("entries");
        while !entries.is_empty() {
            let Some(abbreviation) = entries.read_abbreviation().expect("a sound entry") else {
                continue;
            };
            let is_function = matches!(
                abbreviation.tag(),
                gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine
            );
            let is_unit = abbreviation.tag() == gimli::DW_TAG_compile_unit;
            let (mut low, mut has_high) = (None, false);
            for spec in abbreviation.attributes() {
                let at = start + entries.next_offset().0;
                let attribute = entries.read_attribute(*spec).expect("a sound attribute");
                match (attribute.name(), attribute.value()) {
                    (gimli::DW_AT_low_pc, AttributeValue::Addr(0)) => low = Some(at),
                    (gimli::DW_AT_high_pc, _) => has_high = true,
                    (gimli::DW_AT_ranges, AttributeValue::RangeListsRef(offset))
                        if is_unit && unit.low_pc == 0 =>
                    {
                        found.extend(zero_starts(bytes, ranges.start + offset.0, ranges.end));
                    }
                    _ => {}
                }
            }
            if has_high && (is_function || is_unit) {
                found.extend(low);
            }
        }
    }
    found
}

/// Starts and ends of the pairs that start at 0, in a list that `0, 0` ends.
fn zero_starts(bytes: &[u8], list: usize, end: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = list;
    while at + 8 <= end && !(is_zero(bytes, at) && is_zero(bytes, at + 4)) {
        if is_zero(bytes, at) {
            found.extend([at, at + 4]);
        }
        at += 8;
    }
    found
}
