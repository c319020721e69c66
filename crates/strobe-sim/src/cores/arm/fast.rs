//! The fast path: whole blocks, one after the other, while nothing can happen but what the core
//! does.

use std::ops::Range;

use super::block::{Block, BlockId, NONE, jump_wait};
use super::core::Machine;
use super::cpu::Cpu;
use super::exec::{Port, exec, load_multiple, write_any};
use super::port::FastPort;
use super::run::{EXC_RETURN, End, Stop};
use super::{exec_branch, irregular, special};
use crate::kernel::device::Size;
use crate::kernel::observe::{Observer, StackWindow, TransferKind, Wait};
use strobe_isa::thumb::insn::Insn;
use strobe_model::{Bounds, Cause};

/// How a block, interpreted or compiled, was left.
pub(super) enum BlockExit {
    /// The block does not fit before the horizon.
    #[cfg_attr(
        not(feature = "compiler"),
        expect(dead_code, reason = "only compiled code runs into it")
    )]
    Horizon(BlockId),
    /// The block ran to its end; its jump's target is not paid for yet.
    Ended(BlockId, End),
    /// An instruction of the block needs care.
    Miss(BlockId, usize),
}

/// Cycles that jumps took for where they went.
pub(super) fn late(cycles: u64) -> Wait {
    Wait::of(Cause::Refill, Bounds::exact(cycles))
}

impl<O: Observer> Machine<O> {
    /// Hands the observer the waits that were added up by line of flash and by jump.
    pub(super) fn take_waits(&mut self) {
        self.take_flash_waits();
        for block in &mut self.blocks.all {
            if block.late > 0 {
                let cycles = std::mem::take(&mut block.late);
                self.observer.wait(block.address(block.body as usize), late(cycles));
            }
        }
    }

    /// Those by line of flash.
    pub(super) fn take_flash_waits(&mut self) {
        self.turns.give_up();
        for (pc, cause, wait) in self.bus.flash_interface.accelerator.take_waits() {
            self.observer.wait(pc, Wait::of(cause, wait));
        }
    }

    /// Runs blocks until one does not fit before the horizon, needs care, or is not decoded yet.
    pub(super) fn run_blocks(&mut self, mut id: BlockId) -> Result<(), Stop> {
        self.prepare_frame();
        loop {
            let block = &self.blocks.all[id as usize];
            if self.now + u64::from(block.worst) > self.horizon {
                self.cpu.pc = block.start;
                return Ok(());
            }
            if !self.bus.flash_interface.accelerator.has(id) {
                self.fetch(id);
            }
            let block = &self.blocks.all[id as usize];
            let left = match block.compiled {
                Some(code) => self.run_compiled(code),
                None => self.interpret(id),
            };
            id = match left {
                BlockExit::Ended(id, end) => self.arrive(id, end),
                BlockExit::Horizon(id) => id,
                BlockExit::Miss(at_id, at) => match self.pass_miss(at_id, at)? {
                    Some(end) => self.arrive(at_id, end),
                    None => return Ok(()),
                },
            };
            if id == NONE || !self.cpu.thumb {
                return Ok(());
            }
            // The head of a loop that waits is the main loop's business.
            if self.check || self.turns.trigger.is_armed() {
                self.cpu.pc = self.blocks.all[id as usize].start;
                return Ok(());
            }
        }
    }

    /// A block begins: pays for the lines of flash that the accelerator lacks.
    #[cold]
    pub(super) fn fetch(&mut self, id: BlockId) {
        let wait = self.bus.flash_interface.accelerator.fetch(id);
        self.now += wait.likely;
    }

    /// Runs one block that fits before the horizon, instruction by instruction.
    fn interpret(&mut self, id: BlockId) -> BlockExit {
        let end = self.execute(id, 0);
        let block = &self.blocks.all[id as usize];
        let end = match end {
            Ok(end) => end,
            Err(at) if at == block.body as usize && block.plain && self.system_register(id) => {
                End::Next
            }
            Err(at) => return BlockExit::Miss(id, at),
        };
        let block = &self.blocks.all[id as usize];
        self.now += u64::from(block.cycles);
        self.instructions += block.insns.len() as u64;
        let jumped = !matches!(end, End::Next);
        if jumped {
            self.now += u64::from(block.refill);
        }
        if O::COUNTS {
            self.observer.block(id, jumped, 1);
        }
        if !block.plain {
            self.settle(id);
        }
        self.warm(id);
        BlockExit::Ended(id, end)
    }

    /// Executes a block's instructions from `from` on, up to one that needs care (`Err`); accounts
    /// for nothing.
    #[inline(always)]
    fn execute(&mut self, id: BlockId, from: usize) -> Result<End, usize> {
        let block = &self.blocks.all[id as usize];
        let mut port = FastPort::new(&mut self.bus);
        let stack = if block.moves_stack { self.observer.stack_window() } else { StackWindow::ALL };
        if block.plain {
            straight(&mut self.cpu, &mut port, (block, from), stack)
        } else {
            let deviations = &mut self.deviations;
            irregular::run(&mut self.cpu, &mut port, (block, from), deviations, stack)
        }
    }

    /// The fast path has left a block at instruction `at`: executes that one with care and goes on
    /// fast, unless something may have come of it. Returns how the block ended, or `None` if it has
    /// been left.
    fn pass_miss(&mut self, id: BlockId, mut at: usize) -> Result<Option<End>, Stop> {
        self.account(id, 0..at);
        loop {
            if self.execute_carefully(id, at)? {
                return Ok(None);
            }
            at += 1;
            if at == self.blocks.all[id as usize].insns.len() {
                self.check |= self.bus.attention;
                return Ok(Some(End::Next));
            }
            if self.now >= self.horizon || self.bus.attention {
                self.check = true;
                self.resume = Some((id, at));
                return Ok(None);
            }
            if !self.may_go_fast(id) {
                return self.run_carefully(id, at).map(|()| None);
            }
            match self.execute(id, at) {
                Ok(end) => {
                    self.account_to_end(id, at, &end);
                    return Ok(Some(end));
                }
                Err(miss) => {
                    self.account(id, at..miss);
                    at = miss;
                }
            }
        }
    }

    /// Whether the rest of a block may go on fast after an access to a device.
    fn may_go_fast(&self, id: BlockId) -> bool {
        let worst = u64::from(self.blocks.all[id as usize].worst);
        self.now + worst <= self.horizon
            && self.now >= self.bus.masters.contended_until
            && !self.check
            && self.cpu.resume_at == 0
    }

    /// Accounts for instructions of a block that the fast path has executed.
    fn account(&mut self, id: BlockId, run: Range<usize>) {
        let block = &self.blocks.all[id as usize];
        let plain = block.plain;
        self.now += u64::from(block.cycles_of(run.clone()));
        self.instructions += run.len() as u64;
        if O::COUNTS {
            match run.start {
                0 => self.observer.retired_before(id, run.end),
                _ => run.for_each(|at| self.observer.retired(id, at, false)),
            }
        }
        if !plain {
            self.settle(id);
        }
    }

    /// The same, from `from` to the block's end.
    fn account_to_end(&mut self, id: BlockId, from: usize, end: &End) {
        let block = &self.blocks.all[id as usize];
        let (last, refill) = (block.insns.len() - 1, block.refill);
        let jumped = !matches!(end, End::Next);
        if !jumped {
            return self.account(id, from..last + 1);
        }
        // A jump's own time is settled with the rest.
        let block = &self.blocks.all[id as usize];
        self.now += u64::from(block.cycles_of(last..last + 1)) + u64::from(refill);
        self.instructions += 1;
        if O::COUNTS {
            self.observer.retired(id, last, true);
        }
        self.account(id, from..last);
    }

    /// Executes a block's last instruction if it only reads or writes registers of the core, as
    /// those of a critical section do; returns whether it did. An exception that it lets in is
    /// the main loop's business.
    fn system_register(&mut self, id: BlockId) -> bool {
        if !self.cpu.is_privileged() || self.system.mpu.is_on() {
            return false;
        }
        let sp = self.cpu.r[13];
        let block = &self.blocks.all[id as usize];
        match block.insns[block.body as usize] {
            Insn::Mrs { d, sysm } => {
                let value = special::read(&self.cpu, self.system.arch(), sysm);
                write_any(&mut self.cpu, d, value);
                return true;
            }
            Insn::Cps { disable, masks } => {
                special::change_masks(&mut self.cpu, &self.system, disable, masks);
            }
            Insn::Msr { n, sysm, mask } if !special::changes_mode(sysm) => {
                let value = self.cpu.r[usize::from(n & 15)];
                special::write(&mut self.cpu, &self.system, sysm, mask, value);
            }
            _ => return false,
        }
        self.check |= self.system.nvic.best_pending().is_some();
        let block = &self.blocks.all[id as usize];
        let at = block.body as usize;
        let pc = block.address(at);
        self.masked.set(self.cpu.is_masked(), pc, self.now + u64::from(block.cycles));
        self.look_at_stack_after(id, at, pc, sp);
        true
    }

    /// A block has ended: what arriving at the next one costs, who wants to know, and which it is.
    /// Where that is not decoded yet, the program counter is left there.
    fn arrive(&mut self, id: BlockId, end: End) -> BlockId {
        let block = &self.blocks.all[id as usize];
        match end {
            End::Next => {
                self.bus.flash_interface.accelerator.goes_on(id);
                let known = block.next;
                if O::FLOW && block.falls_into_function {
                    let from = block.last_at;
                    self.cpu.pc = block.end;
                    self.report_transfer(TransferKind::Direct, from);
                }
                if known == NONE { self.find_next(id) } else { known }
            }
            End::Direct => {
                self.bus.flash_interface.accelerator.jumped();
                let known = block.target;
                if (O::FLOW && block.is_transfer) || !block.target_wait.is_zero() {
                    self.arrive_direct(id);
                }
                if known == NONE { self.find_target(id) } else { known }
            }
            End::Indirect(value) => {
                self.bus.flash_interface.accelerator.jumped();
                self.arrive_indirect(value, id)
            }
        }
    }

    /// The block after `id`, remembered once it is decoded; leaves the program counter there.
    #[cold]
    fn find_next(&mut self, id: BlockId) -> BlockId {
        self.cpu.pc = self.blocks.all[id as usize].end;
        let next = self.lookup();
        self.blocks.all[id as usize].next = next;
        next
    }

    /// The block that `id` jumps to, remembered once it is decoded; leaves the program counter
    /// there.
    #[cold]
    fn find_target(&mut self, id: BlockId) -> BlockId {
        self.cpu.pc = self.blocks.all[id as usize].jump_to;
        let target = self.blocks.lookup(self.cpu.pc, &self.bus);
        self.blocks.all[id as usize].target = target;
        target
    }

    /// After a direct jump: what its target in flash costs, and who wants to know.
    fn arrive_direct(&mut self, id: BlockId) {
        let block = &self.blocks.all[id as usize];
        let (wait, from) = (block.target_wait, block.last_at);
        self.cpu.pc = block.jump_to;
        if !wait.is_zero() {
            self.fetch_wait(wait, from);
        }
        if O::FLOW {
            self.report_direct(id);
        }
    }

    /// After the jump to a computed address at a block's end: the new state, its cost, and who
    /// wants to know. Returns the block there, if it is decoded.
    pub(super) fn arrive_indirect(&mut self, value: u32, id: BlockId) -> BlockId {
        self.cpu.pc = value & !1;
        self.cpu.thumb = value & 1 != 0;
        let to = self.blocks.lookup(self.cpu.pc, &self.bus);
        let inside = if to == NONE {
            self.arrive_somewhere(id);
            false
        } else {
            self.arrive_at(to, id)
        };
        if O::FLOW && !inside {
            let block = &self.blocks.all[id as usize];
            let from = block.last_at;
            // Apart, so that whoever observes knows which when it is compiled.
            if block.calls {
                let return_address = self.cpu.r[14] & !1;
                self.report_transfer(TransferKind::Call { return_address }, from);
            } else {
                self.report_transfer(TransferKind::Indirect, from);
            }
        }
        to
    }

    /// Pays for the jump from one decoded block to another; returns whether that stays inside a
    /// function.
    #[inline(always)]
    fn arrive_at(&mut self, to: BlockId, id: BlockId) -> bool {
        let (from, target) = (&self.blocks.all[id as usize], &self.blocks.all[to as usize]);
        let (arrival, inside) = (target.arrival, from.jumps_inside(target));
        if self.jit.is_on() {
            self.blocks.note_computed(id, to);
        }
        if !arrival.wait.is_zero() {
            self.fetch_wait(arrival.wait, self.blocks.all[id as usize].last_at);
        }
        if arrival.late > 0 {
            self.now += u64::from(arrival.late);
            self.turns.note_late(id, arrival.late.into());
            self.blocks.all[id as usize].late += u64::from(arrival.late);
        }
        inside
    }

    /// Pays for a jump to where nothing is decoded yet.
    #[cold]
    fn arrive_somewhere(&mut self, id: BlockId) {
        let from = self.blocks.all[id as usize].last_at;
        let cost = jump_wait(self.cpu.pc, &self.bus);
        if !cost.is_zero() {
            self.fetch_wait(cost, from);
        }
        let late = self.timing.refill_at(self.cpu.pc, self.bus.peek(self.cpu.pc, Size::Half));
        if late > 0 {
            self.add_wait(from, Wait::of(Cause::Refill, Bounds::exact(late.into())));
        }
    }
}

/// Runs a plain block's instructions; `Err` is the one for the careful path: also one that takes
/// the stack pointer out of its window.
#[inline(always)]
fn straight(
    cpu: &mut Cpu,
    port: &mut FastPort,
    (block, from): (&Block, usize),
    stack: StackWindow,
) -> Result<End, usize> {
    let body = block.body as usize;
    let mut sp = cpu.r[13];
    for (at, &insn) in block.insns[..body].iter().enumerate().skip(from) {
        exec(cpu, port, insn).map_err(|_| at)?;
        sp = stay(cpu, stack, sp).ok_or(at)?;
    }
    let Some(&last) = block.insns.get(body) else { return Ok(End::Next) };
    let end = jump(cpu, port, last, block.end).ok_or(body)?;
    stay(cpu, stack, sp).ok_or(body)?;
    Ok(end)
}

/// The stack pointer, which was `sp` before an instruction, unless that has taken it out of its
/// window: then it is put back, and running the instruction again undoes the rest.
#[inline(always)]
pub(super) fn stay(cpu: &mut Cpu, stack: StackWindow, sp: u32) -> Option<u32> {
    let now = cpu.r[13];
    if now == sp || stack.contains(now) {
        return Some(now);
    }
    cpu.r[13] = sp;
    None
}

/// Executes the branch at a block's end; `None` leaves it to the careful path.
#[inline(always)]
pub(super) fn jump(cpu: &mut Cpu, port: &mut FastPort, insn: Insn, next: u32) -> Option<End> {
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
        Insn::Blx { m } => {
            let target = ordinary(cpu.r[(m & 15) as usize], cpu)?;
            cpu.r[14] = next | 1;
            End::Indirect(target)
        }
        Insn::MovPc { m } => End::Indirect(cpu.r[(m & 15) as usize] | 1),
        Insn::AddPc { m, value } => End::Indirect(value.wrapping_add(cpu.r[(m & 15) as usize]) | 1),
        _ => return exec_branch::branch(cpu, port, insn, next).ok().flatten(),
    })
}

/// A branch target that is not an exception return.
#[inline(always)]
fn ordinary(value: u32, cpu: &Cpu) -> Option<u32> {
    (value < EXC_RETURN || cpu.ipsr == 0).then_some(value)
}
