//! Distinguishes threads: whose stack the stack pointer is in.
//!
//! Nothing is asked of the firmware. A thread that was interrupted goes on with the stack pointer
//! that it had then; a stack pointer anywhere else belongs to another thread: to the one whose
//! stack it is in, or to a new one. Where a [`Layout`] is known, the operating system's own note of
//! who runs decides instead, and gives names.
//!
//! Where the core shows how the stack pointer moved, that decides first (`threads/moves.rs`):
//! pushes and sums stay on one stack, and a value from elsewhere is where another one begins or
//! goes on.
//!
//! The stack pointer changes hands at an exception's return or, where threads switch by hand,
//! between two instructions; the second is noticed at the next call, return or jump. Only stacks
//! count, so it makes no difference whether threads use the main or the process stack pointer.

mod floors;
mod moves;
mod whose;

use std::collections::HashMap;

pub use self::floors::Crossed;
use self::moves::{By, Set};
use self::whose::Judgement;
use super::overflow::Floor;
use super::rtos::Layout;
use crate::kernel::bus::Bus;

/// A thread, as far as it has been seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thread {
    /// Its structure in the operating system, where that is known.
    pub structure: Option<u32>,
    /// Its name; empty if it has none.
    pub name: String,
    /// Its priority when it last began to run.
    pub priority: Option<i64>,
    /// The number that the operating system gave it.
    pub id: Option<i64>,
    /// The lowest stack pointer seen, frames of exceptions included.
    pub low: u32,
    /// The highest stack pointer seen.
    pub top: u32,
    /// Where its stack ends by the operating system, when it last began to run.
    base: Option<u32>,
    /// The stack pointer when it was last interrupted or gave up its stack.
    parked: u32,
    /// The highest end of another stack that lies within this one, or 0: one of them has grown into
    /// the other, or the memory has been given to another thread.
    overlap: u32,
    /// The highest end of a stack below that was in use at the same time, or 0.
    neighbour: u32,
}

/// Bytes of a frame that an exception's entry stacks, at least.
const FRAME: u32 = 32;

/// Where a switch has gone to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Landed {
    /// Nobody knows, or a thread that is new.
    #[default]
    Somewhere,
    /// Exactly where the thread had stopped.
    WhereItStopped,
    /// The end of a known stack: another thread has been given it.
    Anew,
}

/// All threads seen so far.
#[derive(Debug, Default)]
pub struct Threads {
    all: Vec<Thread>,
    by_structure: HashMap<u32, usize>,
    /// The thread that runs or, in a handler, was interrupted.
    current: usize,
    /// Where the running thread's stack pointer may be without anybody looking closer: from here
    /// on,
    low: u32,
    /// so many bytes.
    span: u32,
    /// Variables of the firmware, sorted: two stacks in different ones are different stacks.
    areas: Vec<(u32, u32)>,
    layout: Option<Layout>,
    /// Where the stack from reset should end.
    floors: Vec<Floor>,
    /// The stacks that went further than a floor, once each.
    noted: Vec<(usize, Floor)>,
    /// What the stack pointer has gone below with the latest move, if it has.
    crossed: Option<Crossed>,
    /// Where an instruction has set the stack pointer to, since the last look.
    set: Option<Set>,
    /// Whether the core shows how the stack pointer moves.
    follows: bool,
    /// Where the last switch went to.
    landed: Landed,
    /// Threads that are not kept apart.
    pub cut: u64,
}

impl Threads {
    /// The thread from reset alone.
    pub fn new() -> Self {
        Threads { all: vec![Thread::default()], ..Threads::default() }
    }

    /// States where variables are (start, end) and what is known of the operating system.
    pub fn know(&mut self, mut areas: Vec<(u32, u32)>, layout: Option<Layout>) {
        areas.sort_unstable();
        self.areas = areas;
        self.layout = layout;
    }

    /// States where the stack that code from reset has should end.
    pub fn know_floors(&mut self, floors: Vec<Floor>) {
        self.floors = floors;
    }

    /// Where a thread's stack ends, as far as the operating system, the firmware's symbols or the
    /// variable that the stack is in show.
    pub fn floor(&self, thread: usize, bus: &Bus) -> Option<u32> {
        let known = self.all.get(thread)?;
        // What was a structure is anything once its thread has ended.
        let now = || self.layout.as_ref()?.stack(known.structure?, bus);
        let base = known.base.or_else(now);
        let from_reset = || {
            let floors = self.floors.iter().filter_map(|floor| floor.address(bus));
            floors.filter(|floor| thread == 0 && *floor < known.top).max()
        };
        let around = || Some(self.areas[self.area(known.top)?].0.max(known.neighbour));
        base.filter(|base| *base < known.top).or_else(from_reset).or_else(around)
    }

    /// Whether a stack has at most the size that its [floor](Threads::floor) gives it: others are
    /// in the same variable, and only where they end is known.
    pub fn shares_its_memory(&self, thread: usize, bus: &Bus) -> bool {
        let Some(known) = self.all.get(thread) else { return false };
        let around = self.area(known.top).map(|area| self.areas[area].0);
        let is_there = |(number, other): (usize, &Thread)| {
            number != thread && other.top != 0 && self.area(other.top) == self.area(known.top)
        };
        let floor = self.floor(thread, bus);
        around.is_some()
            && known.base.is_none()
            && (floor == around || floor == Some(known.neighbour))
            && self.all.iter().enumerate().any(is_there)
    }

    /// Whether a thread is still there by the operating system: its structure has its number and
    /// its stack.
    pub fn is_there(&self, thread: usize, bus: &Bus) -> bool {
        let Some(known) = self.all.get(thread) else { return false };
        let Some((layout, structure)) = self.layout.as_ref().zip(known.structure) else {
            return true;
        };
        let same_stack = known.base.is_none() || layout.stack(structure, bus) == known.base;
        same_stack && layout.id(structure, bus) == known.id
    }

    /// All threads, in the order in which they first ran; the first is the code from reset.
    pub fn all(&self) -> &[Thread] {
        &self.all
    }

    /// Whether the last of [`Threads::all`] stands for several that could not be kept apart.
    pub fn last_is_rest(&self) -> bool {
        self.cut > 0
    }

    /// The thread that runs or, in a handler, was interrupted.
    #[inline]
    pub fn current(&self) -> usize {
        self.current
    }

    /// Whether the operating system shows which threads could run.
    pub fn know_readiness(&self) -> bool {
        self.layout.as_ref().is_some_and(|layout| !layout.ready.is_empty())
    }

    /// How many bytes a thread's structure takes, where that is known.
    pub fn structure_bytes(&self) -> Option<u32> {
        self.layout.as_ref()?.bytes
    }

    /// Whether a thread could run now, by the operating system's structures.
    pub fn is_ready(&self, thread: usize, bus: &Bus) -> Option<bool> {
        self.layout.as_ref()?.is_ready(self.all[thread].structure?, bus)
    }

    /// Whether [`Threads::state_words`] are all that decide whether a thread could run.
    pub fn state_words_suffice(&self) -> bool {
        self.layout.as_ref().is_some_and(Layout::states_are_inside)
    }

    /// Where the words are that decide whether a thread could run.
    pub fn state_words(&self, thread: usize) -> impl Iterator<Item = u32> + '_ {
        let structure = self.all[thread].structure;
        let ready = self.layout.iter().flat_map(|layout| &layout.ready);
        ready
            .filter_map(move |ready| ready.state.fixed().zip(structure))
            .map(|(offset, structure)| structure.wrapping_add(offset) & !3)
    }

    /// The code from reset begins (again) with this stack pointer.
    pub fn reset(&mut self, sp: u32) {
        (self.current, self.set) = (0, None);
        let first = &mut self.all[0];
        (first.low, first.top) =
            if first.top == 0 { (sp, sp) } else { (first.low.min(sp), first.top.max(sp)) };
        self.watch();
    }

    /// Whether the running thread's stack pointer is where it has not been yet.
    #[inline(always)]
    pub fn is_elsewhere(&self, sp: u32) -> bool {
        sp.wrapping_sub(self.low) > self.span
    }

    /// A handler takes over from the thread, whose stack pointer was this.
    pub fn interrupted(&mut self, sp: u32) {
        let thread = &mut self.all[self.current];
        thread.parked = sp;
        thread.low = thread.low.min(sp.wrapping_sub(FRAME));
        // Handlers have stacks of their own, whichever they like.
        (self.low, self.span) = (0, u32::MAX);
    }

    /// The last handler has ended: which thread goes on with this stack pointer?
    pub fn resumed(&mut self, sp: u32, bus: &Bus) -> usize {
        if sp == self.all[self.current].parked {
            self.watch();
        } else {
            let to = self.find(sp, By::Unknown, bus);
            self.switch(to, sp, By::Unknown, bus);
        }
        self.current
    }

    /// The running thread's stack pointer [is elsewhere](Threads::is_elsewhere): has its stack
    /// grown, or is it another thread's? `fresh` means that the thread has called nothing so
    /// far, so that its stack may just be being set up; `calls`, that it is about to call,
    /// which no code does that has only just taken over another stack.
    pub fn moved(&mut self, sp: u32, fresh: bool, calls: bool, bus: &Bus) -> usize {
        let by = self.by();
        self.set = None;
        let stays = !matches!(by, By::Set(_)) && calls && !fresh;
        let overflows = stays && self.overflows(sp, by, bus);
        let thread = &self.all[self.current];
        let judgement = if overflows { Judgement::Grown } else { self.judge(sp, by, fresh, bus) };
        match judgement {
            Judgement::Grown => self.reach(thread.low.min(sp), thread.top.max(sp)),
            Judgement::SetUp => self.reach(sp, sp),
            Judgement::Other => {
                let to = self.find(sp, by, bus);
                if let By::Set(set) = by {
                    self.all[self.current].parked = set.before;
                }
                self.switch(to, sp, by, bus);
            }
        }
        self.current
    }

    fn reach(&mut self, low: u32, top: u32) {
        let thread = &mut self.all[self.current];
        (thread.low, thread.top) = (low, top);
        self.overlap();
        self.watch();
    }

    fn switch(&mut self, to: usize, sp: u32, by: By, bus: &Bus) {
        self.land(to, sp, by);
        self.current = to;
        let is_rest = self.cut > 0 && to + 1 == self.all.len();
        let thread = &mut self.all[to];
        (thread.low, thread.top) = (thread.low.min(sp), thread.top.max(sp));
        if is_rest {
            *thread = Thread { low: thread.low, top: thread.top, ..Thread::default() };
        } else if let (Some(layout), Some(structure)) = (&self.layout, thread.structure) {
            let name = layout.name(structure, bus);
            if !name.is_empty() {
                thread.name = name;
            }
            thread.priority = layout.priority(structure, bus);
            thread.id = layout.id(structure, bus);
            let base = layout.stack(structure, bus).filter(|base| (1..sp).contains(base));
            thread.base = base.or(thread.base);
        }
        self.watch();
    }

    fn watch(&mut self) {
        let thread = &self.all[self.current];
        let low = thread.low.max(thread.overlap);
        (self.low, self.span) = (low, thread.top.wrapping_sub(low));
    }
}

#[cfg(test)]
mod tests;
