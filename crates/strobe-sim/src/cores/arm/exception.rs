//! Into and out of exception handlers (DDI 0419 and DDI 0403, B1.5.6-B1.5.8), with what it costs.
//!
//! Of the two ways in and out, one is ARMv6-M's, whose figures are partly models, and one is
//! ARMv7-M's, where stacking and returning may themselves fault and the floating-point registers
//! have a part.

use strobe_model::{Bounds, Cause};

use super::block::{in_flash, jump_wait};
use super::core::{Machine, Sleep};
use super::fault::{ExceptionStep, Fault};
use super::nvic::IDLE_PRIORITY;
use super::run::Stop;
use super::system::number;
use super::trace::Action;
use crate::kernel::device::Size;
use crate::kernel::flash::{HalfCycles, bounds};
use crate::kernel::observe::{Motion, Observer, TransferKind, Wait};

/// Words of a stacked frame: R0-R3, R12, LR, return address, xPSR.
const FRAME_BYTES: u32 = 32;

/// The last cycles of an entry, in which the vector has been fetched and it is too late for a
/// higher-priority exception to take over (late arrival).
const VECTOR_FETCH: u32 = 4;

impl<O: Observer> Machine<O> {
    /// The priority of the running code, with what masks it (ExecutionPriority, B1.5.4).
    pub(crate) fn execution_priority(&self) -> i16 {
        let priority = self.priority_but_for_primask();
        if self.cpu.primask { priority.min(0) } else { priority }
    }

    /// PRIMASK keeps handlers from running, but the core wakes for them.
    pub(crate) fn priority_but_for_primask(&self) -> i16 {
        self.system.nvic.active_priority().min(self.masked_priority())
    }

    /// The priority that FAULTMASK and BASEPRI leave.
    pub(crate) fn masked_priority(&self) -> i16 {
        match (self.cpu.faultmask, self.cpu.basepri) {
            (true, _) => -1,
            (false, 0) => IDLE_PRIORITY,
            (false, base) => self.system.nvic.group_priority(i16::from(base)),
        }
    }

    /// Takes the best pending exception if it may run now.
    pub(crate) fn take_pending(&mut self) -> Result<bool, Stop> {
        let Some((exception, priority)) = self.system.nvic.best_pending() else {
            return Ok(false);
        };
        if priority >= self.execution_priority() {
            return Ok(false);
        }
        self.enter(exception, self.cpu.pc)?;
        Ok(true)
    }

    /// Stacks a frame with `return_address` and enters a handler.
    pub(crate) fn enter(&mut self, exception: u16, return_address: u32) -> Result<(), Stop> {
        self.turns.abandon();
        if self.system.arch().v7m {
            return self.enter_v7m(exception, return_address);
        }
        let interrupted = (self.cpu.pc, self.cpu.r[13]);
        if self.push_frame(return_address).is_err() {
            // A fault while stacking: HardFault, or lockup from a handler of that priority.
            let address = self.cpu.r[13].wrapping_sub(FRAME_BYTES);
            return self.fault(Fault::Bus { address }, interrupted.0);
        }
        if self.observer.follows_stack() {
            self.report_stack(interrupted.0, Motion::Moved);
        }
        let cycles = self.timing.exception_entry();
        let exception = self.late_arrival(exception, self.now + u64::from(cycles - VECTOR_FETCH));
        let exc_return = match (self.cpu.ipsr, self.cpu.spsel) {
            (0, false) => 0xffff_fff9,
            (0, true) => 0xffff_fffd,
            _ => 0xffff_fff1,
        };
        let wait = Wait::of(Cause::ExceptionEntry, Bounds::exact(u64::from(cycles)));
        self.start_handler(exception, exc_return, interrupted, wait, None)
    }

    /// ARMv7-M: the same, and of what is pending by the end of it the best goes first. What goes
    /// wrong on the way is one more exception that is pending (DDI 0403, B1.5.11).
    fn enter_v7m(&mut self, exception: u16, return_address: u32) -> Result<(), Stop> {
        let interrupted = (self.cpu.pc, self.cpu.r[13]);
        self.system.nvic.pend(exception, self.now);
        let stacked = self.stack(return_address);
        if let Some(fault) = stacked.fault {
            self.pend_fault(fault, interrupted.0, None)?;
        }
        if self.observer.follows_stack() {
            self.report_stack(interrupted.0, Motion::Moved);
        }
        let table = self.vector_table();
        let alone = self.timing.entry(self.cpu.r[13], table, stacked.with_fp);
        let alone = self.model.of(alone);
        let (exception, cost) = self.late_arrival_v7m(exception, alone);
        self.count_overhead(cost.likely);
        let wait = Wait::of(Cause::ExceptionEntry, cost);
        self.start_handler(exception, stacked.exc_return, interrupted, wait, None)?;
        self.account_for_fault(self.cpu.ipsr, stacked.frame)
    }

    /// Up to the handler's first instruction a better exception may come up and goes first; its
    /// vector is then fetched anew, which takes what tail-chaining takes (DUI 0553A, 2.3.7).
    fn late_arrival_v7m(&mut self, exception: u16, entry: Bounds) -> (u16, Bounds) {
        let end = self.now + entry.likely;
        self.look_ahead(end - 1);
        self.note_lost_store();
        let best = self.system.nvic.best_pending().map_or(exception, |(best, _)| best);
        let arrived = self.system.nvic.pended_at(best).max(self.now) - self.now;
        let again = self.timing.tail_chain();
        let cost = Bounds {
            low: entry.low,
            likely: entry.likely.max(arrived + again.likely),
            high: entry.high.max(arrived + again.high),
        };
        if best != exception {
            return (best, cost);
        }
        // A store to a register that pends is done a little behind its instruction.
        let pended_at = self.system.nvic.pended_at(exception).min(self.now);
        self.system.nvic.note_pended(exception, pended_at);
        (exception, entry)
    }

    /// Lets everything happen that is due up to a cycle to come.
    fn look_ahead(&mut self, until: u64) {
        if self.bus.next_due <= until || self.system.due() <= until {
            self.bus.run_events(until);
            self.system.tick(until);
            self.system.update_lines(&self.bus.interrupts);
        }
    }

    /// While a frame is stacked, an exception with a better priority may come up and goes first.
    fn late_arrival(&mut self, exception: u16, until: u64) -> u16 {
        self.look_ahead(until);
        match self.system.nvic.best_pending() {
            Some((other, priority)) if priority < self.system.nvic.priority_of(exception) => other,
            _ => exception,
        }
    }

    fn start_handler(
        &mut self,
        exception: u16,
        exc_return: u32,
        (from, interrupted_sp): (u32, u32),
        wait: Wait,
        after: Option<u16>,
    ) -> Result<(), Stop> {
        self.spend(from);
        let (exception, entry, vector) = self.vector(exception, from)?;
        // A late arrival on ARMv7-M came up on the way in.
        let until = if self.system.arch().v7m { self.now + wait.likely as u64 } else { self.now };
        let pended_at = self.system.nvic.pended_at(exception).min(until);
        self.system.nvic.activate(exception);
        self.cpu.set_mode(exception, false);
        self.cpu.r[14] = exc_return;
        self.cpu.pc = vector & !1;
        self.cpu.thumb = vector & 1 != 0;
        self.cpu.it = 0;
        self.bus.flash_interface.accelerator.jumped();
        self.cpu.resume_at = 0;
        self.cpu.exclusive = false;
        self.cpu.fpca = false;
        self.cpu.fp_ready = false;
        self.system.event = true;
        self.check = true;
        let mut waits = vec![wait];
        if in_flash(entry, &self.bus) {
            // How much of the wait stacking hides is not documented.
            let read = self.bus.flash_interface.accelerator.read_vector(self.bus.unalias(entry));
            if read.high > 0 {
                let wait = self.model.of(Bounds { low: 0, ..read });
                waits.push(Wait::of(Cause::DataWait, wait));
            }
            let read = self.bus.flash_interface.timing.data_read;
            waits.extend(self.flash_wait(Cause::DataWait, read));
        }
        let target = jump_wait(self.cpu.pc, &self.bus);
        waits.extend(self.flash_wait(Cause::FetchWait, target));
        let cost = waits.iter().map(|wait| wait.likely as u64).sum();
        let masked_from = self.masked.held_up(pended_at);
        let masked_from = masked_from.or_else(|| self.disabled.held_up(exception, pended_at));
        let kind = TransferKind::ExceptionEntry {
            exception,
            pended_at,
            masked_from,
            interrupted_sp,
            after,
            cost,
        };
        // Reported first, so that whoever counts by thread counts the way in for the handler.
        self.report_transfer_at(kind, from, self.now + cost);
        for wait in waits {
            self.add_wait(self.cpu.pc, wait);
        }
        self.spend(self.cpu.pc);
        self.trace_exception(exception, Action::Enter, self.now);
        Ok(())
    }

    /// The address and value of an exception's vector. On ARMv7-M one that cannot be read is a
    /// HardFault, whose own must be there.
    fn vector(&mut self, exception: u16, pc: u32) -> Result<(u16, u32, u32), Stop> {
        let table = self.vector_table();
        let entry = table.wrapping_add(4 * u32::from(exception));
        let read = self.bus.read(entry, Size::Word);
        if read.is_ok() || !self.system.arch().v7m {
            return Ok((exception, entry, read.unwrap_or(0)));
        }
        let step = ExceptionStep::Vector;
        let fault = Fault::Exception { step, address: entry, protected: false };
        if self.system.nvic.priority_of(exception) > -1 {
            self.pend_fault(fault, pc, None)?;
            let entry = table.wrapping_add(4 * u32::from(number::HARD_FAULT));
            if let Ok(vector) = self.bus.read(entry, Size::Word) {
                return Ok((number::HARD_FAULT, entry, vector));
            }
        }
        Err(self.lockup(fault, pc))
    }

    /// What flash adds on the way into a handler or out of it. The figures of the manuals are for
    /// memory that answers at once; how much of a wait their other cycles hide is not documented,
    /// so it may be nothing.
    fn flash_wait(&mut self, cause: Cause, cost: HalfCycles) -> Option<Wait> {
        if cost.is_zero() {
            return None;
        }
        let b = bounds(cost, self.carry.take(cost));
        let (likely, high) = (b.likely as i64, b.high as i64);
        Some(Wait { cause, low: 0, likely, high }.in_model(self.model))
    }

    /// Stacks the caller-saved registers on the stack in use (PushStack, B1.5.6).
    fn push_frame(&mut self, return_address: u32) -> Result<(), Fault> {
        let sp = self.cpu.r[13];
        let padding = sp & 4;
        let frame = sp.wrapping_sub(FRAME_BYTES) & !7;
        let xpsr = self.cpu.xpsr() & !(1 << 9) | padding << 7;
        let r = &self.cpu.r;
        let words = [r[0], r[1], r[2], r[3], r[12], r[14], return_address, xpsr];
        for (i, word) in (0u32..).zip(words) {
            let address = frame.wrapping_add(4 * i);
            self.bus.now = self.now;
            self.bus.write(address, Size::Word, word).map_err(|_| Fault::Bus { address })?;
        }
        self.cpu.r[13] = frame;
        Ok(())
    }

    /// A branch to EXC_RETURN in handler mode (ExceptionReturn, B1.5.8). `from` is the branch,
    /// `refill` what it has been charged for filling the pipeline.
    pub(crate) fn exception_return(
        &mut self,
        value: u32,
        from: u32,
        refill: u8,
    ) -> Result<(), Stop> {
        self.turns.abandon();
        if self.system.arch().v7m {
            return self.exception_return_v7m(value, from, u64::from(refill));
        }
        let ended = self.cpu.ipsr;
        let nested = self.system.nvic.active.len() > 1;
        let (to_handler, process) = match value & 0xf {
            0x1 if nested => (true, false),
            0x9 if !nested => (false, false),
            0xd if !nested => (false, true),
            _ => return self.fault(Fault::BadReturn { value }, from),
        };
        self.system.deactivate(ended, self.now);
        if let Some((next, priority)) = self.system.nvic.best_pending()
            && priority < self.execution_priority()
        {
            let b = self.model.of(self.timing.tail_chain());
            let wait = Wait::of(Cause::ExceptionEntry, b);
            let interrupted = (from, self.cpu.r[13]);
            return self.start_handler(next, value, interrupted, wait, Some(ended));
        }
        self.pop_frame(to_handler, process, from)?;
        self.leave(ended, from, self.timing.exception_exit());
        Ok(())
    }

    /// ARMv7-M. What is wrong with the return is an exception that is chained to the handler
    /// (B1.5.8).
    fn exception_return_v7m(&mut self, value: u32, from: u32, refill: u64) -> Result<(), Stop> {
        let ended = self.cpu.ipsr;
        self.spend(from);
        // The pipeline that the branch has been charged for is filled on the way out.
        self.trace_exception(ended, Action::Exit, self.now - refill);
        let nvic = &self.system.nvic;
        let was_active = nvic.active.contains(ended);
        let at_base = nvic.active.len() == 1;
        let valid = was_active
            && match value & 0xf {
                0x1 => true,
                0x9 | 0xd => at_base || self.system.threads_may_nest(),
                _ => false,
            };
        self.system.deactivate(ended, self.now);
        if ended != number::NMI {
            self.cpu.faultmask = false;
        }
        if !valid {
            self.pend_fault(Fault::BadReturn { value }, from, None)?;
        }
        if let Some(chained) = self.chain(value, from, ended, refill) {
            return chained;
        }
        let with_fp = self.unstacks_fp(value);
        if let Err(fault) = self.unstack(value) {
            self.pend_fault(fault, from, None)?;
            return self.chain(value, from, ended, refill).unwrap_or(Ok(()));
        }
        // The stacked IPSR must agree with the mode in EXC_RETURN.
        let to_handler = value & 8 == 0;
        if (self.cpu.ipsr != 0) != to_handler {
            return self.wrong_mode(value, from);
        }
        let cost = less(self.timing.exit(with_fp), refill);
        self.count_overhead(cost.likely);
        self.leave(ended, from, cost);
        Ok(())
    }

    /// From one handler to the next without unstacking, if one is pending that may run.
    fn chain(
        &mut self,
        exc_return: u32,
        from: u32,
        ended: u16,
        refill: u64,
    ) -> Option<Result<(), Stop>> {
        let (next, priority) = self.system.nvic.best_pending()?;
        if priority >= self.execution_priority() {
            return None;
        }
        let cost = less(self.timing.tail_chain(), refill);
        self.count_overhead(cost.likely);
        let wait = Wait::of(Cause::ExceptionEntry, cost);
        let interrupted = (from, self.cpu.r[13]);
        let started = self.start_handler(next, exc_return, interrupted, wait, Some(ended));
        Some(started.and_then(|()| self.account_for_fault(self.cpu.ipsr, None)))
    }

    /// The frame was for another mode than EXC_RETURN selects: it is stacked again, and UsageFault
    /// is taken.
    fn wrong_mode(&mut self, value: u32, from: u32) -> Result<(), Stop> {
        let exception = self.pend_fault(Fault::BadReturn { value }, from, None)?;
        let entered = self.enter(exception, self.cpu.pc);
        self.cpu.r[14] = value;
        entered
    }

    /// The frame is back: what that cost, and whether the core goes on sleeping.
    fn leave(&mut self, ended: u16, from: u32, cost: Bounds) {
        self.add_wait(from, Wait::of(Cause::ExceptionExit, cost));
        if let Some(wait) = self.flash_wait(Cause::FetchWait, jump_wait(self.cpu.pc, &self.bus)) {
            self.add_wait(from, wait);
        }
        self.spend(from);
        self.trace_exception(self.cpu.ipsr, Action::Return, self.now);
        self.system.event = true;
        self.check = true;
        self.report_transfer(TransferKind::ExceptionReturn { exception: ended }, from);
        // SLEEPONEXIT: back to sleep instead of to thread mode's code.
        if self.cpu.ipsr == 0 && self.system.nvic.active.len() == 0 && self.system.scr & 2 != 0 {
            self.fall_asleep(Sleep::Interrupt);
        }
    }

    fn pop_frame(&mut self, to_handler: bool, process: bool, from: u32) -> Result<(), Stop> {
        let frame = if process { self.cpu.psp() } else { self.cpu.msp() };
        let mut words = [0u32; 8];
        for (i, word) in (0u32..).zip(&mut words) {
            let address = frame.wrapping_add(4 * i);
            self.bus.now = self.now;
            match self.bus.read(address, Size::Word) {
                Ok(value) => *word = value,
                Err(_) => return self.fault(Fault::Bus { address }, from),
            }
        }
        let [r0, r1, r2, r3, r12, lr, return_address, xpsr] = words;
        let ipsr = (xpsr & 0x1ff) as u16;
        // The stacked IPSR must agree with the mode in EXC_RETURN.
        if (ipsr != 0) != to_handler {
            return self.fault(Fault::BadReturn { value: return_address }, from);
        }
        let sp = frame.wrapping_add(FRAME_BYTES) | (xpsr >> 7 & 4);
        if process {
            self.cpu.set_psp(sp)
        } else {
            self.cpu.set_msp(sp)
        }
        self.cpu.set_mode(ipsr, process);
        self.cpu.r[..4].copy_from_slice(&[r0, r1, r2, r3]);
        self.cpu.r[12] = r12;
        self.cpu.r[14] = lr;
        // Bit 0 set is unpredictable by the manual. Real cores ignore it, and kernels that put a
        // function pointer there (FreeRTOS) rely on that.
        self.cpu.pc = return_address & !1;
        self.cpu.set_apsr(xpsr);
        self.cpu.set_epsr(xpsr);
        self.cpu.exclusive = false;
        self.cpu.fp_ready = false;
        Ok(())
    }

    pub(super) fn push_is_impossible(&self) -> bool {
        let frame = self.cpu.r[13].wrapping_sub(FRAME_BYTES) & !7;
        let ends = [frame, frame.wrapping_add(FRAME_BYTES - 4)];
        ends.iter().any(|&a| self.bus.peek(a, Size::Word).is_none())
    }
}

/// Without cycles that have been paid for already.
fn less(b: Bounds, paid: u64) -> Bounds {
    Bounds {
        low: b.low.saturating_sub(paid),
        likely: b.likely.saturating_sub(paid),
        high: b.high.saturating_sub(paid),
    }
}
