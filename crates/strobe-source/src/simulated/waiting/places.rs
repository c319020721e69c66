//! Where the loads and stores of a loop go: slots of the function's frame, places that its
//! instructions show, or elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use strobe_symbols::{Instruction, Machine};

use super::constants::Constants;
use super::effect::{Effect, Load, effect};
use super::flow::{Flow, Loop};

/// Stands for the stack pointer at a function's entry: no memory of a Cortex-M is there (DDI 0403,
/// B3.1), so that addresses in the frame are constants like others.
pub(super) const STACK: u32 = 0xfff0_0000;

/// Bytes of a frame, at most.
const DEEPEST: u32 = 0x1_0000;

/// Where a load or store goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// A slot in the function's frame, by its address there or as it is written.
    Slot(String),
    /// Somewhere in the frame, as an element of an array.
    Frame,
    /// An address.
    Fixed(u32),
    Unknown,
}

impl Place {
    /// A name that is the same for the same place.
    pub(super) fn key(&self) -> Option<String> {
        match self {
            Place::Slot(slot) => Some(slot.clone()),
            Place::Fixed(at) => Some(format!("{at:#010x}")),
            Place::Frame | Place::Unknown => None,
        }
    }

    pub(super) fn is_in_frame(&self) -> bool {
        matches!(self, Place::Slot(_) | Place::Frame)
    }
}

/// Where one goes, with constants in registers and a function's frame pointer.
pub(super) fn place(load: &Load, known: &Constants, frame: Option<&str>) -> Place {
    let (base, index, offset, text) = match load {
        Load::At(at) => return Place::Fixed(*at),
        Load::Base { base, index, offset, text } => (base, index, *offset, text),
    };
    let is_frame = base == "sp" || frame == Some(base.as_str());
    let by = match index {
        Some(index) => known.0.get(index).copied().filter(|_| !text.contains("lsl")),
        None => Some(offset),
    };
    match (known.0.get(base), by) {
        (Some(at), Some(by)) => {
            let at = at.wrapping_add(by);
            match in_stack(at) {
                true => Place::Slot(format!("{at:#010x}")),
                false => Place::Fixed(at),
            }
        }
        (Some(at), None) if in_stack(*at) => Place::Frame,
        (None, Some(_)) if is_frame && index.is_none() => Place::Slot(text.clone()),
        (None, _) if is_frame => Place::Frame,
        _ => Place::Unknown,
    }
}

/// Whether an address stands for one in the frame.
pub(super) fn in_stack(at: u32) -> bool {
    at.wrapping_sub(STACK - DEEPEST) < 2 * DEEPEST
}

/// What is known of registers wherever a turn loads or stores: constants from before the loop in
/// those that it leaves alone, and what it sets itself on every way to the instruction.
pub(super) fn known(
    machine: Machine,
    before: &[Instruction],
    (flow, of): (&Flow, &Loop),
    body: &[&Instruction],
    effects: &[Effect],
) -> Vec<Constants> {
    let mut kept = Constants::at_entry(machine);
    before.iter().for_each(|one| kept.take(effect(one, machine).as_ref(), one));
    let written: BTreeSet<&String> = effects.iter().flat_map(|one| &one.writes).collect();
    kept.0.retain(|register, _| !written.contains(register));
    let numbers: BTreeMap<usize, usize> =
        of.turn.iter().enumerate().map(|(at, &number)| (number, at)).collect();
    // Behind each instruction, as far as it has been come to: what is known only becomes less.
    let mut behind: Vec<Option<Constants>> = vec![None; body.len()];
    let mut out = vec![kept.clone(); body.len()];
    let mut changes = true;
    while changes {
        changes = false;
        for (at, (one, instruction)) in effects.iter().zip(body).enumerate() {
            let from = flow.previous(of.turn[at]).iter();
            let all = from.filter_map(|from| behind[*numbers.get(from)?].as_ref());
            let entered = of.is_entered_at(of.turn[at]).then_some(&kept);
            let Some(now) = all.chain(entered).cloned().reduce(Constants::both) else { continue };
            let mut after = now.clone();
            after.take(Some(one), instruction);
            out[at] = now;
            changes |= behind[at].as_ref() != Some(&after);
            behind[at] = Some(after);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_one_place_whichever_register_leads_there() {
        let mut known = Constants::at_entry(Machine::Arm);
        for (register, at) in [("r7", STACK), ("r3", STACK + 7), ("r2", 5), ("r1", 0x2000_0010)] {
            known.0.insert(register.to_owned(), at);
        }
        let load = |base: &str, index: Option<&str>, offset: u32| {
            let (base, index) = (base.to_owned(), index.map(str::to_owned));
            let text = format!("[{base}, {offset}]");
            place(&Load::Base { base, index, offset, text }, &known, Some("r7"))
        };
        let slot = Place::Slot("0xfff00007".to_owned());
        assert_eq!(
            [load("r7", None, 7), load("sp", None, 7), load("r3", None, 0)],
            [slot.clone(), slot.clone(), slot]
        );
        assert_eq!(load("r7", Some("r2"), 0), Place::Slot("0xfff00005".to_owned()));
        assert_eq!(load("r7", Some("r9"), 0), Place::Frame);
        assert_eq!(load("r1", None, 4), Place::Fixed(0x2000_0014));
        assert_eq!(load("r0", None, 0), Place::Unknown);
    }
}
