//! Whether instructions do something that others notice, or leave something that was found.

use std::collections::BTreeSet;

use strobe_symbols::{Instruction, Machine};

use super::constants::Constants;
use super::effect::{Effect, effect, frame};
use super::flow::unconditional;
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

/// Whether some instructions of a loop leave what it has found: a count or a sum that nothing in it
/// looks at, the first or the most of what it has read. What they count towards its end is none,
/// nor is what they keep to see whether it changes.
pub(super) fn find(
    code: &[Instruction],
    whole: &[usize],
    some: &BTreeSet<usize>,
    machine: Machine,
) -> bool {
    let one = |&number: &usize| Some((number, effect(&code[number], machine)?));
    let Some(all) = whole.iter().map(one).collect::<Option<Vec<(usize, Effect)>>>() else {
        return true;
    };
    let is_read = |to: &String| {
        all.iter().any(|(_, other)| other.reads.contains(to) && !other.writes.contains(to))
    };
    let is_compared = |(from, to): (&String, &String)| {
        let compares = |(at, other): &(usize, Effect)| {
            let reads = other.reads.contains(from) && other.reads.contains(to);
            let subtracts = ["sub", "sbc"].iter().any(|name| code[*at].mnemonic.starts_with(name));
            let equals = other.writes.is_empty() && for_equality(&code[at + 1..]);
            reads && (equals || !other.writes.is_empty() && subtracts)
        };
        all.iter().any(compares)
    };
    all.iter().filter(|(number, _)| some.contains(number)).any(|(number, one)| {
        if one.writes.is_empty() || one.load.is_some() {
            return one.stores.is_some();
        }
        let steps = one.steps || one.carries || one.constant.is_some();
        let moves = one.copies || one.extends;
        // `ands r0, r2, #255` or `subs r0, #1; bne`, to look at the flags.
        let masks = one.extends && code[*number].mnemonic.trim_end_matches(".w").ends_with('s');
        let tests = masks || one.steps && code.get(number + 1).is_some_and(branches);
        let is_kept = !one.copies || one.reads.iter().zip(&one.writes).all(is_compared);
        !(steps || moves) || !(tests || one.writes.iter().all(is_read)) || !is_kept
    })
}

/// Whether an instruction is a branch under a condition.
fn branches(one: &Instruction) -> bool {
    let name = one.mnemonic.trim_end_matches(".w").trim_end_matches(".n");
    name.starts_with('b') && unconditional(name).1
}

/// Whether the next branch or IT block asks for equality.
fn for_equality(code: &[Instruction]) -> bool {
    let asks = |one: &&Instruction| one.mnemonic.starts_with("it") || one.mnemonic.starts_with('b');
    let Some(next) = code.iter().find(asks) else { return false };
    let condition = match next.mnemonic.starts_with("it") {
        true => next.operands.as_str(),
        false => {
            let name = next.mnemonic.trim_end_matches(".w").trim_end_matches(".n");
            &name[unconditional(name).0.len()..]
        }
    };
    matches!(condition, "eq" | "ne")
}
