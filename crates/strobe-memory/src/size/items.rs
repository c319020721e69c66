//! Gives every byte of every segment to one holder: a symbol, an object of the linker's map,
//! padding, or the rest of a section.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use foldhash::HashMap;
use strobe_symbols::{Firmware, Owned, Owner, SectionRange, Segment, short_path};

use super::layers::Origin;
use super::map::Entry;
use super::regions::{Kind, Regions};
use super::{Layers, LinkerMap, Settings};

/// The longest gap between two symbols that is padding if its bytes are all alike. Flash lines and
/// cache lines are up to 32 bytes long.
const LONGEST_PADDING: u64 = 31;

/// Who holds bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Holder {
    /// A function, by its index.
    Function(u32),
    /// A variable or constant, by its index.
    Data(u32),
    /// Bytes of an object without a symbol: string literals, tables.
    Object(String),
    /// Between two symbols, for alignment.
    Padding,
    /// A section's bytes that no symbol covers.
    Rest,
    /// Of a segment, in no section.
    NoSection,
}

/// What a holder has in one section, with where it takes space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item<'a> {
    pub(super) holder: Holder,
    /// By its index; none outside of sections.
    pub(super) section: Option<usize>,
    /// The first address at run time.
    pub(super) address: u64,
    pub(super) name: Cow<'a, str>,
    pub(super) file: Option<Cow<'a, str>>,
    /// Archive and member, or object, of the linker's map.
    pub(super) object: Option<String>,
    pub(super) layer: &'a str,
    /// Whether a symbol, an object or the section's own name accounts for the bytes.
    pub(super) is_attributed: bool,
    pub(super) bytes: Bytes,
}

/// Bytes by the memory that they take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Bytes {
    /// Stored in flash.
    pub(super) flash: u64,
    /// In RAM while the program runs.
    pub(super) ram: u64,
    /// Stored elsewhere: EEPROM, fuses.
    pub(super) other: u64,
    /// Of those in flash and in RAM, what is copied from one to the other.
    pub(super) copied: u64,
}

impl Bytes {
    pub(super) fn sum(self) -> u64 {
        self.flash + self.ram + self.other
    }
}

impl std::ops::AddAssign for Bytes {
    fn add_assign(&mut self, more: Self) {
        self.flash += more.flash;
        self.ram += more.ram;
        self.other += more.other;
        self.copied += more.copied;
    }
}

/// All items, sorted by address.
pub(super) fn items<'a>(
    firmware: &'a Firmware,
    regions: &Regions,
    settings: &'a Settings,
) -> Vec<Item<'a>> {
    let layout = firmware.layout();
    let files = firmware.variable_files();
    let map = settings.map.as_ref().map(|map| map.loaded(firmware.sections()));
    let cut = Cut { firmware, regions, map: map.as_ref(), layout: &layout };
    let mut found: HashMap<(Option<usize>, Holder), (u64, Bytes)> = HashMap::default();
    for segment in firmware.segments() {
        cut.segment(segment, &mut |run: Run| {
            let begin = (run.address, Bytes::default());
            let (address, bytes) = found.entry((run.section, run.holder)).or_insert(begin);
            *address = run.address.min(*address);
            *bytes += run.bytes;
        });
    }
    let name = Naming { firmware, files, layers: &settings.layers, map: map.as_ref() };
    let found = found.into_iter();
    let mut found: Vec<_> =
        found.map(|((section, holder), (at, bytes))| (at, holder, section, bytes)).collect();
    found.sort_unstable_by(|a, b| (a.0, &a.1, a.2).cmp(&(b.0, &b.1, b.2)));
    found
        .into_iter()
        .map(|(address, holder, section, bytes)| name.item(section, holder, address, bytes))
        .collect()
}

/// Bytes that are alike.
struct Run {
    address: u64,
    section: Option<usize>,
    holder: Holder,
    bytes: Bytes,
}

struct Cut<'a> {
    firmware: &'a Firmware,
    regions: &'a Regions,
    map: Option<&'a LinkerMap>,
    layout: &'a [Owned],
}

impl Cut<'_> {
    fn segment(&self, segment: &Segment, each: &mut dyn FnMut(Run)) {
        let range = segment.run_range();
        let stored_end = range.start + segment.data().len() as u64;
        let mut borders = vec![range.start, stored_end, range.end];
        borders.extend(self.regions.borders(&range));
        borders.extend(self.regions.overlay_borders(&range));
        let sections = self.firmware.sections();
        let ends = sections.iter().flat_map(|s| [u64::from(s.start), end(s)]);
        borders.extend(ends.filter(|at| range.contains(at)));
        let first = self.layout.partition_point(|owned| owned.range.end <= range.start);
        let within = self.layout[first..].iter().take_while(|o| o.range.start < range.end);
        let ends = within.flat_map(|owned| [owned.range.start, owned.range.end]);
        borders.extend(ends.filter(|at| range.contains(at)));
        borders.extend(self.map.into_iter().flat_map(|map| map.borders(&range)));
        borders.sort_unstable();
        borders.dedup();
        for pair in borders.windows(2) {
            each(self.run(segment, pair[0]..pair[1]));
        }
    }

    fn run(&self, segment: &Segment, range: Range<u64>) -> Run {
        let offset = range.start - segment.run_range().start;
        let section = self.section(segment, &range, offset);
        let length = range.end - range.start;
        let is_stored = offset < segment.data().len() as u64;
        let bytes = taken(self.regions, segment, &range);
        let stored = segment.data().get(offset as usize..(offset + length) as usize);
        // Whose symbol an overlaid address has depends on what is loaded there.
        let holder = if self.regions.is_overlaid(range.start) {
            Holder::Rest
        } else {
            self.holder(&range, section, stored.filter(|_| is_stored))
        };
        Run { address: range.start, section, holder, bytes }
    }

    /// The section of bytes: of several at one address the one that has them in the file.
    fn section(&self, segment: &Segment, range: &Range<u64>, offset: u64) -> Option<usize> {
        let file = (segment.file_range().start as u64).saturating_add(offset);
        let is_at = |section: &SectionRange| {
            u64::from(section.start) <= range.start && range.start < end(section)
        };
        let has = |section: &SectionRange| {
            let from = section.file_offset;
            section.has_contents
                && (from..from.saturating_add(u64::from(section.size))).contains(&file)
        };
        let sections = || self.firmware.sections().iter();
        let found = sections().position(|section| is_at(section) && has(section));
        found.or_else(|| sections().position(is_at))
    }

    fn holder(&self, range: &Range<u64>, section: Option<usize>, stored: Option<&[u8]>) -> Holder {
        let after = self.layout.partition_point(|owned| owned.range.start <= range.start);
        match self.layout[..after].last().filter(|owned| range.start < owned.range.end) {
            Some(Owned { owner: Owner::Function(id), .. }) => return Holder::Function(id.0),
            Some(Owned { owner: Owner::Data(index), .. }) => return Holder::Data(*index),
            None => {}
        }
        match self.map.and_then(|map| map.at(range.start)) {
            Some(Entry { object: None, .. }) => return Holder::Padding,
            Some(entry @ Entry { object: Some(_), .. }) if !self.is_padding(range, stored) => {
                return Holder::Object(entry.object.clone().unwrap_or_default());
            }
            _ => {}
        }
        let is_short = range.end - range.start <= LONGEST_PADDING;
        match section {
            _ if self.is_padding(range, stored) => Holder::Padding,
            Some(_) => Holder::Rest,
            // Linkers round the ends of sections up.
            None if is_short && stored.is_none_or(fills) => Holder::Padding,
            None => Holder::NoSection,
        }
    }

    /// A short gap before a symbol, of bytes that are all alike or nothing but no-operations.
    fn is_padding(&self, range: &Range<u64>, stored: Option<&[u8]>) -> bool {
        let next = self.layout.partition_point(|owned| owned.range.start < range.end);
        let is_before = self.layout.get(next).is_some_and(|owned| owned.range.start == range.end);
        let is_after = next > 0 && self.layout[next - 1].range.end == range.start;
        range.end - range.start <= LONGEST_PADDING
            && (is_before || is_after)
            && stored.is_none_or(fills)
    }
}

/// What bytes of a segment take; all of them are stored or none, and in one memory.
pub(super) fn taken(regions: &Regions, segment: &Segment, range: &Range<u64>) -> Bytes {
    let offset = range.start - segment.run_range().start;
    let length = range.end - range.start;
    let mut bytes = Bytes::default();
    if offset < segment.data().len() as u64 {
        match regions.kind(u64::from(segment.load_address.0) + offset) {
            Kind::Flash => bytes.flash = length,
            Kind::Other => bytes.other = length,
            Kind::Ram => {}
        }
    }
    if regions.kind(range.start) == Kind::Ram && !regions.is_taken(segment, range.start) {
        bytes.ram = length;
        bytes.copied = bytes.flash;
    }
    bytes
}

/// Bytes that linkers and assemblers fill gaps with: all alike, or Thumb's no-operations.
fn fills(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
        || bytes.iter().all(|byte| *byte == 0xff)
        || bytes.chunks(2).all(|pair| matches!(pair, [0x00, 0xbf] | [0xc0, 0x46]))
}

fn end(section: &SectionRange) -> u64 {
    u64::from(section.start) + u64::from(section.size)
}

/// The name that is shown, the one in the symbol table, and the file.
type Names<'a> = (Cow<'a, str>, Option<&'a str>, Option<Cow<'a, str>>);

struct Naming<'a, 'm> {
    firmware: &'a Firmware,
    files: BTreeMap<u32, String>,
    layers: &'a Layers,
    map: Option<&'m LinkerMap>,
}

impl<'a> Naming<'a, '_> {
    fn item(&self, section: Option<usize>, holder: Holder, address: u64, bytes: Bytes) -> Item<'a> {
        let section_name = section.map(|at| self.firmware.sections()[at].name.as_str());
        let shown = section_name.unwrap_or("no section");
        let entry = self.map.and_then(|map| map.at(address));
        let (name, linkage_name, file) = match &holder {
            Holder::Function(id) => self.function(*id),
            Holder::Data(index) => self.data(*index),
            Holder::Object(object) => {
                let object = object.rsplit(['/', '\\']).next().unwrap_or(object);
                (format!("({shown} of {object}, no symbol)").into(), None, None)
            }
            Holder::Padding if section.is_none() => {
                ("(padding between sections)".into(), None, None)
            }
            Holder::Padding => (format!("(padding in {shown})").into(), None, None),
            Holder::Rest => (format!("({shown}, no symbol)").into(), None, None),
            Holder::NoSection => ("(in no section)".into(), None, None),
        };
        let archive = entry.and_then(|entry| entry.archive());
        let origin = Origin {
            path: file.as_deref(),
            archive: archive.map(|(archive, _)| archive),
            symbols: [linkage_name, linkage_name.map(|_| name.as_ref())],
            section: section_name,
        };
        let layer = match holder {
            Holder::Padding => "padding",
            Holder::NoSection => "unattributed",
            Holder::Rest if !is_named(section_name) => "unattributed",
            _ => self.layers.of(origin),
        };
        Item {
            is_attributed: !matches!(layer, "padding" | "unattributed"),
            layer,
            object: match holder {
                Holder::Padding => None,
                _ => entry.and_then(|entry| entry.object.clone()),
            },
            holder,
            section,
            address,
            name,
            file,
            bytes,
        }
    }

    fn function(&self, id: u32) -> Names<'a> {
        let function = &self.firmware.functions()[id as usize];
        let range = u64::from(function.start)..function.end();
        let mut pieces = self.firmware.code_pieces(range);
        let file = pieces.find_map(|(_, frames)| frames.outermost()?.file.map(short_path));
        let file = file.map(Cow::from).or(function.symbol_file.as_deref().map(Cow::from));
        (function.name.as_str().into(), Some(&function.linkage_name), file)
    }

    fn data(&self, index: u32) -> Names<'a> {
        let symbol = &self.firmware.data_symbols()[index as usize];
        let file = self.files.get(&symbol.address).cloned();
        let file = file.map(Cow::from).or(symbol.symbol_file.as_deref().map(Cow::from));
        (symbol.name.as_str().into(), Some(&symbol.linkage_name), file)
    }
}

/// Whether a section's name shows what its bytes are, as those for unwinding and start-up do, and
/// stacks and heaps that a linker script sets aside.
fn is_named(section: Option<&str>) -> bool {
    let names = [
        ".ARM.ex",
        ".eh_frame",
        ".init_array",
        ".fini_array",
        ".preinit_array",
        ".isr_vector",
        ".vectors",
        ".vector_table",
        "stack",
        "heap",
        ".note",
        ".gcc_except_table",
        ".fuse",
        ".lock",
        ".signature",
        ".defmt",
        ".strobe",
    ];
    section.is_some_and(|section| names.iter().any(|name| section.contains(name)))
}
