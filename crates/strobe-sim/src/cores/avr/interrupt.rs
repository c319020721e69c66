//! The way into an interrupt's handler.

use strobe_model::{Bounds, Cause};

use super::core::Machine;
use super::cpu::I;
use super::exec::push_pc;
use super::port::CarefulPort;
use super::{FIRST_EXCEPTION, timing};
use crate::kernel::observe::{Observer, TransferKind, Wait};

/// Handlers remembered inside one another; those below a deeper stack are forgotten.
const MAX_NESTED: usize = 256;

impl<O: Observer> Machine<O> {
    /// Enters the handler of vector `irq`: interrupts off, flag cleared, return address pushed.
    pub(super) fn interrupt(&mut self, irq: u16) {
        let (from, below, interrupted_sp) = (self.cpu.pc, self.cpu.sp, self.stack_top());
        let wake_up = if std::mem::take(&mut self.woken) { timing::WAKE_UP } else { 0 };
        let cost = timing::interrupt_entry(self.arch) + wake_up;
        self.bus.now = self.now;
        self.bus.acknowledge(irq);
        let end = self.now + cost;
        let mut port = CarefulPort { bus: &mut self.bus, pc: from, end, log: None };
        match push_pc(&mut self.cpu, &mut port, from) {
            Ok(()) => {}
            Err(never) => match never {},
        }
        self.cpu.sreg &= !I;
        self.cpu.pc = (u32::from(irq) * self.options.vector_bytes) & self.arch.pc_mask;
        self.resume = None;
        let exception = FIRST_EXCEPTION + irq;
        if self.handlers.len() == MAX_NESTED {
            self.handlers.remove(0);
        }
        self.handlers.push((exception, below));
        let pended_at =
            self.bus.interrupts.since.get(usize::from(irq)).copied().unwrap_or(self.now);
        let masked_from = self.masked.held_up(pended_at);
        let kind = TransferKind::ExceptionEntry {
            exception,
            pended_at,
            masked_from,
            interrupted_sp,
            after: None,
            cost,
        };
        // Reported first, so that whoever counts by thread counts the way in for the handler.
        self.report_at(kind, from, self.stack_top(), end);
        self.add_wait(self.cpu.pc, Wait::of(Cause::ExceptionEntry, Bounds::exact(cost)));
    }
}
