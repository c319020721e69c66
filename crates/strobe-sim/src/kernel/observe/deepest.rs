//! The deepest that each stack has been, exactly, with who called whom then.
//!
//! What lies between the lowest and the highest stack pointer so far brings nothing new: that is
//! the window, and code that stays in it runs in whole blocks. Whose a stack pointer is,
//! [`threads`](super::threads) decides; handlers use the stack from reset if the interrupted thread
//! has a process stack, else the thread's own. Where the code from reset has gone over to a process
//! stack, the one that it began with is the handlers' alone.

use super::{Stack, StackPoint, StackWindow};

/// Stands for the stack of the handlers alone where a thread's number is asked for.
pub const HANDLERS: usize = usize::MAX;

/// The most that one function of a handler takes; further away begins another stack.
const FRAME: u32 = 1024;

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

/// What a stack pointer brings that is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DepthChange {
    /// It is the lowest so far of a stack that begins here.
    Deepest { top: u32 },
    /// It is the highest so far.
    Higher,
    /// The stack begins anew: start-up code sets the stack pointer to where the linker wants it.
    Anew,
}

/// The deepest moments of all stacks.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    /// By number of the thread.
    all: Vec<Option<Deepest>>,
    /// Of the stack that only handlers use.
    handlers: Option<Deepest>,
    /// Whether the running thread uses the process stack.
    is_process: bool,
    /// Whether the code from reset has left its stack to the handlers.
    has_left: bool,
}

impl Marks {
    /// The deepest moment of a thread's stack, or of [`HANDLERS`].
    pub fn of(&self, thread: usize) -> Option<&Deepest> {
        if thread == HANDLERS {
            return self.handlers.as_ref();
        }
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
        match in_handler && self.is_process {
            true if self.has_left => HANDLERS,
            true => 0,
            false => current,
        }
    }

    /// The code from reset is on this stack for certain, not in the middle of starting a thread.
    pub(super) fn settle(&mut self, stack: Stack) {
        self.has_left |= stack == Stack::Process;
    }

    /// Whether a stack pointer can be of the stack that only handlers use.
    pub(super) fn reaches_handlers(&self, sp: u32) -> bool {
        self.handlers.as_ref().is_none_or(|known| known.sp.saturating_sub(sp) <= FRAME)
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

    /// What is new about a stack pointer, if anything is. Whether it is this thread's at all is for
    /// [`threads`](super::threads) to judge.
    #[inline]
    pub(super) fn news(&self, thread: usize, sp: u32) -> Option<DepthChange> {
        let Some(deepest) = self.of(thread) else { return Some(DepthChange::Deepest { top: sp }) };
        if sp < deepest.sp {
            return Some(DepthChange::Deepest { top: deepest.top });
        }
        let above = sp.checked_sub(deepest.top).filter(|above| *above > 0)?;
        let may_begin = thread == 0 || thread == HANDLERS;
        Some(if may_begin && above > LARGEST_POP { DepthChange::Anew } else { DepthChange::Higher })
    }

    /// A stack's owner has popped more than was known to be on it.
    pub(super) fn raise(&mut self, thread: usize, top: u32) {
        let known = match thread {
            HANDLERS => self.handlers.as_mut(),
            _ => self.all.get_mut(thread).and_then(Option::as_mut),
        };
        known.into_iter().for_each(|deepest| deepest.top = top);
    }

    pub(super) fn note(&mut self, thread: usize, deepest: Deepest) {
        if thread == HANDLERS {
            self.handlers = Some(deepest);
            return;
        }
        if self.all.len() <= thread {
            self.all.resize(thread + 1, None);
        }
        self.all[thread] = Some(deepest);
    }
}
