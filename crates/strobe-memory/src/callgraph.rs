//! Who calls whom, and how deep the stack is then, from the machine code of an image.
//!
//! `thumb.rs` and `avr.rs` know what instructions do to the stack pointer, `walk.rs`
//! follows them through a function, `tables.rs` through the tables of a `switch`, and `check.rs`
//! compares the outcome with the compiler's call frame information. A call of an address that the
//! code does not name is an unknown edge. This module knows no entry points and no sums.

mod avr;
mod check;
mod state;
mod step;
mod tables;
#[cfg(test)]
mod tests;
mod thumb;
mod walk;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use strobe_symbols::{CodeKind, Firmware, Machine};

use self::avr::Avr;
use self::thumb::Thumb;
use self::walk::{Around, Walk};

/// Instructions looked at for each one that the image has, at most: functions that call endless
/// ones are looked at again, and every instruction may be in several functions.
const STEPS_PER_HALFWORD: u64 = 64;

/// Rounds in which functions that never come back are found; each may show others that do not.
const MOST_ROUNDS: usize = 8;

/// Where a call goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Target {
    /// To this address.
    Known(u32),
    /// To an address in a register.
    Unknown,
}

/// A call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    /// Bytes that the caller has on the stack then.
    pub(crate) depth: u32,
    /// Constants in the first argument registers.
    pub(crate) arguments: [Option<u32>; 4],
}

/// A function: code with one entry.
#[derive(Debug, Clone, Default)]
pub(crate) struct Function {
    /// Its first instruction.
    pub(crate) start: u32,
    /// The most that it has on the stack by itself.
    pub(crate) deepest: u32,
    /// An instruction where that is so.
    pub(crate) deepest_at: u32,
    /// Its calls, by address, target, and whether it is a jump that leaves the function.
    pub(crate) calls: BTreeMap<(u32, Target, bool), Call>,
    /// Instructions that move the stack pointer by a number that only the program knows.
    pub(crate) dynamic: BTreeSet<u32>,
    /// Instructions at which the depth grows each time they are passed.
    pub(crate) unbounded: BTreeSet<u32>,
    /// It may come back.
    pub(crate) returns: bool,
    /// It uses the floating-point unit.
    pub(crate) is_floating: bool,
    /// It sets the process stack pointer.
    pub(crate) is_process: bool,
    /// Bytes below the process stack pointer that it puts there by another register, as a switch of
    /// threads saves registers.
    pub(crate) saved: u32,
    /// It lets interrupts in by itself, also where a handler calls it (AVR).
    pub(crate) lets_in: bool,
    /// Not all of it could be looked at.
    pub(crate) is_cut: bool,
    /// Where the call frame information differs.
    pub(crate) disagreement: Option<check::Disagreement>,
    /// Bytes on the stack before each instruction.
    depths: BTreeMap<u32, u32>,
    /// Bytes on the stack after each instruction.
    after: BTreeMap<u32, u32>,
}

/// All functions of an image.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// By address of the first instruction.
    pub(crate) functions: BTreeMap<u32, Function>,
    /// Bytes that a call pushes by itself.
    pub(crate) call_bytes: u32,
}

impl Graph {
    /// The graph of an image. `entries` are addresses of code that is entered from outside;
    /// `bounds`, what functions may take by dynamic allocation, by their address.
    pub(crate) fn new(firmware: &Firmware, entries: &[u32], bounds: &HashMap<u32, u32>) -> Graph {
        Building::new(firmware, bounds).finish(entries)
    }

    /// Whether any code uses the floating-point unit.
    pub(crate) fn is_floating(&self) -> bool {
        self.functions.values().any(|function| function.is_floating)
    }

    /// The most that a switch of threads saves on the stack of a thread, below the exception's
    /// frame.
    pub(crate) fn saved(&self) -> u32 {
        self.functions.values().map(|function| function.saved).max().unwrap_or(0)
    }

    /// The most that a function has on the stack when a callee begins: at its calls of that one, or
    /// at indirect calls if it has none or if there is no callee to name.
    pub(crate) fn bytes_at_call(&self, function: u32, callee: Option<u32>) -> u64 {
        let Some(function) = self.functions.get(&function) else { return 0 };
        let at = |target: Target| {
            let calls = function.calls.iter().filter(move |((_, to, _), _)| *to == target);
            let pushed = |is_tail: bool| if is_tail { 0 } else { self.call_bytes };
            let bytes = |depth: u32, is_tail| u64::from(depth) + u64::from(pushed(is_tail));
            calls.map(|((_, _, is_tail), call)| bytes(call.depth, *is_tail)).max()
        };
        let known = callee.and_then(|callee| at(Target::Known(callee)));
        known.or_else(|| at(Target::Unknown)).unwrap_or(0)
    }

    /// Whether threads have stacks of their own that handlers do not use.
    pub(crate) fn has_process_stacks(&self) -> bool {
        self.functions.values().any(|function| function.is_process)
    }
}

struct Building<'a> {
    firmware: &'a Firmware,
    bounds: &'a HashMap<u32, u32>,
    functions: BTreeMap<u32, Function>,
    endless: HashSet<u32>,
    shared: Vec<Range<u64>>,
    computed: HashSet<u32>,
    cases: HashMap<u32, tables::Case>,
    steps: u64,
}

impl<'a> Building<'a> {
    fn new(firmware: &'a Firmware, bounds: &'a HashMap<u32, u32>) -> Self {
        let bytes: u64 = firmware.code_ranges().map(|range| range.end - range.start).sum();
        let mut building = Building {
            firmware,
            bounds,
            functions: BTreeMap::new(),
            endless: HashSet::new(),
            shared: Vec::new(),
            computed: HashSet::new(),
            cases: HashMap::new(),
            steps: (bytes / 2 + 64).saturating_mul(STEPS_PER_HALFWORD),
        };
        for function in firmware.functions() {
            for name in function.linkage_names() {
                let range = u64::from(function.start)..function.end();
                match name {
                    "__prologue_saves__" | "__epilogue_restores__" => building.shared.push(range),
                    "__tablejump2__" | "__tablejump__" => {
                        _ = building.computed.insert(function.start)
                    }
                    name => {
                        let case = tables::Case::named(name);
                        building.cases.extend(case.map(|case| (function.start, case)));
                    }
                }
            }
        }
        building
    }

    fn finish(mut self, entries: &[u32]) -> Graph {
        let is_code = |at: &u32| {
            matches!(self.firmware.code_kind(*at), Some(CodeKind::Thumb | CodeKind::Avr))
        };
        let starts = self.firmware.functions().iter().map(|function| function.start);
        let mut work: Vec<u32> = starts.chain(entries.iter().copied()).filter(is_code).collect();
        let mut again = HashSet::new();
        for round in 0..MOST_ROUNDS {
            self.walk(work, &again);
            let before = self.endless.len();
            self.find_endless();
            if self.endless.len() == before || round + 1 == MOST_ROUNDS {
                break;
            }
            let calls_endless = |function: &&Function| {
                let mut calls = function.calls.keys();
                calls.any(|(_, to, _)| matches!(to, Target::Known(to) if self.endless.contains(to)))
            };
            work = self.functions.values().filter(calls_endless).map(|f| f.start).collect();
            again = work.iter().copied().collect();
        }
        for function in self.functions.values_mut() {
            check::check(self.firmware, function);
            function.depths = BTreeMap::new();
            function.after = BTreeMap::new();
        }
        Graph { functions: self.functions, call_bytes: self.firmware.return_address_bytes() }
    }

    /// Walks functions and whatever they call.
    fn walk(&mut self, mut work: Vec<u32>, again: &HashSet<u32>) {
        let mut done = HashSet::new();
        while let Some(start) = work.pop() {
            let is_known = self.functions.contains_key(&start) && !again.contains(&start);
            if is_known || !done.insert(start) {
                continue;
            }
            let function = self.function(start);
            if function.is_cut && self.functions.contains_key(&start) {
                // What was found when fewer were known to be endless is no less.
                continue;
            }
            for (_, to, _) in function.calls.keys() {
                if let Target::Known(to) = *to
                    && !self.functions.contains_key(&to)
                    && matches!(self.firmware.code_kind(to), Some(CodeKind::Thumb | CodeKind::Avr))
                {
                    work.push(to);
                }
            }
            self.functions.insert(start, function);
        }
    }

    fn function(&mut self, start: u32) -> Function {
        let firmware = self.firmware;
        let range = match firmware.function_at(start).map(|id| firmware.function(id)) {
            Some(function) => u64::from(function.start)..function.end(),
            None => unnamed(firmware, start),
        };
        let around = Around {
            firmware,
            endless: &self.endless,
            shared: &self.shared,
            computed: &self.computed,
            cases: &self.cases,
        };
        let bound = self.bounds.get(&start).copied().unwrap_or(0);
        let dynamic_bound = i32::try_from(bound).unwrap_or(i32::MAX);
        let steps = &mut self.steps;
        match firmware.machine() {
            Machine::Avr => {
                let return_bytes = firmware.return_address_bytes() as i32;
                let avr = Avr { firmware, return_bytes, dynamic_bound };
                Walk::function(&around, &avr, start, range, steps)
            }
            _ => {
                let thumb = Thumb { firmware, dynamic_bound };
                Walk::function(&around, &thumb, start, range, steps)
            }
        }
    }

    /// Functions that neither return nor leave for one that does.
    fn find_endless(&mut self) {
        loop {
            let returns = |function: &Function| {
                let comes_back = |to: &Target| match to {
                    Target::Known(to) => !self.endless.contains(to),
                    Target::Unknown => true,
                };
                let mut leaves = function.calls.keys().filter(|(_, _, is_tail)| *is_tail);
                function.returns || function.is_cut || leaves.any(|(_, to, _)| comes_back(to))
            };
            let more: Vec<u32> = self
                .functions
                .values()
                .filter(|f| !self.endless.contains(&f.start) && !returns(f))
                .map(|f| f.start)
                .collect();
            if more.is_empty() {
                return;
            }
            self.endless.extend(more);
        }
    }
}

/// Code without a symbol: up to the next function, or everything where there are no functions.
fn unnamed(firmware: &Firmware, start: u32) -> Range<u64> {
    let functions = firmware.functions();
    let after = functions.partition_point(|function| function.start <= start);
    let begin = functions[..after].last().map_or(0, |function| function.end());
    let end = functions.get(after).map_or(1 << 32, |function| u64::from(function.start));
    begin.min(u64::from(start))..end
}
