//! Finds and sets up units, each independently, so that damage in one affects only that one.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use gimli::{
    Abbreviations, AttributeValue, DebugAbbrev, DebugAbbrevOffset, DebugAddrBase, DebugLineOffset,
    DebugLocListsBase, DebugRngListsBase, DebugStrOffsetsBase, Dwarf, DwarfFileType, LittleEndian,
    Section as _, Unit, UnitHeader, UnitType,
};

use super::scopes::Builder;
use super::{Reader, Stop};

/// A unit that could not be read to its end.
pub(super) struct StoppedUnit {
    /// Offset in `.debug_info`.
    pub(super) offset: usize,
    stop: Stop,
}

impl StoppedUnit {
    pub(super) fn describe(&self, dwarf: &Dwarf<Reader<'_>>) -> String {
        match self.stop {
            Stop::Damaged(error) => {
                format!("{}: the rest of this unit is skipped", dwarf.format_error(error))
            }
            Stop::Exhausted => {
                "far more records than a file of this size can have: the rest is skipped".to_owned()
            }
        }
    }
}

/// Attributes of a unit's root entry that `gimli` does not keep in [`Unit`].
pub(super) struct Root {
    pub(super) line_program: Option<DebugLineOffset>,
}

/// Reads every unit of `.debug_info` in order.
pub(super) fn read_units<'a>(
    dwarf: &Dwarf<Reader<'a>>,
    builder: &mut Builder<'a, '_>,
) -> Vec<StoppedUnit> {
    let mut stopped = Vec::new();
    let mut headers = Vec::new();
    let mut iter = dwarf.units();
    loop {
        let next_at = headers.last().map_or(0, end_of);
        match iter.next() {
            Ok(Some(header)) => headers.push(header),
            Ok(None) => break,
            Err(error) => {
                stopped.push(StoppedUnit { offset: next_at, stop: Stop::Damaged(error) });
                break;
            }
        }
    }
    let mut tables = AbbreviationTables::new(dwarf, &headers);
    for header in headers {
        let offset = header.debug_info_offset().map_or(0, |offset| offset.0);
        match read_unit(dwarf, header, &mut tables, builder) {
            Ok(()) => {}
            Err(Stop::Exhausted) => {
                stopped.push(StoppedUnit { offset, stop: Stop::Exhausted });
                break;
            }
            Err(stop) => stopped.push(StoppedUnit { offset, stop }),
        }
    }
    stopped
}

/// Every unit that can be set up, type units included, in order.
pub(crate) fn all_units<'a>(dwarf: &Dwarf<Reader<'a>>) -> Vec<Unit<Reader<'a>>> {
    let mut headers = Vec::new();
    let (mut units, mut type_units) = (dwarf.units(), dwarf.type_units());
    while let Ok(Some(header)) = units.next() {
        headers.push(header);
    }
    while let Ok(Some(header)) = type_units.next() {
        headers.push(header);
    }
    let mut tables = AbbreviationTables::new(dwarf, &headers);
    let unit = |header: UnitHeader<Reader<'a>>| {
        let abbreviations = tables.get(header.debug_abbrev_offset()).ok()?;
        Some(set_up(dwarf, header, abbreviations).ok()?.0)
    };
    headers.into_iter().filter_map(unit).collect()
}

fn end_of(header: &UnitHeader<Reader<'_>>) -> usize {
    header.debug_info_offset().map_or(0, |offset| offset.0) + header.length_including_self()
}

fn read_unit<'a>(
    dwarf: &Dwarf<Reader<'a>>,
    header: UnitHeader<Reader<'a>>,
    tables: &mut AbbreviationTables<'a>,
    builder: &mut Builder<'a, '_>,
) -> Result<(), Stop> {
    // Type units hold no code and nothing that code refers to by offset.
    if matches!(header.type_(), UnitType::Type { .. } | UnitType::SplitType { .. }) {
        return Ok(());
    }
    let abbreviations = tables.get(header.debug_abbrev_offset())?;
    let (unit, root) = set_up(dwarf, header, abbreviations)?;
    builder.unit(&unit, &root)
}

/// Equivalent to [`Unit::new`], but does not parse the line program, which many units may share.
fn set_up<'a>(
    dwarf: &Dwarf<Reader<'a>>,
    header: UnitHeader<Reader<'a>>,
    abbreviations: Arc<Abbreviations>,
) -> Result<(Unit<Reader<'a>>, Root), Stop> {
    let encoding = header.encoding();
    let mut unit = Unit {
        abbreviations,
        name: None,
        comp_dir: None,
        low_pc: 0,
        str_offsets_base: DebugStrOffsetsBase::default_for_encoding_and_file(
            encoding,
            DwarfFileType::Main,
        ),
        addr_base: DebugAddrBase(0),
        loclists_base: DebugLocListsBase::default_for_encoding_and_file(
            encoding,
            DwarfFileType::Main,
        ),
        rnglists_base: DebugRngListsBase::default_for_encoding_and_file(
            encoding,
            DwarfFileType::Main,
        ),
        line_program: None,
        dwo_id: None,
        header,
    };
    let mut root = Root { line_program: None };
    let (mut name, mut comp_dir, mut low_pc) = (None, None, None);
    let mut entries = unit.header.entries_raw(&unit.abbreviations, None)?;
    let abbreviation = entries.read_abbreviation()?.ok_or(gimli::Error::MissingUnitDie)?;
    for spec in abbreviation.attributes() {
        let attribute = entries.read_attribute(*spec)?;
        match (attribute.name(), attribute.value()) {
            (gimli::DW_AT_name, value) => name = Some(value),
            (gimli::DW_AT_comp_dir, value) => comp_dir = Some(value),
            (gimli::DW_AT_low_pc, value) => low_pc = Some(value),
            (gimli::DW_AT_stmt_list, AttributeValue::DebugLineRef(offset)) => {
                root.line_program = Some(offset)
            }
            (_, AttributeValue::DebugStrOffsetsBase(base)) => unit.str_offsets_base = base,
            (_, AttributeValue::DebugAddrBase(base)) => unit.addr_base = base,
            (_, AttributeValue::DebugLocListsBase(base)) => unit.loclists_base = base,
            (_, AttributeValue::DebugRngListsBase(base)) => unit.rnglists_base = base,
            _ => {}
        }
    }
    unit.name = name.and_then(|value| dwarf.attr_string(&unit, value).ok());
    unit.comp_dir = comp_dir.and_then(|value| dwarf.attr_string(&unit, value).ok());
    if let Some(address) =
        low_pc.map(|value| dwarf.attr_address(&unit, value)).transpose()?.flatten()
    {
        unit.low_pc = address;
    }
    Ok((unit, root))
}

/// Abbreviation tables, each parsed once.
///
/// In a sound file they follow each other, so each is parsed within the bytes up to the next.
/// Overlapping tables, which would make the work quadratic, are truncated and then found damaged.
struct AbbreviationTables<'a> {
    section: Reader<'a>,
    starts: BTreeSet<usize>,
    parsed: HashMap<usize, Result<Arc<Abbreviations>, gimli::Error>>,
}

impl<'a> AbbreviationTables<'a> {
    fn new(dwarf: &Dwarf<Reader<'a>>, headers: &[UnitHeader<Reader<'a>>]) -> Self {
        let starts = headers.iter().map(|header| header.debug_abbrev_offset().0).collect();
        AbbreviationTables { section: *dwarf.debug_abbrev.reader(), starts, parsed: HashMap::new() }
    }

    fn get(&mut self, offset: DebugAbbrevOffset) -> Result<Arc<Abbreviations>, gimli::Error> {
        let (section, starts) = (self.section.slice(), &self.starts);
        let parse = || {
            let end = starts
                .range(offset.0 + 1..)
                .next()
                .map_or(section.len(), |&next| next.min(section.len()));
            let window = section.get(offset.0..end).unwrap_or_default();
            DebugAbbrev::new(window, LittleEndian).abbreviations(DebugAbbrevOffset(0)).map(Arc::new)
        };
        self.parsed.entry(offset.0).or_insert_with(parse).clone()
    }
}
