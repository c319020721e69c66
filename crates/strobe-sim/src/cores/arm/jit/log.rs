//! Calls and returns inside a region: compiled code goes on through them and writes down what
//! observers would have heard, for [`Machine::report_logged`] to report when it is left.
//!
//! A transfer that must be known at once, because the stack pointer is where it has not been, is
//! written down as well, and then the code is left.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, types};

use super::build::{Build, trusted};
use super::code::{ExitKind, Frame};
use crate::cores::arm::core::Machine;
use crate::cores::arm::fast::Calls;
use crate::kernel::flash::accelerator::JUMPED;
use crate::kernel::observe::{Observer, Stack, StackWindow, Transfer};

/// Transfers that are written down before the code is left.
pub(super) const LOGGED: usize = 256;

/// A transfer that compiled code has gone on through.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Logged {
    /// As [`Frame::budget`] and [`Frame::instructions`], behind it.
    budget: i64,
    instructions: u64,
    /// Where it went.
    to: u32,
    /// The stack pointer there.
    sp: u32,
    /// The block that it ended, by its number in the region.
    block: u32,
    /// Whether that was the block's direct jump.
    direct: u32,
}

/// How many were written, if `next` is where the next one would be.
pub(super) fn length(log: &[Logged; LOGGED], next: *const Logged) -> usize {
    let bytes = (next as usize).saturating_sub(log.as_ptr() as usize);
    (bytes / size_of::<Logged>()).min(LOGGED)
}

impl Build<'_> {
    /// The jump at the end of the block being built goes to another function, to the region's block
    /// `to`, and has been paid for.
    pub(super) fn log(&mut self, to: usize, direct: bool) {
        if self.plan.calls != Calls::Log {
            return;
        }
        let offset = |field: usize| field as i32;
        let log = offset_of!(Frame, log) as i32;
        let entry = self.b.ins().load(types::I64, trusted(), self.frame, log);
        let budget = self.b.use_var(self.state.budget);
        let instructions = self.b.use_var(self.state.instructions);
        let sp = self.get(13);
        let start = self.constant(self.plan.blocks[to].block.start);
        let [block, direct] = [self.at.0 as u32, direct.into()].map(|n| self.constant(n));
        for (value, at) in [
            (budget, offset_of!(Logged, budget)),
            (instructions, offset_of!(Logged, instructions)),
            (start, offset_of!(Logged, to)),
            (sp, offset_of!(Logged, sp)),
            (block, offset_of!(Logged, block)),
            (direct, offset_of!(Logged, direct)),
        ] {
            self.b.ins().store(trusted(), value, entry, offset(at));
        }
        let next = self.b.ins().iadd_imm_s(entry, size_of::<Logged>() as i64);
        self.b.ins().store(trusted(), next, self.frame, log);
        let mut load = |ty, at: usize| self.b.ins().load(ty, trusted(), self.frame, at as i32);
        let end = load(types::I64, offset_of!(Frame, log_end));
        let low = load(types::I32, offset_of!(Frame, known) + offset_of!(StackWindow, low));
        let span = load(types::I32, offset_of!(Frame, known) + offset_of!(StackWindow, span));
        let room = self.b.ins().icmp(IntCC::UnsignedLessThan, next, end);
        let above = self.b.ins().isub(sp, low);
        let known = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, above, span);
        let may_wait = self.b.ins().band(room, known);
        let [on, leave] = [self.b.create_block(), self.b.create_block()];
        self.b.ins().brif(may_wait, on, &[], leave, &[]);
        let flags = self.flags;
        self.b.switch_to_block(leave);
        self.b.set_cold_block(leave);
        self.arrive(JUMPED);
        let from = std::mem::replace(&mut self.at, (to, 0));
        self.leave_with(ExitKind::Arrived);
        self.at = from;
        self.flags = flags;
        self.b.switch_to_block(on);
    }
}

impl<O: Observer> Machine<O> {
    /// The stack pointers with which a transfer may be reported late. What looks at the stack
    /// pointer after a transfer need not, if that is in its window already: compiled code does not
    /// leave that.
    #[inline(always)]
    pub(super) fn deferred(&self) -> StackWindow {
        let sp = self.cpu.r[13];
        let looks = self.observer.follows_stack() && !self.observer.stack_window().contains(sp);
        self.observer.defers().filter(|_| !looks).unwrap_or(StackWindow::NONE)
    }

    /// Reports what the code of a region has written down.
    pub(super) fn report_logged(&mut self, region: u32, count: usize, horizon: u64) {
        if !O::FLOW {
            return;
        }
        let stack = if self.cpu.uses_psp() { Stack::Process } else { Stack::Main };
        let blocks = &self.jit.regions[region as usize].blocks;
        for logged in &self.jit.log[..count] {
            let block = &self.blocks.all[blocks[logged.block as usize] as usize];
            let kind = match logged.direct {
                0 => block.computed_transfer(),
                _ => block.direct_transfer(),
            };
            let transfer = Transfer {
                kind,
                from: block.address(block.body as usize),
                to: logged.to,
                sp: logged.sp,
                stack,
                now: horizon.wrapping_add_signed(-logged.budget),
                asleep: self.asleep,
                instructions: logged.instructions,
                arguments: [0; 4],
            };
            self.observer.transfer(&transfer, &self.bus);
        }
    }
}
