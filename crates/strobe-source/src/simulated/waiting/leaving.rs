//! Whether what a loop has left in registers and slots is used behind it: in the function, in what
//! that calls, and where it returns to.
//!
//! A loop that waits leaves nothing but the time that it took, and what it has read last.
//! Quotients, positions and sums are used by somebody, or compilers would not have kept them.

use std::collections::BTreeSet;

use strobe_symbols::{Instruction, Machine};

use super::body::Turn;
use super::constants::Constants;
use super::effect::{Load, effect, frame, is_kept, number};
use super::flow::Flow;
use super::places::place;
use super::program::{Decoded, Program, pointer};
use super::reader::DEPTH;

/// Callers of a function that are looked at.
const MOST_CALLERS: usize = 8;

/// A function's instructions.
struct Function<'a> {
    code: &'a [Instruction],
    flow: &'a Flow,
}

impl Turn<'_> {
    /// What comes of the turns before this one and is used behind the loop.
    pub(super) fn left(&self) -> BTreeSet<String> {
        let all = 0..self.effects.len();
        let own: BTreeSet<usize> = all.clone().filter(|&at| self.depends_on_itself(at)).collect();
        // What it has read last depends on nothing that the turn before has done.
        let goes_on = |&at: &usize| !self.parts_of(vec![at]).is_disjoint(&own);
        self.left_by(all.filter(goes_on))
    }

    /// Whether anything that the loop writes is used behind it.
    pub(super) fn leaves_anything(&self) -> bool {
        !self.left_by(0..self.effects.len()).is_empty()
    }

    /// Of what these instructions write, but for constants, what is used behind the loop.
    fn left_by(&self, which: impl Iterator<Item = usize>) -> BTreeSet<String> {
        let mut out: BTreeSet<String> = BTreeSet::new();
        for at in which {
            let one = &self.effects[at];
            if one.calls.is_some() || one.constant.is_some() {
                continue;
            }
            let slot = self.slot(at).filter(|_| one.stores.is_some());
            let used = |what: &&String| !out.contains(*what) && self.is_used_behind(what);
            let all: Vec<String> = one.writes.iter().chain(slot).filter(used).cloned().collect();
            out.extend(all);
        }
        out
    }

    /// Whether the loop goes in steps of one to a number, so that it is known where that ends: not
    /// until some bits are set.
    pub(super) fn steps_by_one(&self) -> bool {
        let is_one = |instruction: &Instruction| {
            let last = instruction.operands.rsplit(',').next().map(str::trim);
            let by = last.and_then(number);
            matches!(instruction.mnemonic.as_str(), "inc" | "dec")
                || matches!(by, Some(1 | 0xff | u32::MAX))
        };
        let looks_at_bits = |instruction: &Instruction| {
            let name = instruction.mnemonic.as_str();
            name.starts_with("tst") || matches!(name, "sbrs" | "sbrc")
        };
        self.effects.iter().zip(&self.body).all(|(one, &instruction)| {
            !looks_at_bits(instruction) && (!one.steps || is_one(instruction))
        })
    }

    fn is_used_behind(&self, what: &str) -> bool {
        let next = self.of.turn.iter().flat_map(|&at| self.flow.next(at)).copied();
        let behind = next.filter(|at| !self.of.turn.contains(at)).collect();
        let is_register = |one: &String| one == what;
        if self.effects.iter().any(|one| one.writes.iter().any(is_register)) {
            let function = Function { code: self.code, flow: self.flow };
            return is_used(self.program, &function, behind, what, DEPTH);
        }
        self.is_loaded(behind, what)
    }

    /// Whether a slot is loaded on a way from there before it is stored.
    fn is_loaded(&self, from: Vec<usize>, slot: &str) -> bool {
        let machine = self.program.machine();
        let frame = self.code.iter().find_map(|one| frame(one, machine));
        let mut known = Constants::at_entry(machine);
        // What each instruction does to the slot: it loads, or it stores.
        let mut access = Vec::with_capacity(self.code.len());
        for instruction in self.code {
            let one = effect(instruction, machine);
            let (mut loads, mut stores) = (false, false);
            if let Some(one) = &one {
                let is_slot = |to: &Load| {
                    place(to, &known, frame).key().is_some_and(|key| key.as_str() == slot)
                };
                loads = one.load.as_ref().is_some_and(is_slot);
                stores = one.stores.as_ref().is_some_and(|store| is_slot(&store.to));
            }
            access.push((loads, stores));
            known.take(one.as_ref(), instruction);
        }
        let (mut seen, mut open) = (BTreeSet::new(), from);
        while let Some(at) = open.pop() {
            let (loads, stores) = access[at];
            if loads {
                return true;
            }
            if !stores && seen.insert(at) {
                open.extend(self.flow.next(at));
            }
        }
        false
    }
}

/// Whether a function may return something in a register, up to eight bytes (AAPCS 5.4; avr-gcc's
/// ABI).
fn is_result(register: &str, machine: Machine) -> bool {
    let number: Option<u32> = register.strip_prefix('r').and_then(|n| n.parse().ok());
    let results = match machine {
        Machine::Avr => 18..26,
        _ => 0..2,
    };
    number.is_some_and(|n| results.contains(&n))
}

/// Whether a register is used on a way from these instructions before it is written.
fn is_used(
    program: &Program<'_>,
    function: &Function<'_>,
    from: Vec<usize>,
    register: &str,
    depth: u32,
) -> bool {
    let machine = program.machine();
    let &Function { code, flow } = function;
    let (Some(first), Some(last)) = (code.first(), code.last()) else { return false };
    let inside = first.address..=last.address;
    let is = |one: &String| one == register;
    let (mut seen, mut open) = (BTreeSet::new(), from);
    while let Some(at) = open.pop() {
        if !seen.insert(at) {
            continue;
        }
        let instruction = &code[at];
        let Some(one) = effect(instruction, machine) else {
            // Where a pointer leads, it may be an argument.
            let calls = !pointer(instruction).is_empty();
            if names(instruction, register) || calls && is_result(register, machine) {
                return true;
            }
            if !calls || is_kept(register, machine) {
                open.extend(flow.next(at));
            }
            continue;
        };
        if one.reads.iter().any(is) {
            return true;
        }
        let to = instruction.target.as_ref().map(|to| to.address & !1);
        let jumps = to.filter(|to| one.calls.is_none() && !inside.contains(to));
        if let Some(to) = one.calls.or(jumps).filter(|_| !is_kept(register, machine)) {
            if depth > 0 && is_used_in(program, to, register, depth - 1) {
                return true;
            }
            if one.calls.is_some() {
                continue;
            }
        }
        if one.returns {
            let is_result = depth > 0 && is_result(register, machine);
            if is_result && is_used_by_callers(program, first.address, register, depth - 1) {
                return true;
            }
            continue;
        }
        if one.maybe || !one.writes.iter().any(is) {
            open.extend(flow.next(at));
        }
    }
    false
}

/// Whether an instruction has a register among its operands.
fn names(instruction: &Instruction, register: &str) -> bool {
    let text = &instruction.operands;
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == register)
}

/// Whether a function uses what is in a register when it is called.
fn is_used_in(program: &Program<'_>, start: u32, register: &str, depth: u32) -> bool {
    let Some(found) = program.around(start) else { return false };
    let Decoded { code, flow } = &*found;
    let Ok(first) = code.binary_search_by_key(&start, |one| one.address) else { return false };
    is_used(program, &Function { code, flow }, vec![first], register, depth)
}

/// Whether one of those that have called a function uses what it leaves in a register.
fn is_used_by_callers(program: &Program<'_>, start: u32, register: &str, depth: u32) -> bool {
    let calls = program.called.iter().filter(|(_, to)| to.map(|to| to & !1) == Some(start));
    let mut sites = calls.map(|(&site, _)| site & !1).take(MOST_CALLERS).peekable();
    if sites.peek().is_none() {
        // Whoever has jumped there may.
        return true;
    }
    sites.any(|site| {
        let Some(found) = program.around(site) else { return false };
        let Decoded { code, flow } = &*found;
        let Ok(at) = code.binary_search_by_key(&site, |one| one.address) else { return false };
        if effect(&code[at], program.machine()).is_some_and(|one| one.returns) {
            // A jump: it returns to whoever has called this one.
            let around = code.first().map_or(site, |first| first.address);
            return depth > 0 && is_used_by_callers(program, around, register, depth - 1);
        }
        let behind = flow.next(at).to_vec();
        is_used(program, &Function { code, flow }, behind, register, depth)
    })
}
