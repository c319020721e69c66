//! One function, instruction by instruction: the stack's depth at each of them, and at each call.
//!
//! Where paths meet, what both know holds and the larger depth counts. Every instruction is looked
//! at a limited number of times, so that a loop which pushes for ever ends, too.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use strobe_symbols::{CodeKind, Firmware};

use super::step::{Flow, Step, To};
use super::tables;
use super::{Call, Function, Target};

/// How often an instruction is looked at: a depth that still grows then has no bound.
const MOST_VISITS: u16 = 48;

/// What interprets a machine's instructions.
pub(super) trait Interpreter {
    type State: Known;

    /// Interprets the instruction at an address; `None` where there is none.
    fn step(&self, at: u32, state: &mut Self::State) -> Option<Step>;
    /// The size of an instruction that is not looked at.
    fn size_at(&self, at: u32) -> u32;
}

/// What is known between two instructions.
pub(super) trait Known: Clone {
    /// At a function's first instruction.
    fn entry() -> Self;
    /// Bytes that the stack pointer is below its value at entry.
    fn depth(&self) -> i32;
    /// Bytes below the process stack pointer at which something was stored.
    fn saved(&self) -> u32 {
        0
    }
    /// Takes over what holds on another path too; the larger depth counts. Returns whether anything
    /// changed.
    fn join(&mut self, other: &Self) -> bool;
    /// A call has come back.
    fn after_call(&mut self);
    /// The constants in the first four argument registers.
    fn arguments(&self) -> [Option<u32>; 4] {
        [None; 4]
    }
}

/// What holds for all functions of a walk.
pub(super) struct Around<'a> {
    pub(super) firmware: &'a Firmware,
    /// Functions that never come back.
    pub(super) endless: &'a HashSet<u32>,
    /// Code that is jumped to and belongs to whoever jumps there (`__prologue_saves__`).
    pub(super) shared: &'a [Range<u64>],
    /// Jumps there stay in the function (`__tablejump2__`).
    pub(super) computed: &'a HashSet<u32>,
    /// Calls there go on through the table behind the call (`__gnu_thumb1_case_uqi`).
    pub(super) cases: &'a HashMap<u32, tables::Case>,
}

pub(super) struct Walk<'a, I: Interpreter> {
    around: &'a Around<'a>,
    interpreter: &'a I,
    /// The function's addresses.
    range: Range<u64>,
    states: BTreeMap<u32, (I::State, u16)>,
    work: Vec<u32>,
    /// The state at jumps whose targets in the function are unknown.
    computed: Option<I::State>,
    /// Instructions behind those that link, and the state with which control comes back there.
    linked: BTreeSet<u32>,
    back: Option<I::State>,
    out: Function,
    steps: u64,
}

impl<'a, I: Interpreter> Walk<'a, I> {
    /// Walks a function from its first instruction; `steps` are what may be looked at, and what
    /// was is taken from them.
    pub(super) fn function(
        around: &'a Around<'a>,
        interpreter: &'a I,
        start: u32,
        range: Range<u64>,
        steps: &mut u64,
    ) -> Function {
        let out = Function { start, ..Function::default() };
        let mut walk = Walk {
            around,
            interpreter,
            range,
            states: BTreeMap::new(),
            work: Vec::new(),
            computed: None,
            linked: BTreeSet::new(),
            back: None,
            out,
            steps: *steps,
        };
        walk.enter(start, &I::State::entry());
        walk.run();
        walk.sweep();
        *steps = walk.steps;
        walk.out.is_cut = walk.steps == 0;
        walk.finish()
    }

    fn finish(mut self) -> Function {
        let mut deepest = (0, self.out.start);
        self.out.depths =
            self.states.iter().map(|(at, (state, _))| (*at, state.depth().max(0) as u32)).collect();
        for (at, depth) in self.out.depths.iter().chain(&self.out.after) {
            deepest = deepest.max((*depth, *at));
        }
        (self.out.deepest, self.out.deepest_at) = deepest;
        self.out
    }

    fn holds(&self, at: u32) -> bool {
        let at = u64::from(at);
        self.range.contains(&at) || self.around.shared.iter().any(|range| range.contains(&at))
    }

    fn is_code(&self, at: u32) -> bool {
        let kind = self.around.firmware.code_kind(at);
        matches!(kind, Some(CodeKind::Thumb | CodeKind::Avr))
    }

    /// Control comes to an instruction of the function.
    fn enter(&mut self, at: u32, state: &I::State) {
        if !self.is_code(at) {
            return;
        }
        match self.states.get_mut(&at) {
            None => {
                self.states.insert(at, (state.clone(), 1));
                self.work.push(at);
            }
            Some((known, visits)) => {
                if !known.join(state) {
                    return;
                }
                if *visits == MOST_VISITS {
                    self.out.unbounded.insert(at);
                    return;
                }
                *visits += 1;
                self.work.push(at);
            }
        }
    }

    fn run(&mut self) {
        while let Some(at) = self.work.pop() {
            if self.steps == 0 {
                return;
            }
            self.steps -= 1;
            let Some((state, _)) = self.states.get(&at) else { continue };
            let mut state = state.clone();
            let Some(step) = self.interpreter.step(at, &mut state) else {
                // Whoever is there may come back.
                self.out.returns = true;
                continue;
            };
            if step.is_dynamic {
                self.out.dynamic.insert(at);
            }
            self.out.is_floating |= step.is_floating;
            self.out.is_process |= step.is_process;
            self.out.lets_in |= step.lets_in;
            self.out.saved = self.out.saved.max(state.saved());
            let depth = state.depth().max(0) as u32;
            let after = self.out.after.entry(at).or_default();
            *after = depth.max(*after);
            self.follow(at, step, state);
        }
    }

    fn follow(&mut self, at: u32, step: Step, mut state: I::State) {
        let next = at.wrapping_add(step.size);
        if step.may_be_skipped && step.flow != Flow::Next {
            let state = state.clone();
            self.on(next, &state, at);
        }
        match step.flow {
            Flow::Next => self.on(next, &state, at),
            Flow::Branch(target) => {
                self.jump(at, To::Known(target), &state);
                self.on(next, &state, at);
            }
            Flow::Call(to) => self.call(at, next, to, &mut state),
            Flow::Jump(to) => self.jump(at, to, &state),
            Flow::Link(target) => self.link(at, next, target, &state),
            Flow::Back => self.come_back(&state),
            Flow::Computed => self.unknown_target(&state),
            Flow::Offsets(width) => {
                let targets = tables::offsets(self.around.firmware, next, width, &self.range);
                self.through(&targets, &state);
            }
            Flow::Return => self.out.returns = true,
            Flow::Stop => {}
        }
    }

    /// Control goes on behind an instruction; where the function ends, in the next one.
    fn on(&mut self, next: u32, state: &I::State, from: u32) {
        if self.holds(next) {
            self.enter(next, state)
        } else {
            self.leave(from, Target::Known(next), state)
        }
    }

    fn call(&mut self, at: u32, next: u32, to: To, state: &mut I::State) {
        let target = target(to);
        if let Target::Known(callee) = target {
            if let Some(case) = self.around.cases.get(&callee) {
                let targets = case.targets(self.around.firmware, next, &self.range);
                return self.through(&targets, state);
            }
            self.record(at, target, state, false);
            if self.around.endless.contains(&callee) {
                return;
            }
        } else {
            self.record(at, target, state, false);
        }
        state.after_call();
        // A call at a function's very end does not come back.
        if self.holds(next) {
            self.enter(next, state);
        }
    }

    fn jump(&mut self, at: u32, to: To, state: &I::State) {
        match to {
            To::Known(target) if self.around.computed.contains(&target) => {
                self.unknown_target(state)
            }
            To::Known(target) if self.holds(target) && self.is_code(target) => {
                self.enter(target, state);
            }
            To::Table(table) => {
                let targets = tables::words(self.around.firmware, table, &self.range);
                if targets.is_empty() {
                    self.leave(at, Target::Unknown, state)
                } else {
                    self.through(&targets, state)
                }
            }
            _ => self.leave(at, target(to), state),
        }
    }

    /// A jump within the function that leaves where it came from: that may be a way back.
    fn link(&mut self, at: u32, next: u32, target: u32, state: &I::State) {
        self.jump(at, To::Known(target), state);
        if self.holds(next)
            && self.linked.insert(next)
            && let Some(back) = self.back.clone()
        {
            self.enter(next, &back);
        }
    }

    /// Control comes back behind a jump that linked; which one it was is not known.
    fn come_back(&mut self, state: &I::State) {
        let is_new = match &mut self.back {
            Some(known) => known.join(state),
            None => {
                self.back = Some(state.clone());
                true
            }
        };
        let Some(back) = self.back.clone().filter(|_| is_new) else { return };
        for next in self.linked.clone() {
            self.enter(next, &back);
        }
    }

    /// A jump out of the function: whoever is called there returns to this function's caller.
    fn leave(&mut self, at: u32, to: Target, state: &I::State) {
        self.record(at, to, state, true);
    }

    fn through(&mut self, targets: &[u32], state: &I::State) {
        if targets.is_empty() {
            self.unknown_target(state);
        }
        for target in targets {
            self.enter(*target, state);
        }
    }

    fn unknown_target(&mut self, state: &I::State) {
        match &mut self.computed {
            Some(known) => _ = known.join(state),
            None => self.computed = Some(state.clone()),
        }
    }

    /// What nothing else leads to is taken to be reached by jumps with unknown targets.
    fn sweep(&mut self) {
        let Some(state) = self.computed.clone() else { return };
        let whole = self.range.end - self.range.start;
        if whole > MOST_SWEPT {
            self.out.returns = true;
            let at = self.out.start;
            return self.record(at, Target::Unknown, &state, true);
        }
        let mut at = self.range.start as u32;
        while u64::from(at) < self.range.end && self.steps > 0 {
            if !self.states.contains_key(&at) {
                self.enter(at, &state);
                self.run();
            }
            at = at.wrapping_add(self.interpreter.size_at(at));
        }
    }

    fn record(&mut self, at: u32, to: Target, state: &I::State, is_tail: bool) {
        let depth = state.depth().max(0) as u32;
        let arguments = state.arguments();
        let call = self.out.calls.entry((at, to, is_tail)).or_insert(Call { depth, arguments });
        call.depth = call.depth.max(depth);
        if call.arguments != arguments {
            for (own, other) in call.arguments.iter_mut().zip(arguments) {
                if *own != other {
                    *own = None;
                }
            }
        }
    }
}

/// The largest function that is swept; beyond, it is no function but code without symbols.
const MOST_SWEPT: u64 = 1 << 20;

fn target(to: To) -> Target {
    match to {
        To::Known(address) => Target::Known(address),
        To::Table(_) | To::Unknown => Target::Unknown,
    }
}
