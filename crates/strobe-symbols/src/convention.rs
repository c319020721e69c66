//! Functions that take their arguments elsewhere than the calling convention has them. LLVM drops
//! and splits arguments of functions whose callers it knows all, and marks them with
//! `DW_CC_nocall` (DWARF 5, 3.3.1.1); where the arguments are is in the parameters' locations.

use std::collections::BTreeMap;

use gimli::{
    AttributeValue, Dwarf, EntriesRaw, Expression, Operation, Section as _, Unit, UnitOffset,
};

use crate::Firmware;
use crate::dwarf::{Budget, Reader, all_units, open};
use crate::elf::Elf;

/// Bits of a word: of an argument's register.
const WORD: u64 = 32;

/// Words of arguments that are followed.
const MOST_WORDS: usize = 16;

/// For each word of a function's arguments, as the source has them, the register in which it is
/// when the function begins; none where it was dropped.
pub type ArgumentWords = Vec<Option<u8>>;

impl Firmware {
    /// Functions whose arguments are not where the calling convention has them, by first address,
    /// with where they are. Damaged records are skipped.
    pub fn changed_conventions(&self) -> BTreeMap<u32, ArgumentWords> {
        let Some(dwarf) = Elf::parse(&self.bytes).ok().and_then(|elf| open(&elf)) else {
            return BTreeMap::new();
        };
        let mut budget = Budget::for_size(dwarf.debug_info.reader().len());
        let mut found = BTreeMap::new();
        for unit in all_units(&dwarf) {
            let _ = functions(&dwarf, &unit, &mut budget, &mut found);
        }
        found
    }
}

fn functions<'a>(
    dwarf: &Dwarf<Reader<'a>>,
    unit: &Unit<Reader<'a>>,
    budget: &mut Budget,
    found: &mut BTreeMap<u32, ArgumentWords>,
) -> Option<()> {
    let mut entries = unit.entries_raw(None).ok()?;
    // The function whose parameters are read: its depth and first address.
    let mut current: Option<(isize, u32)> = None;
    while !entries.is_empty() {
        let depth = entries.next_depth();
        let Some(abbreviation) = entries.read_abbreviation().ok()? else { continue };
        budget.spend(1 + abbreviation.attributes().len()).ok()?;
        current = current.filter(|(of, _)| depth > *of);
        match (abbreviation.tag(), current) {
            (gimli::DW_TAG_subprogram, _) => {
                let begin = changed(dwarf, unit, &mut entries, abbreviation)?;
                current = begin.map(|begin| (depth, begin));
                found.extend(begin.map(|begin| (begin, ArgumentWords::new())));
            }
            (gimli::DW_TAG_formal_parameter, Some((of, begin))) if depth == of + 1 => {
                let words = parameter(dwarf, unit, &mut entries, abbreviation, begin)?;
                let known = found.entry(begin).or_default();
                known.extend(words);
                known.truncate(MOST_WORDS);
            }
            _ => entries.skip_attributes(abbreviation.attributes()).ok()?,
        }
    }
    Some(())
}

/// The first address of a function, if it is one of them. Those that the linker has removed are
/// left at address 0.
fn changed<'a>(
    dwarf: &Dwarf<Reader<'a>>,
    unit: &Unit<Reader<'a>>,
    entries: &mut EntriesRaw<'_, Reader<'a>>,
    abbreviation: &gimli::Abbreviation,
) -> Option<Option<u32>> {
    let (mut begin, mut is_changed) = (None, false);
    for spec in abbreviation.attributes() {
        let attribute = entries.read_attribute(*spec).ok()?;
        match (attribute.name(), attribute.value()) {
            (gimli::DW_AT_low_pc, value) => begin = dwarf.attr_address(unit, value).ok()?,
            (gimli::DW_AT_calling_convention, AttributeValue::CallingConvention(convention)) => {
                is_changed = convention == gimli::DW_CC_nocall;
            }
            _ => {}
        }
    }
    let begin = begin.and_then(|begin| u32::try_from(begin & !1).ok());
    Some(begin.filter(|begin| is_changed && *begin != 0))
}

/// The words of a parameter at the function's first instruction.
fn parameter<'a>(
    dwarf: &Dwarf<Reader<'a>>,
    unit: &Unit<Reader<'a>>,
    entries: &mut EntriesRaw<'_, Reader<'a>>,
    abbreviation: &gimli::Abbreviation,
    begin: u32,
) -> Option<ArgumentWords> {
    let (mut of, mut origin, mut location) = (None, None, None);
    for spec in abbreviation.attributes() {
        let attribute = entries.read_attribute(*spec).ok()?;
        match (attribute.name(), attribute.value()) {
            (gimli::DW_AT_type, AttributeValue::UnitRef(at)) => of = Some(at),
            (gimli::DW_AT_abstract_origin, AttributeValue::UnitRef(at)) => origin = Some(at),
            (gimli::DW_AT_location, value) => location = Some(value),
            _ => {}
        }
    }
    let mut words = location
        .and_then(|location| at_entry(dwarf, unit, location, begin))
        .and_then(|expression| registers(unit, expression))
        .unwrap_or_default();
    let of = of.or_else(|| reference(unit, origin?, gimli::DW_AT_type));
    let whole = of.and_then(|of| words_of(unit, of)).unwrap_or(1);
    words.resize(words.len().max(whole), None);
    Some(words)
}

fn reference(
    unit: &Unit<Reader<'_>>,
    at: UnitOffset,
    attribute: gimli::DwAt,
) -> Option<UnitOffset> {
    match unit.entry(at).ok()?.attr_value(attribute)? {
        AttributeValue::UnitRef(to) => Some(to),
        _ => None,
    }
}

/// How many words a value of that type takes.
fn words_of(unit: &Unit<Reader<'_>>, of: UnitOffset) -> Option<usize> {
    let bytes = unit.entry(of).ok()?.attr_value(gimli::DW_AT_byte_size)?.udata_value()?;
    usize::try_from(bytes.div_ceil(WORD / 8)).ok().map(|words| words.min(MOST_WORDS))
}

/// Where a parameter is when the function begins.
fn at_entry<'a>(
    dwarf: &Dwarf<Reader<'a>>,
    unit: &Unit<Reader<'a>>,
    location: AttributeValue<Reader<'a>>,
    begin: u32,
) -> Option<Expression<Reader<'a>>> {
    if let AttributeValue::Exprloc(expression) = location {
        return Some(expression);
    }
    let mut list = dwarf.attr_locations(unit, location).ok()??;
    let first = list.next().ok()??;
    (first.range.begin & !1 == u64::from(begin)).then_some(first.data)
}

/// The registers of a value that is in registers alone, word by word.
fn registers(unit: &Unit<Reader<'_>>, expression: Expression<Reader<'_>>) -> Option<ArgumentWords> {
    let mut operations = expression.operations(unit.encoding());
    let (mut words, mut register) = (ArgumentWords::new(), None);
    while let Some(operation) = operations.next().ok()? {
        match operation {
            Operation::Register { register: at } => register = u8::try_from(at.0).ok(),
            Operation::Piece { size_in_bits, .. } if words.len() < MOST_WORDS => {
                // A register holds one word; what lies in two is not followed.
                let register = register.take().filter(|_| size_in_bits <= WORD);
                words.push(register);
                let more = size_in_bits.div_ceil(WORD).saturating_sub(1) as usize;
                words.extend(std::iter::repeat_n(None, more.min(MOST_WORDS)));
            }
            _ => return None,
        }
    }
    words.extend(register.map(Some));
    Some(words)
}
