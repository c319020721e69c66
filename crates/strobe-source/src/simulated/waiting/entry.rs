//! What registers hold where a loop is entered, as far as that is a constant: addresses of devices
//! and variables that the code before the loop has loaded.

use std::collections::{BTreeMap, VecDeque};

use super::flow::Loop;
use super::program::{Function, Program};
use super::step::{AVR_STACK, Address, Effect, Location, Next, Step};

/// Instructions that are looked at: in longer functions nothing is known.
const MAX_STEPS: usize = 16 << 10;

/// The registers whose value is a constant.
type Constants = [Option<u32>; AVR_STACK as usize + 1];

/// The constants in registers with which a loop is entered.
pub(super) fn constants(
    program: &Program<'_>,
    function: &Function,
    of: &Loop,
) -> Vec<(Location, u32)> {
    let mut before: BTreeMap<u32, Constants> = BTreeMap::new();
    before.insert(function.range.start, [None; AVR_STACK as usize + 1]);
    let mut open = VecDeque::from([function.range.start]);
    let mut steps = 0;
    while let Some(here) = open.pop_front() {
        steps += 1;
        if steps > MAX_STEPS {
            return Vec::new();
        }
        let Some(mut known) = before.get(&here).copied() else { continue };
        let successors = match function.step(here) {
            Some(step) => {
                apply(program, step, &mut known);
                step.successors()
            }
            // What it does is not known.
            None => {
                known = [None; AVR_STACK as usize + 1];
                let next = function.steps.range(here + 1..).next();
                next.map(|(next, _)| *next).into_iter().collect()
            }
        };
        for to in successors.into_iter().filter(|to| function.steps.contains_key(to)) {
            let is_back = to == of.head && of.body.contains(&here);
            if !is_back && meets(&mut before, to, &known) {
                open.push_back(to);
            }
        }
    }
    let found = before.remove(&of.head).unwrap_or([None; AVR_STACK as usize + 1]);
    let found = (0..).zip(found).filter_map(|(register, value)| Some((register, value?)));
    found.map(|(register, value)| (Location::Register(register), value)).collect()
}

/// What holds on this way, too; whether that changes what is known there.
fn meets(before: &mut BTreeMap<u32, Constants>, at: u32, known: &Constants) -> bool {
    let Some(there) = before.get_mut(&at) else {
        before.insert(at, *known);
        return true;
    };
    let mut changed = false;
    for (there, known) in there.iter_mut().zip(known) {
        if there.is_some() && there != known {
            (*there, changed) = (None, true);
        }
    }
    changed
}

fn apply(program: &Program<'_>, step: &Step, known: &mut Constants) {
    let of = |known: &Constants, place: &Location| match place {
        Location::Register(register) => known[usize::from(*register)],
        _ => None,
    };
    for effect in &step.effects {
        let (to, value) = match effect {
            Effect::Set(to, value) => (to, Some(*value)),
            Effect::Move(to, from, by) => (to, of(known, from).map(|n| n.wrapping_add_signed(*by))),
            Effect::Load(to, Address::Fixed(at)) => (to, program.constant(*at)),
            Effect::Sum(to, ..)
            | Effect::Carry(to, ..)
            | Effect::Test(to, _)
            | Effect::Make(to, _)
            | Effect::Load(to, _) => (to, None),
            Effect::Store(..) => continue,
        };
        if let Location::Register(register) = to {
            known[usize::from(*register)] = value.filter(|_| !step.conditional);
        }
    }
    if matches!(step.next, Next::Call(_)) {
        let lost = (0..=AVR_STACK).filter(|&register| program.conventions().is_clobbered(register));
        lost.for_each(|register| known[usize::from(register)] = None);
    }
}
