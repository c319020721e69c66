//! Linker notes: the build id that ties an image to a capture made with it.

use object::LittleEndian as LE;
use object::elf::{self, FileHeader32, NoteHeader32};
use object::read::elf::NoteIterator;

use crate::elf::Elf;

/// Maximum length of a build id, in bytes; the usual SHA-1 has 20.
const LONGEST_BUILD_ID: usize = 64;

/// The build id from the note sections or, in a file without sections, from the note segments.
pub(crate) fn build_id(elf: &Elf<'_>) -> Option<Vec<u8>> {
    let from_sections = elf
        .sections
        .iter()
        .filter(|section| section.kind == elf::SHT_NOTE)
        .map(|section| section.data);
    let from_segments =
        elf.program_headers.iter().filter(|ph| ph.p_type.get(LE) == elf::PT_NOTE).filter_map(
            |ph| {
                let start = ph.p_offset.get(LE) as usize;
                elf.data.get(start..start.checked_add(ph.p_filesz.get(LE) as usize)?)
            },
        );
    // One note per section is the rule; a limit bounds the cost of many headers over the same
    // bytes.
    from_sections.chain(from_segments).take(64).find_map(build_id_in)
}

fn build_id_in(notes: &[u8]) -> Option<Vec<u8>> {
    if notes.len() < size_of::<NoteHeader32<LE>>() {
        return None;
    }
    let mut notes = NoteIterator::<FileHeader32<LE>>::new(LE, 4, notes).ok()?;
    while let Ok(Some(note)) = notes.next() {
        let id = note.desc();
        if note.name() == elf::ELF_NOTE_GNU
            && note.n_type(LE) == elf::NT_GNU_BUILD_ID
            && id.len() <= LONGEST_BUILD_ID
        {
            return Some(id.to_vec());
        }
    }
    None
}
