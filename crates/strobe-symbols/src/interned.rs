//! Strings of the logging library `defmt`, which are in the ELF file as names of symbols, not in
//! the firmware.
//!
//! Sections named `.defmt` have no address; a symbol in them has the string's number as its value,
//! and as its name a JSON object with the string. The log decoder interprets it. This module finds
//! the symbols, and checks whether this file is safe for a library that was not written for hostile
//! input.

use object::LittleEndian as LE;
use object::elf::{self, Sym32};
use object::read::elf::Sym as _;

use crate::Firmware;
use crate::dwarf::open;
use crate::elf::Elf;

/// Maximum bytes of abbreviations and line programs to scan, if each unit scans all of them: some
/// seconds.
const MOST_WORK: u64 = 1 << 34;

/// The `defmt` data of an ELF file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interned {
    /// Symbols of its sections: number and name, in the order of the symbol table.
    pub symbols: Vec<(u32, String)>,
    /// Names do not share bytes to such a degree that reading each costs more than reading the
    /// file.
    pub is_sound: bool,
    /// The same for debug information: it is neither damaged nor shared excessively.
    pub has_sound_lines: bool,
}

impl Firmware {
    /// The file's bytes.
    pub fn file(&self) -> &[u8] {
        &self.bytes
    }

    /// The `defmt` data of the file, if it was used.
    pub fn interned(&self) -> Option<Interned> {
        let elf = Elf::parse(&self.bytes).ok()?;
        let is_one = |name: &str| name == ".defmt" || name.starts_with(".defmt.");
        if !elf.sections.iter().any(|section| is_one(&section.name)) {
            return None;
        }
        let ours = |section: usize| elf.sections.get(section).is_some_and(|s| is_one(&s.name));
        let symbols = symbols(&elf, ours);
        let is_damaged = self.warnings().iter().any(|w| w.section.starts_with(".debug_"));
        Some(Interned {
            is_sound: symbols.is_some(),
            symbols: symbols.unwrap_or_default(),
            has_sound_lines: !is_damaged && work(&elf) <= MOST_WORK,
        })
    }
}

/// Symbols of sections; `None` if names share bytes in a way that no linker produces.
fn symbols(elf: &Elf<'_>, ours: impl Fn(usize) -> bool) -> Option<Vec<(u32, String)>> {
    let mut found = Vec::new();
    for table in elf.sections.iter().filter(|section| section.kind == elf::SHT_SYMTAB) {
        let count = table.data.len() / size_of::<Sym32<LE>>();
        let (entries, _) = object::pod::slice_from_bytes::<Sym32<LE>>(table.data, count).ok()?;
        let strings = elf.sections.get(table.link).map_or(&[][..], |strings| strings.data);
        // Every name is checked, whatever its section.
        let mut left = 4 * strings.len();
        for entry in entries.iter().skip(1) {
            let Some(tail) = strings.get(entry.st_name.get(LE) as usize..) else { continue };
            let within = &tail[..tail.len().min(left)];
            let name = within.split(|&byte| byte == 0).next().unwrap_or_default();
            left -= name.len();
            if left == 0 && !name.is_empty() {
                return None;
            }
            let is_ours = entry.st_shndx(LE).index().is_some_and(|index| ours(usize::from(index)));
            if let Some(name) = str::from_utf8(name).ok().filter(|_| is_ours) {
                found.push((entry.st_value.get(LE), name.to_owned()));
            }
        }
    }
    Some(found)
}

/// Cost of reading all lines, in bytes: each unit may scan all abbreviations and one line program's
/// header.
fn work(elf: &Elf<'_>) -> u64 {
    let size = |name| elf.section(name).map_or(0, |section| section.data.len() as u64);
    let Some(dwarf) = open(elf) else { return 0 };
    let mut headers = dwarf.units();
    let mut units = 0;
    while let Ok(Some(_)) = headers.next() {
        units += 1;
    }
    units * (size(".debug_abbrev") + size(".debug_line"))
}
