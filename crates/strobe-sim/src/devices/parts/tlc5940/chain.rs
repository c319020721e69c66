//! The shift registers of a chain of drivers as one: 192 bits for each, the last output's most
//! significant bit first.

/// Bits of a grayscale value, and outputs of a driver.
const BITS: usize = 12;
const OUTPUTS: usize = 16;

/// The register. It is a ring, so that a clock costs one store whatever the chain's length.
pub(super) struct Chain {
    ring: Vec<bool>,
    next: usize,
    /// Bits since the last latch.
    fresh: u64,
}

impl Chain {
    pub(super) fn new(drivers: u16) -> Self {
        Self { ring: vec![false; usize::from(drivers) * OUTPUTS * BITS], next: 0, fresh: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.ring.len()
    }

    pub(super) fn clear(&mut self) {
        self.ring.fill(false);
        (self.next, self.fresh) = (0, 0);
    }

    pub(super) fn shift(&mut self, bit: bool) {
        self.ring[self.next] = bit;
        self.next = if self.next + 1 == self.ring.len() { 0 } else { self.next + 1 };
        self.fresh += 1;
    }

    /// How many bits came since the last latch, if they are not whole fillings of the chain. None
    /// is fine: a chain may latch what it holds again.
    pub(super) fn odd_bits(&self) -> Option<u64> {
        (!self.fresh.is_multiple_of(self.ring.len() as u64)).then_some(self.fresh)
    }

    /// The values, that of output 0 of the first driver first.
    pub(super) fn latch(&mut self) -> Vec<u16> {
        self.fresh = 0;
        let (newer, older) = self.ring.split_at(self.next);
        let bits: Vec<bool> = older.iter().chain(newer).copied().collect();
        let value = |bits: &[bool]| bits.iter().fold(0, |v, &bit| v << 1 | u16::from(bit));
        bits.chunks_exact(BITS).rev().map(value).collect()
    }
}
