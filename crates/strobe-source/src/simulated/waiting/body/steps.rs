//! Additions that are steps of a counter.

use std::collections::BTreeSet;

use strobe_symbols::Instruction;

use crate::simulated::waiting::constants::Constants;
use crate::simulated::waiting::effect::Effect;

/// Makes steps of additions of a register that is the same in every turn: a constant, set on every
/// way to the addition, or a value from before the loop. Whether there are some of the latter.
pub(super) fn steps_by_registers(effects: &mut [Effect], body: &[&Instruction]) -> bool {
    let entries: BTreeSet<u32> =
        body.iter().filter_map(|one| Some(one.target.as_ref()?.address & !1)).collect();
    let written: BTreeSet<String> = effects.iter().flat_map(|one| one.writes.clone()).collect();
    let (mut constants, mut paced) = (Constants::default(), false);
    for (one, instruction) in effects.iter_mut().zip(body) {
        if entries.contains(&instruction.address) {
            constants = Constants::default();
        }
        let is_add = instruction.mnemonic.starts_with("add");
        let to = one.writes.first().filter(|to| is_add && constants.0.contains_key(*to));
        if let Some((by, false)) = one.adds.clone().filter(|_| to.is_some() && !one.maybe) {
            // `ldi r25, 0xff; add r25, r24`: a step of the other one.
            (one.steps, one.reads) = (true, vec![by]);
        } else if let Some((by, carries)) = &one.adds {
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
