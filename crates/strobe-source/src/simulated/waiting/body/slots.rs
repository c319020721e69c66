//! What a turn stores on the stack and in variables.

use std::collections::{BTreeMap, BTreeSet};

use strobe_symbols::Machine;

use super::Turn;
use crate::simulated::waiting::deciding::Deciding;

impl Turn<'_> {
    /// Slots on the stack that count: of one that takes several, that of its first byte or word.
    pub(super) fn counted_slots(&self) -> usize {
        let mut further = BTreeSet::new();
        let mut slots = BTreeSet::new();
        for (at, one) in self.effects.iter().enumerate() {
            for register in &one.writes {
                let is_further = one.carries || one.writes.first() != Some(register);
                match is_further {
                    true => further.insert(register),
                    false => further.remove(register),
                };
            }
            let first = one.stores.as_ref().and_then(|store| store.registers.first());
            if first.is_some_and(|register| !further.contains(register)) {
                slots.extend(self.slot(at));
            }
        }
        slots.len()
    }

    /// Whether a turn leaves something in a slot or variable that the next one loads.
    pub(super) fn counts_in_memory(&self) -> bool {
        self.loads().any(|at| self.slot(at).is_some_and(|slot| self.is_carried(at, slot)))
    }

    /// R1 is zero in an AVR's compiled code.
    fn is_zero(&self, register: &str) -> bool {
        self.program.machine() == Machine::Avr && register == "r1"
    }

    fn loads(&self) -> impl Iterator<Item = usize> {
        (0..self.effects.len()).filter(|&at| self.effects[at].load.is_some())
    }

    /// Whether a slot has what one part of a turn hands to another: it is stored before each time
    /// that it is loaded.
    fn is_passed_on(&self, slot: &String) -> bool {
        let mut loads = self.loads().filter(|&at| self.slot(at) == Some(slot)).peekable();
        loads.peek().is_some() && loads.all(|at| !self.is_carried(at, slot))
    }

    /// What is stored on the stack in each turn is a counter, or what was loaded, or all that it
    /// does is to end the loop; a counter may begin anew, and what is loaded again in the same turn
    /// may be anything. What is stored in a variable is a count of the turns in it.
    pub(super) fn stores_are_idle(&self, deciding: &Deciding) -> Option<()> {
        // Loaded to be counted, and once more to be looked at.
        let decides = |slot: &String| {
            let loads =
                |at: &usize| self.effects[*at].load.is_some() && self.slot(*at) == Some(slot);
            (0..self.effects.len()).filter(loads).nth(1).is_some()
        };
        let mut idle: BTreeSet<&String> = BTreeSet::new();
        // Registers with what was in a variable, and steps.
        let mut counted: BTreeMap<&String, &String> = BTreeMap::new();
        let sets = |at: usize, register: &String| {
            deciding.has(at) && (self.is_zero(register) || self.is_constant(at, register))
        };
        for (at, one) in self.effects.iter().enumerate() {
            let slot = self.slot(at);
            if let Some(store) = one.stores.as_ref().filter(|_| !self.same.contains_key(&at)) {
                let slot = slot?;
                let counts = |register: &String| match self.is_variable(at) {
                    true => counted.get(register) == Some(&slot) && self.always(at),
                    false => {
                        let counts = idle.contains(register) && (self.always(at) || decides(slot));
                        counts || sets(at, register)
                    }
                };
                let is_free = deciding.sums(self, at) || self.is_passed_on(slot);
                let is_free = is_free && !self.is_variable(at);
                if !is_free && !store.registers.iter().all(counts) {
                    return None;
                }
            }
            let copies = one.copies || one.extends;
            let copied = copies && one.reads.iter().all(|read| idle.contains(read));
            let loads = one.load.is_some() && slot.is_none();
            let stays = !one.maybe || one.writes.iter().all(|own| idle.contains(own));
            let is_idle = (one.steps || one.carries || copied || loads) && stays;
            let moves = one.steps || one.carries || copies;
            let counts = |n: usize| match &one.load {
                Some(_) => slot,
                None => one.origin(n).filter(|_| moves).and_then(|from| counted.get(from).copied()),
            };
            let values: Vec<_> = (0..one.writes.len()).map(counts).collect();
            for (register, value) in one.writes.iter().zip(values) {
                match is_idle {
                    true => idle.insert(register),
                    false => idle.remove(register),
                };
                match value {
                    Some(value) => counted.insert(register, value),
                    None => counted.remove(register),
                };
            }
        }
        Some(())
    }
}
