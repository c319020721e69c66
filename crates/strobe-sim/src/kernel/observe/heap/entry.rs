//! Functions of allocators, as whoever knows them describes them.

use crate::kernel::bus::Bus;
use crate::kernel::device::Size;

/// An allocator's function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its first instruction.
    pub address: u32,
    /// How the size of the block that it returns is read from memory.
    pub usable: Option<UsableRule>,
    /// It returns 0 for success and stores the block's address where this argument points.
    pub out: Option<u8>,
    /// The blocks' size is kept in a pool: in [`arguments`](super::Call::arguments) it stands for
    /// the pool.
    pub pool: Option<PoolRule>,
    /// It passes on what it is asked for: what it calls is seen as called by its own caller.
    pub passes: bool,
    /// Which allocator's it is.
    pub heap: u32,
    /// The argument that points to the block that it frees or resizes.
    pub pointer: Option<u8>,
    /// What a call of it is that another allocator's call makes.
    pub inside: Inside,
}

/// What a call is that an allocator makes itself, as that of `_malloc_r` in `malloc`. Such calls
/// are as many as those of the firmware, so what is known of them beforehand is only counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// Something to be seen.
    Kept,
    /// How the outer call gets its block: the usable size may be known here only.
    Makes,
    /// How the outer call frees its block, if it is the same one of the same allocator.
    Frees,
}

impl Entry {
    /// A function that is only observed.
    pub fn at(address: u32) -> Self {
        let (pointer, inside) = (None, Inside::Kept);
        let (usable, out, pool, passes) = (None, None, None, false);
        Entry { address, usable, out, pool, passes, heap: 0, pointer, inside }
    }
}

/// Where a pool keeps the size of its blocks: in a word of its structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolRule {
    /// The argument that points to the pool.
    pub argument: u8,
    /// The bits of it that are the pointer.
    pub mask: u32,
    /// What a pointer is relative to.
    pub base: u32,
    /// The word's place in the structure.
    pub at: u32,
    /// Its width.
    pub size: Size,
}

impl PoolRule {
    /// Puts the size in the pool's place; 0 if it cannot be read.
    pub(super) fn apply(&self, arguments: &mut [u32; 4], bus: &Bus) {
        let argument = &mut arguments[usize::from(self.argument & 3)];
        let at = (*argument & self.mask).wrapping_add(self.base).wrapping_add(self.at);
        *argument = bus.peek(at, self.size).unwrap_or(0);
    }
}

/// Where an allocator keeps the size of a block: in a word beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsableRule {
    /// What a pointer is relative to: the data space of an AVR does not begin at 0.
    pub base: u32,
    /// The word's place from the block's first byte.
    pub at: i32,
    /// Its width.
    pub size: Size,
    /// The bits of it that are the size.
    pub mask: u32,
    /// Bytes of that size that belong to the allocator.
    pub less: u32,
    /// A negative word is the distance to the word that is meant (newlib-nano's padding).
    pub follows_negative: bool,
}

impl UsableRule {
    pub(super) fn read(&self, pointer: u32, bus: &Bus) -> Option<u32> {
        let at = pointer.wrapping_add(self.base).wrapping_add_signed(self.at);
        let word = bus.peek(at, self.size)?;
        let negative = (word as i32) < 0 && self.follows_negative;
        let (word, padding) = if negative {
            (bus.peek(at.wrapping_add(word), self.size)?, word.wrapping_neg())
        } else {
            (word, 0)
        };
        (word & self.mask).checked_sub(self.less)?.checked_sub(padding)
    }
}
