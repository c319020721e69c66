//! A random generator with a stable stream, so that a seed printed by a failing test reproduces it.

/// SplitMix64 (Steele, Lea and Flood, 2014): tiny, accepts any seed, good enough to pick test
/// cases.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator for one seed; equal seeds give equal streams.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// A number below `end`, which must not be zero.
    pub fn below(&mut self, end: u32) -> u32 {
        assert!(end > 0, "an empty range has no random number");
        ((u64::from(self.next_u32()) * u64::from(end)) >> 32) as u32
    }

    /// One of the items, which must not be empty.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u32) as usize]
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }
}
