//! Stacks that grew over what lies below them, where no memory protection catches it.
//!
//! Where a stack should end is set from outside; [`threads`](super::threads) notices, when a stack
//! reaches lower than ever before, that it went further. Who called whom at that moment is what
//! explains it.

use crate::kernel::bus::Bus;
use crate::kernel::device::Size;

/// Where a stack should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Floor {
    /// At an address.
    At(u32),
    /// Where the word at this address points: at the end of what the heap has been given so far.
    Pointer(u32),
}

impl Floor {
    /// The address, as it is now; a heap that was given nothing has none.
    pub(super) fn address(self, bus: &Bus) -> Option<u32> {
        match self {
            Floor::At(address) => Some(address),
            Floor::Pointer(at) => bus.peek(at, Size::Word).filter(|&end| end != 0),
        }
    }
}

/// A stack that has gone below its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overflow {
    /// Whose, by number.
    pub thread: usize,
    /// What it should have ended at.
    pub floor: Floor,
    /// Where that was.
    pub limit: u32,
    /// The stack pointer when it was noticed.
    pub sp: u32,
    /// Cycles since reset.
    pub cycle: u64,
    /// The call at which it was noticed.
    pub pc: u32,
    /// Return addresses of the calls that were open, innermost first.
    pub callers: Vec<u32>,
}

/// One that is an overflow only if the owner of the memory goes on where it stopped.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) victim: usize,
    pub(super) overflow: Overflow,
}

/// Stacks reported; every thread may have one or two ends.
pub(super) const MOST: usize = 16;
