//! Memories of an unknown chip, as far as its firmware gives them away.
//!
//! Segments that are programmed lie in flash, what they become at run time and the first stack in
//! RAM. A chip's memories begin at round addresses, so what lies together makes one memory from
//! there on.

use std::collections::BTreeMap;

use strobe_devices::board::{Kind, Region};
use strobe_symbols::{Firmware, Segment};

/// Addresses that differ above this many bits belong to different memories.
const WINDOW_BITS: u32 = 24;
/// Memories begin at multiples of this; smaller steps would cut off boot loaders and reserved areas
/// below.
const ALIGNMENT: u32 = 64 << 10;
/// Least size of a flash: programs look beyond their image, for settings at its end as an example.
const LEAST_FLASH: u32 = 1 << 20;
/// RAM ends at multiples of this.
const RAM_STEP: u64 = 1 << 10;

/// Where the vector table is; else at the start of what is programmed.
pub fn vectors(firmware: &Firmware) -> u32 {
    let lowest = || firmware.segments().iter().filter(|s| !s.data().is_empty());
    let lowest = || lowest().map(|s| s.load_address.0).min().unwrap_or(0);
    firmware.vector_table().map_or_else(lowest, |table| table.address)
}

/// The word that a segment programs at an address.
fn word(segment: &Segment, at: u32) -> Option<u32> {
    let offset = at.checked_sub(segment.load_address.0)? as usize;
    let bytes = segment.data().get(offset..offset.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// First address and end of what lies in one window.
type Spans = BTreeMap<u32, (u64, u64)>;

fn add(spans: &mut Spans, start: u64, end: u64) {
    let span = spans.entry((start >> WINDOW_BITS) as u32).or_insert((start, end));
    *span = (span.0.min(start), span.1.max(end));
}

/// Flash and RAM, or which of them is not known.
pub fn memories(firmware: &Firmware, vectors: u32) -> Result<Vec<Region>, String> {
    let (mut flash, mut ram) = (Spans::new(), Spans::new());
    for segment in firmware.segments() {
        let load = u64::from(segment.load_address.0);
        let moves = load != u64::from(segment.run_address);
        let holds = !segment.data().is_empty();
        let data_only = segment.permissions.write && !segment.permissions.execute;
        if holds && (moves || !data_only) {
            add(&mut flash, load, load + segment.data().len() as u64);
        }
        if moves || !holds || data_only {
            add(&mut ram, segment.run_range().start, segment.run_range().end);
        }
    }
    let stack = firmware.segments().iter().find_map(|s| word(s, vectors));
    // A stack grows down from the first word above it.
    if let Some(top) =
        stack.filter(|&sp| sp >= 8 && !flash.contains_key(&((sp - 8) >> WINDOW_BITS)))
    {
        add(&mut ram, u64::from(top) - 8, u64::from(top));
    }
    if flash.is_empty() || ram.is_empty() {
        let missing = if flash.is_empty() { "flash" } else { "ram" };
        return Err(format!(
            "the firmware does not show where the chip's {missing} is; give it with \
             --memory flash=ADDRESS:SIZE,ram=ADDRESS:SIZE"
        ));
    }
    ram.retain(|window, _| !flash.contains_key(window));
    let regions = flash.into_values().map(|span| region(Kind::Flash, span));
    Ok(regions.chain(ram.into_values().map(|span| region(Kind::Ram, span))).collect())
}

fn region(kind: Kind, (start, end): (u64, u64)) -> Region {
    let base = start as u32 & !(ALIGNMENT - 1);
    let used = end - u64::from(base);
    let size = match kind {
        Kind::Flash => used.next_multiple_of(ALIGNMENT.into()).max(LEAST_FLASH.into()),
        Kind::Ram => used.next_multiple_of(RAM_STEP),
    };
    let most = (1u64 << 32) - u64::from(base);
    Region { kind, base, size: u32::try_from(size.min(most)).unwrap_or(u32::MAX) }
}
