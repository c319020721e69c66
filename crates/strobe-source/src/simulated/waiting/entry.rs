//! What registers hold where a loop is entered, as far as that is a constant: addresses of devices
//! and variables that the code before the loop has loaded.

use std::collections::{BTreeMap, VecDeque};

use strobe_symbols::Machine;

use super::flow::Loop;
use super::live::is_lost;
use super::program::{Function, Program};
use super::step::{Location, Next};
use super::turn::Turn;
use super::value::{Exact, State, join};

/// Instructions that are interpreted: in longer functions nothing is known.
const MAX_STEPS: usize = 16 << 10;

/// The constants with which a loop is entered.
pub(super) fn constants(program: &Program<'_>, function: &Function, of: &Loop) -> State {
    let mut before: BTreeMap<u32, State> = BTreeMap::from([(function.range.start, State::new())]);
    let mut open = VecDeque::from([function.range.start]);
    let mut steps = 0;
    while let Some(here) = open.pop_front() {
        steps += 1;
        if steps > MAX_STEPS {
            return State::new();
        }
        let mut state = before.get(&here).cloned().unwrap_or_default();
        let successors = match function.step(here) {
            Some(step) => {
                Turn::default().apply(program, step, &mut state);
                if matches!(step.next, Next::Call(_)) {
                    clobber(program.machine(), &mut state);
                }
                step.successors()
            }
            // What it does is not known.
            None => {
                state.clear();
                let next = function.steps.range(here + 1..).next();
                next.map(|(next, _)| *next).into_iter().collect()
            }
        };
        for to in successors.into_iter().filter(|to| function.steps.contains_key(to)) {
            if to == of.head && of.body.contains(&here) {
                continue;
            }
            match before.get_mut(&to) {
                Some(known) => {
                    if !join(known, &state) {
                        continue;
                    }
                }
                None => _ = before.insert(to, state.clone()),
            }
            open.push_back(to);
        }
    }
    let mut out = before.remove(&of.head).unwrap_or_default();
    out.retain(|place, value| {
        matches!(place, Location::Register(_)) && matches!(value.exact, Exact::Constant(_))
    });
    out
}

/// What calls need not preserve is not known behind one.
fn clobber(machine: Machine, state: &mut State) {
    state.retain(|place, _| match place {
        Location::Register(register) => !is_lost(machine, *register),
        _ => true,
    });
}
