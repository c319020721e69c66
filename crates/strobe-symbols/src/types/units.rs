//! Which compilation unit defines the variable at an address: the source file of data, which has
//! no lines.

use std::collections::BTreeMap;

use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, Operation, Section as _, Unit};

use crate::dwarf::{Budget, Reader, all_units};
use crate::paths::short_path;

/// The source files of variables by their addresses. The first unit that defines one counts;
/// damaged units are skipped, as the firmware's warnings report.
pub(super) fn files(dwarf: &Dwarf<Reader<'_>>) -> BTreeMap<u32, String> {
    let mut budget = Budget::for_size(dwarf.debug_info.reader().len());
    let mut files = BTreeMap::new();
    for unit in all_units(dwarf) {
        let Some(name) = source(&unit) else { continue };
        let mut found = Vec::new();
        let _ = variables(dwarf, &unit, &mut budget, &mut found);
        for address in found {
            files.entry(address).or_insert_with(|| name.clone());
        }
    }
    files
}

/// The unit's source file. Rust names a unit after its crate's first file and the part of it.
fn source(unit: &Unit<Reader<'_>>) -> Option<String> {
    let text = |bytes: Reader<'_>| String::from_utf8_lossy(bytes.slice()).into_owned();
    let name = text(unit.name?);
    let name = name.split("/@/").next().unwrap_or(&name);
    let is_absolute = name.starts_with('/') || name.get(1..3) == Some(":\\");
    Some(match unit.comp_dir.map(text) {
        Some(directory) if !is_absolute => short_path(&format!("{directory}/{name}")),
        _ => short_path(name),
    })
}

fn variables<'a>(
    dwarf: &Dwarf<Reader<'a>>,
    unit: &Unit<Reader<'a>>,
    budget: &mut Budget,
    found: &mut Vec<u32>,
) -> Option<()> {
    let mut entries = unit.entries_raw(None).ok()?;
    while !entries.is_empty() {
        let Some(abbreviation) = entries.read_abbreviation().ok()? else { continue };
        budget.spend(1 + abbreviation.attributes().len()).ok()?;
        if abbreviation.tag() != gimli::DW_TAG_variable {
            entries.skip_attributes(abbreviation.attributes()).ok()?;
            continue;
        }
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec).ok()?;
            if attribute.name() == gimli::DW_AT_location {
                found.extend(address(dwarf, unit, attribute.value()));
            }
        }
    }
    Some(())
}

/// A fixed address. Variables that the linker has removed are left at address 0.
pub(super) fn address<'a>(
    dwarf: &Dwarf<Reader<'a>>,
    unit: &Unit<Reader<'a>>,
    location: AttributeValue<Reader<'a>>,
) -> Option<u32> {
    let AttributeValue::Exprloc(expression) = location else { return None };
    let mut operations = expression.operations(unit.encoding());
    let address = match operations.next().ok()?? {
        Operation::Address { address } => address,
        Operation::AddressIndex { index } => dwarf.address(unit, index).ok()?,
        _ => return None,
    };
    let is_alone = operations.next().ok()?.is_none();
    u32::try_from(address).ok().filter(|address| is_alone && *address != 0)
}

/// An entry's fixed address.
pub(super) fn entry_address<'a>(
    dwarf: &Dwarf<Reader<'a>>,
    unit: &Unit<Reader<'a>>,
    entry: &DebuggingInformationEntry<Reader<'a>>,
) -> Option<u32> {
    address(dwarf, unit, entry.attr_value(gimli::DW_AT_location)?)
}
