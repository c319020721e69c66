//! What decides whether a loop ends, and sums that do nothing else.
//!
//! A delay that adds up how far a timer has gone on leaves the sum and the timer's last value to
//! the next turn. Both are in what the way out depends on, and the last value is what was read. A
//! sum that is a result decides nothing; what a division leaves is compared, but keeps no value
//! that was read.

use std::collections::BTreeSet;

use strobe_symbols::{Instruction, Machine};

use super::body::Turn;
use super::effect::Effect;

/// Copies of copies that are followed.
pub(super) const COPIES: u32 = 8;

/// The instructions of a turn that have to do with whether it is the last.
pub(super) struct Deciding {
    /// Numbers in the turn.
    parts: BTreeSet<usize>,
    /// One of them uses what the turn before has read.
    keeps: bool,
    /// Those that multiply.
    multiplies: BTreeSet<usize>,
}

impl Deciding {
    pub(super) fn of(turn: &Turn<'_>) -> Deciding {
        let parts = turn.parts_of(turn.tests(|at| turn.goes_out(at)));
        let multiplies = parts.iter().copied().filter(|&at| turn.effects[at].multiplies).collect();
        let keeps = parts.iter().any(|&at| turn.keeps(at));
        Deciding { parts, keeps, multiplies }
    }

    /// Whether an instruction is one of them.
    pub(super) fn has(&self, at: usize) -> bool {
        self.parts.contains(&at)
    }

    /// Whether one of them reads a register.
    pub(super) fn reads(&self, turn: &Turn<'_>, register: &String) -> bool {
        self.parts.iter().any(|&at| turn.effects[at].reads.contains(register))
    }

    /// Whether what an instruction leaves to the next turn is a sum of what was read, or what was
    /// read last, and only decides whether the loop ends.
    pub(super) fn sums(&self, at: usize) -> bool {
        self.keeps && self.has(at) && self.multiplies.is_empty()
    }
}

/// Who wrote what a register or slot holds before an instruction.
#[derive(Default)]
struct Written {
    /// Instructions of the loop, of this turn or of the one before.
    by: Vec<usize>,
    /// It may be as it was when the turn began.
    carried: bool,
}

impl Turn<'_> {
    /// The instructions that may be right before one, as numbers in the turn.
    fn before(&self, at: usize) -> impl Iterator<Item = usize> {
        let previous = self.flow.previous(self.of.turn[at]).iter();
        previous.filter_map(move |number| self.of.turn.iter().position(|one| one == number))
    }

    /// The registers and slots that an instruction uses.
    fn inputs(&self, at: usize) -> Vec<String> {
        let one = &self.effects[at];
        let slot = self.slot(at).filter(|_| one.load.is_some());
        one.reads.iter().chain(slot).cloned().collect()
    }

    fn writes(&self, at: usize, what: &String) -> bool {
        let one = &self.effects[at];
        one.writes.contains(what) || one.stores.is_some() && self.slot(at) == Some(what)
    }

    fn written_before(&self, at: usize, what: &String) -> Written {
        let (mut seen, mut open) = (BTreeSet::new(), vec![at]);
        let mut out = Written::default();
        while let Some(at) = open.pop() {
            out.carried |= at == 0;
            for before in self.before(at) {
                if seen.insert(before) {
                    match self.writes(before, what) {
                        true => out.by.push(before),
                        false => open.push(before),
                    }
                }
            }
        }
        out
    }

    /// Whatever leads to these instructions, themselves included.
    fn parts_of(&self, tests: Vec<usize>) -> BTreeSet<usize> {
        let (mut parts, mut open) = (BTreeSet::new(), tests);
        while let Some(at) = open.pop() {
            if parts.insert(at) {
                let inputs = self.inputs(at);
                open.extend(inputs.iter().flat_map(|what| self.written_before(at, what).by));
            }
        }
        parts
    }

    /// Whether what is read has to do with where the flow goes on, or what a condition lets happen.
    pub(super) fn reads_decide(&self) -> bool {
        let chooses =
            |at: usize| self.effects[at].in_block || self.flow.next(self.of.turn[at]).len() > 1;
        let reads = |&at: &usize| {
            let one = &self.effects[at];
            let is_inside = self.places[at].as_ref().is_some_and(|place| place.is_in_frame());
            one.calls.is_some() || one.load.is_some() && self.slot(at).is_none() && !is_inside
        };
        self.parts_of(self.tests(chooses)).iter().any(reads)
    }

    /// Whether the loop may be left behind an instruction.
    pub(super) fn goes_out(&self, at: usize) -> bool {
        !self.flow.next(self.of.turn[at]).iter().all(|to| self.of.turn.contains(to))
    }

    /// Where it is decided what comes behind those of the instructions that choose: comparisons,
    /// and whatever else sets flags.
    pub(super) fn tests(&self, chooses: impl Fn(usize) -> bool) -> Vec<usize> {
        let machine = self.program.machine();
        let mut out = Vec::new();
        for exit in (0..self.effects.len()).filter(|&at| chooses(at)) {
            let (mut seen, mut open) = (BTreeSet::from([exit]), vec![exit]);
            while let Some(at) = open.pop() {
                let (sets, goes_on) = flags(self.body[at], &self.effects[at], machine);
                out.extend(sets.then_some(at));
                if goes_on {
                    open.extend(self.before(at).filter(|&before| seen.insert(before)));
                }
            }
        }
        out
    }

    /// Whether an instruction uses what was read in the turn before, and only read.
    fn keeps(&self, at: usize) -> bool {
        let kept =
            |what: &String| self.written_before(at, what).carried && self.is_read(0, what, COPIES);
        self.inputs(at).iter().any(kept)
    }

    /// Whether a register or slot may be as it was when the turn began.
    pub(super) fn is_carried(&self, at: usize, what: &String) -> bool {
        self.written_before(at, what).carried
    }

    /// Whether a register is the same before an instruction in every turn.
    pub(super) fn is_constant(&self, at: usize, register: &String) -> bool {
        let Written { by, carried } = self.written_before(at, register);
        let sets = |&at: &usize| self.effects[at].constant.is_some();
        by.is_empty() || !carried && by.iter().all(sets)
    }

    /// Whether what a register or slot holds before an instruction was read by the loop.
    pub(super) fn is_read(&self, at: usize, what: &String, depth: u32) -> bool {
        let by = self.written_before(at, what).by;
        depth > 0 && !by.is_empty() && by.iter().all(|&at| self.brings(at, depth - 1))
    }

    /// Whether a function is given what the turn before has left.
    fn goes_on(&self, at: usize) -> bool {
        let left = |what: &String| {
            let Written { by, carried } = self.written_before(at, what);
            carried && !by.is_empty()
        };
        self.effects[at].reads.iter().any(left)
    }

    fn brings(&self, at: usize, depth: u32) -> bool {
        let one = &self.effects[at];
        let is_inside = self.places[at].as_ref().is_some_and(|place| place.is_in_frame());
        let from = match &one.stores {
            Some(store) => store.registers.first(),
            None if one.load.is_some() && self.slot(at).is_some() => self.slot(at),
            None if one.load.is_some() => return !is_inside,
            None if one.calls.is_some() => return !self.goes_on(at),
            None => one.reads.first().filter(|_| (one.copies || one.extends) && !one.maybe),
        };
        from.is_some_and(|from| self.is_read(at, from, depth))
    }
}

/// Instructions of an AVR that leave the flags alone, besides those that write nothing.
const AVR_MOVES: [&str; 10] =
    ["ldi", "mov", "movw", "in", "lds", "ld", "ldd", "swap", "call", "rcall"];

/// Whether what an instruction computes or reads may decide a branch behind it, and whether what is
/// before it may decide as well.
fn flags(instruction: &Instruction, one: &Effect, machine: Machine) -> (bool, bool) {
    let name = instruction.mnemonic.trim_end_matches(".w").trim_end_matches(".n");
    if machine == Machine::Avr {
        let skips = matches!(name, "sbis" | "sbic" | "sbrs" | "sbrc" | "cpse");
        let moves = AVR_MOVES.contains(&name) || one.stores.is_some() || name == "out";
        let sets = skips || !(moves || one.reads.is_empty() && one.writes.is_empty());
        return (sets, !sets || matches!(name, "cpc" | "sbc" | "sbci" | "adc"));
    }
    if matches!(name, "cbz" | "cbnz") {
        return (true, false);
    }
    let compares = ["cmp", "cmn", "tst", "teq"].iter().any(|plain| name.starts_with(plain));
    let sets = name.ends_with('s') && name != "mrs" && !one.in_block;
    let computes = sets && !one.writes.is_empty();
    let carries = name.starts_with("adc") || name.starts_with("sbc");
    // `cmpeq` in an IT block leaves the flags of another comparison, if that fails.
    let maybe = one.maybe || compares && name.len() > 3;
    (compares || computes, !(compares || computes) || carries || maybe)
}
