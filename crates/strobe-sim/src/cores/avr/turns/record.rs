//! One turn of a loop, instruction by instruction.

use super::super::block::NONE;
use super::super::core::Machine;
use super::super::run::Here;
use super::super::{DATA, exec::End};
use crate::kernel::bus::io::IO_END;
use crate::kernel::device::Reading;
use crate::kernel::observe::code::BlockId;
use crate::kernel::observe::{Access, Moment, Observer};
use strobe_isa::avr::insn::Insn;

/// Instructions of the longest turn: loops that wait are short, and so is what they call.
const MAX_STEPS: usize = 600;

/// The target of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Ram,
    /// A device's register, which was read.
    Register(Reading),
    /// A register without a model, which was read.
    Unmodelled,
    /// Something whose access does not repeat.
    Other,
}

/// One byte that was read or written.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByteAccess {
    pub(super) address: u16,
    pub(super) write: bool,
    pub(super) value: u8,
    pub(super) cycle: u64,
    pub(super) place: Place,
}

/// An instruction, with the core as it was before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) insn: Insn,
    pub(super) r: [u8; 32],
    pub(super) sreg: u8,
    /// Where its accesses begin.
    pub(super) accesses: usize,
}

/// A turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Recording {
    pub(super) steps: Vec<Step>,
    pub(super) accesses: Vec<ByteAccess>,
    /// The blocks that ran, and whether each one's last instruction jumped.
    pub(super) blocks: Vec<(BlockId, bool)>,
    /// Its beginning and its cost.
    pub(super) begin: Moment,
    pub(super) cycles: u64,
    pub(super) instructions: u64,
    /// An access was made that does not repeat.
    is_spoiled: bool,
    log: Vec<Access>,
}

impl Recording {
    fn clear(&mut self) {
        self.steps.clear();
        self.accesses.clear();
        self.blocks.clear();
        self.is_spoiled = false;
    }

    fn repeats(&self) -> bool {
        self.steps.len() < MAX_STEPS && !self.is_spoiled
    }

    /// Whether another turn begins and goes the same way.
    pub(super) fn is_same(&self, other: &Recording) -> bool {
        let same = |(a, b): (&ByteAccess, &ByteAccess)| {
            (a.address, a.write, a.value) == (b.address, b.write, b.value)
        };
        self.steps == other.steps
            && self.blocks == other.blocks
            && self.accesses.iter().zip(&other.accesses).all(same)
            && other.only_reads_what_stays()
    }

    /// Whether it reads no counter of a device.
    pub(super) fn only_reads_what_stays(&self) -> bool {
        let stays = |access: &ByteAccess| {
            matches!(access.place, Place::Ram | Place::Register(Reading::Steady { .. }))
        };
        self.accesses.iter().all(stays)
    }

    /// The last turn whose reads all come before what they read may change.
    pub(super) fn ends_before_changes(&self, limit: u64) -> Option<u64> {
        let mut ends = self.accesses.iter().map(|access| match access.place {
            Place::Register(Reading::Steady { until }) => {
                Some(until.checked_sub(access.cycle + 1)? / self.cycles.max(1))
            }
            _ => Some(limit),
        });
        ends.try_fold(limit, |least, end| Some(least.min(end?)))
    }

    /// The accesses of one instruction.
    pub(super) fn accesses_of(&self, step: usize) -> &[ByteAccess] {
        let end = self.steps.get(step + 1).map_or(self.accesses.len(), |next| next.accesses);
        &self.accesses[self.steps[step].accesses..end]
    }
}

impl<O: Observer> Machine<O> {
    pub(super) fn moment(&self) -> Moment {
        Moment { cycle: self.now, asleep: self.asleep, instructions: self.instructions }
    }

    /// Executes from the beginning of a block until that comes again with the same stack. Returns
    /// whether it did; otherwise the core is wherever that has led.
    pub(super) fn record_turn(&mut self, head: BlockId, turn: &mut Recording) -> bool {
        turn.clear();
        turn.begin = self.moment();
        let (sp, events) = (self.cpu.sp, self.bus.events);
        let mut id = head;
        loop {
            let block = &self.blocks.all[id as usize];
            let fits = self.now + u64::from(block.worst) <= self.horizon;
            self.cpu.pc = block.start;
            if !fits || !turn.repeats() || self.moves_stack_anew(id) {
                return false;
            }
            id = self.record_block(id, turn);
            if id == NONE {
                return false;
            }
            self.cpu.pc = self.blocks.all[id as usize].start;
            if self.check || !turn.repeats() || self.bus.events != events {
                return false;
            }
            if id == head && self.cpu.sp == sp {
                turn.cycles = self.now - turn.begin.cycle;
                turn.instructions = self.instructions - turn.begin.instructions;
                return true;
            }
        }
    }

    /// Executes one block. Returns the next as [`Machine::run_block`] does.
    fn record_block(&mut self, id: BlockId, turn: &mut Recording) -> BlockId {
        let count = self.blocks.all[id as usize].insns.len();
        let mut how = End::Next;
        for at in 0..count {
            how = self.record_instruction(id, at, turn);
            if at + 1 < count && (self.bus.attention || self.check) {
                self.leave_before(id, at + 1);
                return NONE;
            }
        }
        self.check |= self.bus.attention;
        turn.blocks.push((id, how.is_jump()));
        self.retire_block(id, how)
    }

    fn record_instruction(&mut self, id: BlockId, at: usize, turn: &mut Recording) -> End {
        let block = &self.blocks.all[id as usize];
        let start = self.now + u64::from(block.meta[at].before);
        let (r, sreg) = (self.cpu.r, self.cpu.sreg);
        let accesses = turn.accesses.len();
        turn.steps.push(Step { insn: block.insns[at], r, sreg, accesses });
        turn.log.clear();
        let how = self.perform_logged(Here { id, at, start }, Some(&mut turn.log));
        for access in &turn.log {
            let place = self.place(access);
            let &Access { address, write, value, cycle, .. } = access;
            turn.is_spoiled |= place == Place::Other;
            let (address, value) = ((address - DATA) as u16, value as u8);
            turn.accesses.push(ByteAccess { address, write, value, cycle, place });
        }
        how
    }

    /// What an access that has just been made has reached.
    fn place(&mut self, access: &Access) -> Place {
        let ram = &self.bus.ram;
        if ram.contains(access.address) {
            return Place::Ram;
        }
        let address = (access.address - DATA) as u16;
        let is_core = address < 0x20 || (0x5b..=0x5f).contains(&address);
        if access.write || is_core || address >= IO_END {
            return Place::Other;
        }
        if self.bus.unmodelled.is_just_read(access.address, access.cycle) {
            return Place::Unmodelled;
        }
        Place::Register(self.bus.io_reading(address))
    }
}
