//! The instructions of a firmware, with what a run has shown of calls and jumps by pointers.

use std::collections::BTreeMap;
use std::ops::Range;

use strobe_symbols::{Firmware, Instruction, Machine, Reference};

/// A firmware and what was called from where.
pub(super) struct Program<'a> {
    pub firmware: &'a Firmware,
    /// Call instructions and jumps by a pointer to another function, each with where it has always
    /// led, if that is one place.
    pub called: &'a BTreeMap<u32, Option<u32>>,
}

impl Program<'_> {
    pub(super) fn machine(&self) -> Machine {
        self.firmware.machine()
    }

    /// The instructions of a range. A call by a pointer that has always led to the same place has
    /// that for its target, and so has a jump to another function.
    pub(super) fn instructions(&self, range: Range<u32>) -> impl Iterator<Item = Instruction> {
        self.firmware.instructions(range).map(move |mut one| {
            if !pointer(&one).is_empty() && one.target.is_none() {
                one.target = self.only_target(one.address);
            }
            one
        })
    }

    fn only_target(&self, site: u32) -> Option<Reference> {
        let address = self.called.get(&site).copied().flatten()?;
        Some(Reference { address, symbol: None })
    }
}

/// The registers that lead a call or a jump to where it goes.
pub(super) fn pointer(instruction: &Instruction) -> Vec<&str> {
    match instruction.mnemonic.as_str() {
        "blx" => vec![instruction.operands.as_str()],
        "bx" if instruction.operands != "lr" => vec![instruction.operands.as_str()],
        "icall" | "eicall" | "ijmp" | "eijmp" => vec!["r30", "r31"],
        _ => Vec::new(),
    }
}
