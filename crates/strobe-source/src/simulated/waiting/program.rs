//! The instructions of a firmware, with what a run has shown of calls and jumps by pointers.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use strobe_symbols::{Firmware, Instruction, Machine, Reference};

use super::flow::Flow;

/// Instructions of a function that are looked at.
const MOST: usize = 1024;
/// Functions that are kept decoded.
const MOST_KEPT: usize = 256;

/// A firmware and what was called from where.
pub(super) struct Program<'a> {
    pub firmware: &'a Firmware,
    /// Call instructions and jumps by a pointer to another function, each with where it has always
    /// led, if that is one place.
    pub called: &'a BTreeMap<u32, Option<u32>>,
    /// Functions by their first address: whoever calls one is looked at for each of its loops.
    decoded: RefCell<BTreeMap<u32, Rc<Decoded>>>,
}

/// A function's instructions, up to a length, and where they lead.
pub(super) struct Decoded {
    pub code: Vec<Instruction>,
    pub flow: Flow,
}

impl<'a> Program<'a> {
    pub(super) fn new(firmware: &'a Firmware, called: &'a BTreeMap<u32, Option<u32>>) -> Self {
        Program { firmware, called, decoded: RefCell::default() }
    }
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

    /// The function around an address.
    pub(super) fn around(&self, at: u32) -> Option<Rc<Decoded>> {
        let function = self.firmware.function(self.firmware.function_at(at)?);
        let (start, end) = (function.start & !1, u32::try_from(function.end()).ok()?);
        let known = self.decoded.borrow().get(&start).cloned();
        if known.is_some() {
            return known;
        }
        let code: Vec<Instruction> = self.instructions(start..end).take(MOST).collect();
        let flow = Flow::of(&code, self.machine());
        let found = Rc::new(Decoded { code, flow });
        let mut decoded = self.decoded.borrow_mut();
        if decoded.len() >= MOST_KEPT {
            decoded.clear();
        }
        decoded.insert(start, Rc::clone(&found));
        Some(found)
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

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_synth::ElfBuilder;

    #[test]
    fn a_function_is_decoded_once() {
        // movs r0, #1; bx lr, for each of two functions.
        let code: Vec<u8> = [0x01, 0x20, 0x70, 0x47].repeat(2);
        let mut elf = ElfBuilder::new();
        elf.code(0x0800_0000, &code);
        elf.function("first", 0x0800_0001, 4).function("second", 0x0800_0005, 4);
        let firmware = Firmware::parse(elf.build()).expect("a sound file");
        let called = BTreeMap::new();
        let program = Program::new(&firmware, &called);
        let around = |at| program.around(at).expect("a function");
        let first = around(0x0800_0000);
        assert_eq!(first.code.len(), 2);
        assert!(Rc::ptr_eq(&first, &around(0x0800_0002)));
        assert!(!Rc::ptr_eq(&first, &around(0x0800_0004)));
    }
}
