//! Which instructions have read which registers, for those whose address is no constant.

use std::collections::BTreeSet;
use std::ops::Range;

/// Pairs remembered: firmware has far fewer places that read registers.
const MOST: usize = 4096;

/// Instructions of a loop that polls and its calls; a power of two.
const LATE: usize = 64;

/// Instructions of the core and the registers that they have read.
#[derive(Debug)]
pub(crate) struct Readers {
    pairs: BTreeSet<(u32, u32)>,
    /// Late pairs, by where the instruction is: a loop that polls is the same again and again.
    late: [(u32, u32); LATE],
}

impl Default for Readers {
    fn default() -> Self {
        Readers { pairs: BTreeSet::new(), late: [(0, 0); LATE] }
    }
}

impl Readers {
    /// The instruction at `pc` has read the register at `address`.
    pub(crate) fn note(&mut self, pc: u32, address: u32) {
        let late = &mut self.late[pc as usize / 2 % LATE];
        if *late != (pc, address) && self.pairs.len() < MOST {
            *late = (pc, address);
            self.pairs.insert(*late);
        }
    }

    /// What the instructions in `code` have read.
    pub(crate) fn of(&self, code: &Range<u32>) -> BTreeSet<u32> {
        let inside = self.pairs.range((code.start, 0)..(code.end, 0));
        inside.map(|&(_, address)| address).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_are_found_by_their_code() {
        let mut readers = Readers::default();
        for (pc, address) in [(0x100, 8), (0x100, 8), (0x102, 12), (0x100, 4), (0x104, 16)] {
            readers.note(pc, address);
        }
        assert_eq!(readers.of(&(0x100..0x104)), BTreeSet::from([4, 8, 12]));
        assert!(readers.of(&(0x106..0x200)).is_empty());
        (0..9_000).for_each(|pc| readers.note(pc, 4));
        assert_eq!(readers.pairs.len(), MOST);
    }
}
