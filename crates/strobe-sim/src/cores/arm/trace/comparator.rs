//! The DWT's comparators (DDI 0403E, C1.8.2 and tables C1-13 and C1-14) as far as they trace: data
//! addresses, and the cycle counter.
//!
//! Watchpoints, triggers for an ETM and the comparison of data values are not modelled, and
//! firmware that asks for them is reported.

use std::ops::Range;

use super::packet::Packet;

/// Bits of DWT_FUNCTION.
mod function {
    pub(super) const EMITRANGE: u32 = 1 << 5;
    pub(super) const CYCMATCH: u32 = 1 << 7;
    pub(super) const DATAVMATCH: u32 = 1 << 8;
    pub(super) const MATCHED: u32 = 1 << 24;
    pub(super) const WRITABLE: u32 = 0x000f_fdaf;
}

/// A data access as the unit sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The instruction.
    pub(crate) pc: u32,
    pub(crate) address: u32,
    /// 1, 2 or 4 bytes.
    pub(crate) bytes: u32,
    pub(crate) write: bool,
    pub(crate) value: u32,
}

/// DWT_COMP, DWT_MASK and DWT_FUNCTION.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Comparator {
    to: u32,
    mask: u32,
    function: u32,
}

/// Which packets a match makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ComparatorAction {
    pc: bool,
    address: bool,
    value: bool,
}

impl Comparator {
    /// Reads a register by its offset; reading DWT_FUNCTION clears MATCHED.
    pub(crate) fn read(&mut self, offset: u32) -> u32 {
        match offset {
            0 => self.to,
            4 => self.mask,
            8 => {
                let value = self.function;
                self.function &= !function::MATCHED;
                value
            }
            _ => 0,
        }
    }

    /// Writes a register of comparator `n`. Returns what was asked for and is not modelled.
    pub(crate) fn write(&mut self, n: usize, offset: u32, value: u32) -> Option<&'static str> {
        match offset {
            0 => self.to = value,
            // Fifteen bits at most are ignored (DDI 0337 and DDI 0439).
            4 => self.mask = (value & 0x1f).min(15),
            8 => {
                self.function = value & function::WRITABLE;
                // CYCMATCH is there in comparator 0, DATAVMATCH in comparator 1 (C1.8.17).
                if n != 0 {
                    self.function &= !function::CYCMATCH;
                }
                if n != 1 {
                    self.function &= !function::DATAVMATCH;
                }
                return self.unsupported();
            }
            _ => {}
        }
        None
    }

    fn unsupported(&self) -> Option<&'static str> {
        match self.function & 15 {
            0 => None,
            _ if self.function & function::DATAVMATCH != 0 => {
                Some("DWT's comparison of data values (DATAVMATCH)")
            }
            4..=7 => Some("DWT's watchpoints"),
            8..=11 => Some("DWT's triggers for an ETM"),
            n if self.function & function::CYCMATCH != 0 && n != 1 => {
                Some("DWT's comparison with CYCCNT but for PC packets")
            }
            _ => None,
        }
    }

    /// Whether it looks at data accesses.
    pub(crate) fn watches(&self) -> bool {
        let otherwise = function::CYCMATCH | function::DATAVMATCH;
        self.function & otherwise == 0 && matches!(self.function & 15, 1..=3 | 12..=15)
    }

    /// Whether loads are among these.
    pub(crate) fn watches_loads(&self) -> bool {
        self.watches() && self.wants(false)
    }

    /// What it compares with, in whole words.
    pub(crate) fn words(&self) -> Range<u32> {
        let mask = ((1u32 << self.mask) - 1) | 3;
        self.to & !mask..(self.to | mask).saturating_add(1)
    }

    /// The value of CYCCNT that it waits for, if it does.
    pub(crate) fn cycle_match(&self) -> Option<u32> {
        let looks = self.function & function::CYCMATCH != 0 && self.function & 15 == 1;
        looks.then_some(self.to)
    }

    /// CYCCNT has that value: the packet to make, of the program counter.
    pub(crate) fn cycle_matched(&mut self) -> Option<fn(u32) -> Packet> {
        self.cycle_match()?;
        self.function |= function::MATCHED;
        Some(|pc| Packet::data_pc(0, pc))
    }

    /// What comparator `n` reports of an access.
    pub(crate) fn accessed(&mut self, n: u32, seen: &Seen) -> [Option<Packet>; 2] {
        if !self.watches() || !self.wants(seen.write) || !self.hits(seen) {
            return [None; 2];
        }
        self.function |= function::MATCHED;
        let ComparatorAction { pc, address, value } = self.makes();
        let before = if pc {
            Some(Packet::data_pc(n, seen.pc))
        } else {
            address.then(|| Packet::data_address(n, seen.address))
        };
        let value = value.then(|| Packet::data_value(n, seen.write, seen.value, seen.bytes));
        [before, value]
    }

    fn wants(&self, write: bool) -> bool {
        match self.function & 15 {
            12 | 14 => !write,
            13 | 15 => write,
            _ => true,
        }
    }

    /// Whether an access touches what is compared with; below the mask, the access's own width
    /// decides.
    fn hits(&self, seen: &Seen) -> bool {
        let mask = (1 << self.mask) - 1;
        let to = self.to & !(seen.bytes - 1) & !mask;
        seen.address & !mask == to
    }

    fn makes(&self) -> ComparatorAction {
        let range = self.function & function::EMITRANGE != 0;
        let (pc, address, value) = match (self.function & 15, range) {
            (1, false) => (true, false, false),
            (1 | 12 | 13, true) => (false, true, false),
            (3 | 14 | 15, false) => (true, false, true),
            (_, true) => (false, true, true),
            (_, false) => (false, false, true),
        };
        ComparatorAction { pc, address, value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: Seen =
        Seen { pc: 0x0800_0100, address: 0x2000_0010, bytes: 4, write: true, value: 0xabcd };

    fn watching(function: u32, to: u32, mask: u32) -> Comparator {
        let mut comparator = Comparator::default();
        let asked = [(0, to), (4, mask), (8, function)].map(|(at, v)| comparator.write(2, at, v));
        assert_eq!(asked, [None; 3]);
        comparator
    }

    /// Table C1-14: what each function makes of a write and of a read.
    #[test]
    fn functions_are_those_of_the_table() {
        let pc = Packet::data_pc(2, WRITE.pc);
        let address = Packet::data_address(2, WRITE.address);
        let [read, written] = [false, true].map(|write| Packet::data_value(2, write, 0xabcd, 4));
        let both = |first, write: bool| [Some(first), Some(if write { written } else { read })];
        let value = |write: bool| [None, Some(if write { written } else { read })];
        let cases = [
            (1, [Some(pc), None], [Some(pc), None]),
            (0x21, [Some(address), None], [Some(address), None]),
            (2, value(true), value(false)),
            (0x22, both(address, true), both(address, false)),
            (3, both(pc, true), both(pc, false)),
            (0x23, both(address, true), both(address, false)),
            (12, [None; 2], value(false)),
            (0x2c, [None; 2], [Some(address), None]),
            (13, value(true), [None; 2]),
            (14, [None; 2], both(pc, false)),
            (15, both(pc, true), [None; 2]),
            (0x2f, both(address, true), [None; 2]),
        ];
        for (function, write, read) in cases {
            let mut comparator = watching(function, 0x2000_0010, 0);
            let seen = comparator.accessed(2, &Seen { write: false, ..WRITE });
            assert_eq!(seen, read, "function {function:#x}, read");
            assert_eq!(comparator.accessed(2, &WRITE), write, "function {function:#x}, write");
        }
    }

    #[test]
    fn masks_and_widths_decide_what_is_hit() {
        let hits = |to, mask, address, bytes| {
            watching(13, to, mask).accessed(2, &Seen { address, bytes, ..WRITE })[1].is_some()
        };
        assert!(hits(0x2000_0013, 0, 0x2000_0010, 4), "a word that holds the byte");
        assert!(!hits(0x2000_0013, 0, 0x2000_0012, 1));
        assert!(hits(0x2000_0000, 8, 0x2000_00ff, 1));
        assert!(!hits(0x2000_0000, 8, 0x2000_0100, 1));
    }

    #[test]
    fn watched_words_hold_all_that_can_hit() {
        assert_eq!(watching(13, 0x2000_0013, 0).words(), 0x2000_0010..0x2000_0014);
        assert_eq!(watching(13, 0x2000_0000, 8).words(), 0x2000_0000..0x2000_0100);
        assert!(!watching(13, 0, 0).watches_loads() && watching(1, 0, 0).watches_loads());
    }

    #[test]
    fn a_match_shows_until_it_is_read() {
        let mut comparator = watching(13, 0x2000_0010, 0);
        comparator.accessed(2, &WRITE);
        assert_eq!(comparator.read(8), 13 | 1 << 24);
        assert_eq!(comparator.read(8), 13);
    }

    #[test]
    fn unmodelled_use_is_reported() {
        for (n, function) in [(0, 4), (0, 9), (1, 0x101), (0, 0x84)] {
            assert!(Comparator::default().write(n, 8, function).is_some(), "{function:#x}");
        }
        assert_eq!(Comparator::default().write(0, 8, 0x81), None);
    }
}
