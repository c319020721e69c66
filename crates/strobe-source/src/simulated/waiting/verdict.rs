//! Whether a loop only waits, and for what.
//!
//! It does if all that goes on from one turn to the next are numbers that are counted and that
//! decide when it ends; if it writes its frame and variables alone, or the same to one place each
//! time; and if it looks at something that others change, or counts and computes nothing. All else
//! is work, or is taken for it.

use std::collections::{BTreeMap, BTreeSet};

use super::entry;
use super::flow::Loop;
use super::live::is_used_behind;
use super::program::{Function, Program};
use super::step::{Effect, Location, Next};
use super::turn::{Turn, interpret};
use super::value::{Exact, FLAGS, Id, Places, SOMEWHERE, Value, WAY};

/// Instructions of a loop that is looked at: longer ones do more than wait.
const MAX_BODY: usize = 64;

/// Loops within loops, and in functions that they call, that are looked at.
const MAX_DEPTH: usize = 4;

/// A loop that waits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Waits {
    /// What for; empty for a delay by counting.
    pub sources: BTreeSet<Location>,
    /// It counts, too: towards its end, or its turns.
    pub counts: bool,
    /// Functions that it calls, and where in the loop.
    pub calls: BTreeMap<u32, BTreeSet<u32>>,
}

/// What a loop waits for, if it does nothing else. `entry` has what registers hold where it is
/// entered, as far as that is known.
pub(super) fn waits(
    program: &Program<'_>,
    function: &Function,
    of: &Loop,
    entry: impl FnOnce() -> Vec<(Location, u32)>,
) -> Option<Waits> {
    if of.body.len() > MAX_BODY || of.body.iter().any(|&at| function.step(at).is_none()) {
        return None;
    }
    let turn = interpret(program, function, of, &[])?;
    let judge = Judge::of(program, function, of, &turn);
    let mut waits = judge.verdict();
    let is_known = |waits: &Waits| {
        waits.sources.iter().all(|place| matches!(place, Location::Memory(None, _)))
    };
    if !waits.as_ref().is_some_and(is_known) {
        // What is known where the loop is entered holds in each turn, if none changes it.
        let mut known = entry();
        known.retain(|(place, _)| !judge.has_changed(place));
        let turn = interpret(program, function, of, &known)?;
        waits = Judge::of(program, function, of, &turn).verdict();
    }
    let is_whole = |waits: &Waits| !of.part || !waits.counts && acts(program, function, of);
    waits.filter(is_whole).filter(|_| judge.inner_loops_wait(function, of, 0))
}

/// Whether a loop does something in turns that are not this part of it: it calls, or writes more
/// than its frame. If it does not, its result is what the turns have found, and all are for that.
fn acts(program: &Program<'_>, function: &Function, part: &Loop) -> bool {
    let whole = function.loops().iter().find(|one| !one.part && one.head == part.head);
    let Some(whole) = whole else { return false };
    let mut rest = whole.body.difference(&part.body).map(|&at| function.step(at));
    rest.any(|step| {
        let Some(step) = step else { return true };
        let is_foreign = |effect: &Effect| match effect {
            Effect::Store(super::step::Address::Base(base, ..), _) => {
                !is_frame(program, &Location::Register(*base))
            }
            Effect::Store(..) => true,
            _ => false,
        };
        matches!(step.next, Next::Call(_)) || step.effects.iter().any(is_foreign)
    })
}

/// The places that do not hold at the end what they did at the beginning.
fn changed(turn: &Turn) -> Places {
    let all = turn.end.iter().filter(|(id, value)| value.exact != Exact::Copy(*id, 0));
    all.map(|(id, _)| id).collect()
}

fn is_frame(program: &Program<'_>, base: &Location) -> bool {
    let frames = program.conventions().frame_registers;
    matches!(base, Location::Register(number) if frames.contains(number))
}

struct Judge<'a> {
    program: &'a Program<'a>,
    turn: &'a Turn,
    changed: Places,
    function: &'a Function,
    of: &'a Loop,
    /// It is within another loop of its function.
    nested: bool,
}

impl<'a> Judge<'a> {
    fn of(program: &'a Program<'a>, function: &'a Function, of: &'a Loop, turn: &'a Turn) -> Self {
        let around = |one: &Loop| {
            !one.part && one.body.len() > of.body.len() && of.body.is_subset(&one.body)
        };
        let nested = function.loops().iter().any(around);
        Judge { program, turn, changed: changed(turn), function, of, nested }
    }

    fn verdict(&self) -> Option<Waits> {
        let Turn { loads, stores, .. } = self.turn;
        let parts = loads.iter().map(|one| one.1).chain(stores.iter().map(|one| one.1));
        let mut fixed = parts.map(|parts| parts.iter().all(|part| self.stays(part)));
        if !fixed.all(|fixed| fixed) || self.carries() {
            return None;
        }
        let mut decide = self.closure(self.turn.exits);
        if decide.contains(WAY) {
            decide = decide.with(self.closure(self.turn.ways));
        }
        let counters = self.counters();
        let is_one = counters.iter().count() == 1;
        // How often it has looked is a result of few: a single count, of the whole wait.
        let is_count =
            |one: Id| is_one && !self.nested && self.is_copy(one) && !self.turn.exits.is_empty();
        let is_result =
            |one: Id| !decide.contains(one) && !is_count(one) || self.turn.computed.contains(one);
        if counters.iter().any(is_result) {
            return None;
        }
        let sources = decide.iter().filter(|place| self.is_source(*place));
        let sources: BTreeSet<Location> = sources.map(|id| self.place(id).clone()).collect();
        let signals = self.signals()?;
        let waits = if sources.is_empty() {
            signals == 0 && self.is_delay(counters)
        } else {
            signals == 0 || signals == 1 && counters.is_empty()
        };
        let (calls, counts) = (self.turn.calls.clone(), !counters.is_empty());
        waits.then_some(Waits { sources, counts, calls })
    }

    fn place(&self, id: Id) -> &Location {
        self.turn.numbers.place(id)
    }

    fn has_changed(&self, place: &Location) -> bool {
        self.changed.iter().any(|id| self.place(id) == place)
    }

    /// Whether a number goes on by the same in every turn.
    fn is_copy(&self, place: Id) -> bool {
        matches!(self.turn.end.get(place).exact, Exact::Copy(..))
    }

    /// Whether a place is a register that nobody looks at behind the loop.
    fn is_dead(&self, place: Id) -> bool {
        match self.place(place) {
            Location::Register(register) => {
                !is_used_behind(self.program, self.function, self.of, *register)
            }
            _ => false,
        }
    }

    /// Whether what a place holds at the beginning has a part in anything else.
    fn is_used(&self, place: Id) -> bool {
        let Turn { end, loads, stores, exits, ways, .. } = self.turn;
        let others = end.iter().filter(|(other, _)| *other != place).map(|(_, value)| value.parts);
        let loads = loads.iter().map(|(_, parts)| *parts);
        let stores = stores.iter().flat_map(|(_, parts, value)| [*parts, *value]);
        let mut all = others.chain(loads).chain(stores).chain([*exits, *ways]);
        all.any(|parts| parts.contains(place))
    }

    /// Whether one number is counted, by ones or to a value, and nothing else is done.
    fn is_delay(&self, counters: Places) -> bool {
        let steps = counters.iter().filter_map(|place| match self.turn.end.get(place).exact {
            Exact::Copy(_, by) => Some(by),
            _ => None,
        });
        let steps: Vec<i32> = steps.collect();
        let reads = self.turn.loads.iter().any(|(place, _)| self.is_source(*place));
        let is_count = |id: Id| match self.place(id) {
            Location::Memory(Some(base), _) => is_frame(self.program, base),
            _ => counters.contains(id),
        };
        let is_left = || counters.iter().all(|place| self.is_dead(place));
        matches!(steps[..], [by] if by.abs() == 1 || self.turn.equality || is_left())
            && !self.turn.computes
            && !reads
            && self.turn.stores.iter().all(|(place, ..)| is_count(*place))
    }

    /// Whether every loop within, and in functions that are called, waits, too.
    fn inner_loops_wait(&self, function: &Function, of: &Loop, depth: usize) -> bool {
        if depth >= MAX_DEPTH {
            return false;
        }
        let wait = |function: &Function, one: &Loop| {
            let Some(turn) = interpret(self.program, function, one, &[]) else {
                return false;
            };
            let judge = Judge::of(self.program, function, one, &turn);
            let waits = judge.verdict().is_some() || judge.is_arithmetic(function, one);
            waits && judge.inner_loops_wait(function, one, depth + 1)
        };
        let is_within = |one: &Loop| {
            !one.part && one.body.len() < of.body.len() && one.body.is_subset(&of.body)
        };
        let own =
            function.loops().iter().filter(|one| is_within(one)).all(|one| wait(function, one));
        own && self.turn.functions.iter().all(|start| {
            let Some(called) = self.program.around(*start) else { return false };
            called.loops().iter().filter(|one| !one.part).all(|one| wait(&called, one))
        })
    }

    /// Whether a loop is a part of a calculation, as a shift by several bits: so many turns, which
    /// is a constant, without memory.
    fn is_arithmetic(&self, function: &Function, of: &Loop) -> bool {
        let Turn { loads, stores, calls, .. } = self.turn;
        let entry = entry::constants(self.program, function, of);
        let decide = self.closure(self.turn.exits);
        let is_fixed = |id: Id| {
            let place = self.place(id);
            !self.changed.contains(id) || entry.iter().any(|(known, _)| known == place)
        };
        loads.is_empty() && stores.is_empty() && calls.is_empty() && decide.iter().all(is_fixed)
    }

    /// Whether a place holds the same in all turns.
    fn stays(&self, place: Id) -> bool {
        place != WAY && !self.changed.contains(place)
    }

    fn is_own(&self, place: Id) -> bool {
        match self.place(place) {
            Location::Memory(None, at) => self.program.conventions().memory.contains(&(*at as u32)),
            Location::Memory(Some(base), _) => is_frame(self.program, base),
            _ => false,
        }
    }

    /// How many places it writes the same to in every turn that are not its own, as a watchdog gets
    /// its key; `None` if it writes anything else there.
    fn signals(&self) -> Option<usize> {
        let foreign = self.turn.stores.iter().filter(|(place, ..)| !self.is_own(*place));
        let mut places: Vec<Id> = Vec::new();
        for &(place, _, parts) in foreign {
            if !parts.iter().all(|part| self.stays(part)) || place == SOMEWHERE {
                return None;
            }
            places.push(place);
        }
        places.sort_unstable();
        places.dedup();
        Some(places.len())
    }

    /// Whether a place is one that others change: no register, nothing in the frame, and nothing
    /// that the loop writes.
    fn is_source(&self, id: Id) -> bool {
        let is_written = || self.turn.stores.iter().any(|(written, ..)| *written == id);
        match self.place(id) {
            Location::Somewhere => true,
            Location::Memory(Some(base), _) => {
                !is_frame(self.program, base) && self.stays(id) && !is_written()
            }
            Location::Memory(None, _) => self.stays(id) && !is_written(),
            _ => false,
        }
    }

    /// Everything that has a part in these places, in any turn.
    fn closure(&self, places: Places) -> Places {
        let (mut out, mut open) = (Places::NONE, places);
        while let Some(id) = open.iter().next() {
            (out, open) = (out.with(Places::one(id)), open.without(Places::one(id)));
            if !self.stays(id) {
                open = open.with(self.turn.end.get(id).parts.without(out));
            }
        }
        out
    }

    /// The numbers that are counted: what is added to what they were, and used.
    fn counters(&self) -> Places {
        let all = self.turn.end.iter().filter(|(id, value)| {
            value.addends.contains(*id) && self.changed.contains(*id) && !self.is_spare(*id)
        });
        all.map(|(id, _)| id).collect()
    }

    /// Whether a register is for single turns: some set it, and nothing depends on what those
    /// before have left.
    fn is_spare(&self, id: Id) -> bool {
        self.turn.end.get(id).kept.contains(id) && !self.is_used(id) && self.is_dead(id)
    }

    /// Whether anything but counters goes on from one turn to the next: a place whose value at the
    /// end has that at the beginning in it, by itself or by way of others.
    fn carries(&self) -> bool {
        let others = self.turn.end.iter().filter(|(id, value)| {
            !matches!(*id, FLAGS | WAY) && !self.stays(*id) && !value.addends.contains(*id)
        });
        let goes_on = |(id, value): (Id, &Value)| self.closure(value.parts).contains(id);
        others.into_iter().any(|one| goes_on(one) && !self.is_spare(one.0))
    }
}
