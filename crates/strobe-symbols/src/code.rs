//! Which addresses hold instructions and which hold data between them.
//!
//! Compilers mark the changes with mapping symbols (`$t`, `$a`, `$d`; AAELF32, section "Mapping
//! symbols"). Without them every executable section counts as code. This module must not know
//! functions.

use std::ops::Range;

use object::elf::SHF_EXECINSTR;

use crate::elf::Elf;
use crate::image::{Machine, Segment};
use crate::interval::{Claim, Piece, find, flatten};

/// What the bytes at an address are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodeKind {
    /// Thumb instructions.
    Thumb,
    /// 32-bit Arm instructions, which no Cortex-M can execute.
    Arm,
    /// AVR instructions.
    Avr,
    /// Literal pools, jump tables, constants and variables.
    Data,
}

impl CodeKind {
    fn of(machine: Machine) -> Self {
        match machine {
            Machine::Arm => CodeKind::Thumb,
            Machine::Avr => CodeKind::Avr,
        }
    }
}

/// A mapping symbol.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MappingSymbol {
    pub(crate) address: u32,
    pub(crate) kind: CodeKind,
}

impl MappingSymbol {
    /// Reads a symbol's name: `$t`, `$a`, `$d` or one of them with a suffix after a dot.
    pub(crate) fn from_name(name: &str, address: u32) -> Option<Self> {
        let kind = match name.as_bytes() {
            [b'$', b't'] | [b'$', b't', b'.', ..] => CodeKind::Thumb,
            [b'$', b'a'] | [b'$', b'a', b'.', ..] => CodeKind::Arm,
            [b'$', b'd'] | [b'$', b'd', b'.', ..] => CodeKind::Data,
            _ => return None,
        };
        Some(MappingSymbol { address, kind })
    }
}

/// Every address of the image with its kind.
#[derive(Debug, Default)]
pub(crate) struct CodeMap {
    pieces: Vec<Piece<CodeKind>>,
    /// Sections (or segments, in a file without sections) that hold code, sorted and disjoint.
    areas: Vec<Piece<()>>,
    pub(crate) has_mapping_symbols: bool,
    pub(crate) machine: Machine,
}

impl CodeMap {
    /// `mapping` in the order of the symbol table.
    pub(crate) fn new(
        elf: &Elf<'_>,
        segments: &[Segment],
        mut mapping: Vec<MappingSymbol>,
    ) -> Self {
        // Stable: of several symbols at one address the last describes the bytes, the others belong
        // to empty pieces.
        mapping.sort_by_key(|symbol| symbol.address);
        let executable = executable_ranges(elf, segments, &mapping);
        let code = CodeKind::of(elf.machine);
        let mut claims: Vec<Claim<CodeKind>> = segments
            .iter()
            .map(|segment| (segment.run_range(), 0, CodeKind::Data))
            .chain(executable.iter().map(|range| (range.clone(), 1, code)))
            .map(|(range, priority, value)| Claim {
                start: range.start,
                end: range.end,
                priority,
                value,
            })
            .collect();
        let areas = flatten(
            executable
                .iter()
                .map(|r| Claim { start: r.start, end: r.end, priority: 0, value: () })
                .collect(),
        );
        claims.extend(mapping_claims(&areas, &mapping));
        CodeMap {
            pieces: flatten(claims),
            areas,
            has_mapping_symbols: !mapping.is_empty(),
            machine: elf.machine,
        }
    }

    /// For an image without mapping symbols: all of it may be code.
    pub(crate) fn all_code(machine: Machine, segments: &[Segment]) -> Self {
        let value = CodeKind::of(machine);
        let piece =
            |s: &Segment| Piece { start: s.run_range().start, end: s.run_range().end, value };
        let pieces: Vec<_> = segments.iter().map(piece).collect();
        let areas = pieces.iter().map(|p| Piece { start: p.start, end: p.end, value: () });
        CodeMap { areas: areas.collect(), pieces, has_mapping_symbols: false, machine }
    }

    pub(crate) fn kind(&self, address: u32) -> Option<CodeKind> {
        find(&self.pieces, u64::from(address)).map(|piece| piece.value)
    }

    /// The contiguous piece of code with an address in it, whatever kinds alternate there.
    pub(crate) fn area(&self, address: u32) -> Option<Range<u64>> {
        find(&self.areas, u64::from(address)).map(|area| area.start..area.end)
    }

    /// The pieces that overlap a range, cut to it.
    pub(crate) fn pieces_in(&self, range: Range<u64>) -> impl Iterator<Item = Piece<CodeKind>> {
        let first = self.pieces.partition_point(|piece| piece.end <= range.start);
        self.pieces[first..].iter().take_while(move |piece| piece.start < range.end).map(
            move |piece| Piece {
                start: piece.start.max(range.start),
                end: piece.end.min(range.end),
                value: piece.value,
            },
        )
    }
}

fn executable_ranges(
    elf: &Elf<'_>,
    segments: &[Segment],
    mapping: &[MappingSymbol],
) -> Vec<Range<u64>> {
    if elf.sections.iter().all(|section| !section.is_allocated()) {
        return segments.iter().filter(|s| s.permissions.execute).map(Segment::run_range).collect();
    }
    let has_code = |range: Range<u64>| {
        let first = mapping.partition_point(|symbol| u64::from(symbol.address) < range.start);
        mapping[first..]
            .iter()
            .take_while(|symbol| u64::from(symbol.address) < range.end)
            .any(|symbol| symbol.kind != CodeKind::Data)
    };
    elf.sections
        .iter()
        .filter(|section| section.is_allocated())
        .filter(|section| section.has(SHF_EXECINSTR) || has_code(section.range()))
        .map(|section| section.range())
        .collect()
}

fn mapping_claims(areas: &[Piece<()>], mapping: &[MappingSymbol]) -> Vec<Claim<CodeKind>> {
    let mut claims = Vec::with_capacity(mapping.len());
    for (index, symbol) in mapping.iter().enumerate() {
        let start = u64::from(symbol.address);
        let Some(area) = find(areas, start) else { continue };
        let next = mapping.get(index + 1).map_or(area.end, |next| u64::from(next.address));
        claims.push(Claim { start, end: next.min(area.end), priority: 2, value: symbol.kind });
    }
    claims
}
