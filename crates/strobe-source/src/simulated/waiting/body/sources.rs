//! What a loop looks at, and whether that is the same in every turn.

use std::collections::BTreeSet;

use strobe_symbols::Instruction;

use super::{Turn, Waits};
use crate::simulated::waiting::constants::Constants;
use crate::simulated::waiting::effect::effect;
use crate::simulated::waiting::places::Place;
use crate::simulated::waiting::program::pointer;
use crate::simulated::waiting::reader::{DEPTH, arguments, reader};

impl Turn<'_> {
    /// What is loaded in a turn and which functions are called to look; nothing if an address or
    /// an argument depends on a counter.
    pub(super) fn sources(
        &self,
        before: &[Instruction],
        counters: &BTreeSet<String>,
    ) -> Option<Waits> {
        let machine = self.program.machine();
        let mut constants = Constants::at_entry(machine);
        before.iter().for_each(|one| constants.take(effect(one, machine).as_ref(), one));
        let stores = self.same.values().cloned().collect();
        let (mut tainted, mut out) = (counters.clone(), Waits { stores, ..Waits::default() });
        let inner = self.of.inner(self.flow);
        let mut slots: BTreeSet<String> = BTreeSet::new();
        for (at, (one, instruction)) in self.effects.iter().zip(&self.body).enumerate() {
            let depends = one.reads.iter().any(|read| tainted.contains(read));
            let acts = one.multiplies || self.same.contains_key(&at);
            if depends && (acts || self.repeats(at, &inner)) {
                return None;
            }
            let slot = self.slot(at);
            let left = |slot: &String| self.is_carried(at, slot) || slots.contains(slot);
            let from_slot = one.load.is_some() && slot.is_some_and(left);
            if one.stores.is_some() && depends {
                slots.extend(slot.cloned());
            }
            if let Some(load) = &one.load {
                if self.leads(at).iter().any(|lead| tainted.contains(lead)) {
                    return None;
                }
                let is_inside = self.places[at].as_ref().is_some_and(Place::is_in_frame);
                if !(slot.is_some() || is_inside || self.leads_to_a_call(at)) {
                    out.sources.insert(constants.place(load));
                }
            }
            if let Some(called) = one.calls {
                if !arguments(self.program, called, DEPTH)?.is_disjoint(&tainted) {
                    return None;
                }
                let site = (instruction.address, &constants);
                reader(self.program, called, site, DEPTH, &mut out)?;
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

    /// The registers that lead a load to where it goes: not the one that stays what it was in an IT
    /// block, which is read last.
    fn leads(&self, at: usize) -> &[String] {
        let one = &self.effects[at];
        let stay = if one.maybe { one.writes.len() } else { 0 };
        &one.reads[..one.reads.len().saturating_sub(stay)]
    }

    /// Whether what an instruction loads is where a call goes, and nothing else.
    fn leads_to_a_call(&self, at: usize) -> bool {
        let to = &self.effects[at].writes;
        let uses = |n: &usize| {
            let one = &self.effects[*n];
            one.reads.iter().chain(&one.writes).any(|used| to.contains(used))
        };
        let next = (at + 1..self.effects.len()).find(uses);
        let is_pointer =
            |n: usize| to.iter().all(|one| pointer(self.body[n]).contains(&one.as_str()));
        next.is_some_and(is_pointer)
    }
}
