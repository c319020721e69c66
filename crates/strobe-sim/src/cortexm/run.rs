//! The core's loop: whole blocks while nothing can happen, single instructions otherwise.
//!
//! Between two events (a device's or SysTick's due cycle, a limit) nothing changes but what the core
//! does, so a block whose worst case fits before the next event runs without looking up. As soon as an
//! access leaves RAM, or an event comes near, the same instructions go through the careful path, one by
//! one at their exact cycles. Both paths give the same registers, cycles and counts; a test holds them
//! against each other.

use std::sync::atomic::{AtomicBool, Ordering};

use strobe_model::Cause;

use super::block::{BlockId, NONE, jump_wait};
use super::core::{CarefulPort, FastPort, Machine, NO_WAIT, Sleep};
use super::exec::{Port, exec, load_multiple};
use super::fault::{Fault, FaultReport};
use super::insn::Insn;
use super::system::number;
use crate::device::{ResetCause, Size};
use crate::flash::{HalfCycles, bounds};
use crate::memory::BusFault;
use crate::observe::{Access, Observer, Retired, TransferKind, Wait};
use crate::semihost::Outcome;
use crate::signal::PinEdge;

/// Why a run stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The cycle limit.
    Limit,
    /// About to execute one of the addresses set with [`Machine::set_stops`].
    Address(u32),
    /// The firmware ended itself through semihosting.
    Exit(i32),
    /// A fault was taken; the core stands before the handler's first instruction and can go on.
    HardFault(Box<FaultReport>),
    /// A fault that could not be taken: the core is locked up.
    Lockup(Box<FaultReport>),
    /// The core sleeps, nothing is due, and nothing from outside can come: it sleeps for ever.
    SleepsForever,
    /// `--strict`: an unmodelled register was accessed.
    Unmodelled {
        /// The register.
        address: u32,
        /// The instruction.
        pc: u32,
    },
    /// Somebody raised the interrupt flag (Ctrl-C).
    Interrupted,
}

/// The longest stretch without looking at the interrupt flag, in cycles.
const STRETCH: u64 = 1 << 24;

/// Branches to this and above in handler mode are exception returns.
const EXC_RETURN: u32 = 0xf000_0000;

/// How a block's last instruction ended it.
enum End {
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
        self.system.reset();
        self.cpu = super::cpu::Cpu::default();
        let sp = self.bus.read(self.vectors, Size::Word)?;
        let pc = self.bus.read(self.vectors.wrapping_add(4), Size::Word)?;
        self.cpu.r[13] = sp & !3;
        self.cpu.r[14] = u32::MAX;
        self.cpu.pc = pc & !1;
        self.cpu.thumb = pc & 1 != 0;
        self.cpu.set_apsr(super::cpu::Z);
        self.sleep = Sleep::Awake;
        self.check = true;
        Ok(())
    }

    /// Runs until something stops it, at the latest when `limit` cycles since reset have passed or
    /// `interrupted` is set. Can be called again after any stop but a lockup.
    pub fn run(&mut self, limit: u64, interrupted: &AtomicBool) -> Stop {
        // A stop address under the core now has been reported already.
        let mut skip_stop = Some(self.cpu.pc);
        // The horizon is that of an earlier call, whose limit may have been further away.
        self.check = true;
        loop {
            if self.check || self.now >= self.horizon {
                if interrupted.load(Ordering::Relaxed) {
                    return Stop::Interrupted;
                }
                if let Err(stop) = self.service(limit) {
                    return stop;
                }
                if self.now >= limit {
                    return Stop::Limit;
                }
                if self.sleep != Sleep::Awake {
                    continue;
                }
            }
            let id = match self.block_at_pc() {
                Ok(id) => id,
                Err(stop) => return stop,
            };
            let block = &self.blocks.all[id as usize];
            if block.stop_here && skip_stop != Some(block.start) {
                return Stop::Address(block.start);
            }
            skip_stop = None;
            if block.idle && block.target_wait == HalfCycles::default() {
                match self.spin(id) {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(stop) => return stop,
                }
            }
            let block = &self.blocks.all[id as usize];
            let fits = self.now + u64::from(block.worst) <= self.horizon;
            let result = if O::EACH || O::ACCESSES || !fits || self.now < self.bus.contended_until {
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
        self.bus.run_events(self.now);
        self.drain();
        if let Some((address, pc)) = self.bus.strict_hit.take() {
            return Err(Stop::Unmodelled { address, pc });
        }
        if std::mem::take(&mut self.system.reset_requested) {
            self.bus.reset_request.get_or_insert(ResetCause::Software);
        }
        if let Some(cause) = self.bus.reset_request {
            self.system_reset(cause);
        }
        self.system.tick(self.now);
        self.system.update_lines(&self.bus.irq_levels, &self.bus.irq_since);
        if self.blocks.is_stale(&self.bus) {
            self.bus.code_in_ram = false;
            self.blocks.refresh(&self.bus);
            self.observer.forget();
        }
        if self.sleep != Sleep::Awake {
            self.slumber(limit)?;
        }
        if self.sleep == Sleep::Awake {
            self.take_pending()?;
        }
        let due = self.bus.next_due.min(self.system.systick.due());
        self.horizon = due.min(limit).min(self.now + STRETCH);
        Ok(())
    }

    fn system_reset(&mut self, cause: ResetCause) {
        self.bus.warnings.add(format!("system reset: {cause}"));
        self.resets += 1;
        if self.reset().is_err() {
            self.cpu.thumb = false;
        }
        self.check = false;
    }

    /// Hands what devices have recorded to whoever watches.
    fn drain(&mut self) {
        for edge in self.bus.edges.drain(..) {
            self.observer.pin(&PinEdge { slack: self.slack, ..edge });
        }
        for frame in self.bus.frames.drain(..) {
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
                .best_pending()
                .is_some_and(|(_, priority)| priority < self.system.active_priority()),
            Sleep::Event => {
                self.system.event
                    || self
                        .system
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
        let due = self.bus.next_due.min(self.system.systick.due());
        if due == u64::MAX && !self.bus.expects_input {
            return Err(Stop::SleepsForever);
        }
        let until = due.min(limit).min(self.now + STRETCH).max(self.now);
        let cycles = (until - self.now) as i64;
        let from = self.cpu.pc.wrapping_sub(2);
        self.add_wait(
            from,
            Wait { cause: Cause::Asleep, low: cycles, likely: cycles, high: cycles },
        );
        self.check = true;
        Ok(())
    }

    /// An empty loop: goes round it as often as fits before the next event, at once. Returns false when
    /// not even once fits.
    fn spin(&mut self, id: BlockId) -> Result<bool, Stop> {
        let block = &self.blocks.all[id as usize];
        let due = self.bus.next_due.min(self.system.systick.due());
        if due == u64::MAX && !self.bus.expects_input && self.system.best_pending().is_none() {
            return Err(Stop::SleepsForever);
        }
        let round = u64::from(block.cycles + block.refill);
        let times = self.horizon.saturating_sub(self.now) / round;
        self.now += times * round;
        self.instructions += times * block.insns.len() as u64;
        if O::COUNTS && times > 0 {
            self.observer.idle_block(id, times);
        }
        Ok(times > 0)
    }

    fn block_at_pc(&mut self) -> Result<BlockId, Stop> {
        let pc = self.cpu.pc;
        let id = self.blocks.lookup(pc, &self.bus);
        if id != NONE && self.cpu.thumb {
            return Ok(id);
        }
        if !self.cpu.thumb {
            return self.fault(Fault::NotThumb, pc).map(|()| NONE);
        }
        let Some(id) = self.blocks.decode(pc, &self.bus, &self.timing) else {
            return self.fault(Fault::Fetch { address: pc }, pc).map(|()| NONE);
        };
        let block = &self.blocks.all[id as usize];
        if self.bus.ram.contains(pc) || self.bus.more.iter().any(|m| m.contains(pc)) {
            self.bus.note_code_in_ram(block.start, block.end);
        }
        if O::COUNTS {
            self.observer.decoded(id, block);
        }
        Ok(id)
    }

    /// Runs blocks one after the other until one does not fit before the horizon or needs care.
    fn run_blocks(&mut self, mut id: BlockId) -> Result<(), Stop> {
        loop {
            let block = &self.blocks.all[id as usize];
            if self.now + u64::from(block.worst) > self.horizon {
                self.cpu.pc = block.start;
                return Ok(());
            }
            let mut port = FastPort { bus: &mut self.bus };
            let body = &block.insns[..block.body as usize];
            let mut missed = None;
            for (at, &insn) in body.iter().enumerate() {
                if exec(&mut self.cpu, &mut port, insn).is_err() {
                    missed = Some(at);
                    break;
                }
            }
            if let Some(at) = missed {
                return self.finish_carefully(id, at);
            }
            let end = if block.body as usize == block.insns.len() {
                End::Next
            } else {
                let last = block.insns[block.body as usize];
                match jump(&mut self.cpu, &mut port, last, block.end) {
                    Some(end) => end,
                    None => return self.finish_carefully(id, block.body as usize),
                }
            };
            self.now += u64::from(block.cycles);
            self.slack.0 += u64::from(block.slack.0);
            self.slack.1 += u64::from(block.slack.1);
            self.instructions += block.insns.len() as u64;
            match end {
                End::Next => {
                    if O::COUNTS {
                        self.observer.block(id, false);
                    }
                    self.cpu.pc = block.end;
                    if O::FLOW && block.falls_into_function {
                        let from = block.address(block.insns.len() - 1);
                        self.report_transfer(TransferKind::Direct, from);
                    }
                }
                End::Direct => {
                    self.now += u64::from(block.refill);
                    if O::COUNTS {
                        self.observer.block(id, true);
                    }
                    let last = block.insns[block.body as usize];
                    self.cpu.pc = last.target().unwrap_or(block.end);
                    if block.target_wait != HalfCycles::default() {
                        let (cost, from) = (block.target_wait, block.address(block.body as usize));
                        self.fetch_wait(cost, from);
                    }
                    if O::FLOW {
                        self.report_direct(id);
                    }
                }
                End::Indirect(value) => {
                    self.now += u64::from(block.refill);
                    if O::COUNTS {
                        self.observer.block(id, true);
                    }
                    let from = block.address(block.body as usize);
                    self.arrive_indirect(value, from, block.insns[block.body as usize]);
                    if !self.cpu.thumb {
                        return Ok(());
                    }
                }
            }
            id = self.blocks.lookup(self.cpu.pc, &self.bus);
            if id == NONE {
                return Ok(());
            }
        }
    }

    fn report_direct(&mut self, id: BlockId) {
        let block = &self.blocks.all[id as usize];
        let last = block.insns[block.body as usize];
        let from = block.address(block.body as usize);
        if let Insn::Bl { .. } = last {
            let return_address = block.end;
            self.report_transfer(TransferKind::Call { return_address }, from);
        } else if block.leaves_function {
            self.report_transfer(TransferKind::Direct, from);
        }
    }

    fn arrive_indirect(&mut self, value: u32, from: u32, insn: Insn) {
        self.cpu.pc = value & !1;
        self.cpu.thumb = value & 1 != 0;
        if !self.bus.flash_timing.is_zero() {
            let cost = jump_wait(self.cpu.pc, &self.bus);
            if cost != HalfCycles::default() {
                self.fetch_wait(cost, from);
            }
        }
        if O::FLOW {
            let kind = match insn {
                Insn::Blx { .. } => TransferKind::Call { return_address: self.cpu.r[14] & !1 },
                _ => TransferKind::Indirect,
            };
            self.report_transfer(kind, from);
        }
    }

    fn fetch_wait(&mut self, cost: HalfCycles, from: u32) {
        let b = bounds(cost, self.carry.take(cost));
        let (low, likely, high) = (b.low as i64, b.likely as i64, b.high as i64);
        self.add_wait(from, Wait { cause: Cause::FetchWait, low, likely, high });
    }

    /// The fast path gave up at instruction `at`: accounts for those before it and goes on carefully.
    fn finish_carefully(&mut self, id: BlockId, at: usize) -> Result<(), Stop> {
        let block = &self.blocks.all[id as usize];
        self.now += u64::from(block.cycles_before(at));
        self.instructions += at as u64;
        if O::COUNTS {
            (0..at).for_each(|i| self.observer.retired(id, i, false));
        }
        let slack = block.literal_slack(at);
        self.slack.0 += slack.0;
        self.slack.1 += slack.1;
        self.run_carefully(id, at)
    }

    /// Runs a block's instructions one by one from `at` on, at their exact cycles.
    fn run_carefully(&mut self, id: BlockId, from: usize) -> Result<(), Stop> {
        let count = self.blocks.all[id as usize].insns.len();
        for at in from..count {
            let block = &self.blocks.all[id as usize];
            self.cpu.pc = block.address(at);
            if at > from && (self.now >= self.horizon || self.bus.attention) {
                self.check = true;
                return Ok(());
            }
            let insn = block.insns[at];
            if self.blocks.is_stale(&self.bus) {
                self.check = true;
                return Ok(());
            }
            if self.retire(id, at, insn)? {
                return Ok(());
            }
        }
        let block = &self.blocks.all[id as usize];
        if O::FLOW && block.falls_into_function {
            let from = block.address(count - 1);
            self.report_transfer(TransferKind::Direct, from);
        }
        self.check |= self.bus.attention;
        Ok(())
    }

    /// Executes one instruction with care. Returns whether the flow went elsewhere.
    fn retire(&mut self, id: BlockId, at: usize, insn: Insn) -> Result<bool, Stop> {
        let meta = self.blocks.all[id as usize].meta[at];
        let pc = self.cpu.pc;
        let next = pc.wrapping_add(u32::from(meta.size));
        let start = self.now;
        let mut log: Vec<Access> = Vec::new();
        let mut port = CarefulPort {
            bus: &mut self.bus,
            system: &mut self.system,
            timing: &self.timing,
            carry: &mut self.carry,
            start,
            pc,
            ipsr: self.cpu.ipsr,
            data_wait: NO_WAIT,
            contention: 0,
            saved: 0,
            log: O::ACCESSES.then_some(&mut log),
        };
        let mut end = End::Next;
        let result = if insn.ends_block() {
            match branch(&mut self.cpu, &mut port, insn, next) {
                Ok(Some(e)) => {
                    end = e;
                    Ok(())
                }
                Ok(None) => Ok(()),
                Err(fault) => Err(fault),
            }
        } else {
            exec(&mut self.cpu, &mut port, insn)
        };
        let (data_wait, contention, saved) = (port.data_wait, port.contention, port.saved);
        for access in &log {
            self.observer.access(access);
        }
        if let Err(fault) = result {
            return self.fault(fault, pc).map(|()| true);
        }
        let jumped = !matches!(end, End::Next);
        self.now += u64::from(meta.cost.straight()) + u64::from(meta.data_wait.likely / 2);
        if jumped {
            self.now += u64::from(meta.cost.refill);
        }
        self.instructions += 1;
        if O::COUNTS {
            self.observer.retired(id, at, jumped);
        }
        let literal = meta.literal_bounds();
        self.slack.0 += literal.likely - literal.low;
        self.slack.1 += literal.high - literal.likely;
        self.pay(pc, data_wait, contention, saved);
        if !self.bus.edges.is_empty() {
            self.drain();
        }
        self.cpu.pc = next;
        let left = match end {
            End::Next => self.system_effect(insn, pc, next)?,
            End::Direct => {
                self.cpu.pc = insn.target().unwrap_or(next);
                let cost = jump_wait(self.cpu.pc, &self.bus);
                if cost != HalfCycles::default() {
                    self.fetch_wait(cost, pc);
                }
                if O::FLOW {
                    self.report_direct(id);
                }
                true
            }
            End::Indirect(value) if value >= EXC_RETURN && self.cpu.ipsr != 0 => {
                self.exception_return(value, pc)?;
                true
            }
            End::Indirect(value) => {
                self.arrive_indirect(value, pc, insn);
                true
            }
        };
        if O::EACH {
            let cycles = (self.now - start) as u32;
            self.observer.instruction(&Retired { pc, start, cycles, jumped });
        }
        Ok(left)
    }

    /// Adds what an instruction's accesses waited.
    fn pay(&mut self, pc: u32, data_wait: Wait, contention: u64, saved: u32) {
        if data_wait != NO_WAIT {
            self.add_wait(pc, data_wait);
        }
        if contention > 0 {
            let cycles = contention as i64;
            // Which master wins each slot is modelled: at best the core is never held up.
            self.add_wait(
                pc,
                Wait { cause: Cause::Contention, low: 0, likely: cycles, high: 2 * cycles },
            );
        }
        if saved > 0 {
            let cycles = -i64::from(saved);
            let wait = Wait { cause: Cause::LoadStore, low: cycles, likely: cycles, high: cycles };
            self.add_wait(pc, wait);
        }
    }

    /// What system instructions do beyond registers, once they have retired.
    fn system_effect(&mut self, insn: Insn, pc: u32, next: u32) -> Result<bool, Stop> {
        match insn {
            Insn::Svc { .. } => {
                self.check = true;
                if self.system.priority_of(number::SVCALL) >= self.execution_priority() {
                    return self.fault(Fault::SvcMasked, pc).map(|()| true);
                }
                self.cpu.pc = next;
                self.system.note_pended(number::SVCALL, self.now);
                self.enter(number::SVCALL, next)?;
            }
            Insn::Bkpt { imm: 0xab } => {
                let ns = self.bus.clocks.nanoseconds_at(self.now);
                self.bus.now = self.now;
                let (op, parameter) = (self.cpu.r[0], self.cpu.r[1]);
                match self.semihost.call(op, parameter, &mut self.bus, ns, self.now) {
                    Outcome::Return(value) => self.cpu.r[0] = value,
                    Outcome::Exit(code) => return Err(Stop::Exit(code)),
                }
            }
            Insn::Bkpt { imm } => return self.fault(Fault::Breakpoint { imm }, pc).map(|()| true),
            Insn::Wfi => {
                self.sleep = Sleep::Interrupt;
                self.check = true;
            }
            Insn::Wfe => {
                if !std::mem::take(&mut self.system.event) {
                    self.sleep = Sleep::Event;
                }
                self.check = true;
            }
            Insn::Sev => self.system.event = true,
            Insn::Cps { .. } | Insn::Msr { .. } | Insn::Isb => self.check = true,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Executes a branch of the fast path; `None` leaves it to the careful one.
#[inline(always)]
fn jump(cpu: &mut super::cpu::Cpu, port: &mut FastPort, insn: Insn, next: u32) -> Option<End> {
    Some(match insn {
        Insn::BCond { condition, .. } => {
            if cpu.passes(condition) {
                End::Direct
            } else {
                End::Next
            }
        }
        Insn::B { .. } => End::Direct,
        Insn::Bl { .. } => {
            cpu.r[14] = next | 1;
            End::Direct
        }
        Insn::Bx { m } => End::Indirect(ordinary(cpu.r[(m & 15) as usize], cpu)?),
        Insn::PopPc { list } => {
            let at = cpu.r[13].wrapping_add(4 * list.count_ones());
            let value = ordinary(port.load(at, Size::Word, 0).ok()?, cpu)?;
            load_multiple(cpu, port, cpu.r[13], list).ok()?;
            cpu.r[13] = at.wrapping_add(4);
            End::Indirect(value)
        }
        _ => return None,
    })
}

/// A branch target that is not an exception return.
#[inline(always)]
fn ordinary(value: u32, cpu: &super::cpu::Cpu) -> Option<u32> {
    (value < EXC_RETURN || cpu.ipsr == 0).then_some(value)
}

/// Executes an instruction that ends a block: branches in full, system instructions as far as
/// registers go. `next` is the following instruction's address.
fn branch(
    cpu: &mut super::cpu::Cpu,
    port: &mut CarefulPort,
    insn: Insn,
    next: u32,
) -> Result<Option<End>, Fault> {
    let r = |i: u8| (i & 15) as usize;
    Ok(Some(match insn {
        Insn::BCond { condition, .. } => {
            if cpu.passes(condition) {
                End::Direct
            } else {
                End::Next
            }
        }
        Insn::B { .. } => End::Direct,
        Insn::Bl { .. } => {
            cpu.r[14] = next | 1;
            End::Direct
        }
        Insn::Bx { m } => End::Indirect(cpu.r[r(m)]),
        Insn::Blx { m } => {
            let target = cpu.r[r(m)];
            cpu.r[14] = next | 1;
            End::Indirect(target)
        }
        Insn::PopPc { list } => {
            let count = list.count_ones();
            let at = cpu.r[13].wrapping_add(4 * count);
            let value = port.load(at, Size::Word, count)?;
            load_multiple(cpu, port, cpu.r[13], list)?;
            cpu.r[13] = at.wrapping_add(4);
            End::Indirect(value)
        }
        // BranchWritePC: bit 0 is ignored, no change of state.
        Insn::MovPc { m } => End::Indirect(cpu.r[r(m)] | 1),
        Insn::AddPc { m, value } => End::Indirect(value.wrapping_add(cpu.r[r(m)]) | 1),
        Insn::Cps { disable } => {
            if !cpu.unprivileged || cpu.ipsr != 0 {
                cpu.primask = disable;
            }
            return Ok(None);
        }
        Insn::Mrs { d, sysm } => {
            cpu.r[r(d)] = read_special(cpu, sysm);
            return Ok(None);
        }
        Insn::Msr { n, sysm } => {
            write_special(cpu, sysm, cpu.r[r(n)]);
            return Ok(None);
        }
        Insn::Undefined => return Err(Fault::Undefined),
        _ => return Ok(None),
    }))
}

/// MRS (B4.2.2): APSR, IPSR and their combinations, the stack pointers, PRIMASK and CONTROL.
fn read_special(cpu: &super::cpu::Cpu, sysm: u8) -> u32 {
    match sysm {
        0..=7 => {
            let ipsr = if sysm & 1 != 0 { u32::from(cpu.ipsr) } else { 0 };
            // EPSR reads as zero; APSR is absent from 4-7.
            let apsr = if sysm & 4 == 0 { cpu.apsr() } else { 0 };
            apsr | ipsr
        }
        8 => cpu.msp(),
        9 => cpu.psp(),
        16 => u32::from(cpu.primask),
        20 => u32::from(cpu.spsel) << 1 | u32::from(cpu.unprivileged),
        _ => 0,
    }
}

/// MSR (B4.2.3).
fn write_special(cpu: &mut super::cpu::Cpu, sysm: u8, value: u32) {
    match sysm {
        0..=3 => cpu.set_apsr(value),
        8 => cpu.set_msp(value),
        9 => cpu.set_psp(value),
        16 => cpu.primask = value & 1 != 0,
        // SPSEL can only be written in thread mode.
        20 if cpu.ipsr == 0 => cpu.set_mode(0, value & 2 != 0),
        _ => {}
    }
}
