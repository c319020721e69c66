//! The linker's map: which object, of which archive, each byte came from, and the chip's memories.
//!
//! Written for GNU ld (`-Wl,-Map=FILE`; binutils' manual, "Memory Configuration" and "Linker script
//! and memory map") and LLVM's lld, whose maps have a line for each input section.

use std::ops::Range;

use strobe_symbols::SectionRange;

use super::regions::{Kind, Region};

/// The most input sections that are kept of a map; a firmware has thousands.
const MOST_ENTRIES: usize = 4 << 20;

/// A map that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// No line of it places an input section.
    #[error(
        "no linker map: no line places an input section at an address; GNU ld and lld write one \
         with -Wl,-Map=FILE"
    )]
    Empty,
    /// Longer than any map.
    #[error("more than {MOST_ENTRIES} input sections")]
    TooLong,
}

/// What a linker placed where.
#[derive(Debug, Default)]
pub struct LinkerMap {
    /// The chip's memories, as the linker script declares them.
    pub regions: Vec<Region>,
    /// Sorted by address.
    entries: Vec<Entry>,
    /// Names of the sections that the linker wrote.
    outputs: Vec<String>,
}

/// An input section, or what the linker put between two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) range: Range<u64>,
    /// `dir/libc.a(printf.o)` or `main.o`; none for the linker's filling.
    pub(super) object: Option<String>,
    /// The section that it is part of, an index into the names.
    output: Option<usize>,
}

impl Entry {
    /// The archive and its member, for an object of an archive.
    pub(super) fn archive(&self) -> Option<(&str, &str)> {
        let object = self.object.as_deref()?;
        // lld writes `libc.a(printf.o):(.text)`; that part is cut off on reading.
        let (archive, member) = object.strip_suffix(')')?.split_once('(')?;
        let archive = archive.rsplit(['/', '\\']).next()?;
        Some((archive, member))
    }
}

impl LinkerMap {
    /// Reads a map.
    ///
    /// # Errors
    /// When it holds no input section.
    pub fn parse(text: &str) -> Result<Self, MapError> {
        let mut map = LinkerMap::default();
        let head = text.lines().next().unwrap_or_default();
        let columns: Vec<&str> = head.split_whitespace().collect();
        match columns.as_slice() {
            ["VMA", "LMA", "Size", ..] => map.lld(text, 0),
            ["Address", "Size", ..] => map.lld(text, 1),
            _ => map.gnu(text),
        }
        if map.entries.len() > MOST_ENTRIES {
            return Err(MapError::TooLong);
        }
        if map.entries.is_empty() {
            return Err(MapError::Empty);
        }
        map.entries.sort_by_key(|entry| (entry.range.start, entry.range.end));
        Ok(map)
    }

    /// What is in memory when the program runs: parts of these sections. Debug information is
    /// listed from address 0 on, where the flash of many chips begins.
    pub(super) fn loaded(&self, sections: &[SectionRange]) -> LinkerMap {
        let is_there = |name: &String| sections.iter().any(|section| section.name == *name);
        let is_loaded = |entry: &&Entry| {
            let output = entry.output.and_then(|at| self.outputs.get(at));
            sections.is_empty() || output.is_none_or(is_there)
        };
        LinkerMap {
            regions: self.regions.clone(),
            entries: self.entries.iter().filter(is_loaded).cloned().collect(),
            outputs: self.outputs.clone(),
        }
    }

    fn add(&mut self, start: u64, size: u64, object: Option<String>) {
        let range = start..start.saturating_add(size);
        let output = self.outputs.len().checked_sub(1);
        self.entries.push(Entry { range, object, output });
    }

    /// The entry that an address belongs to; where entries overlap, the one that starts last.
    pub(super) fn at(&self, address: u64) -> Option<&Entry> {
        let upto = self.entries.partition_point(|entry| entry.range.start <= address);
        self.entries[..upto].last().filter(|entry| address < entry.range.end)
    }

    /// Where entries begin and end within a range.
    pub(super) fn borders(&self, within: &Range<u64>) -> impl Iterator<Item = u64> {
        let first = self.entries.partition_point(|entry| entry.range.start < within.start);
        let until = within.end;
        // The one before may end within.
        let entries = self.entries[first.saturating_sub(1)..].iter();
        let entries = entries.take_while(move |entry| entry.range.start < until);
        let within = within.clone();
        let ends = entries.flat_map(|entry| [entry.range.start, entry.range.end]);
        ends.filter(move |at| within.contains(at))
    }

    fn gnu(&mut self, text: &str) {
        let mut part = Part::Before;
        // A long name stands alone on its line.
        let mut is_input = false;
        for line in text.lines().take(MOST_ENTRIES.saturating_mul(4)) {
            match line.trim() {
                "Memory Configuration" => part = Part::Memories,
                "Linker script and memory map" => part = Part::Sections,
                "Cross Reference Table" => part = Part::Before,
                _ => {}
            }
            match part {
                Part::Before => {}
                Part::Memories => self.regions.extend(gnu_region(line)),
                Part::Sections => is_input = self.gnu_line(line, is_input),
            }
        }
    }

    /// A line of the memory map; whether it is the name of an input section whose place follows.
    fn gnu_line(&mut self, line: &str, goes_on: bool) -> bool {
        // Output sections begin in the first column, input sections in the second.
        let depth = line.len() - line.trim_start().len();
        let words: Vec<&str> = line.split_whitespace().collect();
        if let (0, Some(name)) = (depth, words.first()) {
            self.outputs.push((*name).to_owned());
        }
        let place = match words.as_slice() {
            [name] if depth == 1 && !name.starts_with('*') => return true,
            ["*fill*", rest @ ..] => rest,
            [_, rest @ ..] if depth == 1 => rest,
            all if goes_on && depth > 1 => all,
            _ => return false,
        };
        let [start, size, object @ ..] = place else { return false };
        let (Some(start), Some(size)) = (hexadecimal(start), hexadecimal(size)) else {
            return false;
        };
        let is_fill = words.first() == Some(&"*fill*");
        let object = object.join(" ");
        if size > 0 && (is_fill || !object.is_empty()) {
            self.add(start, size, (!is_fill).then_some(object));
        }
        false
    }

    /// `VMA LMA Size Align Out In Symbol`: input sections are `object:(section)`.
    fn lld(&mut self, text: &str, numbers_less: usize) {
        for line in text.lines().skip(1).take(MOST_ENTRIES.saturating_mul(4)) {
            let mut words = line.split_whitespace();
            let numbers: Vec<&str> = words.by_ref().take(4 - numbers_less).collect();
            let rest = words.collect::<Vec<_>>().join(" ");
            let (Some(start), Some(size)) = (numbers.first(), numbers.get(2 - numbers_less)) else {
                continue;
            };
            let bare = |text: &str| u64::from_str_radix(text, 16).ok();
            let (Some(start), Some(size)) = (bare(start), bare(size)) else { continue };
            let Some((object, _)) = rest.split_once(":(") else {
                // The names of sections are right behind the numbers, symbols are further in.
                if line.trim_end().strip_suffix(&rest).is_some_and(|it| !it.ends_with("  ")) {
                    self.outputs.push(rest);
                }
                continue;
            };
            if size > 0 && !object.starts_with('<') {
                self.add(start, size, Some(object.to_owned()));
            }
        }
    }
}

/// The part of GNU ld's map that a line is in.
#[derive(Clone, Copy)]
enum Part {
    Before,
    Memories,
    Sections,
}

/// `FLASH 0x08000000 0x00020000 xr`: what may be written is RAM.
fn gnu_region(line: &str) -> Option<Region> {
    let mut words = line.split_whitespace();
    let (name, start, length) = (words.next()?, words.next()?, words.next()?);
    let (start, length) = (hexadecimal(start)?, hexadecimal(length)?);
    let attributes = words.next()?;
    let kind = match (attributes.contains('w'), name) {
        (_, "eeprom" | "fuse" | "lock" | "signature" | "user_signatures") => Kind::Other,
        (true, _) => Kind::Ram,
        (false, _) => Kind::Flash,
    };
    let range = start..start.checked_add(length)?;
    (name != "*default*").then(|| Region { name: name.to_owned(), range, kind })
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}
