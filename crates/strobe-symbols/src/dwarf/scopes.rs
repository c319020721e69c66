//! Functions and inlined calls: the tree of debugging information entries flattened into scopes and address ranges.

use std::collections::{BTreeSet, HashMap};

use gimli::{Abbreviation, AttributeValue, DwTag, Dwarf, EntriesRaw, Unit};

use super::lines::{Context, Files, Lines};
use super::strings::{Interner, string, text};
use super::unit::Root;
use super::{Budget, Live, Reader, Stop};
use crate::frames::{Place, Scope, ScopeId, StringId};
use crate::interval::Claim;
use crate::names::demangle;

/// Deepest chain of inlined calls that is kept; deeper ones are shown as part of the call at this depth.
const DEEPEST_INLINING: usize = 128;
/// Deepest nesting of namespaces and types that is spelled out.
const DEEPEST_NAMESPACE: usize = 32;
/// Longest chain of references from an inlined copy to the entry that has the name.
const LONGEST_REFERENCE_CHAIN: usize = 16;

/// Everything read, ready to be flattened.
pub(super) struct Read {
    pub(super) strings: Vec<Box<str>>,
    pub(super) scopes: Vec<Scope>,
    pub(super) ranges: Vec<Claim<ScopeId>>,
    pub(super) lines: Vec<Claim<Place>>,
    pub(super) producers: BTreeSet<String>,
    pub(super) is_split: bool,
}

/// Collects scopes unit by unit; names are resolved at the end, since entries refer across units (LTO).
pub(super) struct Builder<'a, 'c> {
    dwarf: &'c Dwarf<Reader<'a>>,
    live: &'c Live<'c>,
    budget: Budget,
    strings: Interner,
    lines: Lines,
    producers: BTreeSet<String>,
    is_split: bool,
    units: u32,
    scopes: Vec<RawScope>,
    ranges: Vec<Claim<ScopeId>>,
    namespaces: Vec<Namespace<'a>>,
    names: Vec<EntryNames<'a>>,
    /// Where a function's entry is in `names`, by its offset in `.debug_info`.
    by_offset: HashMap<usize, u32>,
}

struct RawScope {
    caller: Option<(ScopeId, Place)>,
    names: u32,
}

/// What an entry says of its name, directly or by reference.
#[derive(Clone, Copy, Default)]
struct EntryNames<'a> {
    linkage: Option<&'a [u8]>,
    name: Option<&'a [u8]>,
    origin: Option<usize>,
    specification: Option<usize>,
    namespace: Option<u32>,
}

struct Namespace<'a> {
    parent: Option<u32>,
    name: &'a [u8],
}

/// An open entry on the way from the root to the current one.
#[derive(Clone, Copy)]
struct Level {
    depth: isize,
    scope: Option<ScopeId>,
    inlining: usize,
    namespace: Option<u32>,
    namespace_depth: usize,
}

/// The attributes that matter of a function or an inlined call.
#[derive(Default)]
struct Attributes<'a> {
    names: EntryNames<'a>,
    low: Option<AttributeValue<Reader<'a>>>,
    high: Option<AttributeValue<Reader<'a>>>,
    ranges: Option<AttributeValue<Reader<'a>>>,
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
            producers: BTreeSet::new(),
            is_split: false,
            units: 0,
            scopes: Vec::new(),
            ranges: Vec::new(),
            namespaces: Vec::new(),
            names: Vec::new(),
            by_offset: HashMap::new(),
        }
    }

    /// Reads one unit: its lines first, so that damage among the entries does not cost them.
    pub(super) fn unit(&mut self, unit: &Unit<Reader<'a>>, root: &Root) -> Result<(), Stop> {
        // Where units overlap, the first one counts.
        let unit_priority = u64::from(u32::MAX - self.units) << 32;
        self.units += 1;
        let mut context =
            Context { live: self.live, budget: &mut self.budget, strings: &mut self.strings };
        let lines = match root.line_program {
            Some(offset) => self.lines.run(self.dwarf, unit, offset, unit_priority, &mut context),
            None => Ok(Default::default()),
        };
        let (files, lines_stop) = match lines {
            Ok(files) => (files, Ok(())),
            Err(Stop::Exhausted) => return Err(Stop::Exhausted),
            Err(stop) => (self.lines.files(root.line_program), Err(stop)),
        };
        self.entries(unit, &files, unit_priority)?;
        lines_stop
    }

    fn entries(
        &mut self,
        unit: &Unit<Reader<'a>>,
        files: &Files,
        unit_priority: u64,
    ) -> Result<(), Stop> {
        let mut entries = unit.entries_raw(None)?;
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
            let mut level = levels.last().copied().unwrap_or(Level {
                depth,
                scope: None,
                inlining: 0,
                namespace: None,
                namespace_depth: 0,
            });
            level.depth = depth;
            match abbreviation.tag() {
                gimli::DW_TAG_compile_unit | gimli::DW_TAG_skeleton_unit => {
                    self.root(unit, &mut entries, abbreviation)?;
                }
                gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine => {
                    let mut attributes = self.attributes(unit, &mut entries, abbreviation)?;
                    attributes.names.namespace = level.namespace;
                    let global = offset.to_debug_info_offset(&unit.header).map(|offset| offset.0);
                    self.scope(
                        unit,
                        files,
                        unit_priority,
                        abbreviation.tag(),
                        global,
                        &attributes,
                        &mut level,
                    )?;
                }
                tag if opens_namespace(tag) => {
                    self.namespace(unit, &mut entries, abbreviation, &mut level)?
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
        entries: &mut EntriesRaw<'_, Reader<'a>>,
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
        entries: &mut EntriesRaw<'_, Reader<'a>>,
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
            self.namespaces.push(Namespace { parent: level.namespace, name });
            level.namespace = Some(self.namespaces.len() as u32 - 1);
            level.namespace_depth += 1;
        }
        Ok(())
    }

    fn attributes(
        &mut self,
        unit: &Unit<Reader<'a>>,
        entries: &mut EntriesRaw<'_, Reader<'a>>,
        abbreviation: &Abbreviation,
    ) -> Result<Attributes<'a>, Stop> {
        let mut found = Attributes::default();
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

    #[expect(
        clippy::too_many_arguments,
        reason = "one call, each argument a different part of the unit's state"
    )]
    fn scope(
        &mut self,
        unit: &Unit<Reader<'a>>,
        files: &Files,
        unit_priority: u64,
        tag: DwTag,
        offset: Option<usize>,
        attributes: &Attributes<'a>,
        level: &mut Level,
    ) -> Result<(), Stop> {
        let ranges = self.live_ranges(unit, attributes)?;
        let names = self.names.len() as u32;
        let is_function = tag == gimli::DW_TAG_subprogram;
        if is_function && let Some(offset) = offset {
            self.by_offset.insert(offset, names);
        }
        self.names.push(attributes.names);
        let caller = match level.scope {
            // A function without code here only lends its name to copies elsewhere.
            _ if is_function && ranges.is_empty() => {
                level.scope = None;
                return Ok(());
            }
            _ if is_function => None,
            Some(caller) if level.inlining < DEEPEST_INLINING => Some(caller),
            _ => return Ok(()),
        };
        let call = Place {
            file: attributes.call_file.and_then(|index| files.get(index)),
            line: u32::try_from(attributes.call_line).unwrap_or(u32::MAX),
            column: u32::try_from(attributes.call_column).unwrap_or(u32::MAX),
        };
        let id = ScopeId(self.scopes.len() as u32);
        self.scopes.push(RawScope { caller: caller.map(|caller| (caller, call)), names });
        for (start, end) in ranges {
            self.budget.spend_claim()?;
            let priority = unit_priority | (self.ranges.len() as u64 & u64::from(u32::MAX));
            self.ranges.push(Claim { start, end, priority, value: id });
        }
        level.inlining = if caller.is_some() { level.inlining + 1 } else { 0 };
        level.scope = Some(id);
        Ok(())
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
                ranges.extend(self.live.clip(low, high));
            }
        } else if let Some(list) = attributes.ranges
            && let Some(mut list) = self.dwarf.attr_ranges(unit, list)?
        {
            while let Some(range) = list.next()? {
                self.budget.spend(1)?;
                ranges.extend(self.live.clip(range.begin, range.end));
            }
        }
        Ok(ranges)
    }

    fn string(
        &mut self,
        unit: &Unit<Reader<'a>>,
        value: AttributeValue<Reader<'a>>,
    ) -> Result<Option<&'a [u8]>, Stop> {
        string(self.dwarf, unit, value, &mut self.budget)
    }

    /// Resolves the names, which may lie in other units.
    pub(super) fn finish(mut self) -> Read {
        let mut resolved: HashMap<u32, (Option<StringId>, Option<StringId>)> = HashMap::new();
        let mut scopes = Vec::with_capacity(self.scopes.len());
        for scope in std::mem::take(&mut self.scopes) {
            let (linkage_name, display_name) = match resolved.get(&scope.names) {
                Some(&names) => names,
                None => {
                    let names = self.resolve(scope.names);
                    resolved.insert(scope.names, names);
                    names
                }
            };
            scopes.push(Scope { caller: scope.caller, linkage_name, display_name });
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

    /// The linkage name and the name to show of an entry. As in the symbolisers, a linkage name anywhere along the chain of
    /// references comes before a plain name; an entry with neither has none.
    fn resolve(&mut self, entry: u32) -> (Option<StringId>, Option<StringId>) {
        let mut plain: Option<EntryNames<'a>> = None;
        let mut at = Some(entry);
        for _ in 0..LONGEST_REFERENCE_CHAIN {
            let Some(names) = at.map(|at| self.names[at as usize]) else { break };
            if let Some(linkage) = names.linkage {
                let linkage = text(linkage);
                let display = demangle(&linkage);
                return (Some(self.strings.intern(&linkage)), Some(self.strings.intern(&display)));
            }
            if plain.is_none() && names.name.is_some() {
                plain = Some(names);
            }
            let next = names.origin.or(names.specification);
            at = next.and_then(|offset| self.by_offset.get(&offset)).copied();
        }
        let Some((names, name)) = plain.and_then(|names| Some((names, names.name?))) else {
            return (None, None);
        };
        let linkage = self.strings.intern_bytes(name);
        let display = self.qualified(names.namespace, name);
        (Some(linkage), Some(self.strings.intern(&display)))
    }

    /// A name with its namespaces and types, for entries whose linkage name the compiler left out.
    fn qualified(&self, mut namespace: Option<u32>, name: &[u8]) -> String {
        let mut parts = vec![text(name)];
        while let Some(at) = namespace {
            let entry = &self.namespaces[at as usize];
            parts.push(text(entry.name));
            namespace = entry.parent;
        }
        parts.reverse();
        parts.join("::")
    }
}

fn opens_namespace(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_namespace
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_structure_type
            | gimli::DW_TAG_union_type
    )
}

fn reference(unit: &Unit<Reader<'_>>, value: AttributeValue<Reader<'_>>) -> Option<usize> {
    match value {
        AttributeValue::UnitRef(offset) => {
            offset.to_debug_info_offset(&unit.header).map(|offset| offset.0)
        }
        AttributeValue::DebugInfoRef(offset) => Some(offset.0),
        _ => None,
    }
}
