//! How the stack pointer moved, where the core shows it.
//!
//! Pushes, pops and sums stay on one stack, however far they go: what they reach of another stack
//! is an overflow. A value from memory or a register begins another stack or goes on with one that
//! was left at exactly this value; only within the running thread's own frames it is of the same
//! stack (longjmp).

use super::super::Motion;
use super::whose::Judgement;
use super::{Landed, Threads};

/// An instruction has set the stack pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Set {
    /// What it was before the first of several.
    pub(super) before: u32,
    /// What it is.
    pub(super) to: u32,
}

/// How the stack pointer has come to where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// Nobody knows.
    Unknown,
    /// By pushes, pops and sums.
    Steps,
    /// It was set.
    Set(Set),
}

impl By {
    /// Where the stack began or went on, if the stack pointer is `sp` now.
    pub(super) fn begins(self, sp: u32) -> u32 {
        match self {
            By::Set(set) => set.to,
            By::Unknown | By::Steps => sp,
        }
    }
}

impl Threads {
    /// The running thread's stack pointer is `sp` now, and has got there in this way.
    pub(in super::super) fn note_motion(&mut self, motion: Motion, sp: u32) {
        if let Motion::Set { before } = motion {
            let before = self.set.map_or(before, |set| set.before);
            self.set = Some(Set { before, to: sp });
            // The next transfer looks closer, wherever the stack pointer is then.
            (self.low, self.span) = (u32::MAX, 0);
        }
        self.follows |= motion != Motion::Unknown;
    }

    /// Where the last switch went to.
    pub(in super::super) fn landed(&self) -> Landed {
        self.landed
    }

    /// Whether nothing is on the running thread's stack, where the core shows how it moves.
    pub(in super::super) fn is_empty_at(&self, sp: u32) -> bool {
        self.follows && sp >= self.all[self.current].top
    }

    /// The lowest stack pointer of a thread that no other stack shares with it, or 0.
    pub(in super::super) fn shared_below(&self, thread: usize) -> u32 {
        self.all.get(thread).map_or(0, |thread| thread.overlap)
    }

    pub(super) fn by(&self) -> By {
        match self.set {
            Some(set) => By::Set(set),
            None if self.follows => By::Steps,
            None => By::Unknown,
        }
    }

    /// Whose the stack is that an instruction has gone to.
    pub(super) fn judge_set(&self, set: Set, fresh: bool) -> Judgement {
        let thread = &self.all[self.current];
        let others = || self.all.iter().enumerate().filter(|(number, _)| *number != self.current);
        if others().any(|(_, other)| other.top != 0 && other.parked == set.to) {
            return Judgement::Other;
        }
        if thread.low <= set.to && set.to <= thread.top {
            return Judgement::Grown;
        }
        let is_anothers = self.owner_of(set.to).is_some();
        // Code from reset that has called nothing sets its stack up.
        if fresh && self.current == 0 && !is_anothers { Judgement::SetUp } else { Judgement::Other }
    }

    /// The thread that has had this stack pointer; of several whose stacks overlap, the one whose
    /// stack begins nearest.
    pub(super) fn owner_of(&self, sp: u32) -> Option<usize> {
        let holds = |number: &usize| {
            let thread = &self.all[*number];
            thread.top != 0 && thread.low <= sp && sp <= thread.top
        };
        (0..self.all.len()).filter(holds).min_by_key(|number| self.all[*number].top)
    }

    /// Notes what a switch to a thread shows: one that goes on where it stopped was there while the
    /// other one ran, so the stack further down ends below the other's memory.
    pub(super) fn land(&mut self, to: usize, sp: u32, by: By) {
        let (from, thread) = (self.current, &mut self.all[to]);
        self.landed = if thread.parked == by.begins(sp) {
            Landed::WhereItStopped
        } else if matches!(by, By::Set(_)) && thread.low < thread.top && thread.top <= sp {
            thread.neighbour = 0;
            Landed::Anew
        } else {
            Landed::Somewhere
        };
        if self.landed == Landed::WhereItStopped && from != to {
            let (a, b) = (self.all[from].top, self.all[to].top);
            let upper = &mut self.all[if a > b { from } else { to }];
            upper.neighbour = upper.neighbour.max(a.min(b));
        }
    }

    /// Notes how much of the running thread's stack another one's lies in.
    pub(super) fn overlap(&mut self) {
        let (current, thread) = (self.current, &self.all[self.current]);
        if !self.follows || thread.structure.is_some() {
            return;
        }
        let others = self.all.iter().enumerate().filter(|(number, _)| *number != current);
        let tops = others.map(|(_, other)| other.top);
        let within = tops.filter(|&top| thread.low < top && top < thread.top).max();
        self.all[current].overlap = within.unwrap_or(0);
    }
}
