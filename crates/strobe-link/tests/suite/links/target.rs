//! A chip as seen from a debug port: registers, of which some have fewer bits than others.

use std::collections::BTreeMap;

/// A chip with a DWT that can do everything.
#[derive(Debug, Clone)]
pub struct Chip {
    pub words: BTreeMap<u32, u32>,
    /// Bits that a register has, where not all.
    pub bits: BTreeMap<u32, u32>,
}

pub const DWT_CTRL: u32 = 0xe000_1000;
pub const DEMCR: u32 = 0xe000_edfc;

impl Chip {
    /// Vector catch is on, which nobody may change.
    pub fn new() -> Self {
        let words = [(DWT_CTRL, 0x4000_0000), (DEMCR, 0x0000_0401)];
        Chip { words: words.into(), bits: BTreeMap::new() }
    }

    pub fn read(&self, address: u32) -> u32 {
        self.words.get(&address).copied().unwrap_or_default()
    }

    pub fn write(&mut self, address: u32, value: u32) {
        let fixed = if address == DWT_CTRL { self.read(address) & 0xf000_0000 } else { 0 };
        let bits = self.bits.get(&address).copied().unwrap_or(u32::MAX);
        self.words.insert(address, value & bits | fixed);
    }

    /// That everything is set up for [`super::settings`], and nothing else was touched.
    pub fn is_tracing(&self) {
        assert_eq!(self.read(DEMCR), 0x0100_0401);
        assert_eq!(self.read(DWT_CTRL), 0x4000_141f, "every 1024 cycles, 64 times 16");
        assert_eq!(self.read(0xe000_0e80), 0x0001_000d);
        assert_eq!((self.read(0xe004_0010), self.read(0xe004_00f0)), (15, 2));
    }

    /// That it sends nothing any more.
    pub fn is_quiet(&self) {
        assert_eq!(self.read(0xe000_0e80) & 1, 0);
        assert_eq!(self.read(DWT_CTRL) & 0x007f_1000, 0);
        assert_eq!(self.read(DEMCR), 0x0100_0401, "and is otherwise as it was");
    }
}
