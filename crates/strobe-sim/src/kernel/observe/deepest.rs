//! The deepest that each stack has been, exactly, with who called whom then.
//!
//! What lies between the lowest and the highest stack pointer so far brings nothing new: that is
//! the window, and code that stays in it runs in whole blocks. Whose a stack pointer is,
//! [`threads`](super::threads) decides; handlers use the stack from reset if the interrupted thread
//! has a process stack, else the thread's own.

use super::{Stack, StackPoint, StackWindow};

/// No instruction takes more bytes off a stack that has just been taken over.
const LARGEST_POP: u32 = 256;

/// The deepest moment of one stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deepest {
    /// The stack pointer.
    pub sp: u32,
    /// The highest that it had been.
    pub top: u32,
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

    /// Stack pointers of a thread's stack that bring nothing new; none if `sp` is not among them.
    pub(super) fn window(&self, thread: usize, sp: u32) -> StackWindow {
        let Some(deepest) = self.of(thread) else { return StackWindow::NONE };
        let window = StackWindow { low: deepest.sp, span: deepest.top.wrapping_sub(deepest.sp) };
        if window.contains(sp) { window } else { StackWindow::NONE }
    }

    /// The thread whose stack this is: `current` runs or, in a handler, was interrupted.
    #[inline]
    pub(super) fn owner(&mut self, point: &StackPoint, current: usize, in_handler: bool) -> usize {
        if !in_handler {
            self.is_process = point.stack == Stack::Process;
        }
        if in_handler && self.is_process { 0 } else { current }
    }

    /// The calls that are on the stack from reset, when a handler uses it: not those of a thread
    /// with a process stack.
    pub(super) fn on_stack(
        &self,
        in_handler: bool,
        mut callers: Vec<Option<u32>>,
    ) -> Vec<Option<u32>> {
        let last = callers.iter().rposition(Option::is_none);
        if let Some(last) = last.filter(|_| in_handler && self.is_process) {
            callers.truncate(last);
        }
        callers
    }

    /// The top of a thread's stack if the stack pointer is lower than ever before, or if the stack
    /// begins anew, which is the second value: start-up code sets the stack pointer to where the
    /// linker wants it.
    #[inline]
    pub(super) fn deeper(&mut self, thread: usize, sp: u32) -> Option<(u32, bool)> {
        let Some(deepest) = self.all.get_mut(thread).and_then(Option::as_mut) else {
            return Some((sp, false));
        };
        if sp > deepest.top {
            let is_anew = sp - deepest.top > LARGEST_POP;
            deepest.top = sp;
            return is_anew.then_some((sp, true));
        }
        (sp < deepest.sp).then_some((deepest.top, false))
    }

    pub(super) fn note(&mut self, thread: usize, deepest: Deepest) {
        if self.all.len() <= thread {
            self.all.resize(thread + 1, None);
        }
        self.all[thread] = Some(deepest);
    }
}
