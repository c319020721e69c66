//! What a replay ends in: blocks with how they ended, misuses, failures, and levels of the heaps.

use std::collections::BTreeMap;

use crate::growth::Life;

/// Misuses of one kind that are kept one by one.
pub const MOST_MISUSES: u64 = 256;

/// A block of a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Its first byte, as the firmware has it.
    pub pointer: u32,
    /// Bytes that were asked for.
    pub size: u32,
    /// Bytes that it has, where that is known.
    pub usable: Option<u32>,
    /// The heap, as an index into [`Found::heaps`](super::Found::heaps).
    pub heap: usize,
    /// The call that made it.
    pub made_by: u32,
    /// When, in cycles since reset, and the number of that moment.
    pub born: (u64, u32),
    /// How it ended.
    pub gone: Option<FreedBlock>,
}

/// How a block ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreedBlock {
    /// When, in cycles since reset, and the number of that moment.
    pub at: (u64, u32),
    /// How.
    pub how: FreeKind,
    /// The call that did it.
    pub by: Option<u32>,
}

/// How a block ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreeKind {
    /// Freed, or resized into another one.
    Freed,
    /// The chip was reset.
    Reset,
    /// Its memory is another block's, and no call has freed it: something else has.
    Replaced,
    /// A garbage collector has freed it at some time before its memory became another block's.
    Collected,
}

/// Something done to a heap that must not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misuse {
    /// What.
    pub kind: MisuseKind,
    /// The call.
    pub call: u32,
    /// The pointer.
    pub pointer: u32,
    /// The block that was meant, or lies there.
    pub block: Option<u32>,
}

/// What must not be done to a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MisuseKind {
    /// The block had been freed.
    DoubleFree,
    /// The pointer points into a block.
    InnerFree,
    /// No block was ever there.
    WildFree,
    /// Freed by another allocator's function than its own.
    Mismatch,
    /// A new block overlaps one that has not been freed.
    Overlap,
    /// The size is more than there are addresses, and the allocator has not noticed.
    Wraps,
    /// Called by an interrupt's handler.
    InHandler,
}

/// A call that returned no block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// The call.
    pub call: u32,
    /// Bytes that were asked for; none where the product is too large.
    pub size: Option<u32>,
    /// Live bytes then.
    pub live_bytes: u64,
}

/// The heaps at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Level {
    /// Cycles since reset.
    pub cycle: u64,
    /// The moment's number.
    pub order: u32,
    /// Bytes of live blocks, as asked for.
    pub bytes: u64,
    /// Live blocks.
    pub blocks: u64,
}

/// Memory that a heap has got, from the system or whoever calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapExtension {
    /// The number of the moment.
    pub order: u32,
    /// Its first address.
    pub begin: u32,
    /// The address behind it.
    pub end: u32,
    /// The heap; none: the chip was reset, and none has any.
    pub heap: Option<usize>,
}

/// All that became of the heaps.
#[derive(Debug, Clone, Default)]
pub struct Shadow {
    /// Every block, in the order of their births.
    pub blocks: Vec<Block>,
    /// Misuses, the first of them.
    pub misuses: Vec<Misuse>,
    /// How many there were of each kind.
    pub misuse_counts: BTreeMap<MisuseKind, u64>,
    /// Calls without a block.
    pub failures: Vec<Failure>,
    /// After each change; the levels of one moment are those after it.
    pub levels: Vec<Level>,
    /// The most live bytes.
    pub peak: Level,
    /// Calls of `free` and its like with nothing to free.
    pub null_frees: u64,
    /// Calls that resized a block, and of these, that left it where it was.
    pub resized: (u64, u64),
    /// Calls that did not return: cut, or still under way at the end.
    pub unfinished: u64,
    /// Calls within calls.
    pub nested: u64,
    /// Calls that count, by function.
    pub calls: Vec<u64>,
    /// Memory that heaps have got.
    pub grown: Vec<HeapExtension>,
    /// The last moment's number.
    pub moments: u32,
}

impl Block {
    /// Whether it was there at a moment, by the moment's number.
    #[must_use]
    pub fn is_live(&self, order: u32) -> bool {
        self.born.1 <= order && self.gone.is_none_or(|gone| gone.at.1 > order)
    }

    /// From when to when it was there, in cycles.
    #[must_use]
    pub fn life(&self) -> Life {
        let gone = self.gone.map(|gone| gone.at.0);
        Life { born: self.born.0, gone, bytes: self.size.into() }
    }

    /// How it ended, if it did.
    #[must_use]
    pub fn how(&self) -> Option<FreeKind> {
        self.gone.map(|gone| gone.how)
    }
}
