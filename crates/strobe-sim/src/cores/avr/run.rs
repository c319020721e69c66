//! The core's loop: whole blocks while nothing can happen, single instructions otherwise.
//!
//! Between two events (a device's due cycle, a limit) nothing changes but what the core does, so a
//! block whose worst case fits before the next event runs without looking up. Accesses to devices
//! are made where they stand, at their exact cycle, and the block goes on unless something has come
//! of them. Near an event the same instructions go one by one. A test holds the two against each
//! other.

use std::sync::atomic::{AtomicBool, Ordering};

use strobe_model::{Bounds, Cause};

use super::Stop;
use super::block::{Block, NONE};
use super::core::Machine;
use super::cpu::{Cpu, I};
use super::exec::{End, end, exec};
use super::fault::{Fault, FaultReport};
use super::port::{CarefulPort, FastPort, Miss};
use crate::kernel::device::ResetCause;
use crate::kernel::memory::BusFault;
use crate::kernel::observe::code::BlockId;
use crate::kernel::observe::{Access, Observer, Retired, TransferKind, Wait};

/// The longest stretch without looking at the interrupt flag, in cycles.
const STRETCH: u64 = 1 << 24;

/// Where an instruction stands.
#[derive(Clone, Copy)]
pub(super) struct Here {
    pub(super) id: BlockId,
    pub(super) at: usize,
    /// Cycle at which it starts.
    pub(super) start: u64,
}

impl<O: Observer> Machine<O> {
    /// Starts from reset.
    ///
    /// # Errors
    /// None on this core, which has no vector table to read; other cores have one.
    pub fn reset(&mut self) -> Result<(), BusFault> {
        self.bus.now = self.now;
        self.bus.reset();
        let ram = &self.bus.ram;
        let ram_end = ram.base.wrapping_add(ram.data.len() as u32).wrapping_sub(1);
        let deepest = self.cpu.deepest;
        self.cpu = Cpu::new(self.arch, ram_end as u16);
        self.cpu.pc = self.begin;
        // What came before a reset counts too; before the first, nothing did.
        if deepest != 0 {
            self.cpu.deepest = deepest;
        }
        self.sleeps = false;
        self.woken = false;
        self.handlers.clear();
        self.masked.forget();
        self.shadow = u64::MAX;
        self.resume = None;
        self.check = true;
        Ok(())
    }

    /// Runs until something stops it, at the latest when `limit` cycles since reset have passed or
    /// `interrupted` is set. Can be called again after any stop but a lockup.
    pub fn run(&mut self, limit: u64, interrupted: &AtomicBool) -> Stop {
        let stop = self.run_on(limit, interrupted);
        // At a limit somebody has just looked.
        if stop != Stop::Limit {
            self.bus.run_quiet_events(self.now);
        }
        self.drain();
        stop
    }

    fn run_on(&mut self, limit: u64, interrupted: &AtomicBool) -> Stop {
        // The horizon is that of an earlier call, whose limit may have been further away.
        self.check = true;
        loop {
            if let Some((pin, level)) = self.bus.outputs.edges_met.pop_front() {
                return Stop::Edge(pin, level);
            }
            if self.check || self.now >= self.horizon {
                if interrupted.load(Ordering::Relaxed) {
                    return Stop::Interrupted;
                }
                if let Err(stop) = self.service(limit) {
                    return stop;
                }
                if self.now >= limit || std::mem::take(&mut self.bus.clock_changed) {
                    return Stop::Limit;
                }
                if self.sleeps {
                    continue;
                }
            }
            let result = match self.resume.take() {
                Some((id, at)) if self.cpu.pc == self.blocks.all[id as usize].address(at) => {
                    self.step(id, at)
                }
                _ => {
                    let id = self.block_at_pc();
                    let block = &self.blocks.all[id as usize];
                    let (start, stop_here) = (block.start, block.stop_here);
                    if stop_here && self.stopped_at != Some(start) {
                        self.stopped_at = Some(start);
                        return Stop::Address(start);
                    }
                    self.stopped_at = None;
                    self.run_from(id)
                }
            };
            if let Err(stop) = result {
                return stop;
            }
        }
    }

    /// Runs from the beginning of a block, in the fastest way that there is now.
    fn run_from(&mut self, id: BlockId) -> Result<(), Stop> {
        let block = &self.blocks.all[id as usize];
        if block.idle && self.spin(id)? || self.try_turns(id) {
            return Ok(());
        }
        let block = &self.blocks.all[id as usize];
        let fits = self.now + u64::from(block.worst) <= self.horizon;
        if O::EACH || self.observer.follows_accesses() || !fits || self.moves_stack_anew(id) {
            return self.step(id, 0);
        }
        self.run_blocks(id);
        Ok(())
    }

    fn block_at_pc(&mut self) -> BlockId {
        let pc = self.cpu.pc;
        let known = self.blocks.lookup(pc);
        if known != NONE {
            return known;
        }
        let id = self.blocks.decode(pc, &self.bus.flash, self.arch);
        if O::COUNTS {
            self.observer.decoded(id, &self.blocks.all[id as usize].code());
        }
        id
    }

    /// Looks after everything that is due: devices, interrupts, sleep; sets the horizon.
    fn service(&mut self, limit: u64) -> Result<(), Stop> {
        self.check = false;
        self.bus.attention = false;
        self.bus.run_events(self.now);
        self.drain();
        if let Some((address, pc)) = self.bus.strict_hit.take() {
            return Err(Stop::Unmodelled { address, pc });
        }
        if let Some(cause) = self.bus.requests.reset {
            self.system_reset(cause);
        }
        let halted = std::mem::take(&mut self.bus.requests.halted);
        if halted > 0 {
            self.add_wait(self.cpu.pc, Wait::of(Cause::DataWait, Bounds::exact(halted)));
            self.bus.run_events(self.now);
        }
        let irq = self.bus.first_irq();
        self.pending = irq.is_some();
        if self.sleeps {
            self.slumber(limit)?;
        }
        let mut horizon = self.bus.next_notable().min(limit).min(self.now + STRETCH);
        if let Some(irq) = irq
            && self.cpu.sreg & I != 0
            && !self.sleeps
        {
            if self.now == self.shadow {
                horizon = self.now + 1;
            } else if self.now < limit {
                self.interrupt(irq);
                horizon = horizon.min(self.bus.next_notable());
            }
        }
        self.horizon = horizon;
        Ok(())
    }

    fn system_reset(&mut self, cause: ResetCause) {
        self.bus.warnings.add("reset", format!("system reset: {cause}"));
        self.resets += 1;
        let from = self.cpu.pc;
        // It cannot fail on this core.
        let _ = self.reset();
        self.report(TransferKind::Reset, from, self.stack_top());
        self.check = false;
    }

    /// Sleeps up to the next event, or wakes.
    fn slumber(&mut self, limit: u64) -> Result<(), Stop> {
        if self.pending && self.cpu.sreg & I != 0 {
            self.wake();
            return Ok(());
        }
        if self.never_leaves() {
            return Err(Stop::SleepsForever);
        }
        let until = self.bus.next_due.min(limit).min(self.now + STRETCH).max(self.now);
        let cycles = until - self.now;
        self.asleep += cycles;
        self.observer.slept(self.now, until);
        let from = self.cpu.pc.wrapping_sub(2) & self.arch.pc_mask;
        self.add_wait(from, Wait::of(Cause::Asleep, Bounds::exact(cycles)));
        self.check = true;
        Ok(())
    }

    /// The clock starts again, if it has stood still, and then the core.
    fn wake(&mut self) {
        let start_up = std::mem::take(&mut self.bus.requests.start_up);
        self.asleep += start_up;
        self.observer.slept(self.now, self.now + start_up);
        let from = self.cpu.pc.wrapping_sub(2) & self.arch.pc_mask;
        self.add_wait(from, Wait::of(Cause::Asleep, Bounds::exact(start_up)));
        self.bus.now = self.now;
        self.bus.core_sleeps(false);
        (self.sleeps, self.woken) = (false, true);
    }

    /// Whether a sleeping or idle core stays so for ever: no interrupt can come, and no reset.
    fn never_leaves(&mut self) -> bool {
        let deaf = self.cpu.sreg & I == 0;
        let nothing_due = self.bus.next_due == u64::MAX && !self.pending;
        !self.bus.expects_input && (nothing_due || deaf && !self.bus.may_reset())
    }

    /// An empty loop: goes round it as often as fits before the next event, at once. Returns false
    /// when not even once fits.
    fn spin(&mut self, id: BlockId) -> Result<bool, Stop> {
        if self.never_leaves() {
            return Err(Stop::SleepsForever);
        }
        let block = &self.blocks.all[id as usize];
        let each = u64::from(block.cycles + block.refill);
        if self.bus.next_due <= self.now {
            self.check = true;
            return Ok(true);
        }
        // Idle time ends at each edge.
        let until = self.horizon.min(self.bus.next_due);
        let times = until.saturating_sub(self.now) / each;
        self.now += times * each;
        self.asleep += times * each;
        self.observer.slept(self.now - times * each, self.now);
        self.instructions += times * block.insns.len() as u64;
        if O::COUNTS && times > 0 {
            self.observer.idle_block(id, times);
        }
        Ok(times > 0)
    }

    /// Runs blocks until one does not fit before the horizon, needs care, or is not decoded yet.
    fn run_blocks(&mut self, mut id: BlockId) {
        loop {
            let block = &self.blocks.all[id as usize];
            let fits = self.now + u64::from(block.worst) <= self.horizon;
            if !fits || self.moves_stack_anew(id) {
                self.cpu.pc = self.blocks.all[id as usize].start;
                return;
            }
            id = self.run_block(id);
            if id == NONE {
                return;
            }
            if self.check {
                self.cpu.pc = self.blocks.all[id as usize].start;
                return;
            }
        }
    }

    /// Runs one block that fits before the horizon, and returns which comes next. Where that is not
    /// decoded yet, the program counter is left there.
    #[inline(always)]
    fn run_block(&mut self, id: BlockId) -> BlockId {
        let block = &self.blocks.all[id as usize];
        let mut port = FastPort { flash: &self.bus.flash, ram: &mut self.bus.ram };
        let how = match straight(&mut self.cpu, &mut port, block, 0) {
            Ok(how) => how,
            Err(at) => match self.with_devices(id, at) {
                Some(how) => how,
                None => return NONE,
            },
        };
        self.retire_block(id, how)
    }

    /// A block has run from its beginning to its end: what it took, and which block comes next.
    #[inline(always)]
    pub(super) fn retire_block(&mut self, id: BlockId, how: End) -> BlockId {
        let block = &self.blocks.all[id as usize];
        let jumped = how.is_jump();
        self.now += u64::from(block.cycles) + if jumped { u64::from(block.refill) } else { 0 };
        self.instructions += block.insns.len() as u64;
        if O::COUNTS {
            self.observer.block(id, jumped, 1);
        }
        self.arrive(id, how)
    }

    /// Goes on with a block at instruction `at`, which the fast path has left. Returns how the
    /// block ended, or `None` if it was left because something may have come of an access.
    #[cold]
    fn with_devices(&mut self, id: BlockId, mut at: usize) -> Option<End> {
        loop {
            let before = u64::from(self.blocks.all[id as usize].meta[at].before);
            let how = self.perform(Here { id, at, start: self.now + before });
            at += 1;
            let block = &self.blocks.all[id as usize];
            if at == block.insns.len() {
                self.check |= self.bus.attention;
                return Some(how);
            }
            if self.bus.attention || self.check {
                self.leave_before(id, at);
                return None;
            }
            let mut port = FastPort { flash: &self.bus.flash, ram: &mut self.bus.ram };
            match straight(&mut self.cpu, &mut port, block, at) {
                Ok(how) => {
                    self.check |= self.bus.attention;
                    return Some(how);
                }
                Err(miss) => at = miss,
            }
        }
    }

    /// Leaves a block that has run up to instruction `at`.
    pub(super) fn leave_before(&mut self, id: BlockId, at: usize) {
        let block = &self.blocks.all[id as usize];
        self.now += u64::from(block.meta[at].before);
        self.instructions += at as u64;
        self.cpu.pc = block.address(at);
        self.resume = Some((id, at));
        self.check = true;
        if O::COUNTS {
            self.observer.retired_before(id, at);
        }
    }

    /// Runs a block's instructions one by one from `from` on.
    fn step(&mut self, id: BlockId, from: usize) -> Result<(), Stop> {
        let count = self.blocks.all[id as usize].insns.len();
        for at in from..count {
            let block = &self.blocks.all[id as usize];
            let pc = block.address(at);
            self.cpu.pc = pc;
            if at > from && (self.now >= self.horizon || self.bus.attention || self.check) {
                self.check = true;
                self.resume = Some((id, at));
                return Ok(());
            }
            let (cost, start, idle) = (block.meta[at].cost, self.now, block.idle);
            self.followed_sp = self.stack_top();
            let how = self.perform(Here { id, at, start });
            let jumped = how.is_jump();
            if let End::Invalid(opcode) = how {
                return Err(self.invalid(opcode, pc));
            }
            let cycles = if jumped { cost.jumping() } else { cost.straight() };
            self.now += u64::from(cycles);
            if idle {
                self.asleep += u64::from(cycles);
                self.observer.slept(start, self.now);
            }
            self.instructions += 1;
            if O::COUNTS {
                self.observer.retired(id, at, jumped);
            }
            if O::EACH {
                self.observer.instruction(&Retired { pc, start, cycles, jumped });
            }
            if self.observer.follows_stack() {
                self.report_stack(pc);
            }
            if at + 1 == count {
                let next = self.arrive(id, how);
                if next != NONE {
                    self.cpu.pc = self.blocks.all[next as usize].start;
                }
            }
        }
        self.check |= self.bus.attention;
        Ok(())
    }

    /// Executes one instruction with all that comes of it but time.
    fn perform(&mut self, here: Here) -> End {
        if !self.observer.follows_accesses() {
            return self.perform_logged(here, None);
        }
        let mut log: Vec<Access> = Vec::new();
        let how = self.perform_logged(here, Some(&mut log));
        for access in &log {
            self.observer.access(access, &mut self.bus);
        }
        how
    }

    /// The same, with its accesses put down.
    pub(super) fn perform_logged(&mut self, here: Here, log: Option<&mut Vec<Access>>) -> End {
        let block = &self.blocks.all[here.id as usize];
        let (insn, next) = (block.insns[here.at], block.end);
        let before = self.cpu.sreg;
        let enabled = before & I;
        let cycles = u64::from(block.meta[here.at].cost.straight());
        let mut port = CarefulPort {
            bus: &mut self.bus,
            pc: block.address(here.at),
            end: here.start + cycles,
            log,
        };
        let mut sreg = before;
        let result = if here.at == block.body as usize {
            end(&mut self.cpu, &mut sreg, &mut port, insn, next)
        } else {
            exec(&mut self.cpu, &mut sreg, &mut port, insn).map(|()| End::Next)
        };
        // Otherwise a store may have set it.
        if sreg != before {
            self.cpu.sreg = sreg;
        }
        let how = match result {
            Ok(how) => how,
            Err(never) => match never {},
        };
        // A store has gone to SREG.
        if how == End::Next && self.cpu.sreg & !enabled & I != 0 {
            self.shadow = here.start + cycles;
            self.check = true;
        }
        if !self.bus.outputs.edges.is_empty() || !self.bus.outputs.frames.is_empty() {
            self.drain();
        }
        how
    }

    fn invalid(&self, opcode: u16, pc: u32) -> Stop {
        Stop::Lockup(Box::new(FaultReport {
            fault: Fault::InvalidOpcode { opcode },
            pc,
            cycle: self.now,
            registers: self.cpu.r,
            sreg: self.cpu.sreg,
            sp: self.cpu.sp,
        }))
    }
}

/// Runs a block's instructions from `from` on; `Err` is the one that is not for the fast path.
#[inline(always)]
fn straight(cpu: &mut Cpu, port: &mut FastPort, block: &Block, from: usize) -> Result<End, usize> {
    let body = block.body as usize;
    let mut sreg = cpu.sreg;
    let mut at = from;
    while at < body {
        if exec(cpu, &mut sreg, port, block.lean[at]).is_err() {
            cpu.sreg = sreg;
            return Err(at);
        }
        at += 1;
    }
    let how = match block.lean.get(body) {
        None => Ok(End::Next),
        Some(&last) => end(cpu, &mut sreg, port, last, block.end),
    };
    cpu.sreg = sreg;
    how.map_err(|_: Miss| body)
}
