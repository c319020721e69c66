//! What decides whether a loop ends, and sums that do nothing else.
//!
//! A delay that adds up how far a timer has gone on leaves the sum and the timer's last value to
//! the next turn. Both are in what the way out depends on, and the last value is what was read. A
//! sum that is a result decides nothing; what a division leaves is compared, but keeps no value
//! that was read.
//!
//! Whatever else has a say in when the loop ends may be computed in any way, if something outside
//! has a say as well and nothing of it is used behind the loop ([`super::leaving`]): bits that were
//! read and are shifted into a register until all are set, or the last reading, with which the next
//! one is compared. What was read and is compared with a counter is no such say: it is how far to
//! count, as a division does.

use std::cell::OnceCell;
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
    control: OnceCell<Control>,
    /// What comes of the turns and is used behind the loop.
    left: OnceCell<BTreeSet<String>>,
}

/// What has a say in when a loop ends, also by what a turn executes.
struct Control {
    /// Numbers in the turn.
    parts: BTreeSet<usize>,
    /// Something that was read is among it, and not only as a limit of what is counted.
    is_outside: bool,
}

impl Deciding {
    pub(super) fn of(turn: &Turn<'_>) -> Deciding {
        let parts = turn.parts_of(turn.tests(|at| turn.goes_out(at)));
        let multiplies = parts.iter().copied().filter(|&at| turn.effects[at].multiplies).collect();
        let keeps = parts.iter().any(|&at| turn.keeps(at));
        let (control, left) = (OnceCell::new(), OnceCell::new());
        Deciding { parts, keeps, multiplies, control, left }
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
    pub(super) fn sums(&self, turn: &Turn<'_>, at: usize) -> bool {
        let left = || self.left.get_or_init(|| turn.left());
        let decides =
            |what: &String| self.parts.iter().any(|&part| turn.inputs(part).contains(what));
        let adds_up = || self.keeps && self.has(at) && left().iter().all(decides);
        let has_a_say = || self.control(turn).parts.contains(&at) && self.is_outside(turn);
        self.multiplies.is_empty() && (adds_up() || has_a_say() && left().is_empty())
    }

    /// Whether something outside has a say in when the loop ends, and not only as a limit of what
    /// the loop counts.
    pub(super) fn is_outside(&self, turn: &Turn<'_>) -> bool {
        self.control(turn).is_outside
    }

    fn control(&self, turn: &Turn<'_>) -> &Control {
        self.control.get_or_init(|| turn.control())
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
    pub(super) fn parts_of(&self, tests: Vec<usize>) -> BTreeSet<usize> {
        let (mut parts, mut open) = (BTreeSet::new(), tests);
        while let Some(at) = open.pop() {
            if parts.insert(at) {
                let inputs = self.inputs(at);
                open.extend(inputs.iter().flat_map(|what| self.written_before(at, what).by));
            }
        }
        parts
    }

    /// Whether what an instruction does depends on what it did in a turn before.
    pub(super) fn depends_on_itself(&self, at: usize) -> bool {
        let inputs = self.inputs(at);
        let by = inputs.iter().flat_map(|what| self.written_before(at, what).by).collect();
        self.parts_of(by).contains(&at)
    }

    /// Whether what is read has to do with where the flow goes on, or what a condition lets happen.
    pub(super) fn reads_decide(&self) -> bool {
        let chooses =
            |at: usize| self.effects[at].in_block || self.flow.next(self.of.turn[at]).len() > 1;
        self.parts_of(self.tests(chooses)).iter().any(|&at| self.looks(at))
    }

    /// Whether an instruction looks at something outside, itself or by a call.
    fn looks(&self, at: usize) -> bool {
        let one = &self.effects[at];
        let is_inside = self.places[at].as_ref().is_some_and(|place| place.is_in_frame());
        one.calls.is_some() || one.load.is_some() && self.slot(at).is_none() && !is_inside
    }

    fn control(&self) -> Control {
        let mut tests: BTreeSet<usize> = self.tests(|at| self.goes_out(at)).into_iter().collect();
        loop {
            let parts = self.parts_of(tests.iter().copied().collect());
            let before = tests.len();
            tests.extend(parts.iter().flat_map(|&part| self.chosen_by(part)));
            if tests.len() == before {
                let looks = |test| self.parts_of(vec![test]).into_iter().any(|at| self.looks(at));
                let is_outside = tests.iter().any(|&test| looks(test) && !self.is_limit(test));
                return Control { parts, is_outside };
            }
        }
    }

    /// Where it is decided whether a turn executes an instruction.
    fn chosen_by(&self, part: usize) -> Vec<usize> {
        let (flow, number) = (self.flow, self.of.turn[part]);
        let mut out = match self.effects[part].in_block {
            true => self.tests(|at| at == part),
            false => Vec::new(),
        };
        if !self.of.always_passes(flow, number) && !self.is_on_every_way(part) {
            let chooses = |at: usize| {
                let from = self.of.turn[at];
                let branches = flow.next(from).len() > 1 && !self.goes_out(at);
                branches && self.of.leads_on(flow, from, number)
            };
            out.extend(self.tests(chooses));
        }
        out
    }

    /// Whether a turn executes something like it whichever way it goes: compilers put the end of a
    /// turn behind each of its branches.
    fn is_on_every_way(&self, part: usize) -> bool {
        let like = |&at: &usize| {
            let (one, other) = (self.body[at], self.body[part]);
            let is_same = one.mnemonic == other.mnemonic && one.operands == other.operands;
            is_same && !self.effects[at].maybe
        };
        let all: BTreeSet<usize> =
            (0..self.body.len()).filter(like).map(|at| self.of.turn[at]).collect();
        self.of.always_passes_one(self.flow, &all)
    }

    /// Whether what a test compares is something that was read with something that goes on from
    /// turn to turn.
    fn is_limit(&self, test: usize) -> bool {
        let (one, name) = (&self.effects[test], &self.body[test].mnemonic);
        let compares = one.writes.is_empty() || name.starts_with("sub") || name.starts_with("sbc");
        let [first, second] = one.reads.as_slice() else { return false };
        let side = |register: &String| {
            let parts = self.parts_of(self.written_before(test, register).by);
            let goes_on = |&at: &usize| self.inputs(at).iter().any(|what| self.is_left(at, what));
            let counts = self.is_left(test, register) || parts.iter().any(goes_on);
            (parts.iter().any(|&at| self.looks(at)), counts)
        };
        let (first, second) = (side(first), side(second));
        let is_of = |read: (bool, bool), counted: (bool, bool)| read.0 && !counted.0 && counted.1;
        compares && (is_of(first, second) || is_of(second, first))
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

    /// Whether it may be as the turn before has left it.
    fn is_left(&self, at: usize, what: &String) -> bool {
        let Written { by, carried } = self.written_before(at, what);
        carried && !by.is_empty()
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
        self.effects[at].reads.iter().any(|what| self.is_left(at, what))
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
const AVR_MOVES: [&str; 12] =
    ["ldi", "mov", "movw", "in", "lds", "ld", "ldd", "swap", "bst", "bld", "call", "rcall"];

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
