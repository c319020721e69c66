//! What becomes of a heap's bytes when blocks come and go.

use std::ops::Range;

use strobe_sim::observe::heap::Call;

use super::{Inspection, Usage};
use crate::simulated::heap::allocators::{Area, Role};
use crate::simulated::heap::bytes::Byte;

/// The largest fixed memory of a heap whose gaps are known byte by byte.
const MOST_GAPS: u32 = 64 << 20;

impl Inspection {
    /// A block is there now, with what a resized one held, or what the call has filled it with.
    pub(super) fn born(
        &mut self,
        block: u32,
        from: Option<u32>,
        call: &Call,
        filled: &[Range<u32>],
    ) {
        let Some(known) = self.replay.shadow().blocks.get(block as usize).copied() else { return };
        if let Some(heap) = self.found.heaps.get(known.heap)
            && let Area::Fixed(begin, end) = heap.area
            && !std::mem::replace(&mut self.begun[known.heap], true)
            && end.saturating_sub(begin) <= MOST_GAPS
        {
            self.gaps(begin..end);
        }
        let range = self.range(block);
        let cleared = self.clears(call);
        let old: Vec<Byte> = from
            .map(|from| self.range(from).map(|at| self.bytes.get(at)).collect())
            .unwrap_or_default();
        for (at, address) in range.clone().enumerate() {
            let kept = old.get(at);
            let written = cleared
                || match kept {
                    Some(byte) => byte.is(Byte::WRITTEN),
                    // What resizing writes behind the old bytes is what it has found there.
                    None => from.is_none() && filled.iter().any(|range| range.contains(&address)),
                };
            let flags = Byte::LIVE | if written { Byte::WRITTEN } else { 0 };
            // What was touched before it was resized is touched.
            let used = kept.map_or(0, |byte| byte.flags() & Byte::USED);
            *self.bytes.at(address) = Byte::of(block, flags | used);
        }
        let header = self.found.heaps.get(known.heap).map_or(0, |heap| heap.header);
        let word = if self.found.base == 0 { 4 } else { 1 };
        let usable = known.usable.unwrap_or_else(|| known.size.next_multiple_of(word));
        let before = range.start.saturating_sub(header)..range.start;
        let behind = range.end..range.start.saturating_add(usable);
        for address in before.chain(behind) {
            let byte = self.bytes.at(address);
            if !byte.is(Byte::LIVE) {
                *byte = Byte::of(block, Byte::EDGE);
            }
        }
        self.usage.resize(block as usize + 1, Usage::default());
    }

    /// Whether a call returns memory that is cleared, by its definition.
    fn clears(&self, call: &Call) -> bool {
        let Some(known) = self.found.functions.get(call.function as usize) else { return false };
        let counts = matches!(known.role, Role::Allocate { count: Some(_), .. });
        counts || ["calloc", "zalloc", "zeroed"].iter().any(|word| known.name.contains(word))
    }

    /// A block is gone: an access to its bytes is one after its free.
    pub(super) fn gone(&mut self, block: u32) {
        let (untouched, unread) = self.rest(block);
        if let Some(usage) = self.usage.get_mut(block as usize) {
            (usage.untouched, usage.unread) = (untouched, unread);
        }
        let Some(known) = self.replay.shadow().blocks.get(block as usize).copied() else { return };
        let range = self.range(block);
        let header = self.found.heaps.get(known.heap).map_or(0, |heap| heap.header);
        let end = range.start.saturating_add(known.usable.unwrap_or(known.size)).max(range.end);
        for address in range.start.saturating_sub(header)..end.saturating_add(4) {
            let Some(byte) = self.bytes.known(address).filter(|b| b.block() == Some(block)) else {
                continue;
            };
            *byte = if range.contains(&address) {
                Byte::of(block, Byte::FREED | byte.flags() & (Byte::WRITTEN | Byte::USED))
            } else {
                Byte::free(Byte::GAP)
            };
        }
    }

    /// Memory of a heap in which no block is.
    pub(super) fn gaps(&mut self, range: Range<u32>) {
        for address in range {
            let byte = self.bytes.at(address);
            if *byte == Byte::default() || byte.is(Byte::COPY) {
                *byte = Byte::free(Byte::GAP);
            }
        }
    }

    /// Memory that is no heap's any more.
    pub(super) fn leave(&mut self, range: Range<u32>) {
        for address in range {
            if let Some(byte) = self.bytes.known(address).filter(|byte| byte.is(Byte::GAP)) {
                *byte = Byte::default();
            }
        }
    }
}
