//! The shape of a type: its record without typedefs and qualifiers.

use gimli::{AttributeValue, DebuggingInformationEntry, DwTag, Unit};

use super::{TypeId, Types};
use crate::dwarf::{Budget, Reader};

/// Maximum nesting of typedefs, qualifiers, arrays of arrays and anonymous structures.
const DEEPEST: usize = 64;

/// The shape of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Number { bytes: u32, signed: bool },
    Pointer(Option<TypeId>),
    Array { of: TypeId, count: u64 },
    Structure,
    Other,
}

impl Shape {
    pub(super) fn kind(self) -> &'static str {
        match self {
            Shape::Number { .. } => "a number",
            Shape::Pointer(_) => "a pointer to an unknown type",
            Shape::Array { .. } => "an array",
            Shape::Structure => "a structure",
            Shape::Other => "a value without members",
        }
    }
}

/// Why there is no such member.
pub(super) enum Lost {
    Missing,
    BitField,
    Damaged,
}

type Entry<'a> = DebuggingInformationEntry<Reader<'a>>;

impl<'a> Types<'a> {
    fn entry(&self, of: TypeId, budget: &mut Budget) -> Option<(&Unit<Reader<'a>>, Entry<'a>)> {
        let unit = self.units.get(of.unit as usize)?;
        let entry = unit.entry(gimli::UnitOffset(of.offset)).ok()?;
        budget.spend(1 + entry.attrs().len()).ok()?;
        Some((unit, entry))
    }

    /// The type that an attribute refers to.
    fn reference(&self, from: TypeId, value: AttributeValue<Reader<'a>>) -> Option<TypeId> {
        match value {
            AttributeValue::UnitRef(offset) => Some(TypeId { unit: from.unit, offset: offset.0 }),
            AttributeValue::DebugInfoRef(offset) => self.starts.at(offset.0),
            AttributeValue::DebugTypesRef(signature) => self.signatures.get(&signature.0).copied(),
            _ => None,
        }
    }

    fn type_of(&self, from: TypeId, entry: &Entry<'a>) -> Option<TypeId> {
        self.reference(from, entry.attr_value(gimli::DW_AT_type)?)
    }

    /// The type behind typedefs and qualifiers; for a declaration of a structure, its definition.
    fn bare(&self, mut at: TypeId, budget: &mut Budget) -> Option<(TypeId, DwTag)> {
        for _ in 0..DEEPEST {
            let (_, entry) = self.entry(at, budget)?;
            let tag = entry.tag();
            match tag {
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type => match self.type_of(at, &entry) {
                    Some(of) => at = of,
                    None => return Some((at, gimli::DW_TAG_unspecified_type)),
                },
                _ => {
                    if let Some(signature) = entry.attr_value(gimli::DW_AT_signature) {
                        at = self.reference(at, signature)?;
                        continue;
                    }
                    if entry.attr_value(gimli::DW_AT_declaration).is_none() {
                        return Some((at, tag));
                    }
                    at = *self.structures.get(&self.name(at))?;
                }
            }
        }
        None
    }

    pub(super) fn shape(&self, at: TypeId, budget: &mut Budget) -> Option<Shape> {
        let (at, tag) = self.bare(at, budget)?;
        let (_, entry) = self.entry(at, budget)?;
        let bytes = || u32::try_from(entry.attr_value(gimli::DW_AT_byte_size)?.udata_value()?).ok();
        Some(match tag {
            gimli::DW_TAG_base_type => {
                let signed = matches!(
                    entry.attr_value(gimli::DW_AT_encoding),
                    Some(AttributeValue::Encoding(
                        gimli::DW_ATE_signed | gimli::DW_ATE_signed_char
                    ))
                );
                Shape::Number { bytes: bytes()?, signed }
            }
            gimli::DW_TAG_enumeration_type => {
                let under = self.type_of(at, &entry).and_then(|of| self.shape(of, budget));
                under.or(bytes().map(|bytes| Shape::Number { bytes, signed: false }))?
            }
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type => Shape::Pointer(self.type_of(at, &entry)),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                Shape::Structure
            }
            gimli::DW_TAG_array_type => {
                let of = self.type_of(at, &entry)?;
                Shape::Array { of, count: self.count(at, budget)? }
            }
            _ => Shape::Other,
        })
    }

    /// Elements of an array with one dimension; for several dimensions all elements, because only
    /// the first is indexed.
    fn count(&self, at: TypeId, budget: &mut Budget) -> Option<u64> {
        let mut count = 1u64;
        self.children(at, budget, |entry| {
            if entry.tag() != gimli::DW_TAG_subrange_type {
                return Some(());
            }
            let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
            let upper = || number(gimli::DW_AT_upper_bound).and_then(|upper| upper.checked_add(1));
            // `[]` at the end of a structure has no bound.
            count = count.saturating_mul(number(gimli::DW_AT_count).or_else(upper).unwrap_or(0));
            Some(())
        })?;
        Some(count)
    }

    pub(super) fn size(&self, at: TypeId, budget: &mut Budget) -> Option<u32> {
        let mut times = 1u32;
        let mut at = at;
        for _ in 0..DEEPEST {
            let (bare, _) = self.bare(at, budget)?;
            let (_, entry) = self.entry(bare, budget)?;
            if let Some(size) = entry.attr_value(gimli::DW_AT_byte_size) {
                return u32::try_from(size.udata_value()?).ok()?.checked_mul(times);
            }
            match self.shape(bare, budget)? {
                Shape::Pointer(_) => return times.checked_mul(4),
                Shape::Array { of, count } => {
                    times = times.checked_mul(u32::try_from(count).ok()?)?;
                    at = of;
                }
                _ => return None,
            }
        }
        None
    }

    /// Visits the direct children of a record, until `visit` stops.
    fn children(
        &self,
        of: TypeId,
        budget: &mut Budget,
        mut visit: impl FnMut(&Entry<'a>) -> Option<()>,
    ) -> Option<()> {
        let unit = self.units.get(of.unit as usize)?;
        let mut entries = unit.entries_raw(Some(gimli::UnitOffset(of.offset))).ok()?;
        let mut entry = Entry::null();
        let mut first = true;
        while !entries.is_empty() {
            let depth = entries.next_depth();
            if depth <= 0 && !first {
                break;
            }
            let known = entries.read_entry(&mut entry).ok()?;
            budget.spend(1 + entry.attrs().len()).ok()?;
            if first && !entry.has_children() {
                break;
            }
            if known && depth == 1 && visit(&entry).is_none() {
                break;
            }
            first = false;
        }
        Some(())
    }

    /// Offset and type of a member, including those of anonymous structures, unions and base
    /// classes.
    pub(super) fn find_member(
        &self,
        of: TypeId,
        name: &str,
        budget: &mut Budget,
    ) -> Result<(u32, TypeId), Lost> {
        let mut open = vec![(of, 0u32, 0usize)];
        while let Some((of, base, depth)) = open.pop() {
            let (of, _) = self.bare(of, budget).ok_or(Lost::Damaged)?;
            let mut found = None;
            let unit = self.units.get(of.unit as usize).ok_or(Lost::Damaged)?;
            self.children(of, budget, |entry| {
                let inherits = entry.tag() == gimli::DW_TAG_inheritance;
                if entry.tag() != gimli::DW_TAG_member && !inherits {
                    return Some(());
                }
                let text = entry.attr_value(gimli::DW_AT_name);
                let text = text.and_then(|text| self.dwarf.attr_string(unit, text).ok());
                let unnamed = text.is_none_or(|text| text.is_empty());
                let wanted = text.is_some_and(|text| text.slice() == name.as_bytes());
                if !wanted && !unnamed && !inherits {
                    return Some(());
                }
                let place = location(entry, unit).zip(self.type_of(of, entry));
                if wanted {
                    let bits = entry.attr_value(gimli::DW_AT_bit_size).is_some();
                    let lost = if bits { Lost::BitField } else { Lost::Damaged };
                    found = Some(place.ok_or(lost));
                    return None;
                }
                if let Some((offset, inner)) = place
                    && depth < DEEPEST
                {
                    open.push((inner, base.wrapping_add(offset), depth + 1));
                }
                Some(())
            })
            .ok_or(Lost::Damaged)?;
            if let Some(place) = found {
                let (offset, of) = place?;
                return Ok((base.wrapping_add(offset), of));
            }
        }
        Err(Lost::Missing)
    }

    /// The name of a type, or a description if it has none.
    pub(super) fn name(&self, at: TypeId) -> String {
        let name = || {
            let unit = self.units.get(at.unit as usize)?;
            let entry = unit.entry(gimli::UnitOffset(at.offset)).ok()?;
            let text = entry.attr_value(gimli::DW_AT_name)?;
            let text = self.dwarf.attr_string(unit, text).ok()?;
            Some(String::from_utf8_lossy(text.slice()).into_owned())
        };
        name().unwrap_or_else(|| "a structure without a name".to_owned())
    }
}

/// Offset of a member in its structure; `None` for bit fields, which do not begin at a byte.
fn location(entry: &Entry<'_>, unit: &Unit<Reader<'_>>) -> Option<u32> {
    if entry.attr_value(gimli::DW_AT_bit_size).is_some() {
        return None;
    }
    match entry.attr_value(gimli::DW_AT_data_member_location) {
        // Members of a union have no offset attribute.
        None => Some(0),
        Some(AttributeValue::Exprloc(expression)) => {
            let mut operations = expression.operations(unit.encoding());
            match operations.next().ok()?? {
                gimli::Operation::PlusConstant { value } => u32::try_from(value).ok(),
                _ => None,
            }
        }
        Some(value) => u32::try_from(value.udata_value()?).ok(),
    }
}
