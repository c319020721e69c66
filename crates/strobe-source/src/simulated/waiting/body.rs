//! Whether a loop only waits, and what for.
//!
//! A loop that waits does the same in every turn: it loads from the same places, and all that a
//! turn leaves to the next one is counters that go in constant steps, as the milliseconds that are
//! left and the time of the last one. A loop that works leaves more: an address that moves, a sum,
//! a shifted value, something stored, a count of what happened in some turns only. A loop without
//! loads whose one counter goes in steps, and which computes nothing else, is a delay by counting;
//! with two of them it may be a division.

use std::collections::{BTreeMap, BTreeSet};

use strobe_symbols::{Firmware, Instruction};

use super::constants::Constants;
use super::effect::{Effect, Load, Store, effect, frame};
use super::flow::{Flow, Loop};
use super::reader::{DEPTH, arguments, reader, written_by};

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
}

/// What a loop of the function of these instructions waits for, if it does nothing else. A turn is
/// one from wherever it is looked at: a counter that is stored first was loaded before.
pub(super) fn waits(
    firmware: &Firmware,
    code: &[Instruction],
    flow: &Flow,
    of: &Loop,
) -> Option<Waits> {
    of.turns(flow).iter().find_map(|turn| waits_in(firmware, code, flow, turn))
}

/// The same of a turn that begins there.
fn waits_in(firmware: &Firmware, code: &[Instruction], flow: &Flow, of: &Loop) -> Option<Waits> {
    let turn = Turn::of(firmware, code, flow, of)?;
    let counters = turn.counters()?;
    let slots: BTreeSet<&String> =
        turn.effects.iter().filter_map(|one| Some(&one.stores.as_ref()?.slot)).collect();
    turn.stores_are_idle(&slots)?;
    let first = of.turn.iter().min().copied().unwrap_or_default();
    let mut out = turn.sources(&code[..first], &counters, &slots)?;
    out.counts = !(counters.is_empty() && slots.is_empty());
    let computes = |one: &Effect| {
        let moves = one.copies || one.extends || one.constant.is_some() || one.load.is_some();
        !(one.writes.is_empty() || one.steps || one.carries || moves)
    };
    let counts = counters.len() + turn.counted_slots() == 1
        && !turn.paced
        && out.calls.is_empty()
        && !turn.effects.iter().any(computes);
    (!out.sources.is_empty() || counts).then_some(out)
}

/// A turn of a loop.
struct Turn<'a> {
    firmware: &'a Firmware,
    flow: &'a Flow,
    of: &'a Loop,
    body: Vec<&'a Instruction>,
    effects: Vec<Effect>,
    /// The register that points into the function's frame.
    frame: Option<&'static str>,
    /// Something goes in steps that were set before the loop.
    paced: bool,
}

impl<'a> Turn<'a> {
    /// Nothing if one of its instructions works, or is not known.
    fn of(
        firmware: &'a Firmware,
        code: &'a [Instruction],
        flow: &'a Flow,
        of: &'a Loop,
    ) -> Option<Self> {
        let machine = firmware.machine();
        let body: Vec<&Instruction> = of.turn.iter().map(|&at| &code[at]).collect();
        let mut effects: Vec<Effect> =
            body.iter().map(|one| effect(one, machine)).collect::<Option<_>>()?;
        for one in &mut effects {
            // What compilers know of a function in the same file: which registers it leaves alone.
            let written = one.calls.and_then(|called| written_by(firmware, called, DEPTH));
            one.writes = written.unwrap_or_else(|| std::mem::take(&mut one.writes));
        }
        let paced = steps_by_registers(&mut effects, &body);
        let frame = code.iter().find_map(|one| frame(one, machine));
        let turn = Turn { firmware, flow, of, body, effects, frame, paced };
        let mut stores = turn.effects.iter().filter_map(|one| one.stores.as_ref());
        let on_stack = stores.all(|to| turn.is_on_stack(&to.base));
        on_stack.then_some(turn)
    }

    fn is_on_stack(&self, base: &str) -> bool {
        base == "sp" || self.frame == Some(base)
    }

    /// Whether each turn comes through an instruction.
    fn always(&self, at: usize) -> bool {
        self.of.always_passes(self.flow, self.of.turn[at])
    }

    /// Whether what an instruction writes to a register may still be there at a turn's end.
    fn leaves(&self, at: usize, register: &String) -> bool {
        let writes = |number: usize| {
            let at = self.of.turn.iter().position(|&one| one == number);
            at.is_some_and(|at| self.effects[at].writes.contains(register))
        };
        self.of.comes_round(self.flow, self.of.turn[at], writes)
    }

    /// Registers that a turn leaves to the next one; `None` if one of them does more than count, in
    /// each turn or towards the loop's end. Further bytes and words of one counter are not counted.
    fn counters(&self) -> Option<BTreeSet<String>> {
        let (mut written, mut live) = (BTreeSet::new(), BTreeSet::new());
        for one in &self.effects {
            live.extend(one.reads.iter().filter(|read| !written.contains(*read)).cloned());
            written.extend(one.writes.iter().cloned());
        }
        let carried: BTreeSet<String> = live.intersection(&written).cloned().collect();
        // From the same place again: a pointer that is at hand in some turns and not in others.
        let reloads = self.reloads(&carried);
        // The count of something that happens is a result, unless it ends the loop.
        let decides = |register: &String| {
            let own = |one: &Effect| one.writes.contains(register) && (one.steps || one.carries);
            self.effects.iter().any(|one| one.reads.contains(register) && !own(one))
        };
        let mut out = self.stepped();
        for register in carried.difference(&out.clone()) {
            let writes = |&(at, one): &(usize, &Effect)| {
                one.writes.contains(register) && self.leaves(at, register)
            };
            let mut writers = self.effects.iter().enumerate().filter(writes);
            let in_place = |one: &Effect| one.reads.iter().all(|read| one.writes.contains(read));
            let counts = |(at, one): (usize, &Effect)| {
                let steps = (one.steps && in_place(one)) || one.carries;
                reloads[at] || steps && (self.always(at) || decides(register))
            };
            if !writers.clone().all(counts) {
                return None;
            }
            // Of a pair the first register stands for both.
            if writers.any(|(_, one)| one.steps && one.writes.first() == Some(register)) {
                out.insert(register.clone());
            }
        }
        Some(out)
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

    /// Slots on the stack that count: of one that takes several, that of its first byte or word.
    fn counted_slots(&self) -> usize {
        let mut further = BTreeSet::new();
        let mut slots = BTreeSet::new();
        for one in &self.effects {
            for register in &one.writes {
                let is_further = one.carries || one.writes.first() != Some(register);
                match is_further {
                    true => further.insert(register),
                    false => further.remove(register),
                };
            }
            if let Some(store) = one.stores.as_ref().filter(|s| !further.contains(&s.register)) {
                slots.insert(&store.slot);
            }
        }
        slots.len()
    }

    /// Registers that a turn of one way leaves as they were but for constant steps, also where they
    /// go through others: `subs r3, r0, #1` and later `mov r0, r3`.
    fn stepped(&self) -> BTreeSet<String> {
        if !self.of.has_one_way(self.flow) {
            return BTreeSet::new();
        }
        // What each register holds: another one at the beginning of the turn, and steps.
        let mut now: BTreeMap<&String, Option<(&String, bool)>> = BTreeMap::new();
        for one in &self.effects {
            let origin = match one.reads.as_slice() {
                [from] if one.steps || one.copies => {
                    let known = now.get(from).copied().unwrap_or(Some((from, false)));
                    known.map(|(origin, stepped)| (origin, stepped || one.steps))
                }
                _ => None,
            };
            now.extend(one.writes.iter().map(|register| (register, origin)));
        }
        let own = |(register, holds): (&&String, &Option<(&String, bool)>)| {
            holds.is_some_and(|(origin, stepped)| stepped && origin == *register)
        };
        now.iter().filter(|one| own(*one)).map(|(register, _)| (*register).clone()).collect()
    }

    /// What is stored on the stack in each turn is a counter, or what was loaded.
    fn stores_are_idle(&self, slots: &BTreeSet<&String>) -> Option<()> {
        // Loaded to be counted, and once more to be looked at.
        let decides = |slot: &String| {
            let loads = |one: &&Effect| {
                one.load
                    .as_ref()
                    .is_some_and(|load| matches!(load, Load::Base { text, .. } if text == slot))
            };
            self.effects.iter().filter(loads).nth(1).is_some()
        };
        let mut idle: BTreeSet<&String> = BTreeSet::new();
        for (at, one) in self.effects.iter().enumerate() {
            let copied =
                (one.copies || one.extends) && one.reads.iter().all(|read| idle.contains(read));
            let from_slot = one.load.as_ref().is_some_and(
                |load| matches!(load, Load::Base { text, .. } if slots.contains(text)),
            );
            if let Some(Store { register, slot, .. }) = &one.stores
                && !(idle.contains(register) && (self.always(at) || decides(slot)))
            {
                return None;
            }
            let is_idle = one.steps || one.carries || copied || (one.load.is_some() && !from_slot);
            for register in &one.writes {
                match is_idle {
                    true => idle.insert(register),
                    false => idle.remove(register),
                };
            }
        }
        Some(())
    }

    /// What is loaded in a turn and which functions are called to look; nothing if an address or
    /// an argument depends on a counter.
    fn sources(
        &self,
        before: &[Instruction],
        counters: &BTreeSet<String>,
        slots: &BTreeSet<&String>,
    ) -> Option<Waits> {
        let mut constants = Constants::default();
        let machine = self.firmware.machine();
        before.iter().for_each(|one| constants.take(effect(one, machine).as_ref(), one));
        let (mut tainted, mut out) = (counters.clone(), Waits::default());
        for (one, instruction) in self.effects.iter().zip(&self.body) {
            let depends = one.reads.iter().any(|read| tainted.contains(read));
            let mut from_slot = false;
            if let Some(load) = &one.load {
                if depends {
                    return None;
                }
                match load {
                    Load::At(at) => drop(out.sources.insert(For::Address(*at))),
                    Load::Base { text, .. } if slots.contains(text) => from_slot = true,
                    Load::Base { base, .. } if self.is_on_stack(base) => {}
                    Load::Base { .. } => drop(out.sources.insert(constants.place(load))),
                }
            }
            if let Some(called) = one.calls {
                if !arguments(self.firmware, called, DEPTH)?.is_disjoint(&tainted) {
                    return None;
                }
                reader(self.firmware, called, instruction.address, DEPTH, &mut out)?;
            }
            for register in &one.writes {
                match from_slot || (depends && one.load.is_none()) {
                    true => tainted.insert(register.clone()),
                    false => tainted.remove(register),
                };
            }
            constants.take(Some(one), instruction);
        }
        Some(out)
    }
}

/// Makes steps of additions of a register that is the same in every turn: a constant, set on every
/// way to the addition, or a value from before the loop. Whether there are some of the latter.
fn steps_by_registers(effects: &mut [Effect], body: &[&Instruction]) -> bool {
    let entries: BTreeSet<u32> =
        body.iter().filter_map(|one| Some(one.target.as_ref()?.address & !1)).collect();
    let written: BTreeSet<String> = effects.iter().flat_map(|one| one.writes.clone()).collect();
    let (mut constants, mut paced) = (Constants::default(), false);
    for (one, instruction) in effects.iter_mut().zip(body) {
        if entries.contains(&instruction.address) {
            constants = Constants::default();
        }
        if let Some((by, carries)) = &one.adds {
            let (is_constant, is_kept) = (constants.0.contains_key(by), !written.contains(by));
            if is_constant || is_kept {
                paced |= !is_constant;
                (one.carries, one.steps) = (*carries, !carries);
                one.reads.retain(|read| one.writes.contains(read));
            }
        }
        constants.take(Some(one), instruction);
    }
    paced
}
