//! Whether a loop only waits, and what for.
//!
//! A loop that waits does the same in every turn: it loads from the same places, and all that a
//! turn leaves to the next one is counters that go in constant steps, as the milliseconds that are
//! left and the time of the last one. A loop that works leaves more: an address that moves, a sum,
//! a shifted value, something stored. A loop without loads whose one counter goes in steps is a
//! delay by counting; with two of them it may be a division.

use std::collections::{BTreeMap, BTreeSet};

use strobe_symbols::{Firmware, Instruction, Machine};

use super::effect::{Effect, Load, effect};

/// Instructions of a loop that may be a wait, and of a function that it may call.
pub(super) const MOST: usize = 48;

/// Calls within calls that are followed.
const DEPTH: u32 = 3;

/// What a loop waits for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum For {
    /// A place in the data space to change.
    Address(u32),
    /// Some place to change, which its instructions do not show.
    Somewhere,
}

/// A loop that waits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Waits {
    /// What for; empty for a delay by counting.
    pub sources: BTreeSet<For>,
    /// Functions that it calls, which do nothing but read, and where in the loop.
    pub calls: BTreeMap<u32, BTreeSet<u32>>,
}

/// What the loop of these instructions waits for, if it does nothing else. `before` are the
/// function's instructions up to the loop.
pub(super) fn waits(
    firmware: &Firmware,
    before: &[Instruction],
    body: &[Instruction],
) -> Option<Waits> {
    let machine = firmware.machine();
    let mut effects: Vec<Effect> =
        body.iter().map(|one| effect(one, machine)).collect::<Option<_>>()?;
    for one in &mut effects {
        // What compilers know of a function in the same file: which registers it leaves alone.
        let written = one.calls.and_then(|called| written_by(firmware, called, DEPTH));
        one.writes = written.unwrap_or_else(|| std::mem::take(&mut one.writes));
    }
    let paced = steps_by_registers(&mut effects, body);
    if effects.iter().any(|one| one.returns) {
        return None;
    }
    let mut constants = Constants::default();
    before.iter().for_each(|one| constants.take(effect(one, machine).as_ref(), one));
    let counters = counters(&effects)?;
    let slots: BTreeSet<&String> =
        effects.iter().filter_map(|one| Some(&one.stores.as_ref()?.0)).collect();
    stores_are_idle(&effects, &slots)?;
    let mut tainted = counters.clone();
    let mut out = Waits::default();
    for (one, instruction) in effects.iter().zip(body) {
        let depends = one.reads.iter().any(|read| tainted.contains(read));
        let mut from_slot = false;
        if let Some(load) = &one.load {
            if depends {
                return None;
            }
            match load {
                Load::At(at) => drop(out.sources.insert(For::Address(*at))),
                Load::Base { text, .. } if slots.contains(text) => from_slot = true,
                Load::Base { base, .. } if base == "sp" => {}
                Load::Base { .. } => drop(out.sources.insert(constants.place(load))),
            }
        }
        if let Some(called) = one.calls {
            reader(firmware, called, instruction.address, DEPTH, &mut out)?;
        }
        for register in &one.writes {
            match from_slot || (depends && one.load.is_none()) {
                true => tainted.insert(register.clone()),
                false => tainted.remove(register),
            };
        }
        constants.take(Some(one), instruction);
    }
    let counts = counters.len() + slots.len() == 1 && !paced && out.calls.is_empty();
    (!out.sources.is_empty() || counts).then_some(out)
}

/// Makes steps of additions of a register that is the same in every turn: a constant, set on every
/// way to the addition, or a value from before the loop. Whether there are some of the latter.
fn steps_by_registers(effects: &mut [Effect], body: &[Instruction]) -> bool {
    let entries: BTreeSet<u32> =
        body.iter().filter_map(|one| Some(one.target.as_ref()?.address & !1)).collect();
    let written: BTreeSet<String> = effects.iter().flat_map(|one| one.writes.clone()).collect();
    let (mut constants, mut paced) = (Constants::default(), false);
    for (one, instruction) in effects.iter_mut().zip(body) {
        if entries.contains(&instruction.address) {
            constants = Constants::default();
        }
        if let Some((by, carries)) = &one.adds {
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

/// Registers that a turn leaves to the next one; `None` if one of them does more than count.
/// Further bytes and words of one counter are not counted.
fn counters(effects: &[Effect]) -> Option<BTreeSet<String>> {
    let (mut written, mut live) = (BTreeSet::new(), BTreeSet::new());
    for one in effects {
        live.extend(one.reads.iter().filter(|read| !written.contains(*read)).cloned());
        written.extend(one.writes.iter().cloned());
    }
    let mut out = BTreeSet::new();
    for register in live.intersection(&written) {
        let mut writers = effects.iter().filter(|one| one.writes.contains(register));
        let in_place = |one: &Effect| one.reads.iter().all(|read| one.writes.contains(read));
        if !writers.clone().all(|one| (one.steps && in_place(one)) || one.carries) {
            return None;
        }
        // Of a pair the first register stands for both.
        if writers.any(|one| one.steps && one.writes.first() == Some(register)) {
            out.insert(register.clone());
        }
    }
    Some(out)
}

/// What is stored on the stack is a counter, or what was loaded.
fn stores_are_idle(effects: &[Effect], slots: &BTreeSet<&String>) -> Option<()> {
    let mut idle: BTreeSet<&String> = BTreeSet::new();
    for one in effects {
        let copied = one.copies && one.reads.iter().all(|read| idle.contains(read));
        let from_slot = one
            .load
            .as_ref()
            .is_some_and(|load| matches!(load, Load::Base { text, .. } if slots.contains(text)));
        if let Some((_, register)) = &one.stores
            && !idle.contains(register)
        {
            return None;
        }
        let is_idle = one.steps || one.carries || copied || (one.load.is_some() && !from_slot);
        for register in &one.writes {
            match is_idle {
                true => idle.insert(register),
                false => idle.remove(register),
            };
        }
    }
    Some(())
}

/// The instructions of a short function.
fn short(firmware: &Firmware, at: u32) -> Option<Vec<Instruction>> {
    let function = firmware.function(firmware.function_at(at)?);
    let end = u32::try_from(function.end()).ok()?;
    let code: Vec<Instruction> =
        firmware.instructions(function.start..end).take(MOST + 1).collect();
    (function.start & !1 == at & !1 && code.len() <= MOST).then_some(code)
}

/// The registers that a short function and what it calls write.
fn written_by(firmware: &Firmware, at: u32, depth: u32) -> Option<Vec<String>> {
    let mut all = BTreeSet::new();
    for instruction in short(firmware, at).filter(|_| depth > 0)? {
        let one = effect(&instruction, firmware.machine())?;
        match one.calls {
            Some(called) => all.extend(written_by(firmware, called, depth - 1)?),
            None => all.extend(one.writes),
        }
    }
    Some(all.into_iter().collect())
}

/// A function that does nothing but read, as one that returns the tick; its loads are sources. It
/// may shift or divide what it has read, in loops that load nothing.
fn reader(firmware: &Firmware, at: u32, site: u32, depth: u32, out: &mut Waits) -> Option<()> {
    let code = short(firmware, at).filter(|_| depth > 0)?;
    let effects: Vec<Effect> =
        code.iter().map(|one| effect(one, firmware.machine())).collect::<Option<_>>()?;
    let mut constants = Constants::default();
    for (at, (one, instruction)) in effects.iter().zip(&code).enumerate() {
        let target = instruction.target.as_ref().filter(|_| one.calls.is_none());
        if let Some(target) = target.filter(|to| to.address <= instruction.address) {
            let first = code.partition_point(|one| one.address < target.address & !1);
            let turn = effects.get(first..=at)?;
            let works = turn.iter().any(|one| one.load.is_some() || one.calls.is_some());
            let is_outside = target.address & !1 < code.first()?.address;
            if is_outside || works && !leaves(turn, &code[first..=at]) {
                return None;
            }
        }
        match &one.load {
            Some(Load::Base { base, .. }) if base == "sp" => {}
            Some(load) => drop(out.sources.insert(constants.place(load))),
            None => {}
        }
        if let Some(called) = one.calls {
            reader(firmware, called, site, depth - 1, out)?;
        }
        constants.take(Some(one), instruction);
    }
    out.calls.entry(at & !1).or_default().insert(site);
    Some(())
}

/// Whether what is jumped back to returns before it comes to the jump again: an end that several
/// cases of a `switch` share, and no loop.
fn leaves(turn: &[Effect], code: &[Instruction]) -> bool {
    let end = turn.iter().position(|one| one.returns);
    end.is_some_and(|end| code[..end].iter().all(|one| one.target.is_none()))
}

/// Constants in registers, by the order of the instructions.
#[derive(Debug, Default)]
struct Constants(BTreeMap<String, u32>);

impl Constants {
    fn take(&mut self, effect: Option<&Effect>, instruction: &Instruction) {
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

    fn place(&self, load: &Load) -> For {
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

/// Whether a branch of this kind can close a loop.
pub(super) fn closes_loop(instruction: &Instruction, machine: Machine) -> bool {
    let name = instruction.mnemonic.as_str();
    let jumps = match machine {
        Machine::Avr => name.starts_with("br") || name == "rjmp" || name == "jmp",
        _ => {
            // `blo`, `bls`, `blt` and `ble` are conditions, not calls.
            let name = name.trim_end_matches(".w").trim_end_matches(".n");
            name.starts_with('b') && !["bl", "blx", "bx", "bxj"].contains(&name)
                || name.starts_with("cb")
        }
    };
    jumps && instruction.target.as_ref().is_some_and(|to| to.address <= instruction.address)
}
