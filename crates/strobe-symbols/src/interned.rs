//! Strings that the logging library `defmt` leaves in the ELF file, as names of symbols, instead of in the firmware.
//!
//! Sections named `.defmt` have no address; a symbol in them has the string's number as its value, and as its name a JSON object with the
//! string. What it means is for whoever decodes the log. This module finds them, and finds out whether a library that was not written for
//! hostile files can be handed this one.

use object::LittleEndian as LE;
use object::elf::{self, Sym32};
use object::read::elf::Sym as _;

use crate::Firmware;
use crate::dwarf::open;
use crate::elf::Elf;

/// Bytes of abbreviations and line programs that may be looked at, if each unit looks at all of them: some seconds.
const MOST_WORK: u64 = 1 << 34;

/// What `defmt` left in an ELF file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interned {
    /// Symbols of its sections: number and name, in the order of the symbol table.
    pub symbols: Vec<(u32, String)>,
    /// No bytes of names are shared by so many symbols that reading each is more work than the file is long.
    pub is_sound: bool,
    /// The same of debug information: none of it is damaged or shared by too many.
    pub has_sound_lines: bool,
}

impl Firmware {
    /// The file's bytes.
    pub fn file(&self) -> &[u8] {
        &self.bytes
    }

    /// What `defmt` left in the file, if it was used.
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

/// Symbols of sections; `None` if names share bytes as those of no linker do.
fn symbols(elf: &Elf<'_>, ours: impl Fn(usize) -> bool) -> Option<Vec<(u32, String)>> {
    let mut found = Vec::new();
    for table in elf.sections.iter().filter(|section| section.kind == elf::SHT_SYMTAB) {
        let count = table.data.len() / size_of::<Sym32<LE>>();
        let (entries, _) = object::pod::slice_from_bytes::<Sym32<LE>>(table.data, count).ok()?;
        let strings = elf.sections.get(table.link).map_or(&[][..], |strings| strings.data);
        // Every name is looked at, whatever its section.
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

/// Bytes that reading all lines may take: each unit may go through all abbreviations and one line program's header.
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
