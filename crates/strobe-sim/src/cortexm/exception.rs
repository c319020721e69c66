//! Into and out of exception handlers (DDI 0419, B1.5.6-B1.5.8), with what it costs.

use strobe_model::Cause;

use super::core::{Machine, Sleep};
use super::fault::{Fault, FaultReport};
use super::run::Stop;
use super::system::number;
use crate::device::Size;
use crate::observe::{Observer, Stack, Transfer, TransferKind, Wait};

/// Words of a stacked frame: R0-R3, R12, LR, return address, xPSR.
const FRAME_BYTES: u32 = 32;

/// The last cycles of an entry, in which the vector has been fetched and it is too late for a
/// higher-priority exception to take over (late arrival).
const VECTOR_FETCH: u32 = 4;

impl<O: Observer> Machine<O> {
    /// The priority of the running code, PRIMASK included.
    pub(crate) fn execution_priority(&self) -> i16 {
        let active = self.system.active_priority();
        if self.cpu.primask { active.min(0) } else { active }
    }

    /// Takes the best pending exception if it may run now.
    pub(crate) fn take_pending(&mut self) -> Result<bool, Stop> {
        let Some((exception, priority)) = self.system.best_pending() else { return Ok(false) };
        if priority >= self.execution_priority() {
            return Ok(false);
        }
        self.enter(exception, self.cpu.pc)?;
        Ok(true)
    }

    /// Stacks a frame with `return_address` and enters a handler.
    pub(crate) fn enter(&mut self, exception: u16, return_address: u32) -> Result<(), Stop> {
        let interrupted = (self.cpu.pc, self.cpu.r[13]);
        if self.push_frame(return_address).is_err() {
            // A fault while stacking: HardFault, or lockup from a handler of that priority.
            let address = self.cpu.r[13].wrapping_sub(FRAME_BYTES);
            return self.fault(Fault::Bus { address }, interrupted.0);
        }
        let cycles = self.timing.exception_entry();
        let exception = self.late_arrival(exception, self.now + u64::from(cycles - VECTOR_FETCH));
        let exc_return = match (self.cpu.ipsr, self.cpu.spsel) {
            (0, false) => 0xffff_fff9,
            (0, true) => 0xffff_fffd,
            _ => 0xffff_fff1,
        };
        let wait = Wait {
            cause: Cause::ExceptionEntry,
            low: i64::from(cycles),
            likely: i64::from(cycles),
            high: i64::from(cycles),
        };
        self.start_handler(exception, exc_return, interrupted, wait, None)
    }

    /// While a frame is stacked, an exception with a better priority may come up and goes first.
    fn late_arrival(&mut self, exception: u16, until: u64) -> u16 {
        if self.bus.next_due <= until || self.system.systick.due() <= until {
            self.bus.run_events(until);
            self.system.tick(until);
            self.system.update_lines(&self.bus.irq_levels, &self.bus.irq_since);
        }
        match self.system.best_pending() {
            Some((other, priority)) if priority < self.system.priority_of(exception) => other,
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
        let pended_at = self.system.pended_at(exception).min(self.now);
        let table = self.vectors.wrapping_add(self.system.vtor);
        let vector = self.bus.read(table.wrapping_add(4 * u32::from(exception)), Size::Word);
        let vector = vector.unwrap_or(0);
        self.system.activate(exception);
        self.cpu.set_mode(exception, false);
        self.cpu.r[14] = exc_return;
        self.cpu.pc = vector & !1;
        self.cpu.thumb = vector & 1 != 0;
        self.system.event = true;
        self.check = true;
        let cost = wait.likely as u64;
        let kind =
            TransferKind::ExceptionEntry { exception, pended_at, interrupted_sp, after, cost };
        // Reported first, so that whoever counts by thread counts the way in for the handler.
        self.report_transfer_at(kind, from, self.now + cost);
        self.add_wait(self.cpu.pc, wait);
        Ok(())
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

    /// A branch to EXC_RETURN in handler mode (ExceptionReturn, B1.5.8). `from` is the branch.
    pub(crate) fn exception_return(&mut self, value: u32, from: u32) -> Result<(), Stop> {
        let ended = self.cpu.ipsr;
        let nested = self.system.active & !(1 << ended) != 0;
        let (to_handler, process) = match value & 0xf {
            0x1 if nested => (true, false),
            0x9 if !nested => (false, false),
            0xd if !nested => (false, true),
            _ => return self.fault(Fault::BadReturn { value }, from),
        };
        self.system.deactivate(ended, self.now);
        if let Some((next, priority)) = self.system.best_pending()
            && priority < self.execution_priority()
        {
            let b = self.timing.tail_chain();
            let wait = modelled(Cause::ExceptionEntry, b);
            let interrupted = (from, self.cpu.r[13]);
            return self.start_handler(next, value, interrupted, wait, Some(ended));
        }
        self.pop_frame(to_handler, process, from)?;
        let wait = modelled(Cause::ExceptionExit, self.timing.exception_exit());
        self.add_wait(from, wait);
        self.system.event = true;
        self.check = true;
        self.report_transfer(TransferKind::ExceptionReturn { exception: ended }, from);
        // SLEEPONEXIT: back to sleep instead of to thread mode's code.
        if !to_handler && self.system.scr & 2 != 0 {
            self.sleep = Sleep::Interrupt;
        }
        Ok(())
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
        let ipsr = (xpsr & 0x3f) as u16;
        // The stacked IPSR must agree with where EXC_RETURN says it goes.
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
        // Bit 0 set is unpredictable by the manual. Real cores ignore it, and kernels that put a function pointer
        // there (FreeRTOS) rely on that.
        self.cpu.pc = return_address & !1;
        self.cpu.set_apsr(xpsr);
        self.cpu.thumb = xpsr >> 24 & 1 != 0;
        Ok(())
    }

    /// A fault of the instruction at `pc`: HardFault, or lockup when that cannot be taken.
    pub(crate) fn fault(&mut self, fault: Fault, pc: u32) -> Result<(), Stop> {
        let mut report = FaultReport::new(fault, &self.cpu, pc, self.now);
        if self.system.active_priority() <= -1 {
            return Err(Stop::Lockup(Box::new(report)));
        }
        if self.cpu.r[13] & !7 == 0 || self.push_is_impossible() {
            return Err(Stop::Lockup(Box::new(report)));
        }
        self.cpu.pc = pc;
        self.system.note_pended(number::HARD_FAULT, self.now);
        self.enter(number::HARD_FAULT, pc)?;
        report.frame = Some(if report.registers[13] == report.psp && report.psp != report.msp {
            self.cpu.psp()
        } else {
            self.cpu.msp()
        });
        self.fault.get_or_insert_with(|| report.clone());
        Err(Stop::HardFault(Box::new(report)))
    }

    fn push_is_impossible(&self) -> bool {
        let frame = self.cpu.r[13].wrapping_sub(FRAME_BYTES) & !7;
        let ends = [frame, frame.wrapping_add(FRAME_BYTES - 4)];
        ends.iter().any(|&a| self.bus.peek(a, Size::Word).is_none())
    }

    pub(crate) fn report_transfer(&mut self, kind: TransferKind, from: u32) {
        self.report_transfer_at(kind, from, self.now);
    }

    fn report_transfer_at(&mut self, kind: TransferKind, from: u32, now: u64) {
        if O::FLOW {
            let transfer = Transfer {
                kind,
                from,
                to: self.cpu.pc,
                sp: self.cpu.r[13],
                stack: if self.cpu.uses_psp() { Stack::Process } else { Stack::Main },
                now,
                asleep: self.asleep,
                instructions: self.instructions,
            };
            self.observer.transfer(&transfer, &self.bus);
            if self.belongs_to.is_some() {
                self.hand_over();
            }
        }
    }

    /// What has been counted so far belongs to whoever ran, what comes to whoever runs now.
    #[cold]
    fn hand_over(&mut self) {
        let who = self.observer.who();
        if who != self.belongs_to {
            self.tell_apart();
        }
    }
}

fn modelled(cause: Cause, b: strobe_model::Bounds) -> Wait {
    Wait { cause, low: b.low as i64, likely: b.likely as i64, high: b.high as i64 }
}
