//! Functions that the target kit marks as benchmarks (`firmware/kit/trace/strobe_bench.h`,
//! `firmware/kit/strobe-trace`).
//!
//! The section `.strobe_bench` has no address. It is a list of ELF notes with the owner `strobe`:
//! linkers keep notes, and what they refer to, when they collect garbage. Types and contents, in
//! words of 32 bits, least significant byte first:
//!
//! | type | is | contents |
//! | --- | --- | --- |
//! | 0x101 | a benchmark | function, bytes of inputs, inputs, name |
//! | 0x102 | what is called before each of its calls | function, name |
//! | 0x103 | how often each input is measured | a number, name |
//!
//! A name ends with a zero. Other types are skipped: they may be those of a later kit.

use object::LittleEndian as LE;
use object::elf::FileHeader32;
use object::read::elf::NoteIterator;

use crate::elf::Elf;

const SECTION: &str = ".strobe_bench";
const OWNER: &[u8] = b"strobe";
const FUNCTION: u32 = 0x101;
const SETUP: u32 = 0x102;
const REPEAT: u32 = 0x103;

/// Maximum length of a name, in bytes.
const LONGEST: usize = 256;
/// Benchmarks of a firmware, and inputs of a benchmark.
const MOST: usize = 4096;
/// Calls for each input.
const MOST_CALLS: u32 = 1000;

/// A function that is marked as a benchmark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Benchmark {
    /// Its name.
    pub name: String,
    /// Its first instruction.
    pub function: u32,
    /// A function that is called before each call, with the same input.
    pub setup: Option<u32>,
    /// What it is called with; once with 0 if there is none.
    pub inputs: Vec<u32>,
    /// Calls for each input, one at least.
    pub calls: u32,
}

/// The benchmarks of a firmware, sorted by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Benchmarks {
    /// All of them.
    pub all: Vec<Benchmark>,
    /// What cannot be read of them, or is there twice.
    pub damage: Vec<String>,
}

/// The benchmarks of an ELF file.
pub(crate) fn benchmarks(elf: &Elf<'_>) -> Benchmarks {
    elf.section(SECTION).map(|section| read(section.data)).unwrap_or_default()
}

fn read(notes: &[u8]) -> Benchmarks {
    let mut out = Benchmarks::default();
    let mut options = Vec::new();
    let Ok(mut list) = NoteIterator::<FileHeader32<LE>>::new(LE, 4, notes) else {
        return out;
    };
    loop {
        let note = match list.next() {
            Ok(Some(note)) => note,
            Ok(None) => break,
            Err(_) => {
                out.damage.push(format!("the section {SECTION} was cut off"));
                break;
            }
        };
        if note.name() != OWNER {
            continue;
        }
        match note.n_type(LE).0 {
            FUNCTION => out.add(function(note.desc())),
            kind @ (SETUP | REPEAT) => options.push((kind, option(note.desc()))),
            _ => {}
        }
    }
    for (kind, found) in options {
        out.apply(kind, found);
    }
    out.all.sort_by(|a, b| a.name.cmp(&b.name));
    out
}

impl Benchmarks {
    fn add(&mut self, found: Option<Benchmark>) {
        let Some(found) = found else {
            return self.damage.push(format!("a damaged benchmark in the section {SECTION}"));
        };
        // Nothing but a reset vector is there: so linkers write a symbol that is not in the image.
        if found.function == 0 {
            let name = &found.name;
            let text = format!("{name}: the linker has left its function out");
            return self.damage.push(text);
        }
        if self.all.len() >= MOST {
            return self.damage.push(format!("there are more than {MOST} benchmarks"));
        }
        if self.all.iter().any(|other| other.name == found.name) {
            let name = &found.name;
            return self.damage.push(format!("two benchmarks are called {name}: the first counts"));
        }
        self.all.push(found);
    }

    fn apply(&mut self, kind: u32, found: Option<(u32, String)>) {
        let what = if kind == SETUP { "preparation" } else { "number of calls" };
        let Some((value, name)) = found else {
            return self.damage.push(format!("a damaged {what} in the section {SECTION}"));
        };
        let Some(benchmark) = self.all.iter_mut().find(|benchmark| benchmark.name == name) else {
            return self.damage.push(format!("a {what} is for {name}, which is no benchmark"));
        };
        match (kind, value) {
            (SETUP, 0 | 1) => {
                let text = format!("{name}: the linker has left its preparation out");
                self.damage.push(text);
            }
            (SETUP, function) => benchmark.setup = Some(function & !1),
            (_, 1..=MOST_CALLS) => benchmark.calls = value,
            _ => {
                let text = format!("{name}: {value} calls; there may be 1 to {MOST_CALLS}");
                self.damage.push(text);
            }
        }
    }
}

fn word(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (word, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*word), rest))
}

fn name(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|&byte| byte == 0)?;
    let fits = (1..=LONGEST).contains(&end);
    fits.then(|| String::from_utf8_lossy(&bytes[..end]).into_owned())
}

fn function(desc: &[u8]) -> Option<Benchmark> {
    let (address, rest) = word(desc)?;
    let (length, rest) = word(rest)?;
    let length = usize::try_from(length).ok()?;
    if length % 4 != 0 || length / 4 > MOST {
        return None;
    }
    let (inputs, rest) = rest.split_at_checked(length)?;
    let inputs = inputs.chunks_exact(4).filter_map(|bytes| Some(word(bytes)?.0)).collect();
    let name = name(rest)?;
    Some(Benchmark { name, function: address & !1, setup: None, inputs, calls: 1 })
}

fn option(desc: &[u8]) -> Option<(u32, String)> {
    let (value, rest) = word(desc)?;
    Some((value, name(rest)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(kind: u32, words: &[u32], name: &str) -> Vec<u8> {
        let mut desc: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        desc.extend(name.bytes().chain([0]));
        let head = [7, desc.len() as u32, kind].map(u32::to_le_bytes).concat();
        let mut out = [head, b"strobe\0\0".to_vec(), desc].concat();
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    fn named(name: &str, inputs: &[u32]) -> Benchmark {
        let (name, inputs) = (name.to_owned(), inputs.to_vec());
        Benchmark { name, function: 0x8000, setup: None, inputs, calls: 1 }
    }

    #[test]
    fn benchmarks_have_inputs_preparation_and_calls() {
        let notes = [
            note(SETUP, &[0x9001], "sort"),
            note(FUNCTION, &[0x8001, 8, 3, 500], "sort"),
            note(0x7777, &[1], "later"),
            note(REPEAT, &[3], "sort"),
            note(FUNCTION, &[0x8000, 0], "crc"),
        ];
        let read = read(&notes.concat());
        let sort = Benchmark { setup: Some(0x9000), calls: 3, ..named("sort", &[3, 500]) };
        assert_eq!(read, Benchmarks { all: vec![named("crc", &[]), sort], damage: vec![] });
    }

    #[test]
    fn damage_is_named_and_the_rest_counts() {
        let notes = [
            note(FUNCTION, &[0x8001, 0], "a"),
            note(FUNCTION, &[0x9001, 0], "a"),
            note(FUNCTION, &[0x9001, 3], "odd"),
            note(FUNCTION, &[0x9001, 4000, 1], "long"),
            note(FUNCTION, &[0x9001, 0], ""),
            note(FUNCTION, &[0, 0], "collected"),
            note(REPEAT, &[0], "a"),
            note(SETUP, &[0x9001], "b"),
        ];
        let found = read(&notes.concat());
        assert_eq!(found.all, [named("a", &[])]);
        assert_eq!(found.damage.len(), 7, "{:?}", found.damage);
    }

    /// Wherever the section is cut off, nothing panics, and what was before counts.
    #[test]
    fn a_section_that_is_cut_off() {
        let first = note(FUNCTION, &[0x8001, 4, 9], "a");
        let whole = [first.clone(), note(FUNCTION, &[0x8001, 4, 9], "b")].concat();
        for end in 0..whole.len() {
            let found = read(&whole[..end]);
            // Padding at the end of each may be missing.
            let whole_notes = [first.len(), whole.len()].map(|of| usize::from(end + 3 >= of));
            let least = usize::from(end >= first.len());
            let most = whole_notes.iter().sum();
            assert!((least..=most).contains(&found.all.len()), "{end}: {found:?}");
        }
    }
}
