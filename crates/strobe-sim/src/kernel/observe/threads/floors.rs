//! Stacks that go further than their ends.

use super::super::overflow::Floor;
use super::Threads;
use super::moves::By;
use super::whose::{FRAME_ANYWHERE, FRAME_IN_AREA};
use crate::kernel::bus::Bus;

/// A variable with fewer bytes holds no stack.
const LEAST_STACK: u32 = 64;

/// A stack pointer below an end of its stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossed {
    /// The end.
    pub floor: Floor,
    /// Its address.
    pub at: u32,
    /// Whose stack begins there. It is an overflow only if that thread goes on: else the memory has
    /// been given away.
    pub victim: Option<usize>,
}

impl Threads {
    /// The floor that the running thread's stack, whose pointer is `sp` now, is below, and its
    /// address, if this is the first time.
    pub(in super::super) fn crosses(&mut self, sp: u32, bus: &Bus) -> Option<Crossed> {
        self.overflows(sp, self.by(), bus);
        self.take_crossed()
    }

    /// The floor that the running thread's stack went below with the latest [move](Threads::moved)
    /// and its address, if it did so for the first time.
    pub fn take_crossed(&mut self) -> Option<Crossed> {
        self.crossed.take()
    }

    /// Whether the running thread's stack has grown to below one of its floors, which is noted the
    /// first time.
    pub(super) fn overflows(&mut self, sp: u32, by: By, bus: &Bus) -> bool {
        let (current, thread) = (self.current, &self.all[self.current]);
        let layout = self.layout.as_ref();
        let running = layout.and_then(|layout| layout.running(bus));
        let is_growth = match by {
            By::Steps => true,
            By::Set(_) => false,
            By::Unknown => self.is_growth(sp) || self.is_beyond_its_end(sp, bus),
        };
        if running.is_some() && running != thread.structure || !is_growth {
            return false;
        }
        let base = thread.structure.and_then(|own| layout?.stack(own, bus)).map(Floor::At);
        let around = self.around(current).filter(|_| by == By::Steps).map(Floor::At);
        let floors = match (&base, current, &around) {
            (Some(base), ..) => std::slice::from_ref(base),
            (None, 0, _) => self.floors.as_slice(),
            (None, _, Some(around)) => std::slice::from_ref(around),
            (None, _, None) => &[],
        };
        let mut any = false;
        for floor in floors {
            let Some(at) = floor.address(bus).filter(|&at| sp < at && at < thread.top) else {
                continue;
            };
            any = true;
            if !self.noted.contains(&(current, *floor)) {
                self.noted.push((current, *floor));
                self.crossed = Some(Crossed { floor: *floor, at, victim: None });
            }
        }
        if !any && by == By::Steps {
            self.enters_another(sp);
        }
        any
    }

    /// Whether a stack pointer below all that the running thread has had can be the same stack's.
    /// The frame of one function lies between them, and a big one ends where no other stack
    /// begins.
    fn is_growth(&self, sp: u32) -> bool {
        let below = match self.all[self.current].low.checked_sub(sp) {
            Some(below) if self.owner(sp).is_none_or(|owner| owner == self.current) => below,
            _ => return false,
        };
        let begins = |area: usize| self.areas[area].1 - sp < FRAME_IN_AREA / 4;
        below <= FRAME_IN_AREA || below <= FRAME_ANYWHERE && !self.area(sp).is_some_and(begins)
    }

    /// Whether the running thread has gone below the end of its stack with one frame, whosever the
    /// memory there is: the system still calls it the running one.
    pub(super) fn is_beyond_its_end(&self, sp: u32, bus: &Bus) -> bool {
        let thread = &self.all[self.current];
        let end = self.layout.as_ref().zip(thread.structure).and_then(|(layout, own)| {
            layout.stack(own, bus).filter(|_| layout.running(bus) == Some(own))
        });
        let is_near = thread.low.checked_sub(sp).is_some_and(|below| below <= FRAME_IN_AREA);
        is_near && end.is_some_and(|end| sp < end && end < thread.top)
    }

    /// The start of the variable that a thread's stack is in.
    pub(super) fn around(&self, thread: usize) -> Option<u32> {
        let (start, end) = self.areas[self.area(self.all[thread].top)?];
        (end - start >= LEAST_STACK).then_some(start)
    }

    /// The running thread has grown into a stack below, which is noted the first time.
    pub(super) fn enters_another(&mut self, sp: u32) {
        let thread = &self.all[self.current];
        if thread.structure.is_some() {
            return;
        }
        let is_entered = |number: &usize| {
            let other = &self.all[*number];
            let is_there = other.top != 0 && other.structure.is_none();
            *number != self.current && is_there && sp < other.top && other.top < thread.top
        };
        let victims = (0..self.all.len()).filter(is_entered);
        let Some(victim) = victims.max_by_key(|number| self.all[*number].top) else { return };
        let at = self.all[victim].top;
        let noted = (self.current, Floor::At(at));
        if !self.noted.contains(&noted) {
            self.noted.push(noted);
            self.crossed = Some(Crossed { floor: noted.1, at, victim: Some(victim) });
        }
    }
}
