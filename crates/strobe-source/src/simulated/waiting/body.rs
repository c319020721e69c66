//! Whether a loop only waits, and what for.
//!
//! A loop that waits does the same in every turn: it loads from the same places, and all that a
//! turn leaves to the next one is counters that go in constant steps, as the milliseconds that are
//! left and the time of the last one. A loop that works leaves more: an address that moves, a sum,
//! a shifted value, something stored, a count of what happened in some turns only. A loop without
//! loads whose one counter goes in steps, and which computes nothing else, is a delay by counting;
//! with two of them it may be a division. A sum is no work where all that it does is to end the
//! loop: what a timer has gone on since the last turn, added up ([`super::deciding`]). A counter
//! that ends the loop may begin anew: so many readings in a row. The loops within a turn must wait,
//! too.
//!
//! What is stored in the same place in every turn, as the key of a watchdog, a byte that is sent to
//! get another one, changes nothing more: such a loop waits if what ends it comes from outside.
//! Where nothing outside ends it, nothing of what it has computed or read may be used behind it
//! ([`super::leaving`]).

mod conditions;
mod inner;
mod slots;
mod sources;
mod steps;

use std::collections::{BTreeMap, BTreeSet};

use strobe_symbols::Instruction;

use super::deciding::{COPIES, Deciding};
use super::effect::{Effect, effect, frame};
use super::flow::{Flow, Loop};
use super::places::{Place, known, place};
use super::program::Program;
use super::reader::{DEPTH, arguments, written_by};
use steps::steps_by_registers;

/// Instructions of a loop that may be a wait, and of a function that it may call.
pub(super) const MOST: usize = 64;

/// What a loop waits for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum For {
    /// A place in the data space to change.
    Address(u32),
    /// Some place to change, which its instructions do not show.
    Somewhere,
}

/// A loop that waits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Waits {
    /// What for; empty for a delay by counting.
    pub sources: BTreeSet<For>,
    /// Functions that it calls, which do nothing but read, and where in the loop.
    pub calls: BTreeMap<u32, BTreeSet<u32>>,
    /// It counts, too: towards its end, or its turns.
    pub counts: bool,
    /// What each turn stores, it and what it calls.
    pub stores: BTreeSet<Same>,
}

/// A place by its name, and what every turn stores there.
pub(super) type Same = (String, Vec<u32>);

/// What a loop of the function of these instructions waits for, if it does nothing else. A turn is
/// one from wherever it is looked at: a counter that is stored first was loaded before.
pub(super) fn waits(
    program: &Program<'_>,
    code: &[Instruction],
    flow: &Flow,
    of: &Loop,
) -> Option<Waits> {
    of.turns(flow).iter().find_map(|turn| waits_in(program, code, flow, turn))
}

/// The same of a turn that begins there.
fn waits_in(program: &Program<'_>, code: &[Instruction], flow: &Flow, of: &Loop) -> Option<Waits> {
    let turn = Turn::of(program, code, flow, of)?;
    let deciding = Deciding::of(&turn);
    let counters = turn.counters(&deciding)?;
    let mut out = turn.idles(&deciding, &counters)?;
    let is_shared = |register: &String| {
        // What does not end it may go on as it is when it is entered anew.
        turn.is_shared(code, register, !deciding.reads(&turn, register))
    };
    if counters.iter().any(is_shared) {
        // Some of the turns of the loop around it, which do more.
        return None;
    }
    let is_outside = deciding.is_outside(&turn);
    if out.stores.len() > 1 || !out.stores.is_empty() && !is_outside {
        return None;
    }
    let is_delay = out.sources.is_empty() && turn.steps_by_one();
    if !is_outside && !is_delay && turn.leaves_anything() {
        return None;
    }
    out.counts = !counters.is_empty() || turn.counts_in_memory();
    let computes = |one: &Effect| {
        let moves = one.copies || one.extends || one.constant.is_some() || one.load.is_some();
        !(one.writes.is_empty() || one.steps || one.carries || one.joins || moves)
    };
    let for_ever = |at| turn.is_variable(at) && !deciding.has(at);
    let counts = counters.len() + turn.counted_slots() == 1
        && !turn.paced
        && out.calls.is_empty()
        && !(0..turn.effects.len()).any(for_ever)
        && !turn.effects.iter().any(computes);
    let works = |one: &Effect| one.calls.is_none() && computes(one);
    if !turn.reads_decide() && turn.effects.iter().any(works) {
        // It does something so many times with what it reads, and looks at none of it.
        return None;
    }
    (!out.sources.is_empty() || counts).then_some(out)
}

/// A turn of a loop.
pub(super) struct Turn<'a> {
    pub(super) program: &'a Program<'a>,
    /// The function's instructions.
    pub(super) code: &'a [Instruction],
    pub(super) flow: &'a Flow,
    pub(super) of: &'a Loop,
    pub(super) body: Vec<&'a Instruction>,
    pub(super) effects: Vec<Effect>,
    /// Where each of them loads from or stores to.
    pub(super) places: Vec<Option<Place>>,
    /// The slots and variables that it stores to.
    pub(super) stored: BTreeSet<String>,
    /// Instructions that store the same in every turn, elsewhere than on the stack.
    pub(super) same: BTreeMap<usize, Same>,
    /// Something goes in steps that were set before the loop.
    paced: bool,
}

impl<'a> Turn<'a> {
    /// Nothing if one of its instructions works, or is not known.
    fn of(
        program: &'a Program<'a>,
        code: &'a [Instruction],
        flow: &'a Flow,
        of: &'a Loop,
    ) -> Option<Self> {
        let machine = program.machine();
        let body: Vec<&Instruction> = of.turn.iter().map(|&at| &code[at]).collect();
        let mut effects: Vec<Effect> =
            body.iter().map(|one| effect(one, machine)).collect::<Option<_>>()?;
        for one in &mut effects {
            // What compilers know of a function in the same file: which registers it leaves alone.
            let written = one.calls.and_then(|called| written_by(program, called, DEPTH));
            one.writes = written.unwrap_or_else(|| std::mem::take(&mut one.writes));
            let given = one.calls.and_then(|called| arguments(program, called, DEPTH));
            one.reads.extend(given.into_iter().flatten());
        }
        conditions::join(&mut effects, &body);
        let paced = steps_by_registers(&mut effects, &body);
        let frame = code.iter().find_map(|one| frame(one, machine));
        let first = of.turn.iter().min().copied().unwrap_or_default();
        let known = known(machine, &code[..first], (flow, of), &body, &effects);
        for ((one, instruction), known) in effects.iter_mut().zip(&body).zip(&known) {
            let from = one.reads.first().filter(|from| one.writes.first() != Some(*from));
            one.sets &= from.is_none_or(|from| known.0.contains_key(from));
            let mut after = known.clone();
            after.take(Some(&*one), instruction);
            if let [to] = one.writes.as_slice() {
                // What comes of constants is one.
                one.constant = after.0.get(to).copied();
            }
        }
        let access =
            |one: &Effect| one.load.clone().or_else(|| Some(one.stores.as_ref()?.to.clone()));
        let places: Vec<Option<Place>> = (effects.iter().zip(&known))
            .map(|(one, known)| Some(place(&access(one)?, known, frame)))
            .collect();
        let (mut stored, mut same) = (BTreeSet::new(), BTreeMap::new());
        for (at, one) in effects.iter().enumerate() {
            let (Some(store), Some(to)) = (&one.stores, &places[at]) else { continue };
            let always = !one.maybe && of.always_passes(flow, of.turn[at]);
            let values = known[at].values(&store.registers, machine).filter(|_| always);
            match (to, values) {
                (Place::Slot(_), _) => stored.extend(to.key()),
                (Place::Frame, _) => return None,
                (_, Some(values)) => {
                    // A place that the instructions do not show is another one for each of them.
                    let name = to.key().unwrap_or_else(|| format!("{:#x}", body[at].address));
                    same.insert(at, (name, values));
                }
                (Place::Fixed(variable), None) => {
                    program.firmware.data_symbol_at(*variable)?;
                    stored.extend(to.key());
                }
                (Place::Unknown, None) => return None,
            }
        }
        Some(Turn { program, code, flow, of, body, effects, places, stored, same, paced })
    }

    /// What is looked at in a turn that does nothing else.
    fn idles(&self, deciding: &Deciding, counters: &BTreeSet<String>) -> Option<Waits> {
        self.claims_are_the_same()?;
        self.stores_are_idle(deciding)?;
        self.inner_are_idle()?;
        let first = self.of.turn.iter().min().copied().unwrap_or_default();
        self.sources(&self.code[..first], counters)
    }

    /// The slot or variable that an instruction loads from or stores to, if the turn stores there.
    pub(super) fn slot(&self, at: usize) -> Option<&String> {
        let key = self.places[at].as_ref()?.key()?;
        self.stored.get(&key)
    }

    /// Whether an instruction stores to a variable.
    fn is_variable(&self, at: usize) -> bool {
        let stores = self.effects[at].stores.is_some() && !self.same.contains_key(&at);
        stores && matches!(self.places[at], Some(Place::Fixed(_)))
    }

    /// Whether each turn executes an instruction.
    fn always(&self, at: usize) -> bool {
        !self.effects[at].maybe && self.of.always_passes(self.flow, self.of.turn[at])
    }

    /// Whether the loop around this one counts on in a register before it enters this one anew, or,
    /// if `counted`, leaves it as it is.
    fn is_shared(&self, code: &[Instruction], register: &String, counted: bool) -> bool {
        let machine = self.program.machine();
        let inside = |at: &usize| self.of.turn.contains(at);
        // Of those outside and whether the register was stepped on the way there.
        let mut seen = BTreeSet::new();
        let mut open: Vec<(usize, bool)> = self.of.turn.iter().map(|&at| (at, counted)).collect();
        while let Some((at, stepped)) = open.pop() {
            if stepped && !inside(&at) && self.flow.next(at).iter().any(inside) {
                return true;
            }
            for &to in self.flow.next(at).iter().filter(|&to| !inside(to)) {
                let one = effect(&code[to], machine).unwrap_or_default();
                let writes = one.writes.contains(register);
                let steps = writes && (one.steps || one.carries) && one.reads.contains(register);
                let to = (to, stepped || steps);
                if (steps || one.narrows(register) || !writes) && seen.insert(to) {
                    open.push(to);
                }
            }
        }
        false
    }

    /// Whether what an instruction writes to a register may still be there at a turn's end.
    fn leaves(&self, at: usize, register: &String) -> bool {
        // A step behind a sum in the same register leaves the sum, and so does one byte of it.
        let computes = self.effects[at].reads.contains(register);
        let writes = |number: usize| {
            let at = self.of.turn.iter().position(|&one| one == number);
            let one = at.map(|at| &self.effects[at]);
            one.filter(|one| one.writes.contains(register)).is_some_and(|one| {
                let steps = (one.steps || one.carries) && one.reads.contains(register);
                !(computes && steps || one.narrows(register))
            })
        };
        self.of.comes_round(self.flow, self.of.turn[at], writes)
    }

    /// Registers that a turn leaves to the next one; `None` if one of them does more than count, in
    /// each turn or towards the loop's end. Further bytes and words of one counter are not counted.
    fn counters(&self, deciding: &Deciding) -> Option<BTreeSet<String>> {
        if self.leaves_results() {
            return None;
        }
        let carried = self.carried();
        // From the same place again: a pointer that is at hand in some turns and not in others.
        let reloads = self.reloads(&carried);
        // The count of something that happens is a result, unless it ends the loop.
        let decides = |register: &String| {
            let own = |one: &Effect| {
                let steps = one.steps || one.carries || one.narrows(register);
                one.writes.contains(register) && steps
            };
            self.effects.iter().any(|one| one.reads.contains(register) && !own(one))
        };
        let stepped = self.stepped();
        let is_first = |register: &&String| stepped.get(*register) == Some(&false);
        let mut out: BTreeSet<String> = carried.iter().filter(is_first).cloned().collect();
        // Back to where it began: so many readings in a row.
        let resets =
            |at: usize, one: &Effect| (one.constant.is_some() || one.sets) && deciding.has(at);
        let again = |(one, reloads): (&Effect, &bool)| one.load.is_none() || *reloads;
        let reads_again = self.effects.iter().zip(&reloads).all(again);
        let keeps = |register: &String| reads_again && self.keeps_in(register);
        for register in carried.iter().filter(|register| !stepped.contains_key(*register)) {
            let writes = |&(at, one): &(usize, &Effect)| {
                one.writes.contains(register) && self.leaves(at, register)
            };
            let mut writers = self.effects.iter().enumerate().filter(writes);
            let in_place = |one: &Effect| one.reads.iter().all(|read| one.writes.contains(read));
            let counts = |(at, one): (usize, &Effect)| {
                let steps = (one.steps || one.carries) && in_place(one);
                let ends = decides(register) || deciding.has(at);
                let counts = steps && (self.always(at) || ends);
                let goes_on = counts || one.narrows(register) || resets(at, one);
                reloads[at] || goes_on || deciding.sums(self, at) || keeps(register)
            };
            if !writers.clone().all(counts) {
                return None;
            }
            // Of a pair the first register stands for both.
            let is_first = |one: &Effect| one.steps && one.writes.first() == Some(register);
            let sums = |at: usize, one: &Effect| deciding.sums(self, at) || resets(at, one);
            if writers.any(|(at, one)| is_first(one) || sums(at, one) && !reloads[at]) {
                out.insert(register.clone());
            }
        }
        Some(out)
    }

    /// The registers that a turn reads as the one before has left them, and writes.
    fn carried(&self) -> BTreeSet<String> {
        let all: BTreeSet<&String> = self.effects.iter().flat_map(|one| &one.writes).collect();
        let (mut written, mut out): (BTreeSet<&String>, BTreeSet<String>) = Default::default();
        for (at, one) in self.effects.iter().enumerate() {
            let is_left = |read: &&String| match self.of.has_one_entry() {
                true => self.is_carried(at, read),
                // Turns may begin in several places: by the order of the instructions.
                false => !written.contains(*read),
            };
            let reads = one.reads.iter().filter(|read| all.contains(read));
            out.extend(reads.filter(is_left).cloned());
            written.extend(&one.writes);
        }
        out
    }

    /// Whether some turns leave something in a register that the loop itself does not look at.
    fn leaves_results(&self) -> bool {
        let reads = |to: &String| {
            let adds = |one: &Effect| one.adds.as_ref().is_some_and(|(by, _)| by == to);
            self.effects.iter().any(|one| one.reads.contains(to) || adds(one))
        };
        let is_result = |(at, one): (usize, &Effect)| {
            let sets = one.constant.is_some() && !(one.steps || one.extends);
            let sometimes = self.of.part || !self.always(at);
            (one.copies || sets) && sometimes && !one.writes.iter().any(reads)
        };
        self.effects.iter().enumerate().any(is_result)
    }

    /// Whether each turn leaves in a register what it has read, for the next one to compare with.
    fn keeps_in(&self, register: &String) -> bool {
        let writes = |&(_, one): &(usize, &Effect)| one.writes.contains(register);
        let writers: Vec<(usize, &Effect)> =
            self.effects.iter().enumerate().filter(writes).collect();
        let is_kept = |(at, one): (usize, &Effect)| {
            let copies = (one.copies || one.extends) && !one.maybe;
            let from = one.reads.first().filter(|_| copies);
            from.is_some_and(|from| self.is_read(at, from, COPIES))
        };
        let numbers = writers.iter().map(|(at, _)| self.of.turn[*at]).collect();
        writers.into_iter().all(is_kept) && self.of.passes_one_of(self.flow, &numbers)
    }

    /// What is stored if nobody else has come in between is the same in every turn.
    fn claims_are_the_same(&self) -> Option<()> {
        let is_same = |(at, one): (usize, &Effect)| {
            one.claims.as_ref().is_none_or(|value| self.is_constant(at, value))
        };
        self.effects.iter().enumerate().all(is_same).then_some(())
    }

    /// Which instructions load from where nothing that a turn leaves to the next one has led.
    fn reloads(&self, carried: &BTreeSet<String>) -> Vec<bool> {
        let mut led = carried.clone();
        let mut out = Vec::new();
        for one in &self.effects {
            let depends = one.reads.iter().any(|read| led.contains(read));
            out.push(one.load.is_some() && !depends);
            for register in &one.writes {
                match depends {
                    true => led.insert(register.clone()),
                    false => led.remove(register),
                };
            }
        }
        out
    }

    /// Registers that a turn of one way leaves as they were but for constant steps, also where they
    /// go through others: `subs r3, r0, #1` and later `mov r0, r3`. Of a counter of several bytes
    /// or words all but the first are marked.
    fn stepped(&self) -> BTreeMap<String, bool> {
        if !self.of.has_one_way(self.flow) {
            return BTreeMap::new();
        }
        // What each register holds: another one at the beginning of the turn, and steps.
        let mut now: BTreeMap<&String, Option<(&String, bool, bool)>> = BTreeMap::new();
        for one in &self.effects {
            let steps = one.steps || one.carries;
            let origin = |n: usize| {
                let moves = steps || one.copies || one.extends;
                let from = one.origin(n).filter(|_| moves && !one.maybe)?;
                let known = now.get(from).copied().unwrap_or(Some((from, false, false)));
                let further = steps && (one.carries || n > 0);
                known.map(|(origin, stepped, later)| (origin, stepped || steps, later || further))
            };
            let origins: Vec<_> = (0..one.writes.len()).map(origin).collect();
            now.extend(one.writes.iter().zip(origins));
        }
        let own = |(register, holds): (&&String, &Option<(&String, bool, bool)>)| {
            let (_, _, further) =
                holds.filter(|(origin, steps, _)| *steps && origin == register)?;
            Some(((*register).clone(), further))
        };
        now.iter().filter_map(own).collect()
    }
}
