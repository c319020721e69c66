//! Where the stack pointer gets to: another thread's stack, deeper than before, or below an end.

use super::CallTree;
use crate::kernel::bus::Bus;
use crate::kernel::observe::deepest::{Deepest, DepthChange, HANDLERS};
use crate::kernel::observe::overflow::{self, Overflow, Pending};
use crate::kernel::observe::threads::{Crossed, Landed};
use crate::kernel::observe::{Moment, StackPoint, StackWindow};

/// Where a thread has got to, with its stack pointer somewhere new.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) sp: u32,
    /// The instruction that led there.
    pub(super) pc: u32,
    /// The next one, unless an exception comes first.
    pub(super) to: Option<u32>,
    /// It is a call.
    pub(super) calls: bool,
}

impl CallTree {
    /// A thread's stack pointer is where it has not been: its stack has grown, or another thread
    /// has taken over.
    #[cold]
    pub(super) fn moved(&mut self, arrival: Arrival, now: Moment, bus: &Bus) {
        let Arrival { sp, pc, calls, to: target } = arrival;
        let before = self.threads.current();
        let to = self.threads.moved(sp, self.running.frames.is_empty(), calls, bus);
        if let Some(crossed) = self.threads.take_crossed() {
            self.note_overflow(crossed, sp, pc, now.cycle);
        }
        if to != before {
            self.turn.abandon();
            let asked = self.open_diversion();
            self.running.diverted = None;
            let context = std::mem::take(&mut self.running);
            self.park(before, context);
            self.unpark(to);
            let frames = self.running.frames.last();
            let returns = frames.is_some_and(|f| Some(f.return_address) == target && f.sp == sp);
            let is_empty = self.threads.is_empty_at(sp);
            let is_anew = is_empty && !returns && !calls && target.is_some();
            if is_anew {
                self.begins_anew(now);
            }
            self.confirm_overflows(to, is_anew);
            let at = (now.cycle, now.asleep, pc);
            self.schedule.by_hand(at, asked, &self.threads, bus);
        }
    }

    /// The stack pointer has left what the marks know.
    pub(super) fn reached(&mut self, point: &StackPoint, bus: &Bus) {
        let in_handler = !self.interrupted.is_empty();
        if !in_handler {
            self.threads.note_motion(point.motion, point.sp);
        }
        let Some(marks) = &mut self.marks else { return };
        let owner = marks.owner(point, self.threads.current(), in_handler);
        // Between two stacks, in the middle of a switch, the next transfer decides.
        let news = marks.news(owner, point.sp);
        let reaches = news.is_some()
            && match owner {
                HANDLERS => marks.reaches_handlers(point.sp),
                _ => self.threads.reaches(owner, point.sp, in_handler, bus),
            };
        if let Some(news) = news.filter(|_| reaches) {
            if owner == 0 && !in_handler {
                marks.settle(point.stack);
            }
            self.mark(owner, news, point, bus);
        }
        if let Some(marks) = &self.marks {
            let shared = self.threads.shared_below(owner);
            let known = marks.window(owner, point.sp).above(shared, point.sp);
            let foreign = match owner {
                HANDLERS => StackWindow::NONE,
                _ => self.threads.far_below(owner),
            };
            let is_foreign = known == StackWindow::NONE && in_handler && foreign.contains(point.sp);
            let window = if is_foreign { foreign } else { known };
            self.window = (window, self.threads.current());
        }
    }

    /// Keeps what is new about a stack.
    #[cold]
    fn mark(&mut self, owner: usize, news: DepthChange, point: &StackPoint, bus: &Bus) {
        let in_handler = !self.interrupted.is_empty();
        let callers = self.backtrace(false);
        let Some(marks) = &mut self.marks else { return };
        let StackPoint { sp, pc, now: cycle, .. } = *point;
        let top = match news {
            DepthChange::Higher => return marks.raise(owner, sp),
            DepthChange::Anew => sp,
            DepthChange::Deepest { top } => top,
        };
        let callers = marks.on_stack(in_handler, callers);
        marks.note(owner, Deepest { sp, top, pc, cycle, callers });
        if owner == self.threads.current()
            && let Some(crossed) = self.threads.crosses(sp, bus)
        {
            self.note_overflow(crossed, sp, pc, cycle);
        }
    }

    /// The running thread's stack has gone below an end.
    #[cold]
    fn note_overflow(&mut self, crossed: Crossed, sp: u32, pc: u32, cycle: u64) {
        if self.overflows.len() + self.pending.len() >= overflow::MOST {
            return;
        }
        let Crossed { floor, at: limit, victim } = crossed;
        let thread = self.threads.current();
        let callers = self.running.frames.iter().rev().map(|f| f.return_address).collect();
        let overflow = Overflow { thread, floor, limit, sp, cycle, pc, callers };
        match victim {
            Some(victim) => self.pending.push(Pending { victim, overflow }),
            None => self.overflows.push(overflow),
        }
    }

    /// A thread has the core again: if it goes on where it stopped, what grew into its stack has
    /// overflowed; else its memory had been given away.
    #[inline]
    pub(super) fn confirm_overflows(&mut self, to: usize, is_anew: bool) {
        if self.pending.is_empty() {
            return;
        }
        let goes_on = !is_anew && self.threads.landed() == Landed::WhereItStopped;
        let (of_this, others): (Vec<_>, Vec<_>) =
            self.pending.drain(..).partition(|pending| pending.victim == to);
        self.pending = others;
        if goes_on {
            self.overflows.extend(of_this.into_iter().map(|pending| pending.overflow));
        }
    }
}
