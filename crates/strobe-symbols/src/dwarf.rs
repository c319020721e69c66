//! DWARF debug information (versions 2 to 5) read once, front to back, into flat tables.
//!
//! `gimli` decodes; this module decides what the records mean together. It does not use
//! `addr2line`, for three reasons that matter here: functions that the linker discarded are left in
//! the debug information at address 0, where many microcontrollers keep real code, and lookups must
//! not find them; one damaged unit must not hide the others; and the work must stay proportional to
//! the file size whatever it contains, which needs a [`Budget`] in every loop.
//!
//! It must not know the symbol table: conflicts between the two are resolved where both are known.

mod entry_names;
mod lines;
mod scopes;
mod strings;
mod unit;

use std::collections::BTreeSet;

use gimli::{EndianSlice, LittleEndian, SectionId};
use object::elf::SHF_COMPRESSED;

use crate::code::{CodeKind, CodeMap};
use crate::detail::Obstacle;
use crate::elf::Elf;
use crate::error::Warnings;
use crate::frames::{DebugTables, ScopeId};
use crate::interval::flatten;

pub(crate) use unit::all_units;

pub(crate) type Reader<'a> = EndianSlice<'a, LittleEndian>;

/// The content of the debug information, with warnings for unreadable parts.
#[derive(Default)]
pub(crate) struct Debug {
    pub(crate) tables: DebugTables,
    /// Functions with their bounds, for images without a symbol table.
    pub(crate) functions: Vec<FunctionRange>,
    pub(crate) producers: Vec<String>,
    pub(crate) obstacle: Option<Obstacle>,
}

/// One contiguous piece of a function.
pub(crate) struct FunctionRange {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) scope: ScopeId,
}

/// Why reading stopped early.
pub(crate) enum Stop {
    /// A record is damaged; the rest of its unit cannot be read.
    Damaged(gimli::Error),
    /// The budget is spent: the records repeat each other in a way that no compiler produces.
    Exhausted,
}

impl From<gimli::Error> for Stop {
    fn from(error: gimli::Error) -> Self {
        Stop::Damaged(error)
    }
}

/// The remaining steps of reading.
///
/// Compressed encodings let a small file demand enormous work: attributes without bytes, a million
/// units that share one list. Real files need about one step per byte (0.2 to 1.5 measured), so the
/// limit is a multiple of the size that none of them reaches.
pub(crate) struct Budget {
    left: u64,
}

impl Budget {
    pub(crate) fn for_size(bytes: usize) -> Self {
        Budget { left: (1 << 16) + 8 * bytes as u64 }
    }

    /// A budget of so many steps.
    pub(crate) fn of(steps: u64) -> Self {
        Budget { left: steps }
    }

    /// Charges for an entry of the tables that are kept: it costs memory and has to be sorted.
    pub(crate) fn spend_claim(&mut self) -> Result<(), Stop> {
        self.spend(64)
    }

    pub(crate) fn spend(&mut self, steps: usize) -> Result<(), Stop> {
        self.left = self.left.checked_sub(steps as u64).ok_or(Stop::Exhausted)?;
        Ok(())
    }

    /// Charges for scanning so many bytes of a string or table, which is far cheaper than a step
    /// each.
    pub(crate) fn spend_bytes(&mut self, bytes: usize) -> Result<(), Stop> {
        self.spend(1 + bytes / 16)
    }
}

/// The actual ranges of code, to distinguish live records from those of discarded functions.
pub(crate) struct Live<'a> {
    code: &'a CodeMap,
}

impl<'a> Live<'a> {
    pub(crate) fn new(code: &'a CodeMap) -> Self {
        Live { code }
    }

    /// The range clipped to the code it starts in, or `None` if there is no code.
    ///
    /// Linkers give the records of discarded functions the address 0 or -1. Where code is linked at
    /// 0, the vector table's data is there, as mapping symbols show; without mapping symbols no
    /// record at 0 is trusted.
    ///
    /// The GNU assembler leaves the Thumb bit in the bounds of functions (seen in libgcc with GNU
    /// as 2.39); it is cleared.
    pub(crate) fn clip(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let (start, end) = (start & !1, end.saturating_sub(start & 1));
        let address = u32::try_from(start).ok()?;
        let kind = self.code.kind(address);
        let is_code = matches!(kind, Some(CodeKind::Thumb | CodeKind::Arm | CodeKind::Avr));
        if !is_code || (address == 0 && !self.code.has_mapping_symbols) {
            return None;
        }
        let end = end.min(self.code.area(address)?.end);
        (start < end).then_some((start, end))
    }
}

/// Reads all debug information of an ELF file.
pub(crate) fn read(elf: &Elf<'_>, code: &CodeMap, warnings: &mut Warnings) -> Debug {
    let obstacle = obstacle(elf);
    if elf.section(".debug_info").is_none() {
        return Debug { obstacle, ..Debug::default() };
    }
    let size =
        elf.sections.iter().filter(|s| s.name.starts_with(".debug_")).map(|s| s.data.len()).sum();
    let Some(dwarf) = open(elf) else { return Debug { obstacle, ..Debug::default() } };
    let live = Live::new(code);
    let mut builder = scopes::Builder::new(&dwarf, &live, Budget::for_size(size));
    let stopped = unit::read_units(&dwarf, &mut builder);
    let info_at = elf.section(".debug_info").map_or(0, |section| section.file_offset);
    for unit in &stopped {
        let offset = info_at + unit.offset as u64;
        warnings.push(".debug_info", offset, unit.describe(&dwarf));
    }
    finish(builder, obstacle)
}

/// The debug information's sections.
pub(crate) fn open<'a>(elf: &Elf<'a>) -> Option<gimli::Dwarf<Reader<'a>>> {
    gimli::Dwarf::load(|id| Ok::<_, gimli::Error>(section(elf, id))).ok()
}

fn finish(builder: scopes::Builder<'_, '_>, obstacle: Option<Obstacle>) -> Debug {
    let read = builder.finish();
    let functions = read
        .ranges
        .iter()
        .filter(|claim| read.scopes[claim.value.0 as usize].caller.is_none())
        .map(|claim| FunctionRange { start: claim.start, end: claim.end, scope: claim.value })
        .collect();
    let obstacle = if read.is_split { Some(Obstacle::Split) } else { obstacle };
    let tables = DebugTables {
        strings: read.strings,
        scopes: read.scopes,
        scope_pieces: flatten(read.ranges),
        line_pieces: flatten(read.lines),
    };
    let producers: BTreeSet<String> = read.producers;
    Debug { tables, functions, producers: producers.into_iter().collect(), obstacle }
}

fn section<'a>(elf: &Elf<'a>, id: SectionId) -> Reader<'a> {
    let section = elf.section(id.name()).filter(|section| !section.has(SHF_COMPRESSED));
    EndianSlice::new(section.map_or(&[], |section| section.data), LittleEndian)
}

/// The reason for missing debug information, judged from the sections alone.
fn obstacle(elf: &Elf<'_>) -> Option<Obstacle> {
    let any = |test: &dyn Fn(&crate::elf::Section<'_>) -> bool| elf.sections.iter().any(test);
    if any(&|s| {
        s.name.starts_with(".zdebug_") || (s.name.starts_with(".debug_") && s.has(SHF_COMPRESSED))
    }) {
        Some(Obstacle::Compressed)
    } else if any(&|s| s.name == ".stab") {
        // A library may have added a few unusable DWARF entries.
        Some(Obstacle::Stabs)
    } else if any(&|s| s.name == ".debug_info") {
        Some(Obstacle::Unusable)
    } else {
        Some(Obstacle::NoDebugInfo)
    }
}
