//! One turn of a loop, instruction by instruction, as it was executed.

use crate::cores::arm::block::BlockId;
use crate::cores::arm::cpu::Cpu;
use crate::kernel::device::{Reading, Size};
use crate::kernel::observe::Wait;
use strobe_isa::thumb::insn::Insn;

/// Registers and flags behind an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Registers {
    pub(super) r: [u32; 15],
    /// N, Z, C and V as in APSR.
    pub(super) flags: u32,
}

impl Registers {
    pub(super) fn of(cpu: &Cpu) -> Self {
        let mut r = [0; 15];
        r.copy_from_slice(&cpu.r[..15]);
        Registers { r, flags: cpu.apsr() & 0xf000_0000 }
    }

    /// The registers that differ, as a set.
    pub(super) fn differing(&self, other: &Registers) -> u16 {
        let pairs = self.r.iter().zip(&other.r).enumerate();
        pairs.fold(0, |set, (at, (a, b))| set | u16::from(a != b) << at)
    }
}

/// What an access reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Memory that the core may change.
    Ram,
    /// Memory that it may not.
    Constant,
    /// A register, with what reading it again shows.
    Register(Reading),
    /// A register without a model, which shows the same again.
    Unmodelled,
}

/// A data access.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryAccess {
    pub(crate) address: u32,
    pub(crate) size: Size,
    pub(crate) write: bool,
    pub(crate) value: u32,
    /// Cycle of the data phase.
    pub(crate) cycle: u64,
    pub(crate) place: Place,
}

/// An instruction that retired.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) insn: Insn,
    pub(super) id: BlockId,
    pub(super) at: u16,
    /// ITSTATE, where the instruction depends on a condition; else 0.
    pub(super) it: u8,
    /// Its condition held.
    pub(super) executed: bool,
    pub(super) jumped: bool,
    /// How many accesses there were up to its end.
    pub(super) accesses: u32,
    pub(super) after: Registers,
}

/// What a turn cost beyond what its instructions always cost.
#[derive(Debug, Clone, Copy)]
pub(super) enum Extra {
    Wait(u32, Wait),
    /// Cycles that a jump at a block's end took for where it went.
    Late(BlockId, u64),
}

/// The turn under way. Its lists are used again for the next one.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    pub(super) steps: Vec<Step>,
    pub(super) accesses: Vec<MemoryAccess>,
    pub(super) extras: Vec<Extra>,
    /// Blocks that came before the turn brought a line of code in, and whether all of their lines
    /// were known to be there.
    pub(super) blocks: Vec<(BlockId, bool)>,
    /// Something happened that no repetition can account for.
    broken: bool,
}

impl Recording {
    pub(super) fn clear(&mut self) {
        self.steps.clear();
        self.accesses.clear();
        self.extras.clear();
        self.blocks.clear();
        self.broken = false;
    }

    /// No turn with what happens now can be repeated.
    pub(crate) fn give_up(&mut self) {
        self.broken = true;
    }

    /// Whether the turn may still be repeated, with so many instructions at most.
    pub(super) fn is_usable(&self, most_steps: usize) -> bool {
        !self.broken && self.steps.len() < most_steps
    }

    /// A data access happens.
    pub(crate) fn access(&mut self, access: MemoryAccess) {
        let stays = match access.place {
            Place::Ram => true,
            Place::Constant | Place::Unmodelled => !access.write,
            Place::Register(reading) => !access.write && reading != Reading::Unknown,
        };
        self.broken |= !stays;
        self.accesses.push(access);
    }

    /// The accesses of a step.
    pub(super) fn accesses_of(&self, at: usize) -> &[MemoryAccess] {
        let begin = at.checked_sub(1).map_or(0, |before| self.steps[before].accesses);
        &self.accesses[begin as usize..self.steps[at].accesses as usize]
    }
}
