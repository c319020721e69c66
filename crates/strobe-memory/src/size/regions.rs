//! Which addresses are flash, RAM, or something else.
//!
//! The chip's description or the linker's map define them. Without either it is inferred: on AVR
//! from the address spaces of the tool chain (avr-libc, "Memory sections"); on Arm the SRAM region
//! of the architecture (DDI 0403E, B3.1) is RAM, and so is where data is copied to or starts as
//! zero.

use std::ops::Range;

pub use strobe_isa::Space as Kind;
use strobe_symbols::{Firmware, Machine, Segment};

use super::Settings;

/// One memory of the chip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Its name, such as `FLASH`.
    pub name: String,
    /// Its addresses at run time; the end is exclusive.
    pub range: Range<u64>,
    /// What it is.
    pub kind: Kind,
}

/// The memories of a firmware.
#[derive(Debug)]
pub(super) struct Regions {
    pub(super) known: Vec<Region>,
    machine: Machine,
    /// Run-time addresses that are RAM because of what the image does with them.
    used_as_ram: Vec<Range<u64>>,
    /// Run-time addresses of several segments, as of overlays, with the segments behind the first.
    overlaid: Vec<(usize, Range<u64>)>,
}

impl Regions {
    pub(super) fn new(firmware: &Firmware, settings: &Settings) -> Self {
        let of_map = settings.map.iter().flat_map(|map| &map.regions);
        let known: Vec<Region> = if settings.regions.is_empty() {
            of_map.cloned().collect()
        } else {
            settings.regions.clone()
        };
        let mut used_as_ram: Vec<Range<u64>> = Vec::new();
        for segment in firmware.segments() {
            let range = segment.run_range();
            let stored = segment.data().len() as u64;
            if stored > 0 && segment.load_address.0 != segment.run_address {
                used_as_ram.push(range);
            } else if stored < u64::from(segment.memory_size) {
                used_as_ram.push(range.start + stored..range.end);
            }
        }
        let machine = firmware.machine();
        Regions { known, machine, used_as_ram, overlaid: overlaid(firmware.segments()) }
    }

    /// Whether several segments are there at run time, one after the other.
    pub(super) fn is_overlaid(&self, address: u64) -> bool {
        self.overlaid.iter().any(|(_, range)| range.contains(&address))
    }

    /// Whether another segment takes the memory of this one already.
    pub(super) fn is_taken(&self, segment: &Segment, address: u64) -> bool {
        let mut own = self.overlaid.iter().filter(|(index, _)| *index == segment.index);
        own.any(|(_, range)| range.contains(&address))
    }

    /// Where overlays begin and end within a range.
    pub(super) fn overlay_borders(&self, within: &Range<u64>) -> impl Iterator<Item = u64> {
        let ends = self.overlaid.iter().flat_map(|(_, range)| [range.start, range.end]);
        ends.filter(|at| within.contains(at))
    }

    /// What is at an address at run time.
    pub(super) fn kind(&self, address: u64) -> Kind {
        if let Some(region) = self.known.iter().find(|region| region.range.contains(&address)) {
            return region.kind;
        }
        let conventions = self.machine.conventions();
        let used_as_ram = || self.used_as_ram.iter().any(|range| range.contains(&address));
        match conventions.space(address) {
            Some(space) => space,
            None if used_as_ram() => Kind::Ram,
            None => conventions.elsewhere,
        }
    }

    /// Where memories begin and end within a range: bytes between two borders are alike.
    pub(super) fn borders(&self, within: &Range<u64>) -> impl Iterator<Item = u64> {
        let known = self.known.iter().map(|region| &region.range);
        let ends = known.chain(&self.used_as_ram).flat_map(|range| [range.start, range.end]);
        ends.filter(|at| within.contains(at))
    }
}

/// The addresses of segments that an earlier one has as well.
fn overlaid(segments: &[Segment]) -> Vec<(usize, Range<u64>)> {
    let mut found = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        let own = segment.run_range();
        for other in segments[..at].iter().map(Segment::run_range) {
            let both = own.start.max(other.start)..own.end.min(other.end);
            if !both.is_empty() {
                found.push((segment.index, both));
            }
        }
    }
    found
}
