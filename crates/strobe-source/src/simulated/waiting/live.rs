//! Whether what a register holds at the end of a loop is used behind it.

use std::collections::BTreeSet;

use super::flow::Loop;
use super::program::{Function, Program};
use super::step::{Address, Effect, Location, Next, Step};

/// Whether any way out of a loop leads to an instruction that uses a register before another writes
/// it. Where nobody knows, it does.
pub(super) fn is_used_behind(
    program: &Program<'_>,
    function: &Function,
    of: &Loop,
    register: u8,
) -> bool {
    let leaves = of.body.iter().filter_map(|&at| function.step(at)).flat_map(Step::successors);
    let conventions = program.conventions();
    let mut open: Vec<u32> = leaves.filter(|to| !of.body.contains(to)).collect();
    let mut seen: BTreeSet<u32> = BTreeSet::new();
    while let Some(at) = open.pop() {
        if !seen.insert(at) || of.body.contains(&at) {
            continue;
        }
        let Some(step) = function.step(at) else { return true };
        if reads(step, register) {
            return true;
        }
        if step.writes().any(|written| written == register) && !step.conditional {
            continue;
        }
        match step.next {
            Next::Call(_) if conventions.arguments.contains(&register) => return true,
            Next::Call(_) if conventions.is_clobbered(register) => continue,
            Next::Jump(to) if !function.steps.contains_key(&to) => return true,
            Next::Return if conventions.results.contains(&register) => return true,
            _ => {}
        }
        open.extend(step.successors());
    }
    false
}

fn reads(step: &Step, register: u8) -> bool {
    let is_it = |place: &Location| *place == Location::Register(register);
    let leads = |address: &Address| match address {
        Address::Fixed(_) => false,
        Address::Base(low, high, _) => *low == register || *high == Some(register),
        Address::Computed(parts) => parts.iter().any(is_it),
    };
    let by_branch = matches!(&step.next, Next::Branch { by, .. } if is_it(by));
    by_branch
        || step.effects.iter().any(|effect| match effect {
            Effect::Set(..) => false,
            Effect::Move(_, from, _) => is_it(from),
            Effect::Carry(_, from, others) => is_it(from) || others.iter().any(is_it),
            Effect::Sum(_, a, b, _) => is_it(a) || is_it(b),
            Effect::Test(_, from) | Effect::Make(_, from) => from.iter().any(is_it),
            Effect::Load(_, address) => leads(address),
            Effect::Store(address, from) => is_it(from) || leads(address),
        })
}
