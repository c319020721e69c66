//! Functions and inlined calls: the tree of debugging information entries flattened into scopes and
//! address ranges.

use std::collections::BTreeSet;

use gimli::{Abbreviation, AttributeValue, Dwarf, EntriesRaw, Unit};

use super::entry_names::{EntryId, EntryNames, NameTable, Names, NamespaceId};
use super::lines::{Context, Files, Lines};
use super::strings::{Interner, string, text};
use super::unit::Root;
use super::{Budget, Live, Reader, Stop};
use crate::frames::{Place, Scope, ScopeId};
use crate::interval::Claim;

/// Maximum depth of inlined calls; deeper ones are shown as part of the call at this depth.
const DEEPEST_INLINING: usize = 128;
/// Maximum depth of namespaces and types in a name.
const DEEPEST_NAMESPACE: usize = 32;

type Entries<'e, 'a> = EntriesRaw<'e, Reader<'a>>;
type Value<'a> = AttributeValue<Reader<'a>>;

/// All entries read, ready to be flattened.
pub(super) struct Read {
    pub(super) strings: Vec<Box<str>>,
    pub(super) scopes: Vec<Scope>,
    pub(super) ranges: Vec<Claim<ScopeId>>,
    pub(super) lines: Vec<Claim<Place>>,
    pub(super) producers: BTreeSet<String>,
    pub(super) is_split: bool,
}

/// Collects scopes unit by unit.
pub(super) struct Builder<'a, 'c> {
    dwarf: &'c Dwarf<Reader<'a>>,
    live: &'c Live<'c>,
    budget: Budget,
    strings: Interner,
    lines: Lines,
    names: NameTable<'a>,
    producers: BTreeSet<String>,
    is_split: bool,
    units: u32,
    scopes: Vec<(Option<(ScopeId, Place)>, EntryId)>,
    ranges: Vec<Claim<ScopeId>>,
}

/// The unit being read.
struct Current<'a, 'u> {
    unit: &'u Unit<Reader<'a>>,
    files: &'u Files,
    priority: u64,
}

/// An open entry on the path from the root to the current one.
#[derive(Clone, Copy, Default)]
struct Level {
    depth: isize,
    scope: Option<ScopeId>,
    inlining: usize,
    namespace: Option<NamespaceId>,
    namespace_depth: usize,
}

/// The relevant attributes of a function or an inlined call.
#[derive(Default)]
struct Attributes<'a> {
    names: EntryNames<'a>,
    low: Option<Value<'a>>,
    high: Option<Value<'a>>,
    ranges: Option<Value<'a>>,
    call_file: Option<u64>,
    call_line: u64,
    call_column: u64,
}

impl<'a, 'c> Builder<'a, 'c> {
    pub(super) fn new(dwarf: &'c Dwarf<Reader<'a>>, live: &'c Live<'c>, budget: Budget) -> Self {
        Builder {
            dwarf,
            live,
            budget,
            strings: Interner::default(),
            lines: Lines::default(),
            names: NameTable::default(),
            producers: BTreeSet::new(),
            is_split: false,
            units: 0,
            scopes: Vec::new(),
            ranges: Vec::new(),
        }
    }

    /// Reads one unit: its lines first, so that they survive damage among the entries.
    pub(super) fn unit(&mut self, unit: &Unit<Reader<'a>>, root: &Root) -> Result<(), Stop> {
        // Where units overlap, the first one counts.
        let priority = u64::from(u32::MAX - self.units) << 32;
        self.units += 1;
        let mut context =
            Context { live: self.live, budget: &mut self.budget, strings: &mut self.strings };
        let lines = match root.line_program {
            Some(offset) => self.lines.run(self.dwarf, unit, offset, priority, &mut context),
            None => Ok(Default::default()),
        };
        let (files, lines_stop) = match lines {
            Ok(files) => (files, Ok(())),
            Err(Stop::Exhausted) => return Err(Stop::Exhausted),
            Err(stop) => (self.lines.files(root.line_program), Err(stop)),
        };
        self.entries(&Current { unit, files: &files, priority })?;
        lines_stop
    }

    fn entries(&mut self, current: &Current<'a, '_>) -> Result<(), Stop> {
        let mut entries = current.unit.entries_raw(None)?;
        let mut levels: Vec<Level> = Vec::new();
        while !entries.is_empty() {
            let (offset, depth) = (entries.next_offset(), entries.next_depth());
            let abbreviation = entries.read_abbreviation()?;
            self.budget.spend(1)?;
            let Some(abbreviation) = abbreviation else { continue };
            self.budget.spend(abbreviation.attributes().len())?;
            while levels.last().is_some_and(|level| level.depth >= depth) {
                levels.pop();
            }
            let mut level = Level { depth, ..levels.last().copied().unwrap_or_default() };
            match abbreviation.tag() {
                gimli::DW_TAG_compile_unit | gimli::DW_TAG_skeleton_unit => {
                    self.root(current.unit, &mut entries, abbreviation)?;
                }
                gimli::DW_TAG_subprogram => {
                    let attributes =
                        self.attributes(current.unit, &mut entries, abbreviation, &level)?;
                    let offset =
                        offset.to_debug_info_offset(&current.unit.header).map(|offset| offset.0);
                    self.function(current, offset, &attributes, &mut level)?;
                }
                gimli::DW_TAG_inlined_subroutine => {
                    let attributes =
                        self.attributes(current.unit, &mut entries, abbreviation, &level)?;
                    self.inlined_call(current, &attributes, &mut level)?;
                }
                gimli::DW_TAG_namespace
                | gimli::DW_TAG_class_type
                | gimli::DW_TAG_structure_type
                | gimli::DW_TAG_union_type => {
                    self.namespace(current.unit, &mut entries, abbreviation, &mut level)?;
                }
                _ => entries.skip_attributes(abbreviation.attributes())?,
            }
            if abbreviation.has_children() {
                levels.push(level);
            }
        }
        Ok(())
    }

    fn root(
        &mut self,
        unit: &Unit<Reader<'a>>,
        entries: &mut Entries<'_, 'a>,
        abbreviation: &Abbreviation,
    ) -> Result<(), Stop> {
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            match attribute.name() {
                gimli::DW_AT_producer => {
                    if let Some(producer) = self.string(unit, attribute.value())? {
                        self.producers.insert(text(producer).into_owned());
                    }
                }
                gimli::DW_AT_dwo_name | gimli::DW_AT_GNU_dwo_name => self.is_split = true,
                _ => {}
            }
        }
        Ok(())
    }

    fn namespace(
        &mut self,
        unit: &Unit<Reader<'a>>,
        entries: &mut Entries<'_, 'a>,
        abbreviation: &Abbreviation,
        level: &mut Level,
    ) -> Result<(), Stop> {
        let mut name = None;
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            if attribute.name() == gimli::DW_AT_name {
                name = self.string(unit, attribute.value())?;
            }
        }
        if level.namespace_depth < DEEPEST_NAMESPACE {
            let name = name.unwrap_or(match abbreviation.tag() {
                gimli::DW_TAG_namespace => b"(anonymous namespace)",
                _ => b"(anonymous)",
            });
            level.namespace = Some(self.names.add_namespace(level.namespace, name));
            level.namespace_depth += 1;
        }
        Ok(())
    }

    fn attributes(
        &mut self,
        unit: &Unit<Reader<'a>>,
        entries: &mut Entries<'_, 'a>,
        abbreviation: &Abbreviation,
        level: &Level,
    ) -> Result<Attributes<'a>, Stop> {
        let mut found = Attributes::default();
        found.names.namespace = level.namespace;
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            let value = attribute.value();
            match attribute.name() {
                gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => {
                    found.names.linkage = self.string(unit, value)?;
                }
                gimli::DW_AT_name => found.names.name = self.string(unit, value)?,
                gimli::DW_AT_abstract_origin => found.names.origin = reference(unit, value),
                gimli::DW_AT_specification => found.names.specification = reference(unit, value),
                gimli::DW_AT_low_pc => found.low = Some(value),
                gimli::DW_AT_high_pc => found.high = Some(value),
                gimli::DW_AT_ranges => found.ranges = Some(value),
                gimli::DW_AT_call_file => {
                    found.call_file = match value {
                        AttributeValue::FileIndex(index) => Some(index),
                        other => other.udata_value(),
                    };
                }
                gimli::DW_AT_call_line => found.call_line = attribute.udata_value().unwrap_or(0),
                gimli::DW_AT_call_column => {
                    found.call_column = attribute.udata_value().unwrap_or(0)
                }
                _ => {}
            }
        }
        Ok(found)
    }

    fn function(
        &mut self,
        current: &Current<'a, '_>,
        offset: Option<usize>,
        attributes: &Attributes<'a>,
        level: &mut Level,
    ) -> Result<(), Stop> {
        let entry = self.names.add(offset, attributes.names);
        let ranges = self.live_ranges(current.unit, attributes)?;
        level.inlining = 0;
        // A function without code here only provides its name to copies elsewhere.
        level.scope =
            if ranges.is_empty() { None } else { Some(self.scope(current, None, entry, &ranges)) };
        Ok(())
    }

    fn inlined_call(
        &mut self,
        current: &Current<'a, '_>,
        attributes: &Attributes<'a>,
        level: &mut Level,
    ) -> Result<(), Stop> {
        let Some(caller) = level.scope.filter(|_| level.inlining < DEEPEST_INLINING) else {
            return Ok(());
        };
        let call = Place {
            file: attributes.call_file.and_then(|index| current.files.get(index)),
            line: u32::try_from(attributes.call_line).unwrap_or(u32::MAX),
            column: u32::try_from(attributes.call_column).unwrap_or(u32::MAX),
        };
        let entry = self.names.add(None, attributes.names);
        let ranges = self.live_ranges(current.unit, attributes)?;
        level.inlining += 1;
        level.scope = Some(self.scope(current, Some((caller, call)), entry, &ranges));
        Ok(())
    }

    fn scope(
        &mut self,
        current: &Current<'a, '_>,
        caller: Option<(ScopeId, Place)>,
        entry: EntryId,
        ranges: &[(u64, u64)],
    ) -> ScopeId {
        let id = ScopeId(self.scopes.len() as u32);
        self.scopes.push((caller, entry));
        for &(start, end) in ranges {
            // Later entries lie within earlier ones, or overlap them by mistake; either way the
            // later one counts.
            let priority = current.priority | (self.ranges.len() as u64 & u64::from(u32::MAX));
            self.ranges.push(Claim { start, end, priority, value: id });
        }
        id
    }

    fn live_ranges(
        &mut self,
        unit: &Unit<Reader<'a>>,
        attributes: &Attributes<'a>,
    ) -> Result<Vec<(u64, u64)>, Stop> {
        let mut ranges = Vec::new();
        if let (Some(low), Some(high)) = (attributes.low, attributes.high) {
            let low = self.dwarf.attr_address(unit, low)?;
            let high = match high.udata_value() {
                Some(size) => low.and_then(|low| low.checked_add(size)),
                None => self.dwarf.attr_address(unit, high)?,
            };
            if let (Some(low), Some(high)) = (low, high) {
                self.budget.spend_claim()?;
                ranges.extend(self.live.clip(low, high));
            }
        } else if let Some(list) = attributes.ranges
            && let Some(mut list) = self.dwarf.attr_ranges(unit, list)?
        {
            while let Some(range) = list.next()? {
                self.budget.spend(1)?;
                if let Some(range) = self.live.clip(range.begin, range.end) {
                    self.budget.spend_claim()?;
                    ranges.push(range);
                }
            }
        }
        Ok(ranges)
    }

    fn string(
        &mut self,
        unit: &Unit<Reader<'a>>,
        value: Value<'a>,
    ) -> Result<Option<&'a [u8]>, Stop> {
        string(self.dwarf, unit, value, &mut self.budget)
    }

    /// Resolves the names of the scopes, which may be in other units.
    pub(super) fn finish(mut self) -> Read {
        let mut scopes = Vec::with_capacity(self.scopes.len());
        for (caller, entry) in self.scopes {
            let names = self.names.resolve(entry, &mut self.strings);
            let Names { linkage_name, display_name, typed_name } = names;
            scopes.push(Scope { caller, linkage_name, display_name, typed_name });
        }
        Read {
            strings: self.strings.into_strings(),
            scopes,
            ranges: self.ranges,
            lines: self.lines.claims,
            producers: self.producers,
            is_split: self.is_split,
        }
    }
}

fn reference(unit: &Unit<Reader<'_>>, value: Value<'_>) -> Option<usize> {
    match value {
        AttributeValue::UnitRef(offset) => {
            offset.to_debug_info_offset(&unit.header).map(|offset| offset.0)
        }
        AttributeValue::DebugInfoRef(offset) => Some(offset.0),
        _ => None,
    }
}
