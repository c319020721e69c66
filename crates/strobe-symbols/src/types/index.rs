//! Index of variables, types and constants by name, built in one pass over the debug information.

use std::collections::HashMap;

use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, Section as _, Unit, UnitType};

use super::units::entry_address;
use super::{Starts, TypeId, Types, Variable};
use crate::dwarf::{Budget, Reader, all_units};

type Entry<'a> = DebuggingInformationEntry<Reader<'a>>;

/// Maximum depth of namespaces in a name.
const DEEPEST_NAMESPACE: usize = 32;

/// Maximum number of records that a variable's name and type may be spread over.
const LONGEST_ORIGIN: usize = 4;

pub(super) fn read<'a>(dwarf: Dwarf<Reader<'a>>) -> Types<'a> {
    let size = dwarf.debug_info.reader().len() + dwarf.debug_types.reader().len();
    let units = all_units(&dwarf);
    let mut budget = Budget::for_size(size);
    let start = |(unit, number): (&Unit<Reader<'a>>, u32)| {
        Some((unit.header.debug_info_offset()?.0, number))
    };
    let starts = Starts(units.iter().zip(0..).filter_map(start).collect());
    let mut found = Found::default();
    for (number, unit) in (0..).zip(&units) {
        if let UnitType::Type { type_signature, type_offset } = unit.header.type_() {
            let of = TypeId { unit: number, offset: type_offset.0 };
            found.signatures.insert(type_signature.0, of);
        }
    }
    for (number, unit) in (0..).zip(&units) {
        let (dwarf, starts, units) = (&dwarf, &starts, units.as_slice());
        let mut scan =
            Scan { dwarf, starts, units, unit, number, found: &mut found, budget: &mut budget };
        // The rest of a damaged unit is skipped; the firmware's own warnings report it.
        let _ = scan.unit();
    }
    let Found { signatures, variables, structures, typedefs, enumerators } = found;
    Types { units, dwarf, starts, signatures, variables, structures, typedefs, enumerators }
}

/// The index under construction.
#[derive(Default)]
struct Found {
    signatures: HashMap<u64, TypeId>,
    variables: HashMap<String, Vec<Variable>>,
    structures: HashMap<String, TypeId>,
    typedefs: HashMap<String, TypeId>,
    enumerators: HashMap<String, i64>,
}

/// A unit being read.
struct Scan<'s, 'a> {
    dwarf: &'s Dwarf<Reader<'a>>,
    starts: &'s Starts,
    units: &'s [Unit<Reader<'a>>],
    unit: &'s Unit<Reader<'a>>,
    number: u32,
    found: &'s mut Found,
    budget: &'s mut Budget,
}

impl<'a> Scan<'_, 'a> {
    fn unit(&mut self) -> Option<()> {
        let mut entries = self.unit.entries_raw(None).ok()?;
        let mut entry = Entry::null();
        // Open namespaces and enumerations by depth; any other open entry hides its content.
        let mut namespaces: Vec<(isize, String)> = Vec::new();
        let mut enumeration: Option<isize> = None;
        while !entries.is_empty() {
            let (offset, depth) = (entries.next_offset(), entries.next_depth());
            while namespaces.last().is_some_and(|(at, _)| *at >= depth) {
                namespaces.pop();
            }
            enumeration = enumeration.filter(|at| *at < depth);
            let inside = 1 + namespaces.len() as isize;
            let wanted = depth == inside || enumeration.is_some_and(|at| at + 1 == depth);
            if !wanted {
                if let Some(abbreviation) = entries.read_abbreviation().ok()? {
                    self.budget.spend(1 + abbreviation.attributes().len()).ok()?;
                    entries.skip_attributes(abbreviation.attributes()).ok()?;
                }
                continue;
            }
            if !entries.read_entry(&mut entry).ok()? {
                continue;
            }
            self.budget.spend(1 + entry.attrs().len()).ok()?;
            let here = TypeId { unit: self.number, offset: offset.0 };
            let prefix = namespaces.last().map(|(_, name)| name.as_str()).unwrap_or_default();
            match entry.tag() {
                gimli::DW_TAG_namespace if namespaces.len() < DEEPEST_NAMESPACE => {
                    let name = self.text(here, &entry).unwrap_or_default();
                    namespaces.push((depth, format!("{prefix}{name}::")));
                }
                gimli::DW_TAG_variable => self.variable(&entry, here, prefix),
                gimli::DW_TAG_enumerator => self.enumerator(&entry, here),
                tag @ (gimli::DW_TAG_structure_type
                | gimli::DW_TAG_class_type
                | gimli::DW_TAG_union_type
                | gimli::DW_TAG_enumeration_type
                | gimli::DW_TAG_typedef) => {
                    if tag == gimli::DW_TAG_enumeration_type {
                        enumeration = Some(depth);
                    }
                    self.named_type(&entry, here, prefix);
                }
                _ => {}
            }
        }
        Some(())
    }

    fn text(&mut self, at: TypeId, entry: &Entry<'a>) -> Option<String> {
        let text = entry.attr_value(gimli::DW_AT_name)?;
        let unit = self.units.get(at.unit as usize)?;
        let text = self.dwarf.attr_string(unit, text).ok()?;
        self.budget.spend_bytes(text.len()).ok()?;
        Some(String::from_utf8_lossy(text.slice()).into_owned())
    }

    /// Adds a variable that has an address. Variables that the linker has removed are left at
    /// address 0.
    fn variable(&mut self, entry: &Entry<'a>, here: TypeId, prefix: &str) {
        let Some(address) = entry_address(self.dwarf, self.unit, entry) else { return };
        // A definition leaves name and type to an earlier declaration; a variable placed by
        // link-time optimisation leaves them to its original unit.
        let (mut at, mut entry) = (here, entry.clone());
        let (mut of, mut name) = (None, None);
        for _ in 0..LONGEST_ORIGIN {
            of = of.or_else(|| self.reference(at, entry.attr_value(gimli::DW_AT_type)?));
            name = name.or_else(|| self.text(at, &entry));
            let origins = [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin];
            let origin = origins.iter().find_map(|name| entry.attr_value(*name));
            let next = origin.and_then(|origin| self.reference(at, origin));
            let Some(next) = next.filter(|_| of.is_none() || name.is_none()) else { break };
            let unit = self.units.get(next.unit as usize);
            let Some(found) = unit.and_then(|u| u.entry(gimli::UnitOffset(next.offset)).ok())
            else {
                break;
            };
            if self.budget.spend(1 + found.attrs().len()).is_err() {
                return;
            }
            (at, entry) = (next, found);
        }
        let (Some(of), Some(name)) = (of, name) else { return };
        let known = self.found.variables.entry(format!("{prefix}{name}")).or_default();
        // Two units may describe one variable.
        if known.iter().all(|other| other.address != address) {
            known.push(Variable { address, of });
        }
    }

    fn reference(&self, from: TypeId, value: AttributeValue<Reader<'a>>) -> Option<TypeId> {
        match value {
            AttributeValue::UnitRef(offset) => Some(TypeId { unit: from.unit, offset: offset.0 }),
            AttributeValue::DebugInfoRef(offset) => self.starts.at(offset.0),
            AttributeValue::DebugTypesRef(signature) => {
                self.found.signatures.get(&signature.0).copied()
            }
            _ => None,
        }
    }

    fn enumerator(&mut self, entry: &Entry<'a>, here: TypeId) {
        let value = entry.attr_value(gimli::DW_AT_const_value);
        let value = value.and_then(|value| value.sdata_value());
        if let (Some(name), Some(value)) = (self.text(here, entry), value) {
            self.found.enumerators.entry(name).or_insert(value);
        }
    }

    /// Of several types of one name the first counts.
    fn named_type(&mut self, entry: &Entry<'a>, here: TypeId, prefix: &str) {
        if entry.attr_value(gimli::DW_AT_declaration).is_some() {
            return;
        }
        let Some(name) = self.text(here, entry) else { return };
        let known = match entry.tag() {
            gimli::DW_TAG_typedef => &mut self.found.typedefs,
            _ => &mut self.found.structures,
        };
        known.entry(format!("{prefix}{name}")).or_insert(here);
    }
}
