//! Line number programs: the source places of address ranges, and the file paths they name.

use std::collections::HashMap;
use std::rc::Rc;

use gimli::{
    AttributeValue, ColumnType, DebugLineOffset, Dwarf, IncompleteLineProgram, LineProgramHeader,
    Reader as _, Section as _, Unit,
};

use super::strings::{Interner, is_absolute, push_path, string};
use super::{Budget, Live, Reader, Stop};
use crate::frames::{Place, StringId};
use crate::interval::Claim;

/// Maximum size of a line program header, in bytes. Real ones have kilobytes; `gimli` reserves
/// memory in proportion.
const LARGEST_HEADER: usize = 4 << 20;

type Header<'a> = LineProgramHeader<Reader<'a>>;

/// The line programs run so far.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) claims: Vec<Claim<Place>>,
    programs: HashMap<usize, Rc<Files>>,
}

/// The file table of one line program, as display names.
#[derive(Default)]
pub(super) struct Files {
    /// First index of the table: 0 in DWARF 5, 1 before.
    base: u64,
    names: Vec<Option<StringId>>,
}

impl Files {
    pub(super) fn get(&self, index: u64) -> Option<StringId> {
        let index = index.checked_sub(self.base)?;
        *self.names.get(usize::try_from(index).ok()?)?
    }
}

impl Lines {
    /// Runs a unit's line program, unless it was run for another unit, and returns its files.
    pub(super) fn run<'a>(
        &mut self,
        dwarf: &Dwarf<Reader<'a>>,
        unit: &Unit<Reader<'a>>,
        offset: DebugLineOffset,
        unit_priority: u64,
        context: &mut Context<'_>,
    ) -> Result<Rc<Files>, Stop> {
        if let Some(files) = self.programs.get(&offset.0) {
            return Ok(Rc::clone(files));
        }
        self.programs.insert(offset.0, Rc::default());
        check_header_size(dwarf, offset, context.budget)?;
        let program = dwarf.debug_line.program(
            offset,
            unit.header.address_size(),
            unit.comp_dir,
            unit.name,
        )?;
        let files = Rc::new(files(dwarf, unit, program.header(), context)?);
        self.programs.insert(offset.0, Rc::clone(&files));
        self.rows(program, &files, unit_priority, context)?;
        Ok(files)
    }

    /// The files of a program that was run, even if it is damaged.
    pub(super) fn files(&self, offset: Option<DebugLineOffset>) -> Rc<Files> {
        offset.and_then(|offset| self.programs.get(&offset.0)).cloned().unwrap_or_default()
    }

    fn rows<'a>(
        &mut self,
        program: IncompleteLineProgram<Reader<'a>>,
        files: &Files,
        unit_priority: u64,
        context: &mut Context<'_>,
    ) -> Result<(), Stop> {
        let mut rows = program.rows();
        let mut sequence = Sequence::default();
        while let Some((_, row)) = rows.next_row()? {
            context.budget.spend(1)?;
            let place = Place {
                file: files.get(row.file_index()),
                line: row.line().map_or(0, |line| u32::try_from(line.get()).unwrap_or(u32::MAX)),
                column: match row.column() {
                    ColumnType::LeftEdge => 0,
                    ColumnType::Column(column) => u32::try_from(column.get()).unwrap_or(u32::MAX),
                },
            };
            if row.end_sequence() {
                sequence.finish(row.address(), unit_priority, context.live, &mut self.claims)
            } else {
                sequence.rows.push((row.address(), place))
            }
        }
        Ok(())
    }
}

/// Context for running a program.
pub(super) struct Context<'c> {
    pub(super) live: &'c Live<'c>,
    pub(super) budget: &'c mut Budget,
    pub(super) strings: &'c mut Interner,
}

/// The rows of one contiguous piece of code.
#[derive(Default)]
struct Sequence {
    rows: Vec<(u64, Place)>,
}

impl Sequence {
    /// Converts rows to claims: each extends to the next. Of several at one address the last
    /// counts.
    fn finish(
        &mut self,
        end: u64,
        unit_priority: u64,
        live: &Live<'_>,
        claims: &mut Vec<Claim<Place>>,
    ) {
        let rows = std::mem::take(&mut self.rows);
        let Some((start, end)) = rows.first().and_then(|&(start, _)| live.clip(start, end)) else {
            return;
        };
        let priority = unit_priority | (claims.len() as u64 & u64::from(u32::MAX));
        for (index, &(address, value)) in rows.iter().enumerate() {
            let next = rows.get(index + 1).map_or(end, |&(next, _)| next.min(end));
            if start <= address && address < next {
                claims.push(Claim { start: address, end: next, priority, value });
            }
        }
    }
}

fn check_header_size(
    dwarf: &Dwarf<Reader<'_>>,
    offset: DebugLineOffset,
    budget: &mut Budget,
) -> Result<(), Stop> {
    let mut reader = *dwarf.debug_line.reader();
    reader.skip(offset.0)?;
    let (_, format) = reader.read_initial_length()?;
    let version = reader.read_u16()?;
    if version >= 5 {
        reader.skip(2)?;
    }
    let length = reader.read_length(format)?;
    budget.spend(length.min(reader.len()) / 4)?;
    if length > LARGEST_HEADER {
        Err(Stop::Damaged(gimli::Error::UnsupportedOffset))
    } else {
        Ok(())
    }
}

fn files<'a>(
    dwarf: &Dwarf<Reader<'a>>,
    unit: &Unit<Reader<'a>>,
    header: &Header<'a>,
    context: &mut Context<'_>,
) -> Result<Files, Stop> {
    let base = if header.version() >= 5 { 0 } else { 1 };
    let mut names = Vec::with_capacity(header.file_names().len());
    for file in header.file_names() {
        let name = string(dwarf, unit, file.path_name(), context.budget)?;
        let directory = match directory(header, file.directory_index()) {
            Some(value) => string(dwarf, unit, value, context.budget)?,
            None => None,
        };
        let path = name.map(|name| path(unit, directory.unwrap_or_default(), name));
        names.push(path.map(|path| context.strings.intern_bytes(&path)));
    }
    Ok(Files { base, names })
}

/// The directory of a file. Before DWARF 5 index 0 meant the compilation directory, which is joined
/// anyway.
fn directory<'a>(header: &Header<'a>, index: u64) -> Option<AttributeValue<Reader<'a>>> {
    let index = if header.version() >= 5 { index } else { index.checked_sub(1)? };
    header.include_directories().get(usize::try_from(index).ok()?).copied()
}

/// The path as the compiler meant it: relative ones are joined to their directory and that to the
/// compilation directory.
fn path(unit: &Unit<Reader<'_>>, directory: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = Vec::new();
    if !is_absolute(name) {
        if !is_absolute(directory) {
            push_path(&mut path, unit.comp_dir.map_or(&[], |dir| dir.slice()));
        }
        push_path(&mut path, directory);
    }
    push_path(&mut path, name);
    path
}
