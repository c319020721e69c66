//! The deepest that each stack has been, exactly, with who called whom then.
//!
//! Kept only where somebody asks, because every instruction must be looked at. Whose a stack
//! pointer is, [`threads`](super::threads) decides; handlers use the stack from reset if the
//! interrupted thread has a process stack, else the thread's own.

use super::{Stack, StackPoint};

/// The deepest moment of one stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deepest {
    /// The stack pointer.
    pub sp: u32,
    /// The instruction that set it.
    pub pc: u32,
    /// Cycles since reset.
    pub cycle: u64,
    /// Return addresses of the open calls, innermost first; `None` stands for the step from a
    /// handler to what it interrupted, whose address follows.
    pub callers: Vec<Option<u32>>,
}

/// The deepest moments of all stacks.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    /// By number of the thread.
    all: Vec<Option<Deepest>>,
    /// Whether the running thread uses the process stack.
    is_process: bool,
}

impl Marks {
    /// The deepest moment of a thread's stack.
    pub fn of(&self, thread: usize) -> Option<&Deepest> {
        self.all.get(thread)?.as_ref()
    }

    /// The thread whose stack this is: `current` runs or, in a handler, was interrupted.
    #[inline]
    pub(super) fn owner(&mut self, point: &StackPoint, current: usize, in_handler: bool) -> usize {
        if !in_handler {
            self.is_process = point.stack == Stack::Process;
        }
        if in_handler && self.is_process { 0 } else { current }
    }

    #[inline]
    pub(super) fn is_deeper(&self, thread: usize, sp: u32) -> bool {
        self.of(thread).is_none_or(|deepest| sp < deepest.sp)
    }

    pub(super) fn note(&mut self, thread: usize, deepest: Deepest) {
        if self.all.len() <= thread {
            self.all.resize(thread + 1, None);
        }
        self.all[thread] = Some(deepest);
    }
}
