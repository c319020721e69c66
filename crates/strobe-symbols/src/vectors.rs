//! Where a Cortex-M image has its vector table.
//!
//! An image that starts at reset has it at the beginning of flash; one that is linked behind a
//! bootloader, or behind another stage of its own, has it elsewhere, and only the bootloader knows
//! where. The linker script's section, the start-up code's symbol, or the table's own shape give it
//! away. What the memory behind an address is this module does not know.

use std::ops::Range;

use crate::firmware::Firmware;
use crate::image::{Machine, Segment};

/// A vector table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorTable {
    /// Load address of its first word.
    pub address: u32,
    /// The initial stack pointer.
    pub stack: u32,
    /// The reset vector, with the Thumb bit.
    pub reset: u32,
    /// What it was found by.
    pub found_by: FoundBy,
}

/// What a vector table was found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundBy {
    /// A symbol of this name.
    Symbol(String),
    /// A section of this name.
    Section(String),
    /// Its contents: a stack pointer and addresses of code.
    Contents,
}

impl std::fmt::Display for FoundBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FoundBy::Symbol(name) => write!(f, "symbol {name}"),
            FoundBy::Section(name) => write!(f, "section {name}"),
            FoundBy::Contents => {
                write!(f, "the lowest place with a stack pointer and addresses of code")
            }
        }
    }
}

/// Names that start-up codes give their vector table.
const SYMBOLS: [&str; 16] = [
    "__vector_table",
    "__Vectors",
    "g_pfnVectors",
    "vector_table",
    "_vectors",
    "__vectors",
    "__isr_vector",
    "__isr_vectors",
    "isr_vector",
    "isr_vectors",
    "interrupt_vector_table",
    "_vector_start",
    "_vector_table",
    "__VECTOR_TABLE",
    "vectors",
    "exception_table",
];
/// Names that linker scripts give its section.
const SECTIONS: [&str; 10] = [
    ".isr_vector",
    ".isr_vectors",
    ".vector_table",
    ".vectors",
    ".interrupts",
    ".intvecs",
    ".vtable",
    ".exception_vectors",
    "vectors",
    "RESET",
];

/// System exceptions and reset behind the stack pointer; every table has them.
const SYSTEM: u32 = 15;
/// The vector of the non-maskable interrupt, which the ROM of some chips serves.
const NMI: u32 = 2;
/// Where such a ROM is.
const ROM: Range<u32> = 0..0x8_0000;
/// Where most makers who use it have flash, and a PSoC 6 has RAM.
const FLASH_OR_RAM: Range<u32> = 0x0800_0000..0x1000_0000;
/// A table is aligned to at least 32 words (DDI 0403, B3.2.5).
const ALIGNMENT: u32 = 128;
/// Places looked at by contents, at most.
const MOST_PLACES: usize = 1 << 17;

impl Firmware {
    /// The vector table from which the firmware starts; `None` if it has none, or is no Cortex-M's.
    pub fn vector_table(&self) -> Option<VectorTable> {
        if self.machine() != Machine::Arm {
            return None;
        }
        self.named_table().or_else(|| self.table_by_contents())
    }

    /// The table at a load address, if the first two words there can be one's.
    pub fn vector_table_at(&self, address: u32) -> Option<VectorTable> {
        let stack = self.loaded_word(address)?;
        let reset = self.loaded_word(address.checked_add(4)?)?;
        let sound = self.is_stack(stack) && reset & 1 == 1 && self.is_loaded(reset & !1);
        sound.then_some(VectorTable { address, stack, reset, found_by: FoundBy::Contents })
    }

    fn named_table(&self) -> Option<VectorTable> {
        let symbols = SYMBOLS.iter().filter_map(|name| {
            let address = self.symbol_if_any(name)?.address & !1;
            Some((address, FoundBy::Symbol((*name).to_owned())))
        });
        let sections = self.sections().iter().filter(|s| SECTIONS.contains(&s.name.as_str()));
        let sections = sections.map(|s| (s.start, FoundBy::Section(s.name.clone())));
        let found = symbols.chain(sections).filter_map(|(run_address, found_by)| {
            let address = self.load_address_of(run_address)?;
            Some(VectorTable { found_by, ..self.vector_table_at(address)? })
        });
        // The chip starts from one, and others may be for later: the entry point decides.
        let all: Vec<_> = found.collect();
        let starts = |table: &&VectorTable| table.reset | 1 == self.entry() | 1;
        all.iter().find(starts).or(all.first()).cloned()
    }

    /// The lowest place whose words can be a whole table.
    fn table_by_contents(&self) -> Option<VectorTable> {
        let places = self.segments().iter().flat_map(|segment| {
            let start = segment.load_address.0;
            let end = start.saturating_add(segment.data().len() as u32);
            let first = start.checked_next_multiple_of(ALIGNMENT).unwrap_or(end);
            std::iter::once(start).chain((first..end).step_by(ALIGNMENT as usize))
        });
        let mut places = places.take(MOST_PLACES);
        places.find_map(|address| {
            let table = self.vector_table_at(address)?;
            let vector = |n: u32| self.loaded_word(address.checked_add(4 * n)?);
            let plausible = |n: u32, word: u32| {
                let at = word & !1;
                word == 0 || word & 1 == 1 && (self.has_room(at) || n == NMI && self.is_rom(at))
            };
            (2..=SYSTEM).all(|n| vector(n).is_none_or(|word| plausible(n, word))).then_some(table)
        })
    }

    /// Whether a stack may begin here: in RAM that no bytes are loaded to, aligned to a word.
    fn is_stack(&self, stack: u32) -> bool {
        let in_memory = (0x1000_0000..0x4000_0000).contains(&stack)
            || (0x6000_0000..0xa000_0000).contains(&stack)
            || FLASH_OR_RAM.contains(&stack) && self.loads_nothing(&FLASH_OR_RAM);
        in_memory && stack.is_multiple_of(4) && !self.holds_code(stack - 4)
    }

    /// Whether a chip may have ROM there: nothing of the image is.
    fn is_rom(&self, at: u32) -> bool {
        ROM.contains(&at) && self.loads_nothing(&ROM)
    }

    fn loads_nothing(&self, range: &Range<u32>) -> bool {
        let loaded = self.segments().iter().filter(|segment| !segment.data().is_empty());
        loaded.map(|segment| segment.load_address.0).all(|at| !range.contains(&at))
    }

    fn holds_code(&self, at: u32) -> bool {
        let loaded = |s: &Segment| s.permissions.execute && offset(s, at).is_some();
        self.segments().iter().any(loaded)
    }

    fn is_loaded(&self, at: u32) -> bool {
        let runs = |s: &&Segment| s.run_range().contains(&u64::from(at));
        self.segments().iter().any(|s| offset(s, at).is_some() || runs(&s))
    }

    /// Code may also be copied to RAM, or be in the chip's ROM.
    fn has_room(&self, at: u32) -> bool {
        self.is_loaded(at) || (0x1000_0000..0x4000_0000).contains(&at)
    }

    /// The word that a programmer writes to an address.
    fn loaded_word(&self, at: u32) -> Option<u32> {
        self.segments().iter().find_map(|segment| {
            let from = offset(segment, at)?;
            let bytes = segment.data().get(from..from.checked_add(4)?)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        })
    }

    /// Where the bytes for an address at run time are loaded.
    fn load_address_of(&self, at: u32) -> Option<u32> {
        let holds = |s: &&Segment| s.run_range().contains(&u64::from(at));
        let segment = self.segments().iter().find(holds)?;
        segment.load_address.0.checked_add(at - segment.run_address)
    }
}

fn offset(segment: &Segment, at: u32) -> Option<usize> {
    let from = at.checked_sub(segment.load_address.0)? as usize;
    (from < segment.data().len()).then_some(from)
}

#[cfg(test)]
mod tests {
    use strobe_synth::ElfBuilder;

    use super::*;

    /// The first stack of the table that is found in an image that begins with these words.
    fn stack(base: u32, words: [u32; 4]) -> Option<u32> {
        let mut all = [words[1]; 16];
        all[..4].copy_from_slice(&words);
        let mut image: Vec<u8> = all.iter().flat_map(|word| word.to_le_bytes()).collect();
        image.resize(0x100, 0);
        let mut elf = ElfBuilder::new();
        elf.entry = words[1];
        elf.code(base, &image);
        let firmware = Firmware::parse(elf.build()).expect("a sound file");
        firmware.vector_table().map(|table| table.stack)
    }

    /// As in a PSoC 6, whose ROM serves the non-maskable interrupt.
    #[test]
    fn ram_and_rom_may_be_where_others_have_flash() {
        let (base, reset) = (0x1004_0000, 0x1004_0041);
        assert_eq!(stack(base, [0x0804_7500, reset, 0xd, reset]), Some(0x0804_7500));
        // Small numbers are no other vectors, and flash is where this image has it.
        assert_eq!(stack(base, [0x0804_7500, reset, reset, 0xd]), None);
        assert_eq!(stack(0x0800_0000, [0x0804_7500, 0x0800_0041, 0, 0]), None);
    }
}
