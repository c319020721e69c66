//! Which numbers are addresses, and of what.
//!
//! Where an image keeps its relocations, they decide. Else a word is an address if a function
//! begins there, Thumb bit and all, or if a variable, a constant or bytes without a symbol are
//! there. Small numbers are addresses, too, in images that begin at 0: those are guesses.

use std::ops::Range;

use foldhash::{HashMap, HashSet};
use strobe_symbols::{Firmware, Machine, Owned, Owner, SectionRange, Segment};

use super::{Edge, Id, Node, NodeKind, Reference, ReferenceKind, References, To};

/// Numbers below are as likely to be something else.
const SURE_FROM: u32 = 0x1_0000;
/// Where the data space of an AVR begins in its ELF file.
pub(super) const AVR_DATA: u32 = 0x80_0000;

pub(super) struct Resolver<'a> {
    firmware: &'a Firmware,
    layout: Vec<Owned>,
    /// Runs of bytes of segments, sorted and disjoint.
    memory: Vec<Range<u64>>,
    /// Relocations, if the image has kept them: places, and targets where they are known.
    places: Option<HashMap<u32, Option<u32>>>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(firmware: &'a Firmware) -> Self {
        let mut memory: Vec<_> = firmware.segments().iter().map(Segment::run_range).collect();
        memory.sort_by_key(|range| (range.start, range.end));
        let mut end = 0;
        for range in &mut memory {
            range.start = range.start.max(end);
            end = end.max(range.end);
        }
        memory.retain(|range| range.start < range.end);
        let relocations = firmware.relocations();
        let places = relocations.into_iter().map(|found| (found.place, found.target)).collect();
        let places = Some(places).filter(|places: &HashMap<_, _>| !places.is_empty());
        Resolver { firmware, layout: firmware.layout(), memory, places }
    }

    pub(super) fn layout(&self) -> &[Owned] {
        &self.layout
    }

    /// Whether the linker has put an address at a place; `None` if that is not known.
    pub(super) fn is_address(&self, place: u32) -> Option<bool> {
        self.places.as_ref().map(|places| places.contains_key(&place))
    }

    /// Targets that relocations name, with their places.
    pub(super) fn relocated(&self) -> impl Iterator<Item = (u32, u32)> {
        let places = self.places.iter().flatten();
        places.filter_map(|(place, target)| Some((*place, (*target)?)))
    }

    /// The symbol that bytes belong to.
    pub(super) fn owner(&self, address: u64) -> Option<&Owned> {
        let after = self.layout.partition_point(|owned| owned.range.start <= address);
        self.layout[..after].last().filter(|owned| address < owned.range.end)
    }

    /// The run of memory without a symbol at an address.
    fn gap(&self, address: u64) -> Option<Range<u64>> {
        let at = self.memory.partition_point(|range| range.end <= address);
        let memory = self.memory.get(at).filter(|range| range.start <= address)?;
        let after = self.layout.partition_point(|owned| owned.range.start <= address);
        let before = self.layout[..after].last().map_or(0, |owned| owned.range.end);
        let next = self.layout.get(after).map_or(u64::MAX, |owned| owned.range.start);
        let gap = before.max(memory.start)..next.min(memory.end);
        gap.contains(&address).then_some(gap)
    }

    fn starts_function(&self, address: u32) -> bool {
        let owner = self.owner(u64::from(address));
        let Some(Owned { owner: Owner::Function(id), .. }) = owner else { return false };
        self.firmware.function(*id).start == address
    }

    /// Whether a variable, a constant or a literal begins at an address.
    fn begins_data(&self, address: u32) -> bool {
        match self.owner(u64::from(address)) {
            Some(owned) => owned.range.start == u64::from(address),
            None => self.begins_text(address),
        }
    }

    fn is_data(&self, address: u32) -> bool {
        match self.owner(u64::from(address)) {
            Some(owned) => matches!(owned.owner, Owner::Data(_)),
            None => self.gap(u64::from(address)).is_some(),
        }
    }

    /// Where a sighting leads, and whether that is a guess.
    fn target(&self, sighting: &Reference) -> Option<(u32, bool)> {
        match sighting.to {
            To::Address(at) if at & 1 == 1 && self.starts_function(at & !1) => {
                Some((at & !1, false))
            }
            To::Address(at) => Some((at, false)),
            To::Word(word) => {
                let known = self.is_address(sighting.site);
                let is_guess = word < SURE_FROM && known != Some(true);
                if word & 1 == 1 && self.starts_function(word & !1) {
                    return Some((word & !1, is_guess && sighting.how == ReferenceKind::Points));
                }
                let is_known = sighting.how == ReferenceKind::Takes && self.begins_data(word);
                self.is_data(word).then_some((word, is_guess && !is_known))
            }
            To::Pair { number, is_frame } => {
                let found = self.avr(number, true);
                // Stacks begin by such numbers, and no function is called through Y.
                found.filter(|(at, _)| !is_frame || *at >= AVR_DATA)
            }
            To::Half(number) => self.avr(number, false),
        }
    }

    /// The address spaces of the AVR overlap: RAM comes first, since most addresses are of RAM.
    fn avr(&self, number: u16, is_code: bool) -> Option<(u32, bool)> {
        let number = u32::from(number);
        let in_ram = AVR_DATA | number;
        let starts = |at: u32| self.layout.binary_search_by_key(&u64::from(at), |o| o.range.start);
        match self.owner(u64::from(in_ram)) {
            Some(owned) if matches!(owned.owner, Owner::Data(_)) => {
                let begins = owned.range.start == u64::from(in_ram);
                return (is_code || begins).then_some((in_ram, !is_code));
            }
            _ if is_code && self.begins_text(in_ram) => return Some((in_ram, false)),
            _ => {}
        }
        if number == 0 {
            return None;
        }
        let is_table = |at: usize| matches!(self.layout[at].owner, Owner::Data(_));
        if is_code && starts(number).is_ok_and(is_table) {
            return Some((number, false));
        }
        // Pointers to functions count in words.
        self.starts_function(number * 2).then_some((number * 2, true))
    }

    /// Whether a literal may begin at an address without a symbol: behind the end of another.
    fn begins_text(&self, address: u32) -> bool {
        let Some(gap) = self.gap(u64::from(address)) else { return false };
        let before = address.checked_sub(1).and_then(|at| self.firmware.bytes_at(at, 1));
        gap.start == u64::from(address) || before == Some(&[0])
    }

    /// The nodes and edges.
    pub(super) fn graph(&self, mut references: Vec<Reference>) -> References {
        self.drop_borders(&mut references);
        let found: Vec<(Reference, u32, bool)> = references
            .into_iter()
            .filter_map(|seen| self.target(&seen).map(|(to, is_guess)| (seen, to, is_guess)))
            .collect();
        let mut graph = self.nodes(found.iter().map(|(seen, to, _)| (seen.site, *to)));
        let mut edges: Vec<Edge> = found
            .into_iter()
            .filter_map(|(seen, to, is_guess)| {
                let (from, to) = (graph.at(seen.site.into())?, graph.at(to.into())?);
                (from != to).then_some(Edge { from, to, is_guess, how: seen.how, site: seen.site })
            })
            .collect();
        edges.sort_unstable();
        edges.dedup_by_key(|edge| (edge.from, edge.to));
        graph.set_edges(edges);
        graph
    }

    /// Symbols, and what lies between them and is referred to or refers to something.
    fn nodes(&self, found: impl Iterator<Item = (u32, u32)>) -> References {
        let mut graph = References::default();
        let mut known: HashMap<Owner, Id> = HashMap::default();
        for owned in &self.layout {
            let node = *known.entry(owned.owner).or_insert_with(|| {
                let what = NodeKind::from(owned.owner);
                graph.nodes.push(Node { what, address: owned.range.start });
                graph.nodes.len() - 1
            });
            graph.pieces.push((owned.range.clone(), node));
        }
        let mut cuts: Vec<(u64, u64)> = Vec::new();
        for (site, to) in found {
            let (site, to) = (u64::from(site), u64::from(to));
            if self.owner(to).is_none() {
                cuts.extend(self.gap(to).map(|gap| (to, gap.end)));
            }
            if self.owner(site).is_none() {
                cuts.extend(self.gap(site).map(|gap| (gap.start, gap.end)));
            }
        }
        cuts.sort_unstable();
        cuts.dedup();
        for (at, (start, end)) in cuts.iter().enumerate() {
            let next = cuts.get(at + 1).map_or(*end, |(next, _)| *next);
            graph.nodes.push(Node { what: NodeKind::Unnamed, address: *start });
            graph.pieces.push((*start..next.min(*end), graph.nodes.len() - 1));
        }
        graph.pieces.sort_by_key(|(range, _)| range.start);
        graph
    }

    /// Start-up code has the first and the last address of what it copies and clears. Those are
    /// addresses of the sections, not of what happens to lie at their beginning.
    fn drop_borders(&self, references: &mut Vec<Reference>) {
        let mut writable: Vec<Range<u64>> = Vec::new();
        for segment in self.firmware.segments().iter().filter(|s| s.permissions.write) {
            writable.push(segment.run_range());
        }
        let is_writable = |section: &&SectionRange| {
            let start = u64::from(section.start);
            writable.iter().any(|range| range.contains(&start))
                && section.size > 0
                && !section.name.contains("_array")
        };
        let sections: Vec<_> = self.firmware.sections().iter().filter(is_writable).collect();
        let ends = sections.iter().flat_map(|s| [s.start, s.start.wrapping_add(s.size)]);
        let ends: HashSet<u32> = ends.collect();
        let number = |seen: &Reference| match seen.to {
            To::Word(word) if ends.contains(&word) => {
                Some((self.owner(seen.site.into())?.owner, word))
            }
            To::Pair { number: pair, .. } if ends.contains(&(AVR_DATA | u32::from(pair))) => {
                Some((self.owner(seen.site.into())?.owner, AVR_DATA | u32::from(pair)))
            }
            _ => None,
        };
        let seen: HashSet<(Owner, u32)> = references.iter().filter_map(number).collect();
        let is_border = |owner: Owner, word: u32| {
            sections.iter().any(|section| {
                let (start, end) = (section.start, section.start.wrapping_add(section.size));
                (word == start || word == end)
                    && seen.contains(&(owner, start))
                    && seen.contains(&(owner, end))
            })
        };
        references.retain(|s| number(s).is_none_or(|(owner, word)| !is_border(owner, word)));
    }

    pub(super) fn is_avr(&self) -> bool {
        self.firmware.machine() == Machine::Avr
    }
}
