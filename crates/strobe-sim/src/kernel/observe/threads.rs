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

use std::collections::HashMap;

pub use self::floors::Crossed;
use self::moves::{By, Set};
use super::StackWindow;
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

/// Threads kept apart; all that begin later share one entry.
const MAX_THREADS: usize = 1024;

/// Bytes of a frame that an exception's entry stacks, at least.
const FRAME: u32 = 32;

/// This close below what a thread was seen to use is its own stack: a frame made by hand, the
/// registers that its switch saved.
const MARGIN: u32 = 64;

/// The most that one call takes from a stack in memory that a symbol names. Further down is another
/// stack in the same memory.
const FRAME_IN_AREA: u32 = 1024;

/// The same in memory without a name, where big frames are likelier than other stacks.
const FRAME_ANYWHERE: u32 = 1 << 16;

/// What a stack pointer in a new place means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judgement {
    /// The thread uses more of its stack.
    Grown,
    /// The thread has been given its stack just now.
    SetUp,
    /// It is another thread's.
    Other,
}

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

    fn judge(&self, sp: u32, by: By, fresh: bool, bus: &Bus) -> Judgement {
        let thread = &self.all[self.current];
        if !fresh && self.is_beyond_its_end(sp, bus) {
            return Judgement::Grown;
        }
        if let (Some(own), Some(running)) = (thread.structure, self.running(sp, bus)) {
            let other = own != running && self.may_be_in(running, own, sp, bus);
            return if other { Judgement::Other } else { Judgement::Grown };
        }
        match by {
            By::Steps => return Judgement::Grown,
            By::Set(set) => return self.judge_set(set, fresh),
            By::Unknown => {}
        }
        if self.owner(sp).is_some_and(|owner| owner != self.current) {
            return Judgement::Other;
        }
        let area = self.area(sp);
        let (below, above) = (thread.low.saturating_sub(sp), sp.saturating_sub(thread.top));
        let frame = if area.is_some() { FRAME_IN_AREA } else { FRAME_ANYWHERE };
        if area == self.area(thread.low) && below <= frame && above <= MARGIN {
            Judgement::Grown
        } else if fresh {
            Judgement::SetUp
        } else {
            Judgement::Other
        }
    }

    /// Whether a stack pointer that a thread's stack has not had yet can be of the same stack, when
    /// the thread runs or, `in_handler`, is interrupted.
    pub(super) fn reaches(&self, thread: usize, sp: u32, in_handler: bool, bus: &Bus) -> bool {
        let known = &self.all[thread];
        let is_set = !in_handler && self.set.is_some();
        if !is_set && known.low <= sp && sp <= known.top {
            return true;
        }
        if in_handler || thread != self.current {
            let below = known.low.saturating_sub(sp);
            let is_own = self.owner(sp).is_none_or(|owner| owner == thread);
            return sp <= known.top && below <= FRAME_IN_AREA && is_own;
        }
        self.judge(sp, self.by(), false, bus) == Judgement::Grown
    }

    /// The stack pointers of a handler that [`reaches`](Self::reaches) refuses as too far below the
    /// stack of this thread: those of a stack for interrupts that the system has set up elsewhere.
    pub(super) fn far_below(&self, thread: usize) -> StackWindow {
        match self.all[thread].low.checked_sub(FRAME_IN_AREA + 1) {
            Some(highest) => StackWindow { low: 0, span: highest },
            None => StackWindow::NONE,
        }
    }

    fn reach(&mut self, low: u32, top: u32) {
        let thread = &mut self.all[self.current];
        (thread.low, thread.top) = (low, top);
        self.overlap();
        self.watch();
    }

    /// Whether a stack pointer that the thread `own` has not had yet may be that of the thread that
    /// the system calls running: some systems set that before they switch.
    fn may_be_in(&self, running: u32, own: u32, sp: u32, bus: &Bus) -> bool {
        if let Some(&other) = self.by_structure.get(&running)
            && self.all[other].holds(sp)
        {
            return true;
        }
        let base = |thread| self.layout.as_ref()?.stack(thread, bus);
        match (base(running), base(own)) {
            (Some(theirs), Some(ours)) => theirs <= sp && !(theirs < ours && ours <= sp),
            _ => {
                let thread = &self.all[self.current];
                let near = thread.low.saturating_sub(sp) <= 4 * MARGIN && sp <= thread.top;
                !near || self.area(sp) != self.area(thread.low)
            }
        }
    }

    /// The structure of the running thread, unless its stack lies above this stack pointer: then it
    /// is named before it runs.
    fn running(&self, sp: u32, bus: &Bus) -> Option<u32> {
        let layout = self.layout.as_ref()?;
        let running = layout.running(bus)?;
        layout.stack(running, bus).is_none_or(|base| base <= sp).then_some(running)
    }

    /// The thread with this stack pointer; a new one if there is none.
    fn find(&mut self, sp: u32, by: By, bus: &Bus) -> usize {
        let begins = by.begins(sp);
        let parked = self.all.iter().rposition(|thread| thread.parked == begins);
        let Some(structure) = self.running(sp, bus) else {
            let owner = || match by {
                By::Set(set) => self.owner_of(set.to),
                _ => self.owner(sp),
            };
            return parked.or_else(owner).unwrap_or_else(|| self.add(sp, None));
        };
        if let Some(&known) = self.by_structure.get(&structure) {
            let thread = &self.all[known];
            let layout = self.layout.as_ref();
            let name = layout.map(|layout| layout.name(structure, bus));
            let id = layout.and_then(|layout| layout.id(structure, bus));
            // A structure that was freed may be another thread's now, of the same program too: then
            // it has another number.
            let same_id = |thread: &Thread| thread.id.zip(id).is_none_or(|(was, is)| was == is);
            let same_name = name.as_ref() == Some(&thread.name);
            if same_id(thread) && (thread.parked == sp || thread.name.is_empty() || same_name) {
                return known;
            }
            // Or that of one that had it before, and was started anew.
            let again = |thread: &Thread| {
                thread.structure == Some(structure)
                    && name.as_ref() == Some(&thread.name)
                    && same_id(thread)
            };
            if let Some(before) = self.all.iter().rposition(again) {
                self.by_structure.insert(structure, before);
                return before;
            }
            return self.add(sp, Some(structure));
        }
        // Code that ran before the system knew of threads may have become one.
        match parked.filter(|&at| self.all[at].structure.is_none()) {
            Some(at) => {
                self.all[at].structure = Some(structure);
                self.by_structure.insert(structure, at);
                at
            }
            None => self.add(sp, Some(structure)),
        }
    }

    fn add(&mut self, sp: u32, structure: Option<u32>) -> usize {
        if self.all.len() >= MAX_THREADS {
            self.cut += 1;
            return self.all.len() - 1;
        }
        let at = self.all.len();
        self.all.push(Thread { structure, low: sp, top: sp, ..Thread::default() });
        if let Some(structure) = structure {
            self.by_structure.insert(structure, at);
        }
        at
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

    /// The thread in whose stack this is.
    fn owner(&self, sp: u32) -> Option<usize> {
        self.all.iter().position(|thread| thread.holds(sp))
    }

    /// The variable that what is pushed next goes into.
    fn area(&self, sp: u32) -> Option<usize> {
        let next = sp.wrapping_sub(1);
        let at = self.areas.partition_point(|area| area.0 <= next).checked_sub(1)?;
        (next < self.areas[at].1).then_some(at)
    }
}

impl Thread {
    fn holds(&self, sp: u32) -> bool {
        self.top != 0 && self.low.saturating_sub(MARGIN) <= sp && sp <= self.top
    }
}

#[cfg(test)]
mod tests;
