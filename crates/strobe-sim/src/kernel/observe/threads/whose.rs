//! Whose stack a stack pointer is in that the running thread has not had yet.

use super::super::StackWindow;
use super::moves::By;
use super::{Thread, Threads};
use crate::kernel::bus::Bus;

/// Threads kept apart; all that begin later share one entry.
pub(super) const MAX_THREADS: usize = 1024;

/// This close below what a thread was seen to use is its own stack: a frame made by hand, the
/// registers that its switch saved.
const MARGIN: u32 = 64;

/// The most that one call takes from a stack in memory that a symbol names. Further down is another
/// stack in the same memory.
pub(super) const FRAME_IN_AREA: u32 = 1024;

/// The same in memory without a name, where big frames are likelier than other stacks.
pub(super) const FRAME_ANYWHERE: u32 = 1 << 16;

/// What a stack pointer in a new place means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    /// The thread uses more of its stack.
    Grown,
    /// The thread has been given its stack just now.
    SetUp,
    /// It is another thread's.
    Other,
}

impl Threads {
    pub(super) fn judge(&self, sp: u32, by: By, fresh: bool, bus: &Bus) -> Judgement {
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
    pub(in super::super) fn reaches(
        &self,
        thread: usize,
        sp: u32,
        in_handler: bool,
        bus: &Bus,
    ) -> bool {
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
    pub(in super::super) fn far_below(&self, thread: usize) -> StackWindow {
        match self.all[thread].low.checked_sub(FRAME_IN_AREA + 1) {
            Some(highest) => StackWindow { low: 0, span: highest },
            None => StackWindow::NONE,
        }
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
    pub(super) fn find(&mut self, sp: u32, by: By, bus: &Bus) -> usize {
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

    /// The thread in whose stack this is.
    pub(super) fn owner(&self, sp: u32) -> Option<usize> {
        self.all.iter().position(|thread| thread.holds(sp))
    }

    /// The variable that what is pushed next goes into.
    pub(super) fn area(&self, sp: u32) -> Option<usize> {
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
