//! Allocations that a traced allocator reported one by one, without those that were freed.

/// Allocations with their callers. Sizes are as they were printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocationsReport {
    /// The file.
    pub file: String,
    /// What it is: a text of allocations, or a call tree of them.
    pub format: String,
    /// Allocations.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Allocations that gave no block.
    pub failed: u64,
    /// Sizes from which on a block is big: larger than this.
    pub big_above: u64,
    /// Blocks larger than that.
    pub big_count: u64,
    /// Their bytes.
    pub big_bytes: u64,
    /// Blocks by size, the largest first; `count` and `bytes` are their sums.
    pub sizes: Vec<SizeClass>,
    /// Callers, as a tree: parents come before their children, `count` is the sum of the roots'
    /// counts.
    pub tree: Vec<AllocationNode>,
    /// What is damaged.
    pub damage: Damage,
    /// What was published of the same allocations.
    pub published: Option<PublishedTree>,
    /// What the reader should know, each a sentence or two.
    pub notes: Vec<String>,
}

/// Blocks of one size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SizeClass {
    /// The size, as printed.
    pub size: u64,
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Different places that took them.
    pub places: u64,
    /// The place that took most of them: names from the outermost in.
    pub place: String,
}

/// A caller at its place in the tree. `count` is the sum of its children's counts and `own`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllocationNode {
    /// Who called it, by its place in the list; `None` for the outermost.
    pub parent: Option<u32>,
    /// Its address, as a hex string; empty where it could not be read.
    pub address: String,
    /// Its name, as the target printed it.
    pub name: String,
    /// Its name by the firmware's symbols, where that is another.
    pub symbol: Option<String>,
    /// The line was damaged.
    pub damaged: bool,
    /// Allocations made by it and below it.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Allocations that it made itself.
    pub own: u64,
}

/// What is damaged in a text of allocations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Damage {
    /// Callers whose line is damaged; they are in the tree as they came.
    pub frames: u64,
    /// Callers in all.
    pub all_frames: u64,
    /// Callers outside the firmware's functions, where they are known: the unwinder went astray.
    pub astray: Option<u64>,
    /// Allocations with such a caller, or a damaged one.
    pub allocations: u64,
    /// Lines that should begin an allocation and cannot be read.
    pub heads: u64,
    /// Lines before the first allocation.
    pub before: u64,
    /// Remarks of the target's unwinder in place of a caller.
    pub remarks: u64,
    /// Bytes that are no UTF-8.
    pub not_utf8: u64,
}

/// A published call tree, beside ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishedTree {
    /// Its file.
    pub file: String,
    /// Allocations in it.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of it that are no UTF-8.
    pub not_utf8: u64,
    /// Its nodes.
    pub nodes: u64,
    /// Nodes that are in ours with the same count and bytes.
    pub same: u64,
    /// Nodes that are in only one of the two, or differ: path and both counts, a few, and none
    /// below one that is in only one.
    pub differ: Vec<(String, u64, u64)>,
    /// How many there are of those.
    pub all_differ: u64,
    /// Nodes whose published function is not the name that the target printed: it was looked up
    /// without regard to inlining, or at the return address instead of the call.
    pub renamed: u64,
}
