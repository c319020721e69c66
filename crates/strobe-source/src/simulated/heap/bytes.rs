//! What each byte of memory is to the heaps: of which block, whether that is live, whether the byte
//! has been written. Nothing is kept of memory that no heap has to do with.

use rustc_hash::FxHashMap as HashMap;

/// Bytes of a page.
const PAGE: u32 = 4096;

/// What is known of a byte: flags, and the number of a block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Byte(u32);

impl Byte {
    /// It belongs to a live block.
    pub const LIVE: u32 = 1;
    /// It belonged to a block that was freed, and to none since.
    pub const FREED: u32 = 1 << 1;
    /// Something was written to it since the block is there.
    pub const WRITTEN: u32 = 1 << 2;
    /// The firmware, not the allocator, has read it.
    pub const READ: u32 = 1 << 3;
    /// The firmware, not the allocator, has written it.
    pub const STORED: u32 = 1 << 4;
    /// The firmware has touched it.
    pub const USED: u32 = Byte::READ | Byte::STORED;
    /// It lies beside a block: its header, or what its size was rounded up by.
    pub const EDGE: u32 = 1 << 5;
    /// It is memory of a heap in which no block is.
    pub const GAP: u32 = 1 << 6;
    /// It lies elsewhere and holds a copy of a byte of a block that was never written.
    pub const COPY: u32 = 1 << 7;

    const BITS: u32 = 8;

    /// A byte of a block.
    pub fn of(block: u32, flags: u32) -> Self {
        Byte((block + 1) << Byte::BITS | flags)
    }

    /// A byte of no block.
    pub fn free(flags: u32) -> Self {
        Byte(flags)
    }

    /// All flags.
    pub fn flags(self) -> u32 {
        self.0 & ((1 << Byte::BITS) - 1)
    }

    /// Whether one of these flags is set.
    pub fn is(self, flags: u32) -> bool {
        self.0 & flags != 0
    }

    /// With these flags as well.
    #[must_use]
    pub fn with(self, flags: u32) -> Self {
        Byte(self.0 | flags)
    }

    /// Without these flags.
    #[must_use]
    pub fn without(self, flags: u32) -> Self {
        Byte(self.0 & !flags)
    }

    /// The block that it has to do with.
    pub fn block(self) -> Option<u32> {
        (self.0 >> Byte::BITS).checked_sub(1)
    }

    /// It holds what nobody has written.
    pub fn is_unwritten(self) -> bool {
        self.is(Byte::COPY) || self.is(Byte::LIVE) && !self.is(Byte::WRITTEN)
    }
}

/// Bytes by address.
#[derive(Debug, Default)]
pub struct Bytes {
    pages: HashMap<u32, Box<[Byte]>>,
}

impl Bytes {
    /// What is known of a byte.
    pub fn get(&self, address: u32) -> Byte {
        let page = self.pages.get(&(address / PAGE));
        page.and_then(|page| page.get((address % PAGE) as usize)).copied().unwrap_or_default()
    }

    /// What is known of a byte, to be changed.
    pub fn at(&mut self, address: u32) -> &mut Byte {
        let new = || vec![Byte::default(); PAGE as usize].into_boxed_slice();
        let page = self.pages.entry(address / PAGE).or_insert_with(new);
        &mut page[(address % PAGE) as usize]
    }

    /// What is known of a byte, to be changed, if anything is known nearby.
    pub fn known(&mut self, address: u32) -> Option<&mut Byte> {
        self.pages.get_mut(&(address / PAGE))?.get_mut((address % PAGE) as usize)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.pages.clear();
    }
}
