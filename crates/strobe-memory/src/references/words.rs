//! What is looked at: code by symbol, and every word of data.

use std::ops::Range;

use foldhash::HashSet;
use strobe_symbols::{Firmware, Owner};

use super::resolve::Resolver;
use super::{Reference, ReferenceKind, To, avr, thumb};

/// Instructions without a break, of one symbol or of none.
pub(super) struct Run<'a> {
    pub(super) start: u32,
    pub(super) bytes: &'a [u8],
}

impl Run<'_> {
    /// The halfword at an address, if it is of the run.
    pub(super) fn half(&self, address: u32) -> Option<u16> {
        let at = address.wrapping_sub(self.start) as usize;
        Some(u16::from_le_bytes([*self.bytes.get(at)?, *self.bytes.get(at + 1)?]))
    }
}

/// What a run of instructions shows.
#[derive(Default)]
pub(super) struct ScannedRange {
    pub(super) references: Vec<Reference>,
    /// Control goes on behind the last instruction.
    pub(super) goes_on: bool,
}

/// What instructions refer to.
pub(super) fn code(firmware: &Firmware, resolver: &Resolver<'_>) -> Vec<Reference> {
    let mut found = Vec::new();
    // Words that code loads, where nothing else marks them as data.
    let mut pools = HashSet::default();
    let mut goes_on_at = None;
    for Stretch { range, is_code } in stretches(firmware, resolver) {
        if !is_code && goes_on_at != Some(range.start) {
            continue;
        }
        let (start, size) = (range.start as u32, (range.end - range.start) as usize);
        let Some(bytes) = firmware.bytes_at(start, size) else { continue };
        let run = Run { start, bytes };
        let swept = if resolver.is_avr() {
            avr::sweep(&run, resolver.relocated().next().is_some())
        } else {
            thumb::sweep(firmware, resolver, &run, &mut pools)
        };
        found.extend(swept.references);
        let is_next = match resolver.owner(range.end) {
            Some(next) => next.range.start == range.end && matches!(next.owner, Owner::Function(_)),
            None => firmware.has_code_at(range.end as u32),
        };
        goes_on_at = (swept.goes_on && is_next).then_some(range.end);
        if goes_on_at.is_some() {
            let to = To::Address(range.end as u32);
            found.push(Reference { site: range.end as u32 - 2, to, how: ReferenceKind::Falls });
        }
    }
    for (site, target) in resolver.relocated() {
        let is_code = firmware.has_code_at(site);
        let how = if is_code { ReferenceKind::Takes } else { ReferenceKind::Points };
        found.push(Reference { site, to: To::Address(target), how });
    }
    found
}

/// Bytes that may be instructions, of one symbol or of none.
struct Stretch {
    range: Range<u64>,
    /// They are; without mapping symbols that is known of functions only.
    is_code: bool,
}

/// Ranges of instructions, cut where symbols begin and end.
fn stretches(firmware: &Firmware, resolver: &Resolver<'_>) -> Vec<Stretch> {
    let layout = resolver.layout();
    let is_marked = firmware.has_mapping_symbols();
    let mut found = Vec::new();
    for code in firmware.code_ranges() {
        let first = layout.partition_point(|owned| owned.range.end <= code.start);
        let within = layout[first..].iter().take_while(|owned| owned.range.start < code.end);
        let mut at = code.start;
        for owned in within {
            let cut = owned.range.start.max(code.start)..owned.range.end.min(code.end);
            if at < cut.start {
                found.push(Stretch { range: at..cut.start, is_code: is_marked });
            }
            at = cut.end;
            if matches!(owned.owner, Owner::Function(_)) {
                found.push(Stretch { range: cut, is_code: true });
            }
        }
        if at < code.end {
            found.push(Stretch { range: at..code.end, is_code: is_marked });
        }
    }
    found
}

/// What words of data point to.
pub(super) fn data(firmware: &Firmware, resolver: &Resolver<'_>) -> Vec<Reference> {
    let mut found = Vec::new();
    let code = stretches(firmware, resolver).into_iter().filter(|stretch| stretch.is_code);
    let code: Vec<Range<u64>> = code.map(|stretch| stretch.range).collect();
    let is_avr = resolver.is_avr();
    for segment in firmware.segments() {
        let (start, bytes) = (u64::from(segment.run_address), segment.data());
        let end = start + bytes.len() as u64;
        let mut at = start;
        let first = code.partition_point(|range| range.end <= start);
        let within = code[first..].iter().take_while(|range| range.start < end);
        let gaps = within.map(Clone::clone).chain(std::iter::once(end..end));
        for run in gaps {
            let until = run.start.min(end);
            if at < until {
                let part = &bytes[(at - start) as usize..(until - start) as usize];
                if is_avr {
                    halves(at as u32, part, &mut found)
                } else {
                    words(resolver, at as u32, part, &mut found)
                }
            }
            at = at.max(run.end);
        }
    }
    found
}

fn words(resolver: &Resolver<'_>, start: u32, bytes: &[u8], found: &mut Vec<Reference>) {
    let skip = (start.wrapping_neg() & 3) as usize;
    let aligned = bytes.get(skip..).unwrap_or_default();
    for (number, word) in (0..).zip(aligned.chunks_exact(4)) {
        let site = start.wrapping_add(skip as u32 + 4 * number);
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        if word != 0 && resolver.is_address(site) != Some(false) {
            found.push(Reference { site, to: To::Word(word), how: ReferenceKind::Points });
        }
    }
}

/// Variables of an AVR are not aligned; compilers put arrays of pointers at even addresses all the
/// same.
fn halves(start: u32, bytes: &[u8], found: &mut Vec<Reference>) {
    let skip = (start & 1) as usize;
    let aligned = bytes.get(skip..).unwrap_or_default();
    for (number, half) in (0..).zip(aligned.chunks_exact(2)) {
        let half = u16::from_le_bytes([half[0], half[1]]);
        if half != 0 {
            let site = start.wrapping_add(skip as u32 + 2 * number);
            found.push(Reference { site, to: To::Half(half), how: ReferenceKind::Points });
        }
    }
}
