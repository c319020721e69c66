//! From one block to the next, and who wants to know.

use super::DATA;
use super::block::NONE;
use super::core::Machine;
use super::exec::End;
use crate::kernel::observe::code::BlockId;
use crate::kernel::observe::{
    Motion, Observer, Stack, StackPoint, StackWindow, Transfer, TransferKind,
};

/// Instructions from a write of one byte of the stack pointer until both are in place: avr-gcc
/// writes SPH, SREG and SPL.
const SETTLES: u8 = 3;

impl<O: Observer> Machine<O> {
    /// A block has ended: notifies who wants to know, and returns the next. Where that is not
    /// decoded yet, the program counter is left there.
    #[inline(always)]
    pub(super) fn arrive(&mut self, id: BlockId, how: End) -> BlockId {
        let block = &self.blocks.all[id as usize];
        match how {
            End::Next => {
                let known = block.next;
                if O::FLOW && block.falls_into_function {
                    self.fall(id);
                }
                if known == NONE { self.find_next(id) } else { known }
            }
            End::Direct => {
                let (known, jumps_back) = (block.target, block.jumps_back);
                if O::FLOW && block.is_transfer {
                    self.report_direct(id);
                }
                if jumps_back {
                    self.jumped_back(id, known);
                }
                if known == NONE { self.find_target(id) } else { known }
            }
            End::Indirect(to) => {
                self.arrive_indirect(id, to);
                self.blocks.lookup(to)
            }
            other => self.arrive_specially(id, other),
        }
    }

    /// After the rarer ends.
    #[cold]
    fn arrive_specially(&mut self, id: BlockId, how: End) -> BlockId {
        let block = &self.blocks.all[id as usize];
        let (last, next) = (block.address(block.insns.len() - 1), block.end);
        match how {
            End::Reti(to) => {
                self.cpu.pc = to;
                self.masked.set(false, last, self.now);
                self.let_interrupts_in();
                self.report_return(last, true);
                return self.blocks.lookup(to);
            }
            End::Enabled => {
                self.masked.set(false, last, self.now);
                self.let_interrupts_in();
            }
            End::Disabled => self.masked.set(true, last, self.now),
            End::Sleep if self.bus.requests.sleep_enabled => {
                self.sleeps = true;
                self.check = true;
                self.bus.now = self.now;
                self.bus.core_sleeps(true);
            }
            End::Sleep => self.bus.warnings.add("sleep-without-effect", format!(
                "SLEEP at {last:#07x} did nothing: sleep is not enabled (SE in the sleep control \
                 register)"
            )),
            _ => {}
        }
        self.cpu.pc = next;
        if O::FLOW && self.blocks.all[id as usize].falls_into_function {
            self.fall(id);
        }
        self.find_next(id)
    }

    /// Interrupts have been enabled: one more instruction goes before the first.
    fn let_interrupts_in(&mut self) {
        self.shadow = self.now;
        self.check |= self.pending;
    }

    /// The block after `id`, remembered once it is decoded; leaves the program counter there.
    #[cold]
    fn find_next(&mut self, id: BlockId) -> BlockId {
        self.cpu.pc = self.blocks.all[id as usize].end;
        let next = self.blocks.lookup(self.cpu.pc);
        self.blocks.all[id as usize].next = next;
        next
    }

    /// The block that `id` jumps to, remembered once it is decoded; leaves the program counter
    /// there.
    #[cold]
    fn find_target(&mut self, id: BlockId) -> BlockId {
        let block = &self.blocks.all[id as usize];
        let last = block.insns[block.insns.len() - 1];
        self.cpu.pc = last.target().unwrap_or(block.end);
        let target = self.blocks.lookup(self.cpu.pc);
        self.blocks.all[id as usize].target = target;
        target
    }

    /// Reports that the flow runs on into another function.
    fn fall(&mut self, id: BlockId) {
        let block = &self.blocks.all[id as usize];
        let from = block.address(block.insns.len() - 1);
        self.cpu.pc = block.end;
        self.report(TransferKind::Direct, from, self.stack_top());
    }

    /// Reports a direct jump that may change the running function.
    fn report_direct(&mut self, id: BlockId) {
        let block = &self.blocks.all[id as usize];
        let last = block.insns[block.insns.len() - 1];
        let (from, return_address) = (block.address(block.insns.len() - 1), block.end);
        self.cpu.pc = last.target().unwrap_or(block.end);
        if last.calls() {
            self.report_call(from, return_address);
        } else {
            self.report(TransferKind::Direct, from, self.stack_top());
        }
    }

    fn arrive_indirect(&mut self, id: BlockId, to: u32) {
        self.cpu.pc = to;
        if !O::FLOW {
            return;
        }
        let block = &self.blocks.all[id as usize];
        let last = block.insns[block.insns.len() - 1];
        let (from, return_address) = (block.address(block.insns.len() - 1), block.end);
        if last.calls() {
            self.report_call(from, return_address);
        } else if self.handlers.is_empty() {
            self.report(TransferKind::Indirect, from, self.stack_top());
        } else {
            self.report_return(from, false);
        }
    }

    /// The return address counts as not pushed yet.
    pub(super) fn report_call(&mut self, from: u32, return_address: u32) {
        let sp = self.stack_top() + u32::from(self.arch.pc_bytes());
        self.report(TransferKind::Call { return_address }, from, sp);
    }

    /// RETI, or a jump while a handler is under way: either may end it. Systems that switch threads
    /// leave a handler with RET, or with another stack.
    fn report_return(&mut self, from: u32, reti: bool) {
        let sp = self.stack_top();
        let ends = self.handlers.last().is_some_and(|&(_, below)| reti || below == self.cpu.sp);
        let kind = match self.handlers.last() {
            Some(&(exception, _)) if ends => TransferKind::ExceptionReturn { exception },
            _ => TransferKind::Indirect,
        };
        if ends {
            self.handlers.pop();
        }
        self.report(kind, from, sp);
    }

    pub(super) fn report(&mut self, kind: TransferKind, from: u32, sp: u32) {
        self.report_at(kind, from, sp, self.now);
    }

    /// Whether a block moves the stack pointer to where an observer wants to know.
    #[inline(always)]
    pub(super) fn moves_stack_anew(&self, id: BlockId) -> bool {
        if !self.observer.follows_stack() {
            return false;
        }
        let block = &self.blocks.all[id as usize];
        let (sp, window) = (self.stack_top(), self.observer.stack_window());
        self.unsettled > 0 || window != StackWindow::ALL && !block.stays_in(window, sp)
    }

    /// Reports where the stack pointer is after the instruction at `pc`.
    #[cold]
    pub(super) fn report_stack(&mut self, pc: u32) {
        let (sp, now) = (self.stack_top(), self.now);
        // More than a call pushes: one of its bytes was written, and the other one follows.
        let is_written = sp.abs_diff(std::mem::replace(&mut self.followed_sp, sp)) > 3;
        self.unsettled = if is_written { SETTLES } else { self.unsettled.saturating_sub(1) };
        if self.unsettled > 0 {
            return;
        }
        let point = StackPoint { sp, stack: Stack::Main, motion: Motion::Unknown, pc, now };
        self.observer.stack(point, &self.bus);
    }

    pub(super) fn report_at(&mut self, kind: TransferKind, from: u32, sp: u32, now: u64) {
        debug_assert!(sp >= DATA);
        if !O::FLOW {
            return;
        }
        let transfer = Transfer {
            kind,
            from,
            to: self.cpu.pc,
            sp,
            stack: Stack::Main,
            now,
            asleep: self.asleep,
            instructions: self.instructions,
            arguments: [
                self.cpu.pair(24).into(),
                self.cpu.pair(22).into(),
                self.cpu.pair(20).into(),
                self.cpu.pair(18).into(),
            ],
        };
        self.observer.transfer(&transfer, &self.bus);
        let sp = self.stack_top();
        if self.observer.follows_stack()
            && self.unsettled == 0
            && !self.observer.stack_window().contains(sp)
        {
            self.followed_sp = sp;
            self.report_stack(self.cpu.pc);
        }
        if self.belongs_to.is_some() {
            self.hand_over();
        }
    }

    /// Reports who counts from here on, if that has changed.
    fn hand_over(&mut self) {
        let who = self.observer.who();
        if who != self.belongs_to {
            self.belongs_to = who;
            if let Some(who) = who {
                self.observer.belongs_to(who);
            }
        }
    }
}
