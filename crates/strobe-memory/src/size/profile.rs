//! The bytes as a profile: a location for each symbol, with inlined calls as frames; chains that
//! are the directories, so that a flame graph shows the tree of sources.

use std::borrow::Cow;

use foldhash::HashMap;
use strobe_model::measurement::{Address, Kind, Label, Measure, Profile, Samples, Unit, Values};
use strobe_symbols::{Firmware, Frame, short_path};

use super::items::{Bytes, Holder, Item};
use super::measurement::{archive, is_rust, rust_crate};

/// The measures, in the order of their values.
const MEASURES: [(&str, &str); 3] =
    [("flash", "bytes stored in flash"), ("ram", "bytes of RAM"), ("other", "bytes elsewhere")];

pub(super) fn profile<'a>(firmware: &'a Firmware, items: &'a [Item<'a>]) -> Profile {
    let mut building = Building::new(firmware);
    for item in items {
        building.item(item);
    }
    building.finish(items)
}

struct Building<'a> {
    firmware: &'a Firmware,
    is_rust: bool,
    has_inlined_code: bool,
    out: Profile,
    files: HashMap<String, u32>,
    functions: HashMap<(&'a str, Option<u32>, u64), u32>,
    frames: HashMap<(u32, Option<u32>), u32>,
    stacks: HashMap<(Option<u32>, u32), u32>,
    /// Locations of directories and files, by name.
    places: HashMap<&'a str, u32>,
    /// Labels by key and value.
    labels: HashMap<&'static str, HashMap<String, u32>>,
    leaves: Rows,
    chains: Rows,
}

/// Samples under construction: place, label, bytes.
#[derive(Default)]
struct Rows(Vec<(Option<u32>, Option<u32>, Bytes)>);

impl<'a> Building<'a> {
    fn new(firmware: &'a Firmware) -> Self {
        Building {
            firmware,
            is_rust: is_rust(firmware),
            has_inlined_code: firmware.has_inlined_code(),
            out: Profile::default(),
            files: HashMap::default(),
            functions: HashMap::default(),
            frames: HashMap::default(),
            stacks: HashMap::default(),
            places: HashMap::default(),
            labels: HashMap::default(),
            leaves: Rows::default(),
            chains: Rows::default(),
        }
    }

    fn item(&mut self, item: &'a Item<'a>) {
        let sections = self.firmware.sections();
        let label = item.section.map(|section| self.label("section", &sections[section].name));
        let file = item.file.as_deref().map(|file| self.file(file));
        let function = self.function(&item.name, file, item.address);
        let of = [
            ("layer", Some(Cow::from(item.layer))),
            ("crate", self.is_rust.then(|| rust_crate(item)).flatten().map(Cow::from)),
            ("archive", archive(item).map(Cow::from)),
        ];
        let labels = of.into_iter().filter_map(|(key, value)| Some(self.label(key, &value?)));
        self.out.functions.labels[function as usize] = labels.collect();
        let mut rest = item.bytes;
        let mut at = None;
        for (frame, bytes) in self.inlined(item, function, &mut rest) {
            let location = self.location(Some(item.address), function, Some(frame));
            at = at.or(Some(location));
            self.leaves.0.push((Some(location), label, bytes));
        }
        let own = self.location(Some(item.address), function, None);
        if rest.sum() > 0 || at.is_none() {
            self.leaves.0.push((Some(own), label, rest));
        }
        let stack = self.stack(item, own);
        self.chains.0.push((Some(stack), label, item.bytes));
    }

    /// The bytes of calls that were inlined into a function, by chain; they are taken from `rest`.
    fn inlined(&mut self, item: &Item, function: u32, rest: &mut Bytes) -> Vec<(u32, Bytes)> {
        let Holder::Function(id) = item.holder else { return Vec::new() };
        if !self.has_inlined_code {
            return Vec::new();
        }
        let symbol = &self.firmware.functions()[id as usize];
        let range = u64::from(symbol.start)..symbol.end();
        let pieces: Vec<_> = self.firmware.code_pieces(range).collect();
        let mut found: HashMap<u32, u64> = HashMap::default();
        let mut order = Vec::new();
        for (range, frames) in &pieces {
            let Some((outermost, inner)) = frames.frames.split_last() else { continue };
            if inner.is_empty() || outermost.function.is_none_or(|of| of.0 != id) {
                continue;
            }
            let mut outer = self.frame(function, None);
            for frame in inner.iter().rev() {
                let of = self.frame_function(frame);
                outer = self.frame(of, Some(outer));
            }
            let bytes = found.entry(outer).or_insert_with(|| {
                order.push(outer);
                0
            });
            *bytes += range.end - range.start;
        }
        let taken = order.into_iter().map(|frame| {
            let most = rest.flash.max(rest.ram).max(rest.other);
            let length = found[&frame].min(most);
            let of = |bytes: &mut u64| {
                let part = length.min(*bytes);
                *bytes -= part;
                part
            };
            let bytes = Bytes {
                flash: of(&mut rest.flash),
                ram: of(&mut rest.ram),
                other: of(&mut rest.other),
                copied: of(&mut rest.copied),
            };
            (frame, bytes)
        });
        taken.collect()
    }

    fn frame_function(&mut self, frame: &Frame<'a>) -> u32 {
        let file = frame.file.map(|file| self.file(&short_path(file)));
        self.function(frame.name.unwrap_or("(no name)"), file, u64::MAX)
    }

    fn file(&mut self, path: &str) -> u32 {
        if let Some(file) = self.files.get(path) {
            return *file;
        }
        let file = self.out.files.len() as u32;
        self.out.files.push(path.to_owned());
        self.files.insert(path.to_owned(), file);
        file
    }

    /// A function, variable or other holder; two of one name differ by address. An inlined one has
    /// no address: `u64::MAX`.
    fn function(&mut self, name: &'a str, file: Option<u32>, address: u64) -> u32 {
        let functions = &mut self.out.functions;
        *self.functions.entry((name, file, address)).or_insert_with(|| {
            functions.name.push(name.to_owned());
            functions.file.push(file);
            functions.address.push((address != u64::MAX).then_some(Address(address)));
            functions.labels.push(Vec::new());
            functions.name.len() as u32 - 1
        })
    }

    fn frame(&mut self, function: u32, outer: Option<u32>) -> u32 {
        let frames = &mut self.out.frames;
        *self.frames.entry((function, outer)).or_insert_with(|| {
            frames.function.push(function);
            frames.file.push(self.out.functions.file[function as usize]);
            frames.line.push(None);
            frames.outer.push(outer);
            frames.function.len() as u32 - 1
        })
    }

    fn location(&mut self, address: Option<u64>, function: u32, frame: Option<u32>) -> u32 {
        let locations = &mut self.out.locations;
        locations.address.push(address.map(Address));
        locations.function.push(Some(function));
        locations.frame.push(frame);
        locations.address.len() as u32 - 1
    }

    fn label(&mut self, key: &'static str, value: &str) -> u32 {
        let known = self.labels.entry(key).or_default();
        if let Some(label) = known.get(value) {
            return *label;
        }
        let label = self.out.labels.len() as u32;
        self.out.labels.push(Label { key: key.to_owned(), value: value.to_owned() });
        known.insert(value.to_owned(), label);
        label
    }

    /// The chain of directories down to the holder.
    fn stack(&mut self, item: &'a Item<'a>, own: u32) -> u32 {
        let path = item.file.as_deref().unwrap_or(if item.is_attributed {
            "(no source file)"
        } else {
            "(unattributed)"
        });
        let mut parent = None;
        let mut upto = 0;
        for part in path.split_inclusive('/') {
            upto += part.len();
            let place = &path[..upto];
            let location = match self.places.get(place) {
                Some(location) => *location,
                None => {
                    let function = self.function(place, None, u64::MAX);
                    let location = self.location(None, function, None);
                    self.places.insert(place, location);
                    location
                }
            };
            parent = Some(self.push_stack(parent, location));
        }
        // Every item has a location of its own, so that its chain is new.
        let stacks = &mut self.out.stacks;
        stacks.parent.push(parent);
        stacks.location.push(own);
        stacks.location.len() as u32 - 1
    }

    fn push_stack(&mut self, parent: Option<u32>, location: u32) -> u32 {
        let stacks = &mut self.out.stacks;
        *self.stacks.entry((parent, location)).or_insert_with(|| {
            stacks.parent.push(parent);
            stacks.location.push(location);
            stacks.location.len() as u32 - 1
        })
    }

    fn finish(mut self, items: &[Item]) -> Profile {
        let has_other = items.iter().any(|item| item.bytes.other > 0);
        let measures = &MEASURES[..if has_other { 3 } else { 2 }];
        let measure =
            |(id, title): &(&str, &str)| Measure::new(id, title, Unit::BYTES, Kind::Exact);
        self.out.measures = measures.iter().map(measure).collect();
        self.out.leaves = self.leaves.samples(measures);
        self.out.chains = self.chains.samples(measures);
        self.out
    }
}

impl Rows {
    fn samples(self, measures: &[(&str, &str)]) -> Samples {
        let values = measures.iter().map(|(id, _)| {
            let of = |bytes: &Bytes| match *id {
                "flash" => bytes.flash,
                "ram" => bytes.ram,
                _ => bytes.other,
            };
            // A firmware's segments together have 64 MiB at most.
            let values = self.0.iter().map(|(_, _, bytes)| of(bytes) as i64).collect();
            Values { measure: (*id).to_owned(), values, ..Values::default() }
        });
        Samples {
            values: values.collect(),
            at: self.0.iter().map(|(at, _, _)| *at).collect(),
            label: self.0.iter().map(|(_, label, _)| *label).collect(),
        }
    }
}
