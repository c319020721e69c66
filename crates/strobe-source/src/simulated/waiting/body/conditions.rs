//! Registers that an IT block writes either way.

use strobe_symbols::Instruction;

use crate::simulated::waiting::effect::Effect;
use crate::simulated::waiting::flow::unconditional;

/// Conditions and their opposites.
const OPPOSITES: [(&str, &str); 8] = [
    ("eq", "ne"),
    ("hs", "lo"),
    ("cs", "cc"),
    ("mi", "pl"),
    ("vs", "vc"),
    ("hi", "ls"),
    ("ge", "lt"),
    ("gt", "le"),
];

/// `moveq r3, #1` and `movne r3, #0` leave nothing of what was in the register: the first of two
/// writes under opposite conditions is made one without a condition, which the other may replace.
pub(super) fn join(effects: &mut [Effect], body: &[&Instruction]) {
    for (first, instruction) in body.iter().enumerate() {
        let [register] = effects[first].writes.as_slice() else { continue };
        if !effects[first].maybe {
            continue;
        }
        let replaces = |(at, one): (usize, &Effect)| {
            let own = one.reads.iter().filter(|read| *read == register).count();
            one.writes == effects[first].writes
                && own == 1
                && are_opposite(condition(instruction), condition(body[at]))
        };
        let mut block = effects.iter().enumerate().skip(first + 1).take_while(|(_, one)| one.maybe);
        if block.any(replaces) {
            // What it may leave is read last.
            effects[first].reads.pop();
            effects[first].maybe = false;
        }
    }
}

fn condition(instruction: &Instruction) -> &str {
    let name = instruction.mnemonic.trim_end_matches(".w").trim_end_matches(".n");
    let (plain, _) = unconditional(name);
    &name[plain.len()..]
}

fn are_opposite(one: &str, other: &str) -> bool {
    OPPOSITES.iter().any(|&pair| pair == (one, other) || pair == (other, one))
}
