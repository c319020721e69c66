//! What the linker has put addresses into, of images that keep their relocations (`--emit-relocs`).
//!
//! A relocation proves that a word is an address, where otherwise its value has to look like one.
//! This module must not know instructions.

use object::LittleEndian as LE;
use object::elf::{self, Rel32, Rela32, Sym32};

use crate::elf::{Elf, Section};
use crate::firmware::Firmware;

/// A place that the linker has put an address into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Relocation {
    /// The place, at run time.
    pub place: u32,
    /// The address, in the image's own address spaces; `None` where the place itself holds it, as
    /// in Arm's images (`SHT_REL`).
    pub target: Option<u32>,
}

impl Firmware {
    /// The relocations that are left in the image, sorted by place; none in most.
    pub fn relocations(&self) -> Vec<Relocation> {
        // An image without an ELF file, such as Intel HEX, has none.
        let Ok(elf) = Elf::parse(&self.bytes) else { return Vec::new() };
        let mut found = Vec::new();
        for section in &elf.sections {
            let is_loaded = elf.sections.get(section.info).is_some_and(Section::is_allocated);
            if is_loaded && section.kind == elf::SHT_REL {
                found.extend(places(section));
            } else if is_loaded && section.kind == elf::SHT_RELA {
                found.extend(targets(&elf, section));
            }
        }
        found.sort_unstable();
        found
    }
}

fn places(section: &Section<'_>) -> impl Iterator<Item = Relocation> {
    let count = section.data.len() / size_of::<Rel32<LE>>();
    let entries = object::pod::slice_from_bytes::<Rel32<LE>>(section.data, count);
    let entries = entries.map_or(&[][..], |(entries, _)| entries);
    entries.iter().map(|entry| Relocation { place: entry.r_offset.get(LE), target: None })
}

fn targets(elf: &Elf<'_>, section: &Section<'_>) -> impl Iterator<Item = Relocation> {
    let symbols = elf.sections.get(section.link).map_or(&[][..], |table| table.data);
    let count = symbols.len() / size_of::<Sym32<LE>>();
    let symbols = object::pod::slice_from_bytes::<Sym32<LE>>(symbols, count);
    let symbols = symbols.map_or(&[][..], |(symbols, _)| symbols);
    let count = section.data.len() / size_of::<Rela32<LE>>();
    let entries = object::pod::slice_from_bytes::<Rela32<LE>>(section.data, count);
    let entries = entries.map_or(&[][..], |(entries, _)| entries);
    entries.iter().filter_map(|entry| {
        // The symbol's number is above the type's eight bits.
        let symbol = symbols.get((entry.r_info.get(LE) >> 8) as usize)?;
        let target = symbol.st_value.get(LE).wrapping_add_signed(entry.r_addend.get(LE));
        Some(Relocation { place: entry.r_offset.get(LE), target: Some(target) })
    })
}
