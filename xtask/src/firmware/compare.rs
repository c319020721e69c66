//! Compares two ELFs of one program by their bytes and sections.

use std::collections::BTreeMap;

use anyhow::Result;
use object::{Object, ObjectSection, SectionFlags, elf};

/// The relation of a rebuilt ELF to the prebuilt one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// All bytes are equal.
    Same,
    /// The code and data are equal; lists the sections that differ.
    DebugOnly(Vec<String>),
    /// The code or data differ; lists only those sections.
    Code(Vec<String>),
    /// All sections are equal: headers or padding differ.
    Layout,
}

impl std::fmt::Display for Comparison {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Same => write!(f, "same"),
            Self::DebugOnly(names) => write!(f, "only debug info differs: {}", names.join(", ")),
            Self::Code(names) => write!(f, "code or data differs: {}", names.join(", ")),
            Self::Layout => write!(f, "headers or padding differ, all sections are equal"),
        }
    }
}

/// The compared properties of a section: address, contents, and whether it is in the target's
/// memory.
type Section<'a> = (u64, &'a [u8], bool);

pub(crate) fn compare(prebuilt: &[u8], rebuilt: &[u8]) -> Result<Comparison> {
    if prebuilt == rebuilt {
        return Ok(Comparison::Same);
    }
    let (prebuilt, rebuilt) = (object::File::parse(prebuilt)?, object::File::parse(rebuilt)?);
    let (before, after) = (sections(&prebuilt)?, sections(&rebuilt)?);
    let mut code = Vec::new();
    let mut debug = Vec::new();
    for name in before.keys().chain(after.keys().filter(|name| !before.contains_key(*name))) {
        let (old, new) = (before.get(name), after.get(name));
        if old == new {
            continue;
        }
        let in_memory = [old, new].into_iter().flatten().any(|&(_, _, in_memory)| in_memory);
        // The build id is a hash of the whole file and differs with any other part.
        let list = if in_memory && name != ".note.gnu.build-id" { &mut code } else { &mut debug };
        list.push(name.clone());
    }
    Ok(match (code.is_empty(), debug.is_empty()) {
        (false, _) => Comparison::Code(code),
        (true, false) => Comparison::DebugOnly(debug),
        (true, true) => Comparison::Layout,
    })
}

fn sections<'a>(file: &object::File<'a>) -> Result<BTreeMap<String, Section<'a>>> {
    let describe = |section: object::Section<'a, '_>| {
        let allocated = match section.flags() {
            SectionFlags::Elf { sh_flags, .. } => sh_flags.0 & elf::SHF_ALLOC.0 != 0,
            _ => false,
        };
        Ok((section.name()?.to_owned(), (section.address(), section.data()?, allocated)))
    };
    file.sections().map(describe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blink() -> Vec<u8> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../firmware/prebuilt/blink.elf");
        std::fs::read(path).expect("a prebuilt ELF")
    }

    /// The ELF with one byte of a section changed.
    fn with_change_in(elf: &[u8], section: &str) -> Vec<u8> {
        let file = object::File::parse(elf).expect("an ELF");
        let (start, _) =
            file.section_by_name(section).and_then(|s| s.file_range()).expect("the section");
        let mut changed = elf.to_vec();
        changed[start as usize + 8] ^= 1;
        changed
    }

    #[test]
    fn names_the_sections_that_differ() {
        let elf = blink();
        let names = |list: &[&str]| list.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(compare(&elf, &elf).unwrap(), Comparison::Same);

        let line = with_change_in(&elf, ".debug_line");
        let expected = Comparison::DebugOnly(names(&[".debug_line"]));
        assert_eq!(compare(&elf, &line).unwrap(), expected);

        let both = with_change_in(&line, ".text");
        assert_eq!(compare(&elf, &both).unwrap(), Comparison::Code(names(&[".text"])));
    }

    #[test]
    fn a_build_id_is_not_code() {
        let elf = blink();
        let changed = with_change_in(&elf, ".note.gnu.build-id");
        assert!(matches!(compare(&elf, &changed).unwrap(), Comparison::DebugOnly(_)));
    }
}
