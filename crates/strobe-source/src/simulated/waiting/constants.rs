//! Constants in registers.

use std::collections::BTreeMap;

use strobe_symbols::Instruction;

use super::body::For;
use super::effect::{Effect, Load};

/// Constants in registers, by the order of the instructions.
#[derive(Debug, Default)]
pub(super) struct Constants(pub(super) BTreeMap<String, u32>);

impl Constants {
    /// Follows one instruction, whose effect is not known if there is none.
    pub(super) fn take(&mut self, effect: Option<&Effect>, instruction: &Instruction) {
        let Some(one) = effect else {
            // Whatever it is, it may write its first operand.
            let first = instruction.operands.split(',').next().unwrap_or_default().trim();
            self.0.remove(first);
            return;
        };
        let name = instruction.mnemonic.trim_end_matches(".w");
        let last = instruction.operands.rsplit(',').next().unwrap_or_default().trim();
        let immediate = last.strip_prefix('#').and_then(|text| match text.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        });
        let known = one.reads.first().and_then(|read| self.0.get(read)).copied();
        let value = match (one.constant, known.zip(immediate)) {
            (Some(value), _) => Some(value),
            (None, Some((known, by))) => match name.trim_end_matches('s') {
                "movt" => Some(known & 0xffff | by << 16),
                "add" | "addw" => Some(known.wrapping_add(by)),
                "sub" | "subw" => Some(known.wrapping_sub(by)),
                "lsl" => known.checked_shl(by),
                _ => None,
            },
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
                let base = self.0.get(base);
                base.map_or(For::Somewhere, |base| For::Address(base.wrapping_add(*offset)))
            }
            Load::Base { .. } => For::Somewhere,
        }
    }
}
