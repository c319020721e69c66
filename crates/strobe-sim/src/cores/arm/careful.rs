//! The careful path: one instruction at a time, each at its exact cycle.
//!
//! Here accesses reach devices, wait, contend and fault, and system instructions take effect.

use strobe_model::{Bounds, Cause};

use super::block::{BlockId, acts_unprivileged, jump_wait};
use super::core::{Machine, Sleep};
use super::cpu::Cpu;
use super::exec::{Port, exec, load_multiple, write_any};
use super::fault::Fault;
use super::mpu::{Purpose, Rights};
use super::nvic::numbers;
use super::port::{CarefulPort, NO_WAIT};
use super::run::{EXC_RETURN, End, Stop};
use super::several::TransferAborted;
use super::system::{Caller, number};
use super::timing::SKIPPED;
use super::{exec_branch, special};
use crate::kernel::device::Size;
use crate::kernel::flash::{HalfCycles, bounds};
use crate::kernel::observe::{Access, Observer, Retired, TransferKind, Wait};
use crate::kernel::semihost::Outcome;
use strobe_isa::thumb::insn::Insn;

impl<O: Observer> Machine<O> {
    /// Pays for a jump's target in flash.
    pub(super) fn fetch_wait(&mut self, cost: HalfCycles, from: u32) {
        let b = bounds(cost, self.carry.take(cost));
        let (low, likely, high) = (b.low as i64, b.likely as i64, b.high as i64);
        self.add_wait(from, Wait { cause: Cause::FetchWait, low, likely, high });
    }

    /// Executes the instruction that the fast path has left a block at. Returns whether the flow
    /// went elsewhere.
    pub(super) fn execute_carefully(&mut self, id: BlockId, at: usize) -> Result<bool, Stop> {
        let block = &self.blocks.all[id as usize];
        self.cpu.pc = block.address(at);
        let insn = block.insns[at];
        if self.blocks.is_stale(&self.bus) {
            self.check = true;
            return Ok(true);
        }
        self.retire(id, at, insn)
    }

    /// Runs a block's instructions one by one from `at` on, at their exact cycles.
    pub(super) fn run_carefully(&mut self, id: BlockId, from: usize) -> Result<(), Stop> {
        let count = self.blocks.all[id as usize].insns.len();
        for at in from..count {
            let block = &self.blocks.all[id as usize];
            self.cpu.pc = block.address(at);
            if at > from && (self.now >= self.horizon || self.bus.attention) {
                self.check = true;
                self.resume = Some((id, at));
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
        self.bus.flash_interface.accelerator.goes_on(id);
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
        let block = &self.blocks.all[id as usize];
        let (it, next_it) = (block.it_at(at), block.it_at(at + 1));
        self.cpu.it = it;
        if let Some(left) = self.hold_back(id, at, insn, next)? {
            return Ok(left);
        }
        let (ipsr, sp) = (self.cpu.ipsr, self.cpu.r[13]);
        let masked = self.masked_priority();
        let (rights, checks) = self.access_rights(pc);
        let several = self.several(insn, it);
        let mut log: Vec<Access> = Vec::new();
        let mut port = CarefulPort {
            bus: &mut self.bus,
            system: &mut self.system,
            timing: &self.timing,
            carry: &mut self.carry,
            start,
            model: self.model,
            pc,
            caller: Caller { ipsr: self.cpu.ipsr, masked },
            rights,
            checks,
            last: None,
            data_wait: NO_WAIT,
            first_wait: meta.first_wait,
            contention: 0,
            saved: 0,
            spent: Bounds::exact(0),
            split: 0,
            several,
            log: self.observer.follows_accesses().then_some(&mut log),
            turn: self.turns.recording(),
            read_register: false,
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
        let (spent, split, last) = (port.spent, port.split, port.last);
        let several = port.several;
        let read_register = port.read_register;
        for access in &log {
            self.observer.access(access, &mut self.bus);
        }
        match result {
            Ok(()) => {}
            Err(TransferAborted::Fault(fault)) => {
                return self.fault_of_access(fault, pc, last).map(|()| true);
            }
            Err(TransferAborted::Interrupted) => {
                self.turns.abandon();
                self.pay(pc, data_wait, contention, saved);
                self.suspend(insn, several, pc);
                self.spend(pc);
                return Ok(true);
            }
        }
        let jumped = !matches!(end, End::Next);
        self.now += u64::from(meta.cost.straight()) + u64::from(meta.data_wait.likely / 2);
        if jumped {
            self.now += u64::from(meta.cost.refill);
            self.bus.flash_interface.accelerator.jumped();
        }
        if self.blocks.all[id as usize].idle {
            self.asleep += self.now - start;
            self.observer.slept(start, self.now);
        }
        self.instructions += 1;
        if O::COUNTS {
            self.observer.retired(id, at, jumped);
        }
        self.pay(pc, data_wait, contention, saved + several.skip);
        if spent.high > 0 {
            self.add_wait(pc, Wait::of(Cause::Execute, spent));
        }
        if split > 0 {
            self.add_wait(pc, Wait::of(Cause::LoadStore, Bounds::exact(u64::from(split))));
        }
        if !self.bus.outputs.edges.is_empty() {
            self.drain();
        }
        if read_register {
            self.turns.trigger.note_reader(pc);
        }
        self.note_step(id, at, it, true, jumped);
        self.spend(pc);
        let executed = self.now;
        self.masked.set(self.cpu.is_masked(), pc, executed);
        if let Some((word, bits, on)) = self.system.nvic.switched.take() {
            self.disabled.set(numbers(word, bits), !on, pc, executed);
            // What was flagged before is for whoever polled it.
            let first = self.system.nvic.first.drain(..);
            let irqs = first.filter_map(|exception| exception.checked_sub(number::IRQ0));
            irqs.for_each(|irq| self.bus.forget_lost(irq));
        }
        self.cpu.pc = next;
        self.cpu.it = next_it;
        let left = self.go_where(&end, id, insn, (pc, next), meta.cost.refill)?;
        self.spend(pc);
        if self.traced {
            // An exception's cycles are counted by themselves.
            let is_plain = matches!(end, End::Direct) || self.cpu.ipsr == ipsr && jumped;
            let until = if is_plain { self.now } else { executed };
            let loading = i64::from(meta.cost.load_store) + i64::from(split) + data_wait.likely;
            let loading = (loading + contention as i64 - i64::from(saved)).max(0) as u64;
            self.count_instruction(until - start, loading);
        }
        if O::EACH {
            let cycles = (self.now - start) as u32;
            self.observer.instruction(&Retired { pc, start, cycles, jumped });
        }
        self.look_at_stack_after(id, at, pc, sp);
        Ok(left)
    }

    /// What keeps an instruction from being executed at all: a condition that fails, memory that
    /// may not be fetched, a floating-point unit that is off. Returns whether the flow went
    /// elsewhere then.
    #[inline(always)]
    fn hold_back(
        &mut self,
        id: BlockId,
        at: usize,
        insn: Insn,
        next: u32,
    ) -> Result<Option<bool>, Stop> {
        let (pc, it) = (self.cpu.pc, self.cpu.it);
        if it != 0 && !self.cpu.passes_it(it) && !insn.is_unconditional() {
            self.skip(id, at, next);
            self.cpu.it = self.blocks.all[id as usize].it_at(at + 1);
            return Ok(Some(false));
        }
        if self.guarded.everywhere && !(self.may_fetch(pc) && self.may_fetch(next.wrapping_sub(2)))
        {
            let fault = Fault::Protected { address: pc, purpose: Purpose::Fetch };
            return self.fault(fault, pc).map(|()| Some(true));
        }
        if insn.is_fp()
            && let Err(fault) = self.prepare_fp(pc)
        {
            return self.fault(fault, pc).map(|()| Some(true));
        }
        Ok(None)
    }

    /// Goes on where an instruction leads, at `pc` and with another at `next` behind it. Returns
    /// whether that is elsewhere.
    #[inline(always)]
    fn go_where(
        &mut self,
        end: &End,
        id: BlockId,
        insn: Insn,
        (pc, next): (u32, u32),
        refill: u8,
    ) -> Result<bool, Stop> {
        match *end {
            End::Next => return self.system_effect(insn, pc, next),
            End::Direct => {
                self.cpu.pc = insn.target().unwrap_or(next);
                let cost = jump_wait(self.cpu.pc, &self.bus);
                if cost != HalfCycles::default() {
                    self.fetch_wait(cost, pc);
                }
                if O::FLOW {
                    self.report_direct(id);
                }
            }
            End::Indirect(value) if value >= EXC_RETURN && self.cpu.ipsr != 0 => {
                self.exception_return(value, pc, refill)?;
            }
            End::Indirect(value) => {
                self.arrive_indirect(value, id);
            }
        }
        Ok(true)
    }

    /// An instruction whose condition failed: it retires, and does nothing else.
    fn skip(&mut self, id: BlockId, at: usize, next: u32) {
        let (pc, start) = (self.cpu.pc, self.now);
        self.now += u64::from(SKIPPED);
        self.instructions += 1;
        self.spend(pc);
        self.cpu.pc = next;
        self.note_step(id, at, self.cpu.it, false, false);
        if O::COUNTS {
            self.observer.retired(id, at, false);
            self.observer.skipped(id, at, 1);
        }
        if O::EACH {
            self.observer.instruction(&Retired { pc, start, cycles: SKIPPED, jumped: false });
        }
    }

    /// With which rights an instruction accesses memory, and whether that must be looked at.
    fn access_rights(&self, pc: u32) -> (Rights, bool) {
        let privileged = self.cpu.is_privileged();
        let on = self.system.mpu.is_on();
        if !on && !self.system.ignores_bus_faults() {
            return (Rights { privileged, unprotected: false }, !privileged);
        }
        let half = |at: u32| self.bus.peek(pc.wrapping_add(at), Size::Half).unwrap_or(0);
        let privileged = privileged && !(on && acts_unprivileged(half(0), half(2)));
        let unprotected = self.execution_priority() < 0;
        (Rights { privileged, unprotected }, on || !privileged)
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
                if self.system.nvic.priority_of(number::SVCALL) >= self.execution_priority() {
                    return self.fault(Fault::SvcMasked, pc).map(|()| true);
                }
                self.cpu.pc = next;
                self.system.nvic.note_pended(number::SVCALL, self.now);
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
                self.fall_asleep(Sleep::Interrupt);
            }
            Insn::Wfe => {
                if !std::mem::take(&mut self.system.event) {
                    self.fall_asleep(Sleep::Event);
                }
                self.check = true;
            }
            Insn::Sev => self.system.event = true,
            // What the write buffer holds is done first.
            Insn::Dsb => {
                let Some(store) = self.system.lost_store else { return Ok(false) };
                let cycles = store.due.saturating_sub(self.now);
                self.add_wait(pc, Wait::of(Cause::DataWait, Bounds::exact(cycles)));
                self.check = true;
            }
            Insn::Cps { .. } | Insn::Msr { .. } => {
                self.check = true;
                // The core goes on behind it, as behind any other.
                return Ok(false);
            }
            Insn::Isb => self.check = true,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Executes an instruction that ends a block: branches in full, system instructions as far as
/// registers go. `next` is the following instruction's address.
fn branch(
    cpu: &mut Cpu,
    port: &mut CarefulPort,
    insn: Insn,
    next: u32,
) -> Result<Option<End>, TransferAborted> {
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
        Insn::Cps { disable, masks } => {
            special::change_masks(cpu, port.system, disable, masks);
            return Ok(None);
        }
        Insn::Mrs { d, sysm } => {
            let value = special::read(cpu, port.timing.kind.architecture(), sysm);
            write_any(cpu, d, value);
            return Ok(None);
        }
        Insn::Msr { n, sysm, mask } => {
            special::write(cpu, port.system, sysm, mask, cpu.r[r(n)]);
            return Ok(None);
        }
        Insn::Undefined => return Err(Fault::Undefined.into()),
        Insn::NoCoprocessor => return Err(Fault::NoCoprocessor.into()),
        _ => return exec_branch::branch(cpu, port, insn, next),
    }))
}
