//! Where decoded code lies in memory that can change, and whose stores somebody watches.
//!
//! Stores are the fast path: one comparison shows whether a store must be looked at, and all else
//! here is rare.

use std::ops::Range;

use super::Bus;
use crate::kernel::memory::{Memory, MemoryKind};

/// Stores that must be looked at, and why.
#[derive(Debug, Default)]
pub(crate) struct CodeWatch {
    /// Where code was decoded from RAM, in whole words. Empty at first.
    range: Range<u32>,
    /// Whose stores somebody watches, in whole words.
    watched: Range<u32>,
    /// What holds both.
    pub(crate) careful_stores: Range<u32>,
    /// Where code was decoded from flash that firmware can write.
    writable: Range<u32>,
    /// Counts changes of anything that decoded blocks depend on.
    pub(crate) generation: u32,
}

/// The range that holds both; an empty one adds nothing.
fn around(a: &Range<u32>, b: &Range<u32>) -> Range<u32> {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => b.clone(),
        (_, true) => a.clone(),
        _ => a.start.min(b.start)..a.end.max(b.end),
    }
}

/// How far a load relative to the program counter reaches (ARMv7-M, LDR literal).
const LITERAL_REACH: u32 = 4096;

impl Bus {
    /// Counts changes of anything that decoded code depends on.
    pub fn code_generation(&self) -> u32 {
        self.code.generation
    }

    /// Whether an aligned store to `address` must be looked at: it may change decoded code, or is
    /// watched.
    #[inline(always)]
    pub(crate) fn needs_care(&self, address: u32) -> bool {
        let Range { start, end } = self.code.careful_stores;
        address.wrapping_sub(start) < end.wrapping_sub(start)
    }

    /// Stores to these words are watched, and no others. Returns whether that is new.
    pub(crate) fn watch_stores(&mut self, words: Range<u32>) -> bool {
        let is_new = self.code.watched != words;
        self.code.watched = words;
        self.code.careful_stores = around(&self.code.range, &self.code.watched);
        is_new
    }

    /// No code from RAM is decoded any more.
    pub(crate) fn forget_code_in_ram(&mut self) {
        self.code.range = 0..0;
        self.code.careful_stores = self.code.watched.clone();
    }

    /// A store may have changed decoded code.
    pub(crate) fn code_written(&mut self, address: u32) {
        if self.code.range.is_empty() && self.code.writable.is_empty() {
            return;
        }
        let word = self.unalias(address) & !3;
        if self.code.range.contains(&word) || self.code.writable.contains(&word) {
            self.code.generation += 1;
            self.attention = true;
        }
    }

    /// Code was decoded from flash that firmware can write. What lies around it may be literals,
    /// which decoded code takes for constants.
    pub(crate) fn note_writable_code(&mut self, from: u32, to: u32) {
        let from = from.saturating_sub(LITERAL_REACH) & !3;
        let to = to.saturating_add(LITERAL_REACH);
        self.code.writable = around(&self.code.writable, &(from..to));
    }

    /// Code was decoded from RAM. Returns whether stores must be looked at where they had not to
    /// be.
    pub fn note_code_in_ram(&mut self, from: u32, to: u32) -> bool {
        let (from, to) = (from & !3, to.saturating_add(3) & !3);
        let range = around(&self.code.range, &(from..to));
        let grows = range != self.code.range;
        self.code.range = range;
        self.code.careful_stores = around(&self.code.range, &self.code.watched);
        grows
    }

    /// Whether code runs, or has run, from RAM.
    pub fn runs_code_in_ram(&self) -> bool {
        !self.code.range.is_empty()
    }

    /// Whether RAM answers there.
    pub(crate) fn is_ram(&self, address: u32) -> bool {
        self.ram.contains(address) || self.more_ram().any(|(_, memory)| memory.contains(address))
    }

    /// RAM besides the main one, with its place among the further memories.
    pub(crate) fn more_ram(&self) -> impl Iterator<Item = (usize, &Memory)> {
        self.more.iter().enumerate().filter(|(_, memory)| memory.kind == MemoryKind::Ram)
    }
}
