//! Who needs what: the graph of references with the bytes and the layers of its nodes.

use strobe_symbols::{Firmware, Frame, Frames, FunctionId, Machine, Segment, short_path};

use super::items::{Bytes, Holder, Item, taken};
use super::layers::{Layers, Origin};
use super::regions::Regions;
use crate::references::{Edge, Id, Node, NodeKind, References};
use crate::stack::entries::{self, Kind};

/// Layers whose code is there because other code calls it.
const LIBRARIES: [&str; 5] =
    ["C library", "C++ runtime", "Rust library", "compiler runtime", "start-up"];

/// Characters of a literal that stand for it.
const SHOWN: usize = 32;

/// The longest literal that is looked at.
const LONGEST_TEXT: usize = 4096;

/// The graph of an image with symbols.
pub(super) struct Graph<'a> {
    pub(super) firmware: &'a Firmware,
    pub(super) references: References,
    /// What each node takes.
    pub(super) own: Vec<Bytes>,
    pub(super) is_reached: Vec<bool>,
    is_library: Vec<bool>,
    layers: &'a Layers,
}

impl<'a> Graph<'a> {
    pub(super) fn new(
        firmware: &'a Firmware,
        regions: &Regions,
        layers: &'a Layers,
        items: &[Item],
    ) -> Self {
        let references = References::new(firmware, &entries(firmware));
        let mut own = vec![Bytes::default(); references.nodes.len()];
        for (range, node) in &references.pieces {
            for segment in firmware.segments() {
                let whole = segment.run_range();
                let (start, end) = (range.start.max(whole.start), range.end.min(whole.end));
                if start >= end {
                    continue;
                }
                let stored_end = whole.start + segment.data().len() as u64;
                let mut borders = vec![start, end];
                borders.extend(Some(stored_end).filter(|at| start < *at && *at < end));
                borders.extend(regions.borders(&(start..end)));
                borders.extend(regions.overlay_borders(&(start..end)));
                borders.sort_unstable();
                for pair in borders.windows(2) {
                    own[*node] += taken(regions, segment, &(pair[0]..pair[1]));
                }
            }
        }
        let is_library = libraries(firmware, &references, items);
        let is_reached = references.reached();
        Graph { firmware, references, own, is_reached, is_library, layers }
    }

    pub(super) fn is_library(&self, node: Id) -> bool {
        self.is_library[node]
    }

    /// The names of a node's symbol: as linked, and as shown.
    pub(super) fn names(&self, node: Id) -> Option<(&'a str, &'a str)> {
        match self.references.nodes[node].what {
            NodeKind::Function(id) => {
                let function = self.firmware.function(id);
                Some((&function.linkage_name, &function.name))
            }
            NodeKind::Data(index) => {
                let symbol = &self.firmware.data_symbols()[index as usize];
                Some((&symbol.linkage_name, &symbol.name))
            }
            NodeKind::Unnamed => None,
        }
    }

    /// A node as people know it: a symbol's name, or the beginning of a literal.
    pub(super) fn name(&self, node: Id) -> String {
        if let Some((_, name)) = self.names(node) {
            return name.to_owned();
        }
        let address = self.references.nodes[node].address as u32;
        if let Some(text) = self.text(node).filter(|text| text.chars().count() > 1) {
            let mut shown: String = text.chars().take(SHOWN).collect();
            if shown.len() < text.len() {
                shown.push_str("...");
            }
            return format!("{shown:?}");
        }
        let section = self.firmware.section_at(address).map_or("image", |s| s.name.as_str());
        format!("({section} at {address:#010x})")
    }

    /// The text that a node holds, if it is one that ends with a zero.
    pub(super) fn text(&self, node: Id) -> Option<&'a str> {
        let bytes = self.bytes_of(node)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        let text = std::str::from_utf8(&bytes[..end]).ok()?;
        let is_text = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\x1b');
        (!text.is_empty() && text.chars().all(is_text)).then_some(text)
    }

    /// The stored bytes from a piece of data on.
    fn bytes_of(&self, node: Id) -> Option<&'a [u8]> {
        let Node { what, address } = self.references.nodes[node];
        let holds = |segment: &&Segment| segment.run_range().contains(&address);
        let segment = self.firmware.segments().iter().find(holds)?;
        let from = usize::try_from(address - segment.run_range().start).ok()?;
        let bytes = segment.data().get(from..)?;
        match what {
            NodeKind::Function(_) => None,
            _ => Some(&bytes[..bytes.len().min(LONGEST_TEXT)]),
        }
    }

    /// The source line of a reference that code makes.
    pub(super) fn place(&self, edge: &Edge) -> Option<String> {
        let frames = self.firmware.frames(edge.site);
        let frame = self.written(&frames).or(frames.innermost())?;
        Some(format!("{}:{}", short_path(frame.file?), frame.line?))
    }

    /// Who refers: the function that the source has it in, inlined or not.
    pub(super) fn who(&self, edge: &Edge) -> String {
        let frames = self.firmware.frames(edge.site);
        let name = self.written(&frames).and_then(|frame| frame.name);
        name.map_or_else(|| self.name(edge.from), str::to_owned)
    }

    /// The innermost frame that is no library's.
    fn written<'f, 's>(&self, frames: &'f Frames<'s>) -> Option<&'f Frame<'s>> {
        frames.frames.iter().find(|frame| {
            let path = frame.file.map(short_path);
            let symbols = [frame.linkage_name, frame.name];
            let origin = Origin { path: path.as_deref(), symbols, ..Origin::default() };
            !LIBRARIES.contains(&self.layers.of(origin))
        })
    }

    /// What the entry points lead to takes.
    pub(super) fn reached(&self) -> Bytes {
        self.sum((0..self.own.len()).filter(|node| self.is_reached[*node]))
    }

    /// Bytes of nodes together.
    pub(super) fn sum(&self, nodes: impl IntoIterator<Item = Id>) -> Bytes {
        let mut sum = Bytes::default();
        nodes.into_iter().for_each(|node| sum += self.own[node]);
        sum
    }
}

/// Which nodes are of libraries.
fn libraries(firmware: &Firmware, references: &References, items: &[Item]) -> Vec<bool> {
    let mut functions = vec![false; firmware.functions().len()];
    let mut data = vec![false; firmware.data_symbols().len()];
    for item in items {
        let is_library = LIBRARIES.contains(&item.layer);
        match item.holder {
            Holder::Function(id) => functions[id as usize] = is_library,
            Holder::Data(index) => data[index as usize] = is_library,
            _ => {}
        }
    }
    let of = |node: &Node| match node.what {
        NodeKind::Function(FunctionId(id)) => functions[id as usize],
        NodeKind::Data(index) => data[index as usize],
        NodeKind::Unnamed => false,
    };
    references.nodes.iter().map(of).collect()
}

/// The beginnings of all that the vector table consists of: Rust's has variables of its own for the
/// stack, reset, exceptions and interrupts. It ends where code begins.
fn vector_table(firmware: &Firmware, (start, words): (u32, u32)) -> Vec<u32> {
    let functions = firmware.functions().iter().map(|function| function.start & !1);
    let code = functions.filter(|at| *at > start).min().unwrap_or(u32::MAX);
    let end = start.saturating_add(words.saturating_mul(4)).min(code);
    let symbols = firmware.data_symbols().iter().map(|symbol| symbol.address);
    let mut parts: Vec<u32> = symbols.filter(|at| (start..end).contains(at)).collect();
    parts.push(start);
    parts.sort_unstable();
    parts.dedup();
    parts
}

/// Where the program is entered, with by what.
fn entries(firmware: &Firmware) -> Vec<(u32, String)> {
    let vectors = entries::vectors(firmware).entries;
    let mut found: Vec<(u32, String)> = vectors
        .into_iter()
        .map(|entry| match entry.kind {
            Kind::Reset => (entry.address, "reset".to_owned()),
            _ => (entry.address, entry.vectors.join(", ")),
        })
        .collect();
    if firmware.machine() == Machine::Arm {
        let table = entries::table(firmware);
        let parts = table.into_iter().flat_map(|table| vector_table(firmware, table));
        found.extend(parts.map(|address| (address, "the processor reads it".to_owned())));
    }
    // Linkers keep these; nothing in the image calls them.
    for benchmark in &firmware.benchmarks().all {
        let functions = [Some(benchmark.function), benchmark.setup];
        let name = format!("the benchmark {}", benchmark.name);
        found.extend(functions.into_iter().flatten().map(|at| (at & !1, name.clone())));
    }
    let routines = firmware.unwind_routines().into_iter();
    found.extend(routines.map(|address| (address, "exception index tables".to_owned())));
    found.push((firmware.entry() & !1, "the ELF entry point".to_owned()));
    found
}
