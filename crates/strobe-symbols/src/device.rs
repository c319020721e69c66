//! The part that an AVR's ELF file was built for: the architecture in the header's flags, and the
//! note in which avr-libc states the part and its memories (`.note.gnu.avr.deviceinfo`).

use std::ops::Range;

use object::LittleEndian as LE;
use object::elf::{FileHeader32, NoteHeader32};
use object::read::elf::NoteIterator;

use crate::elf::Elf;
use crate::image::Machine;

/// The note's section.
const SECTION: &str = ".note.gnu.avr.deviceinfo";
/// Words of the note before its table of offsets: start and size of flash, RAM and EEPROM. The
/// table begins with its size, which counts itself, and ends where the strings begin.
const WORDS: usize = 6;
/// Maximum length of a part's name; the longest have a dozen letters.
const LONGEST_NAME: usize = 32;
/// Bits of the header's flags that hold the architecture (binutils, `EF_AVR_MACH`).
const ARCHITECTURE: u32 = 0x7f;

/// What an AVR was built for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AvrTarget {
    /// The architecture as avr-gcc numbers it: 25 of an ATtiny85, 5 of an ATmega328P, 103 of an
    /// ATtiny1616. Assemblers write 2 where none was chosen.
    pub architecture: u8,
    /// The part, as newer start-up code states it.
    pub part: Option<AvrPart>,
}

/// A part by name, with its memories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvrPart {
    /// Its name in lower case: `atmega328p`.
    pub name: String,
    /// Addresses of its flash.
    pub flash: Range<u32>,
    /// Addresses of its RAM in the data space.
    pub ram: Range<u32>,
}

/// What an ELF file states of it; `None` for other machines.
pub(crate) fn avr_target(elf: &Elf<'_>) -> Option<AvrTarget> {
    if elf.machine != Machine::Avr {
        return None;
    }
    let architecture = (elf.header.e_flags.get(LE).0 & ARCHITECTURE) as u8;
    let note = elf.section(SECTION).and_then(|section| part(section.data));
    Some(AvrTarget { architecture, part: note })
}

fn part(data: &[u8]) -> Option<AvrPart> {
    if data.len() < size_of::<NoteHeader32<LE>>() {
        return None;
    }
    let mut notes = NoteIterator::<FileHeader32<LE>>::new(LE, 4, data).ok()?;
    let note = notes.next().ok()??;
    let description = note.desc();
    let word = |at: usize| -> Option<u32> {
        let bytes = description.get(4 * at..4 * at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let memory = |at: usize| Some(word(at)?..word(at)?.checked_add(word(at + 1)?)?);
    let length = |at: usize| usize::try_from(word(at)?).ok();
    let strings = length(WORDS)?.checked_add(4 * WORDS)?;
    // That of the name is the first.
    let name = description.get(strings.checked_add(length(WORDS + 1)?)?..)?;
    let name = name.split(|&byte| byte == 0).next()?;
    let is_name = (1..=LONGEST_NAME).contains(&name.len())
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let name = is_name.then(|| String::from_utf8_lossy(name).to_ascii_lowercase())?;
    Some(AvrPart { name, flash: memory(0)?, ram: memory(2)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As avr-libc writes it for an ATmega32U4.
    fn note(name: &str, offset: u32) -> Vec<u8> {
        let strings = [b"\0", name.as_bytes(), b"\0"].concat();
        let words = [0, 0x8000, 0x100, 0xa00, 0, 0x400, 8, offset];
        let mut data: Vec<u8> = [4, 4 * words.len() as u32 + strings.len() as u32, 1]
            .iter()
            .flat_map(|word: &u32| word.to_le_bytes())
            .collect();
        data.extend(b"AVR\0");
        data.extend(words.iter().flat_map(|word: &u32| word.to_le_bytes()));
        data.extend(strings);
        data.resize(data.len().next_multiple_of(4), 0);
        data
    }

    #[test]
    fn the_note_names_the_part_and_its_memories() {
        let found = part(&note("ATmega32u4", 1)).unwrap();
        assert_eq!(found.name, "atmega32u4");
        assert_eq!((found.flash, found.ram), (0..0x8000, 0x100..0xb00));
    }

    #[test]
    fn a_damaged_note_names_nothing() {
        let sound = note("atmega32u4", 1);
        for end in 0..40 {
            assert_eq!(part(&sound[..end]), None, "{end} bytes");
        }
        assert_eq!(part(&note("atmega32u4", u32::MAX)), None);
        assert_eq!(part(&note("", 1)), None);
        assert_eq!(part(&note("a\u{1b}[2J", 1)), None);
        assert_eq!(part(&note(&"a".repeat(33), 1)), None);
    }
}
