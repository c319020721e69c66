//! The functions of a firmware, decoded, with what a run has shown of calls and jumps by pointers.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use strobe_isa::Conventions;
use strobe_isa::{avr as avr_isa, thumb};
use strobe_sim::cortexm::block::next_it;
use strobe_symbols::{CodeKind, Firmware, Machine};

use super::flow::{Loop, loops};
use super::step::Step;
use super::{arm, avr};

/// Bytes of a function that are looked at: larger ones are tables or generated.
const MAX_BYTES: u32 = 16 << 10;

/// Functions that are kept decoded.
const MAX_KEPT: usize = 256;

/// A firmware and what was called from where.
pub(super) struct Program<'a> {
    pub firmware: &'a Firmware,
    /// Call instructions and jumps by a pointer to another function, each with where it has always
    /// led, if that is one place.
    called: &'a BTreeMap<u32, Option<u32>>,
    decoded: RefCell<BTreeMap<u32, Rc<Function>>>,
}

/// A function's instructions.
pub(super) struct Function {
    pub range: Range<u32>,
    /// By address. `None` is what no loop that waits does.
    pub steps: BTreeMap<u32, Option<Step>>,
    loops: OnceCell<Vec<Loop>>,
}

impl Function {
    pub(super) fn step(&self, at: u32) -> Option<&Step> {
        self.steps.get(&at)?.as_ref()
    }

    /// Its loops, the longest first.
    pub(super) fn loops(&self) -> &[Loop] {
        self.loops.get_or_init(|| loops(self))
    }
}

impl<'a> Program<'a> {
    pub(super) fn new(firmware: &'a Firmware, called: &'a BTreeMap<u32, Option<u32>>) -> Self {
        Program { firmware, called, decoded: RefCell::default() }
    }

    pub(super) fn machine(&self) -> Machine {
        self.firmware.machine()
    }

    pub(super) fn conventions(&self) -> &'static Conventions {
        self.machine().conventions()
    }

    /// The function around an address.
    pub(super) fn around(&self, at: u32) -> Option<Rc<Function>> {
        let function = self.firmware.function(self.firmware.function_at(at)?);
        let (start, end) = (function.start & !1, u32::try_from(function.end()).ok()?);
        if let Some(known) = self.decoded.borrow().get(&start) {
            return Some(Rc::clone(known));
        }
        let end = end.min(start.saturating_add(MAX_BYTES));
        let steps = match self.machine() {
            Machine::Avr => self.avr(start..end),
            _ => self.thumb(start..end),
        };
        let found = Rc::new(Function { range: start..end, steps, loops: OnceCell::new() });
        let mut decoded = self.decoded.borrow_mut();
        if decoded.len() >= MAX_KEPT {
            decoded.clear();
        }
        decoded.insert(start, Rc::clone(&found));
        Some(found)
    }

    fn thumb(&self, range: Range<u32>) -> BTreeMap<u32, Option<Step>> {
        let (mut at, mut it, mut out) = (range.start, 0, BTreeMap::new());
        while at < range.end {
            let code = self.firmware.code_kind(at).is_none_or(|kind| kind == CodeKind::Thumb);
            let Some(first) = self.firmware.half_at(at).filter(|_| code) else {
                (at, it) = (at.saturating_add(2), 0);
                continue;
            };
            let second = self.firmware.half_at(at.saturating_add(2)).unwrap_or_default();
            let (insn, size) = thumb::decode(thumb::Architecture::V7EM_FP, at, first, second);
            let conditional = it != 0;
            let insn = if conditional && size == 2 { insn.inside_it_block() } else { insn };
            it = next_it(it, insn);
            out.insert(at, arm::step(at, (insn, size), conditional, self.only_target(at)));
            at = at.saturating_add(size);
        }
        out
    }

    fn avr(&self, range: Range<u32>) -> BTreeMap<u32, Option<Step>> {
        // The largest core has every instruction of the others.
        let core = avr_isa::Architecture::new(avr_isa::CoreKind::AvrePlus, 256 << 10);
        let (mut at, mut out) = (range.start, BTreeMap::new());
        while at < range.end {
            let Some(first) = self.firmware.half_at(at) else { break };
            let second = self.firmware.half_at(at.saturating_add(2)).unwrap_or_default();
            let (insn, size) = avr_isa::decode(core, at, first, second);
            out.insert(at, avr::step(at, (insn, size), self.only_target(at)));
            at = at.saturating_add(size);
        }
        out
    }

    fn only_target(&self, site: u32) -> Option<u32> {
        self.called.get(&site).copied().flatten()
    }

    /// A word of constants: a literal, or a table in flash.
    pub(super) fn constant(&self, at: u32) -> Option<u32> {
        let holds = |range: Range<u64>| range.contains(&u64::from(at));
        let mut segments = self.firmware.segments().iter();
        let segment = segments.find(|segment| holds(segment.run_range()))?;
        // Some linker scripts make one segment of code and data, writable.
        let is_code = || self.firmware.code_kind(at & !3) == Some(CodeKind::Thumb);
        let is_constant =
            self.machine() == Machine::Arm && (!segment.permissions.write || is_code());
        is_constant.then(|| self.firmware.word_at(at))?
    }
}
