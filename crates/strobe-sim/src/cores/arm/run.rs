//! The core's loop: whole blocks while nothing can happen, single instructions otherwise.
//!
//! Between two events (a device's or SysTick's due cycle, a limit) nothing changes but what the
//! core does, so a block whose worst case fits before the next event runs without looking up. As
//! soon as an access leaves RAM, or an event comes near, the same instructions go through the
//! careful path, one by one at their exact cycles. Both paths give the same registers, cycles and
//! counts; a test holds them against each other.

use std::sync::atomic::{AtomicBool, Ordering};

use strobe_model::{Bounds, Cause};

use super::block::{BlockId, NONE};
use super::core::{Machine, Sleep};
use super::fault::{Fault, FaultReport};
use super::mpu::Purpose;
use super::system::ResetRequest;
use super::trace::{Counter, Spent};
use crate::kernel::bus::{Bus, unalias};
use crate::kernel::device::{ResetCause, Size};
use crate::kernel::flash::HalfCycles;
use crate::kernel::masked::Disabled;
use crate::kernel::memory::BusFault;
use crate::kernel::observe::{Observer, TransferKind, Wait};

/// Why a run stopped.
pub type Stop = crate::kernel::core::Stop<FaultReport>;

/// The longest stretch without looking at the interrupt flag, in cycles.
const STRETCH: u64 = 1 << 24;

/// Branches to this and above in handler mode are exception returns.
pub(super) const EXC_RETURN: u32 = 0xf000_0000;

/// How a block's last instruction ended it.
pub(super) enum End {
    /// On to the next address.
    Next,
    /// A jump whose cost is in the block.
    Direct,
    /// A jump to a computed address (bit 0: Thumb).
    Indirect(u32),
}

impl<O: Observer> Machine<O> {
    /// Reads the vector table and starts from reset.
    ///
    /// # Errors
    /// When the table cannot be read at the reset address.
    pub fn reset(&mut self) -> Result<(), BusFault> {
        self.bus.now = self.now;
        self.bus.reset();
        self.start()
    }

    /// The core itself.
    fn start(&mut self) -> Result<(), BusFault> {
        let table = self.handed_over.unwrap_or(self.vectors);
        self.system.reset();
        self.system.vtor = table;
        self.cpu = super::cpu::Cpu::new(self.timing.kind.architecture());
        let sp = self.bus.read(table, Size::Word)?;
        let pc = self.bus.read(table.wrapping_add(4), Size::Word)?;
        self.cpu.r[13] = sp & !3;
        self.cpu.r[14] = u32::MAX;
        self.cpu.pc = pc & !1;
        self.cpu.thumb = pc & 1 != 0;
        self.cpu.set_apsr(super::cpu::Z);
        self.sleep = Sleep::Awake;
        self.masked.forget();
        self.disabled = Disabled::default();
        self.check = true;
        Ok(())
    }

    /// Runs until something stops it, at the latest when `limit` cycles since reset have passed or
    /// `interrupted` is set. Can be called again after any stop but a lockup.
    pub fn run(&mut self, limit: u64, interrupted: &AtomicBool) -> Stop {
        let stop = self.run_on(limit, interrupted);
        self.run_last_edges(&stop);
        self.take_counts();
        self.drain_trace();
        if !self.bus.outputs.edges.is_empty() {
            self.drain();
        }
        stop
    }

    /// Lets edges happen that nobody has looked for before a stop. At a limit somebody just has;
    /// an instruction that ends the run has done so before its last cycle.
    fn run_last_edges(&mut self, stop: &Stop) {
        match stop {
            Stop::Limit => {}
            Stop::Exit(_) | Stop::HardFault(_) | Stop::Lockup(_) => {
                self.bus.run_quiet_events(self.now.saturating_sub(1));
            }
            _ => self.bus.run_quiet_events(self.now),
        }
    }

    fn run_on(&mut self, limit: u64, interrupted: &AtomicBool) -> Stop {
        // The horizon is that of an earlier call, whose limit may have been further away.
        self.check = true;
        self.drop_turn();
        self.jit.watch_stack(self.observer.follows_stack());
        self.look_at_stack(self.cpu.pc);
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
                if self.sleep != Sleep::Awake {
                    continue;
                }
            }
            if let Some((id, at)) = self.resume.take()
                && self.cpu.pc == self.blocks.all[id as usize].address(at)
            {
                if let Err(stop) = self.run_carefully(id, at) {
                    return stop;
                }
                continue;
            }
            let id = match self.block_at_pc() {
                Ok(id) => id,
                Err(stop) => return stop,
            };
            if id == NONE {
                // The firmware handles the fault that was there instead of code.
                continue;
            }
            let block = &self.blocks.all[id as usize];
            let start = block.start;
            if block.stop_here && self.stopped_at != Some(start) {
                self.stopped_at = Some(start);
                return Stop::Address(start);
            }
            self.stopped_at = None;
            self.look_for_turn(id);
            let block = &self.blocks.all[id as usize];
            if block.idle {
                if !self.bus.flash_interface.accelerator.has(id) {
                    self.fetch(id);
                }
                match self.spin(id) {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(stop) => return stop,
                }
            }
            let block = &self.blocks.all[id as usize];
            let fits = self.now + u64::from(block.worst) <= self.horizon;
            let carefully = O::EACH || !fits || self.guarded.everywhere || self.traced;
            let carefully = carefully
                || self.cpu.resume_at != 0
                || self.observer.follows_accesses()
                || self.turns.is_recording();
            let result = if carefully || self.now < self.bus.masters.contended_until {
                self.note_block(id);
                if !self.bus.flash_interface.accelerator.has(id) {
                    self.fetch(id);
                }
                self.run_carefully(id, 0)
            } else {
                self.run_blocks(id)
            };
            if let Err(stop) = result {
                return stop;
            }
        }
    }

    /// Looks after everything that is due: devices, SysTick, exceptions, sleep; sets the horizon.
    fn service(&mut self, limit: u64) -> Result<(), Stop> {
        self.check = false;
        self.bus.attention = false;
        // The firmware may have written CPACR.
        self.cpu.fp_ready = false;
        self.bus.run_events(self.now);
        self.drain_trace();
        self.drain();
        if let Some((address, pc)) = self.bus.strict_hit.take() {
            return Err(Stop::Unmodelled { address, pc });
        }
        match self.system.reset_requested.take() {
            Some(ResetRequest::System) => {
                self.bus.requests.reset.get_or_insert(ResetCause::Software);
            }
            Some(ResetRequest::Core) => self.core_reset(),
            None => {}
        }
        if let Some(cause) = self.bus.requests.reset {
            self.system_reset(cause);
        }
        self.system.event |= std::mem::take(&mut self.bus.requests.event);
        if std::mem::take(&mut self.bus.requests.nmi) {
            self.system.pend_nmi(self.now);
        }
        self.system.tick(self.now);
        self.system.update_lines(&self.bus.interrupts);
        if self.blocks.is_stale(&self.bus) {
            self.bus.forget_code_in_ram();
            self.forget_code();
            self.blocks.refresh(&self.bus);
        }
        if self.sleep != Sleep::Awake {
            self.slumber(limit)?;
        }
        self.note_lost_store();
        if self.sleep == Sleep::Awake {
            self.take_pending()?;
        }
        self.look_at_protection();
        self.look_at_trace();
        let due = self.bus.next_notable().min(self.system.due());
        let due = due.min(self.system.debug.trace.due());
        self.turns.next_event = due.min(limit).min(self.now + STRETCH);
        self.turns.trigger.note_time(self.now);
        self.horizon = self.turns.next_event.min(self.turns.trigger.next);
        Ok(())
    }

    fn system_reset(&mut self, cause: ResetCause) {
        self.bus.warnings.add("reset", format!("system reset: {cause}"));
        self.resets += 1;
        self.turns.abandon();
        let from = self.cpu.pc;
        if self.reset().is_err() {
            self.cpu.thumb = false;
        }
        self.report_transfer(TransferKind::Reset, from);
        self.check = false;
    }

    /// VECTRESET: the core starts anew, the devices go on.
    fn core_reset(&mut self) {
        self.bus
            .warnings
            .add("reset", "the core was reset by AIRCR.VECTRESET, devices were not".to_owned());
        self.resets += 1;
        self.turns.abandon();
        if self.start().is_err() {
            self.cpu.thumb = false;
        }
    }

    /// Hands what devices have recorded to whoever watches.
    pub(super) fn drain(&mut self) {
        if self.waveform.is_seen(&self.bus) {
            // Edges of devices that have come meanwhile are not late.
            self.bus.run_quiet_events(self.now);
            self.drain_trace();
        }
        for edge in self.bus.outputs.edges.drain(..) {
            self.observer.pin(&edge);
        }
        for frame in self.bus.outputs.frames.drain(..) {
            self.observer.frame(&frame);
        }
    }

    /// Sleeps up to the next event, or wakes.
    fn slumber(&mut self, limit: u64) -> Result<(), Stop> {
        let wakes = match self.sleep {
            Sleep::Awake => true,
            // PRIMASK keeps the handler from running, not the core from waking.
            Sleep::Interrupt => self
                .system
                .nvic
                .best_pending()
                .is_some_and(|(_, priority)| priority < self.priority_but_for_primask()),
            Sleep::Event => {
                self.system.event
                    || self
                        .system
                        .nvic
                        .best_pending()
                        .is_some_and(|(_, priority)| priority < self.execution_priority())
            }
        };
        if wakes {
            if self.sleep == Sleep::Event {
                self.system.event = false;
            }
            self.sleep = Sleep::Awake;
            return Ok(());
        }
        let due = self.bus.next_due.min(self.system.due());
        if due == u64::MAX && !self.bus.expects_input {
            return Err(Stop::SleepsForever);
        }
        let until = due.min(limit).min(self.now + STRETCH).max(self.now);
        let cycles = (until - self.now) as i64;
        self.asleep += until - self.now;
        self.observer.slept(self.now, until);
        let from = self.cpu.pc.wrapping_sub(2);
        self.system.debug.trace.count(Counter::Sleep, until - self.now, until);
        self.add_wait(
            from,
            Wait { cause: Cause::Asleep, low: cycles, likely: cycles, high: cycles },
        );
        self.system.debug.trace.spend(self.now, Spent::Asleep);
        self.check = true;
        Ok(())
    }

    /// An empty loop: goes round it as often as fits before the next event, at once. Returns false
    /// when not even once fits.
    fn spin(&mut self, id: BlockId) -> Result<bool, Stop> {
        self.turns.abandon();
        let block = &self.blocks.all[id as usize];
        let due = self.bus.next_due.min(self.system.due());
        if due == u64::MAX && !self.bus.expects_input && self.system.nvic.best_pending().is_none() {
            return Err(Stop::SleepsForever);
        }
        let (wait, at) = (block.target_wait, block.address(block.body as usize));
        let dearest = u64::from(block.cycles + block.refill + wait.high.div_ceil(2) + 1);
        if self.bus.next_due <= self.now {
            self.check = true;
            return Ok(true);
        }
        // Not the horizon: when loops are looked for must not show. Idle time ends at each edge.
        let until = self.turns.next_event.min(self.bus.next_due);
        let times = until.saturating_sub(self.now) / dearest;
        let cycles = times * u64::from(block.cycles + block.refill);
        self.now += cycles;
        self.asleep += cycles;
        let begun = self.now - cycles;
        self.instructions += times * block.insns.len() as u64;
        if O::COUNTS && times > 0 {
            self.observer.idle_block(id, times);
        }
        if wait != HalfCycles::default() {
            let likely = self.carry.take_many(wait, times);
            // Idle all the same: waiting for flash costs nobody anything here.
            let cause = Cause::Asleep;
            self.asleep += likely;
            // Of shorter turns there would be more, up to the same event.
            self.add_wait(at, Wait::of(cause, Bounds::exact(likely)));
        }
        self.observer.slept(begun, self.now);
        Ok(times > 0)
    }

    /// Asks the flash accelerator for the lines that a block needs.
    fn note_lines(&mut self, id: BlockId) {
        let block = &self.blocks.all[id as usize];
        let Bus { flash_interface, aliases, .. } = &mut self.bus;
        let insns = block.meta.iter().enumerate().map(|(at, meta)| {
            let pc = block.address(at);
            (unalias(aliases, pc), u32::from(meta.size), meta.straight(), pc)
        });
        flash_interface.accelerator.add_block(id, insns);
    }

    /// The block that begins at the program counter, in the IT state there.
    pub(super) fn lookup(&self) -> BlockId {
        match self.cpu.it {
            0 => self.blocks.lookup(self.cpu.pc, &self.bus),
            it => self.blocks.lookup_inside_it(self.cpu.pc, it),
        }
    }

    fn block_at_pc(&mut self) -> Result<BlockId, Stop> {
        let pc = self.cpu.pc;
        let id = self.lookup();
        if id != NONE && self.cpu.thumb {
            return Ok(id);
        }
        if !self.cpu.thumb {
            return self.fault(Fault::NotThumb, pc).map(|()| NONE);
        }
        if self.system.arch().v7m && !self.may_fetch(pc) {
            let fault = Fault::Protected { address: pc, purpose: Purpose::Fetch };
            return self.fault(fault, pc).map(|()| NONE);
        }
        let Some(id) = self.blocks.decode(pc, self.cpu.it, &self.bus, &self.timing) else {
            return self.fault(Fault::Fetch { address: pc }, pc).map(|()| NONE);
        };
        let real = self.bus.unalias(pc);
        if self.bus.is_ram(real) {
            let block = &self.blocks.all[id as usize];
            let size = block.end.wrapping_sub(block.start);
            if self.bus.note_code_in_ram(real, real.wrapping_add(size)) {
                // Compiled code does not look whether its stores hit this code.
                self.forget_compiled();
            }
        } else if self.bus.flash.writable {
            let block = &self.blocks.all[id as usize];
            let size = block.end.wrapping_sub(block.start);
            self.bus.note_writable_code(real, real.wrapping_add(size));
        }
        self.note_lines(id);
        if O::COUNTS {
            self.observer.decoded(id, &self.blocks.all[id as usize].code());
        }
        Ok(id)
    }
}
