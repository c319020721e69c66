//! Constants in registers.

use std::collections::BTreeMap;

use strobe_symbols::{Instruction, Machine};

use super::body::For;
use super::effect::{Effect, Load, number};
use super::places::{STACK, in_stack};

/// Constants in registers, by the order of the instructions.
#[derive(Debug, Clone, Default)]
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
            self.0.retain(|register, _| {
                register == "sp" || !(text.contains('-') || named.contains(&register.as_str()))
            });
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
        for register in &one.writes {
            match value {
                Some(value) => self.0.insert(register.clone(), value),
                None => self.0.remove(register),
            };
        }
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
