//! Steps of a walk that need no tables: through what is left of a function, by what its own
//! instructions have pushed, and off a stack that it has switched to.

use strobe_isa::thumb::Flow;

use super::{LR, SP, StackFrame, StackFrameKind, Walk};
use crate::frame_rules::FrameRow;
use crate::{epilogue, prologue};

impl<M: FnMut(u32) -> Option<u32>> Walk<'_, M> {
    /// Goes to the caller through what is left of the function, if that is an epilogue.
    pub(super) fn finish(&mut self, frame: &StackFrame) -> Option<StackFrameKind> {
        let before = self.registers.clone();
        let read = &mut self.read_word;
        let to = epilogue::follow(self.firmware, &mut self.registers.core, read);
        let kind = to.and_then(|to| self.go_to(to, frame).ok());
        if kind.is_none() {
            self.registers = before;
        }
        kind
    }

    /// Start-up code of kernels enters the first thread by a call, on a stack that it has switched
    /// to (MSR CONTROL): its own frame is on the main stack.
    pub(super) fn leave_process_stack(&mut self, frame: &StackFrame) -> Option<StackFrame> {
        let main = self.registers.main_stack_pointer.filter(|_| self.is_process)?;
        let function = self.firmware.function_at(frame.lookup_address())?;
        let start = self.firmware.function(function).start;
        // The switch may be in a function of its own, which then jumps to the thread's.
        let called = match prologue::call_before(self.firmware, frame.pc) {
            Some(Flow::Call(to)) => self.firmware.function_at(to),
            _ => None,
        };
        let called = called.map(|id| self.firmware.function(id));
        let has_switched = frame.kind == StackFrameKind::Caller
            && (prologue::switches_stack(self.firmware, start, frame.pc)
                || called.is_some_and(|f| {
                    prologue::switches_stack(self.firmware, f.start, f.end() as u32)
                }));
        if !has_switched {
            return None;
        }
        self.is_process = false;
        self.registers.core[SP] = main;
        Some(StackFrame { sp: main, ..*frame })
    }

    /// Goes to the caller by what the function's own instructions have pushed.
    pub(super) fn by_code(&mut self, frame: &StackFrame) -> Option<StackFrameKind> {
        let function = self.firmware.function_at(frame.lookup_address())?;
        let start = self.firmware.function(function).start;
        let found = prologue::frame(self.firmware, start, frame.pc)?;
        let before = self.registers.clone();
        let caller = self.registers.core[SP].wrapping_add(found.depth);
        let mut return_address = None;
        for (register, below) in &found.saved {
            let word = (self.read_word)(caller.wrapping_sub(*below))?;
            match *register {
                LR => return_address = Some(word),
                register @ 4..=11 => self.registers.core[register] = word,
                _ => {}
            }
        }
        let is_innermost = frame.kind != StackFrameKind::Caller;
        let to = return_address
            .or_else(|| found.link.map(|register| before.core[register]))
            .or_else(|| is_innermost.then_some(before.core[LR]))
            .filter(|to| to & 1 == 1);
        self.registers.core[SP] = caller;
        let kind = to.and_then(|to| self.go_to(to, frame).ok());
        if kind.is_none() {
            self.registers = before;
        }
        kind
    }

    /// Whether call frame information knows nothing of what the function has pushed: some of
    /// newlib's assembly is described as if it never touched the stack.
    pub(super) fn lacks_frame(&self, address: u32) -> bool {
        let rows = self.firmware.frame_rows(address);
        let is_bare = |row: &FrameRow| usize::from(row.register) == SP && row.offset == 0;
        let function = self.firmware.function_at(address).map(|id| self.firmware.function(id));
        !rows.is_empty()
            && rows.iter().all(is_bare)
            && function.is_some_and(|function| {
                let frame = prologue::frame(self.firmware, function.start, address);
                frame.is_some_and(|frame| frame.depth > 0)
            })
    }
}
