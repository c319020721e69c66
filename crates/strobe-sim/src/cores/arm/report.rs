//! What observers see of changes of flow and of the stack pointer.

use super::block::BlockId;
use super::core::Machine;
use super::stack_source;
use crate::kernel::core::Core as _;
use crate::kernel::observe::{Motion, Observer, Stack, StackPoint, Transfer, TransferKind};

impl<O: Observer> Machine<O> {
    /// Reports a direct jump that may change the running function.
    pub(super) fn report_direct(&mut self, id: BlockId) {
        let block = &self.blocks.all[id as usize];
        let from = block.last_at;
        if block.calls {
            let return_address = block.end;
            self.report_transfer(TransferKind::Call { return_address }, from);
        } else if block.leaves_function {
            self.report_transfer(TransferKind::Direct, from);
        }
    }

    /// Reports a change of flow that has happened.
    #[inline(always)]
    pub(crate) fn report_transfer(&mut self, kind: TransferKind, from: u32) {
        self.report_transfer_at(kind, from, self.now);
    }

    /// The same, complete at that cycle.
    // As a call, it would copy `kind`, which has just been written in smaller pieces: that took a
    // seventh of the time of programs that call often.
    #[inline(always)]
    pub(super) fn report_transfer_at(&mut self, kind: TransferKind, from: u32, now: u64) {
        if O::FLOW {
            // Not read where nobody wants them: just stored one by one, they would be read at once,
            // for which the host waits longer than for the call itself.
            let arguments = if self.observer.wants_arguments() {
                [self.cpu.r[0], self.cpu.r[1], self.cpu.r[2], self.cpu.r[3]]
            } else {
                [0; 4]
            };
            let transfer = Transfer {
                kind,
                from,
                to: self.cpu.pc,
                sp: self.cpu.r[13],
                stack: if self.cpu.uses_psp() { Stack::Process } else { Stack::Main },
                now,
                asleep: self.asleep,
                instructions: self.instructions,
                arguments,
            };
            self.observer.transfer(&transfer, &self.bus);
            self.look_at_stack(self.cpu.pc);
            if self.belongs_to.is_some() {
                self.hand_over();
            }
        }
    }

    /// Reports the stack pointer if that brings something new.
    #[inline(always)]
    pub(super) fn look_at_stack(&mut self, pc: u32) {
        if self.observer.follows_stack() && !self.observer.stack_window().contains(self.cpu.r[13]) {
            self.report_stack(pc, Motion::Moved);
        }
    }

    /// The same after instruction `at` of block `id`, which is at `pc`; the stack pointer was
    /// `before`.
    #[inline(always)]
    pub(super) fn look_at_stack_after(&mut self, id: BlockId, at: usize, pc: u32, before: u32) {
        let now = self.cpu.r[13];
        if self.observer.follows_stack() && !self.observer.stack_window().contains(now) {
            let run = self.blocks.all[id as usize].insns.get(..=at).unwrap_or_default();
            let is_set = now != before && stack_source::is_from_elsewhere(run);
            self.report_stack(pc, if is_set { Motion::Set { before } } else { Motion::Moved });
        }
    }

    /// Reports where the stack pointer is, after the instruction at `pc` or an exception there.
    #[cold]
    pub(super) fn report_stack(&mut self, pc: u32, motion: Motion) {
        let stack = if self.cpu.uses_psp() { Stack::Process } else { Stack::Main };
        let point = StackPoint { sp: self.cpu.r[13], stack, motion, pc, now: self.now };
        self.observer.stack(point, &self.bus);
    }

    /// What has been counted so far belongs to whoever ran, what comes to whoever runs now.
    #[cold]
    fn hand_over(&mut self) {
        let who = self.observer.who();
        if who != self.belongs_to {
            self.distinguish();
        }
    }
}
