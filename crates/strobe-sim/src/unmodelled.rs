//! Registers that nobody modelled: they keep their last value, are counted, and are listed at the end.

use std::collections::BTreeMap;

/// A ready flag in an unmodelled register: `bit` reads as `follows` was last written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FollowRule {
    /// Register address.
    pub address: u32,
    /// The flag's bit number.
    pub bit: u8,
    /// The bit it copies.
    pub follows: u8,
}

/// What firmware did to one unmodelled register.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Touched {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// What it holds.
    pub value: u32,
    /// Program counter of the first access.
    pub first_pc: u32,
}

/// The store behind all unmodelled registers of a board.
#[derive(Debug, Default)]
pub struct Unmodelled {
    registers: BTreeMap<u32, Touched>,
    rules: Vec<FollowRule>,
    resets: BTreeMap<u32, u32>,
    overflow: u64,
}

/// Distinct registers remembered; a firmware that walks the whole space must not fill the host's memory.
const LIMIT: usize = 4096;

impl Unmodelled {
    /// An empty store with the board's ready-flag rules and reset values.
    pub fn new(rules: Vec<FollowRule>, resets: BTreeMap<u32, u32>) -> Self {
        Unmodelled { rules, resets, ..Unmodelled::default() }
    }

    fn entry(&mut self, word: u32, pc: u32) -> Option<&mut Touched> {
        if self.registers.len() >= LIMIT && !self.registers.contains_key(&word) {
            self.overflow += 1;
            return None;
        }
        let value = self.resets.get(&word).copied().unwrap_or(0);
        Some(self.registers.entry(word).or_insert_with(|| Touched {
            value,
            first_pc: pc,
            ..Touched::default()
        }))
    }

    /// Reads the word at `word` (word aligned).
    pub fn read(&mut self, word: u32, pc: u32) -> u32 {
        let Some(touched) = self.entry(word, pc) else { return 0 };
        touched.reads += 1;
        let mut value = touched.value;
        for rule in self.rules.iter().filter(|r| r.address == word) {
            let on = value >> rule.follows & 1;
            value = value & !(1 << rule.bit) | on << rule.bit;
        }
        value
    }

    /// Replaces the bits of `mask` in the word at `word`.
    pub fn write(&mut self, word: u32, mask: u32, value: u32, pc: u32) {
        if let Some(touched) = self.entry(word, pc) {
            touched.writes += 1;
            touched.value = touched.value & !mask | value & mask;
        }
    }

    /// Every register touched, by address.
    pub fn touched(&self) -> impl Iterator<Item = (u32, Touched)> + '_ {
        self.registers.iter().map(|(&a, &t)| (a, t))
    }

    /// Accesses to further registers beyond the number remembered.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ready_flag_follows_its_enable_bit() {
        let rule = FollowRule { address: 0x4002_1000, bit: 17, follows: 16 };
        let mut store = Unmodelled::new(vec![rule], BTreeMap::from([(0x4002_1000, 0x83)]));
        assert_eq!(store.read(0x4002_1000, 0), 0x83);
        store.write(0x4002_1000, u32::MAX, 0x1_0083, 0);
        assert_eq!(store.read(0x4002_1000, 0), 0x3_0083);
    }

    #[test]
    fn walking_the_address_space_stays_bounded() {
        let mut store = Unmodelled::default();
        (0..10_000u32).for_each(|i| store.write(0x4000_0000 + i * 4, u32::MAX, i, 0));
        assert_eq!(store.touched().count(), LIMIT);
        assert_eq!(store.overflow(), 10_000 - LIMIT as u64);
    }
}
