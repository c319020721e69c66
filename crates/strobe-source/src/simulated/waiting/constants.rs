//! Constants in registers.

use std::collections::BTreeMap;

use strobe_symbols::{Instruction, Machine};

use super::body::For;
use super::effect::{Effect, Load, number};
use super::places::{STACK, in_stack};

/// Constants in registers, by the order of the instructions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Constants(pub(super) BTreeMap<String, u32>);

impl Constants {
    /// At a function's entry.
    pub(super) fn at_entry(machine: Machine) -> Constants {
        let stack = (machine == Machine::Arm).then(|| ("sp".to_owned(), STACK));
        Constants(stack.into_iter().collect())
    }

    /// Follows one instruction, whose effect is not known if there is none.
    pub(super) fn take(&mut self, effect: Option<&Effect>, instruction: &Instruction) {
        let Some(one) = effect else {
            // Whatever it is, it may write what it names, and all that lies between.
            let text = &instruction.operands;
            let named: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).collect();
            let moved = written_back(instruction)
                .and_then(|(base, by)| Some((base.to_owned(), self.0.get(base)?.wrapping_add(by))));
            self.0.retain(|register, _| {
                register == "sp" || !(text.contains('-') || named.contains(&register.as_str()))
            });
            self.0.extend(moved);
            return;
        };
        let name = instruction.mnemonic.trim_end_matches(".w");
        let last = instruction.operands.rsplit(',').next().unwrap_or_default().trim();
        let immediate = last.strip_prefix('#').and_then(number);
        let value_of = |n: usize| one.reads.get(n).and_then(|read| self.0.get(read)).copied();
        let known = value_of(0);
        let is_sum = matches!(name, "add" | "adds") && !one.maybe && one.reads.len() == 2;
        let shifts = instruction.operands.split(',').count() > 3;
        let sum = known.zip(value_of(1)).filter(|_| is_sum && !shifts);
        let value = match (one.constant, known.zip(immediate)) {
            (Some(value), _) => Some(value),
            (None, Some((known, by))) => match name.trim_end_matches('s') {
                "movt" => Some(known & 0xffff | by << 16),
                _ if one.maybe => None,
                "add" | "addw" => Some(known.wrapping_add(by)),
                "sub" | "subw" => Some(known.wrapping_sub(by)),
                "lsl" => known.checked_shl(by),
                _ => None,
            },
            // `adds r3, r7, r3`: a slot of a large frame.
            (None, None) if is_sum => sum.map(|(known, by)| known.wrapping_add(by)),
            (None, None) => known.filter(|_| one.copies),
        };
        // Of a pair that is copied, each register is known or not.
        let copied = one.copies && one.constant.is_none();
        let of = |n: usize| if copied && n > 0 { value_of(n) } else { value };
        let values: Vec<Option<u32>> = (0..one.writes.len()).map(of).collect();
        for (register, value) in one.writes.iter().zip(values) {
            match value {
                Some(value) => self.0.insert(register.clone(), value),
                None => self.0.remove(register),
            };
        }
    }

    /// What is in registers, if that is known. R1 is zero in an AVR's compiled code.
    pub(super) fn values(&self, registers: &[String], machine: Machine) -> Option<Vec<u32>> {
        let zero = |register: &String| (machine == Machine::Avr && register == "r1").then_some(0);
        registers.iter().map(|one| self.0.get(one).copied().or_else(|| zero(one))).collect()
    }

    /// What is the same on two ways.
    pub(super) fn both(mut self, other: Constants) -> Constants {
        self.0.retain(|register, value| other.0.get(register) == Some(value));
        self
    }

    /// Where a load is from.
    pub(super) fn place(&self, load: &Load) -> For {
        match load {
            Load::At(at) => For::Address(*at),
            Load::Base { base, index: None, offset, .. } => {
                let at = self.0.get(base).map(|base| base.wrapping_add(*offset));
                at.filter(|&at| !in_stack(at)).map_or(For::Somewhere, For::Address)
            }
            Load::Base { .. } => For::Somewhere,
        }
    }
}

/// The register that a store moves on, and how far: `str r2, [r3, #0xc]!`.
fn written_back(instruction: &Instruction) -> Option<(&str, u32)> {
    let name = instruction.mnemonic.trim_end_matches(".w");
    let text = instruction.operands.strip_suffix("]!");
    let text = text.filter(|_| ["str", "strb", "strh"].contains(&name))?;
    let (base, by) = text.split_once('[')?.1.split_once(',')?;
    Some((base.trim(), number(by.trim())?))
}

#[cfg(test)]
mod tests {
    use super::super::effect::effect;
    use super::*;

    fn after(known: &[(&str, u32)], mnemonic: &str, operands: &str) -> Constants {
        let known = known.iter().map(|&(register, value)| (register.to_owned(), value));
        let mut out = Constants(known.collect());
        let instruction = Instruction {
            address: 0,
            size: 4,
            halfwords: [0; 2],
            mnemonic: mnemonic.to_owned(),
            operands: operands.to_owned(),
            target: None,
            literal: None,
        };
        out.take(effect(&instruction, Machine::Arm).as_ref(), &instruction);
        out
    }

    #[test]
    fn what_is_known_on_two_ways_is_the_same_on_both() {
        let known = |all: &[(&str, u32)]| {
            Constants(all.iter().map(|&(register, value)| (register.to_owned(), value)).collect())
        };
        let one = known(&[("r1", 1), ("r2", 2), ("r3", 3)]);
        let other = known(&[("r1", 1), ("r2", 4)]);
        assert_eq!(one.both(other), known(&[("r1", 1)]));
    }

    #[test]
    fn registers_that_an_instruction_moves_on_stay_known() {
        let known = [("r2", 1), ("r3", 0x2000_0010), ("r7", STACK)];
        let stored = after(&known, "str", "r2, [r3, #0xc]!");
        assert_eq!(stored.0.get("r3"), Some(&0x2000_001c));
        let sum = after(&known, "adds", "r3, r7, r2");
        assert_eq!(sum.0.get("r3"), Some(&(STACK + 1)));
        let shifted = after(&known, "add.w", "r3, r7, r2, lsl #2");
        assert_eq!(shifted.0.get("r3"), None);
        let several = after(&known, "ldm", "r0, {r1-r4}");
        assert!(several.0.is_empty());
        let negative = after(&known, "mov.w", "r1, #-0x1fff2000");
        assert_eq!(negative.0.get("r1"), Some(&0xe000_e000));
    }
}
