//! Functions that a waiting loop calls: whether they only read, what they are given, and which
//! registers they leave alone.

use std::collections::BTreeSet;

use strobe_symbols::{Instruction, Machine};

use super::body::{MOST, Waits, waits};
use super::constants::Constants;
use super::effect::{Effect, Load, effect, frame, is_kept};
use super::flow::{Flow, Loop};
use super::places::place;
use super::program::Program;

/// Calls within calls that are followed.
pub(super) const DEPTH: u32 = 3;

/// The instructions of a short function.
fn short(program: &Program<'_>, at: u32) -> Option<Vec<Instruction>> {
    let function = program.firmware.function(program.firmware.function_at(at)?);
    let end = u32::try_from(function.end()).ok()?;
    let code: Vec<Instruction> = program.instructions(function.start..end).take(MOST + 1).collect();
    (function.start & !1 == at & !1 && code.len() <= MOST).then_some(code)
}

/// What an instruction of a function does. A jump out of it is a call whose return is the
/// function's own.
fn effect_in(code: &[Instruction], at: usize, machine: Machine) -> Option<Effect> {
    let one = effect(&code[at], machine)?;
    let target = code[at].target.as_ref().filter(|_| one.calls.is_none()).map(|to| to.address & !1);
    let inside = code.first()?.address..=code.last()?.address;
    Some(match target.filter(|to| !inside.contains(to)) {
        Some(to) => Effect { calls: Some(to), ..one },
        None => one,
    })
}

/// The registers that a short function and what it calls write, but for those that functions leave
/// as they were.
pub(super) fn written_by(program: &Program<'_>, at: u32, depth: u32) -> Option<Vec<String>> {
    let mut all = BTreeSet::new();
    let code = short(program, at).filter(|_| depth > 0)?;
    for number in 0..code.len() {
        let one = effect_in(&code, number, program.machine())?;
        match one.calls {
            Some(called) => all.extend(written_by(program, called, depth - 1)?),
            None => all.extend(one.writes),
        }
    }
    all.retain(|register| !is_kept(register, program.machine()));
    Some(all.into_iter().collect())
}

/// The registers that a short function and what it calls are given: those that it reads before it
/// writes them.
pub(super) fn arguments(program: &Program<'_>, at: u32, depth: u32) -> Option<BTreeSet<String>> {
    let (mut written, mut out) = (BTreeSet::new(), BTreeSet::new());
    let code = short(program, at).filter(|_| depth > 0)?;
    for number in 0..code.len() {
        let one = effect_in(&code, number, program.machine())?;
        let read = match one.calls {
            Some(called) => {
                // The register with a pointer is read as well.
                let mut read = arguments(program, called, depth - 1)?;
                read.extend(one.reads);
                read
            }
            None => one.reads.into_iter().collect(),
        };
        out.extend(read.difference(&written).cloned());
        written.extend(one.writes);
    }
    Some(out)
}

/// A function that does nothing but read, as one that returns the tick; its loads are sources. It
/// may shift or divide what it has read, in loops that load nothing, and store the same in every
/// call, as one that keeps a watchdog from biting.
pub(super) fn reader(
    program: &Program<'_>,
    at: u32,
    (site, given): (u32, &Constants),
    depth: u32,
    out: &mut Waits,
) -> Option<()> {
    let machine = program.machine();
    let code = short(program, at).filter(|_| depth > 0)?;
    let effects: Vec<Effect> =
        (0..code.len()).map(|at| effect_in(&code, at, machine)).collect::<Option<_>>()?;
    let frame = code.iter().find_map(|one| frame(one, machine));
    let mut constants = Constants::at_entry(machine);
    for register in ["r0", "r1", "r2", "r3"] {
        let value = given.0.get(register).filter(|_| machine == Machine::Arm);
        constants.0.extend(value.map(|value| (register.to_owned(), *value)));
    }
    let flow = Flow::of(&code, machine);
    for (number, (one, instruction)) in effects.iter().zip(&code).enumerate() {
        let target = instruction.target.as_ref().filter(|_| one.calls.is_none());
        if let Some(target) = target.filter(|to| to.address <= instruction.address) {
            let first = code.partition_point(|one| one.address < target.address & !1);
            let turn = effects.get(first..=number)?;
            let works = turn.iter().any(|one| one.load.is_some() || one.calls.is_some());
            let again = || reads_again(program, &code, &effects, &flow, number);
            if works && !leaves(turn, &code[first..=number]) && !again() {
                return None;
            }
        }
        let is_inside = |load: &Load| place(load, &constants, frame).is_in_frame();
        if one.claims.is_some() {
            return None;
        }
        if let Some(store) = one.stores.as_ref().filter(|store| !is_inside(&store.to)) {
            // The same in every call: what is not known may be an argument, and what is jumped over
            // happens in some calls.
            let jumps = |(before, one): (&Instruction, &Effect)| {
                before.target.is_some() && one.calls.is_none()
            };
            if one.maybe || code[..number].iter().zip(&effects).any(jumps) {
                return None;
            }
            let values = constants.values(&store.registers, machine)?;
            let key = place(&store.to, &constants, frame).key();
            let name = key.unwrap_or_else(|| format!("{:#x}", instruction.address));
            out.stores.insert((name, values));
        }
        if let Some(load) = one.load.as_ref().filter(|load| !is_inside(load)) {
            out.sources.insert(constants.place(load));
        }
        if let Some(called) = one.calls {
            reader(program, called, (site, &constants), depth - 1, out)?;
        }
        constants.take(Some(one), instruction);
    }
    out.calls.entry(at & !1).or_default().insert(site);
    Some(())
}

/// Whether the loops with a jump only read again, until what they have read is of one moment: the
/// time in milliseconds and the counter below it.
fn reads_again(
    program: &Program<'_>,
    code: &[Instruction],
    effects: &[Effect],
    flow: &Flow,
    jump: usize,
) -> bool {
    let mut around =
        flow.loops().into_iter().filter(|one| !one.part && one.turn.contains(&jump)).peekable();
    let waits = |one: Loop| {
        let calls = one.turn.iter().any(|&at| effects[at].calls.is_some());
        let idles = |waits: Waits| !waits.counts && waits.stores.is_empty();
        !calls && waits(program, code, flow, &one).is_some_and(idles)
    };
    around.peek().is_some() && around.all(waits)
}

/// Whether what is jumped back to returns before it comes to the jump again: an end that several
/// cases of a `switch` share, and no loop.
fn leaves(turn: &[Effect], code: &[Instruction]) -> bool {
    let end = turn.iter().position(|one| one.returns);
    end.is_some_and(|end| code[..end].iter().all(|one| one.target.is_none()))
}
