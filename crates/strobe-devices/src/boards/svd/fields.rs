//! Bit fields of a register: names and places, what can be written, what writing a one clears.

use roxmltree::Node;

use super::SvdError;
use super::expand;
use super::read::Defaults;
use super::xml::{child, children, clipped, error, number, text};

/// A field that lies in the register's low 32 bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) lsb: u8,
    pub(super) width: u8,
    read_only: bool,
    one_clears: bool,
}

impl Field {
    pub(super) fn mask(&self) -> u32 {
        (u32::MAX >> (32 - self.width)) << self.lsb
    }

    #[cfg(test)]
    pub(super) fn plain(name: &str, lsb: u8, width: u8) -> Self {
        Field { name: name.to_owned(), lsb, width, read_only: false, one_clears: false }
    }
}

/// Fields that a register may have, views of the same bits counted.
const MOST: usize = 1024;

/// The fields of a register, as far as they lie in its low 32 bits.
pub(super) fn read(register: Node, defaults: &Defaults) -> Result<Vec<Field>, SvdError> {
    let mut all = Vec::new();
    let Some(list) = child(register, "fields") else { return Ok(all) };
    let register_modified = text(register, "modifiedWriteValues");
    for node in children(list, "field") {
        let Some((lsb, msb)) = bits(node)? else { continue };
        let access = text(node, "access").unwrap_or(&defaults.access);
        let modified = text(node, "modifiedWriteValues").or(register_modified);
        for (name, offset) in expand::instances(node)? {
            let (lsb, msb) = (lsb + u64::from(offset), msb + u64::from(offset));
            if msb > 31 {
                continue;
            }
            if all.len() >= MOST {
                return Err(error(list, format!("more than {MOST} fields")));
            }
            all.push(Field {
                name,
                lsb: lsb as u8,
                width: (msb - lsb + 1) as u8,
                read_only: access == "read-only",
                one_clears: modified == Some("oneToClear"),
            });
        }
    }
    Ok(all)
}

/// First and last bit of a field; `None` if it derives from another.
fn bits(node: Node) -> Result<Option<(u64, u64)>, SvdError> {
    let range = match (text(node, "bitRange"), number(node, "bitOffset")?, number(node, "lsb")?) {
        (Some(range), ..) => {
            let inner = range.strip_prefix('[').and_then(|r| r.strip_suffix(']'));
            let ends = inner.and_then(|r| r.split_once(':'));
            ends.and_then(|(m, l)| Some((l.trim().parse().ok()?, m.trim().parse().ok()?)))
        }
        (_, Some(lsb), _) => {
            let width = number(node, "bitWidth")?.unwrap_or(1);
            width.checked_sub(1).and_then(|last| Some((lsb, lsb.checked_add(last)?)))
        }
        (_, _, Some(lsb)) => number(node, "msb")?.map(|msb| (lsb, msb)),
        _ if node.attribute("derivedFrom").is_some() => return Ok(None),
        _ => None,
    };
    // Registers have 64 bits at most.
    match range.filter(|(lsb, msb): &(u64, u64)| lsb <= msb && *msb < 64) {
        Some(range) => Ok(Some(range)),
        None => {
            let name = clipped(text(node, "name").unwrap_or("?"));
            Err(error(node, format!("the bits of `{name}` are missing or no range from 0 to 63")))
        }
    }
}

/// Bits that cannot be written, and bits that writing a one clears.
pub(super) fn masks(fields: &[Field], register_read_only: bool) -> (u32, u32) {
    let of = |wanted: fn(&Field) -> bool| {
        fields.iter().filter(|f| wanted(f)).fold(0, |all, f| all | f.mask())
    };
    let read_only = if register_read_only { u32::MAX } else { of(|f| f.read_only) };
    (read_only, of(|f| f.one_clears))
}
