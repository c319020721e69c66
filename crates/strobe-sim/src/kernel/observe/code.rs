//! Decoded code as observers see it, whatever the core.

use strobe_model::{Bounds, Cause, CauseCycles};

/// A decoded block, by index.
pub type BlockId = u32;

/// What an instruction costs: when it goes on at the next address, and in addition when it jumps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Cycles of the instruction itself.
    pub execute: u8,
    /// Cycles of its data phases.
    pub load_store: u8,
    /// Further cycles if it jumps: the pipeline fills again.
    pub refill: u8,
    /// Cycles that it waits for its own fetch, even from memory that does not wait.
    pub fetch: u8,
}

impl Cost {
    /// Cycles when the instruction does not jump.
    pub fn straight(self) -> u32 {
        u32::from(self.execute) + u32::from(self.load_store) + u32::from(self.fetch)
    }

    /// Cycles when it jumps.
    pub fn jumping(self) -> u32 {
        self.straight() + u32::from(self.refill)
    }

    /// The cycles by cause for `count` executions, `taken` of which jumped.
    pub fn cycles(self, count: u64, taken: u64) -> CauseCycles {
        let mut sum = CauseCycles::ZERO;
        sum[Cause::Execute] = u64::from(self.execute) * count;
        sum[Cause::LoadStore] = u64::from(self.load_store) * count;
        sum[Cause::Refill] = u64::from(self.refill) * taken;
        sum[Cause::FetchWait] = u64::from(self.fetch) * count;
        sum
    }
}

/// Cycles of an instruction whose condition failed (IT).
pub(crate) const SKIPPED: u32 = 1;

/// What is known of one instruction in its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// Halfwords from the block's start.
    pub offset: u16,
    /// What it costs each time.
    pub cost: Cost,
    /// What it waits for data each time, on top.
    pub data_wait: Bounds,
}

/// A block: instructions one after the other, of which the last may change the flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// Address of the first instruction.
    pub start: u32,
    /// The instructions.
    pub instructions: Box<[Instruction]>,
    /// It does nothing but jump to itself: only an interrupt leads out of it.
    pub idle: bool,
}
