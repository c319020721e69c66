//! Whether instructions do something that others notice.

use std::collections::BTreeSet;

use strobe_symbols::{Instruction, Machine};

use super::constants::Constants;
use super::effect::{effect, frame};
use super::places::place;

/// Whether some of a function's instructions call or store, but for its own frame: others notice
/// that. What is only computed in registers is part of what a loop finds out.
pub(super) fn act(code: &[Instruction], which: &BTreeSet<usize>, machine: Machine) -> bool {
    let frame = code.iter().find_map(|one| frame(one, machine));
    let mut known = Constants::at_entry(machine);
    let all = which.last().map_or(0, |last| last + 1);
    for (number, instruction) in code.iter().enumerate().take(all) {
        let one = effect(instruction, machine);
        if which.contains(&number) {
            // What is not known may do anything.
            let Some(one) = &one else { return true };
            let to = one.stores.as_ref().map(|store| place(&store.to, &known, frame));
            let stores = to.is_some_and(|to| !to.is_in_frame());
            if stores || one.calls.is_some() || one.claims.is_some() {
                return true;
            }
        }
        known.take(one.as_ref(), instruction);
    }
    false
}
