//! What one instruction does, whatever the machine: where control goes on, and what it means for
//! the stack pointer.

/// A destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    /// An address of code.
    Known(u32),
    /// One of the words of a table of constants.
    Table(u32),
    /// In a register, of unknown value.
    Unknown,
}

/// How control goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// At the next instruction.
    Next,
    /// At the target or the next instruction.
    Branch(u32),
    /// At the target, and then at the next instruction.
    Call(To),
    /// At the target alone.
    Jump(To),
    /// At the target, in the same function; it may come back behind the instruction.
    Link(u32),
    /// Behind any `Link` of the function.
    Back,
    /// Somewhere in the same function, as a `switch` does.
    Computed,
    /// Through a table of bytes (1) or halfwords (2) behind the instruction (TBB, TBH).
    Offsets(u32),
    /// Back to the caller.
    Return,
    /// Nowhere: an undefined instruction.
    Stop,
}

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// Bytes of its encoding.
    pub(super) size: u32,
    /// Where control goes on.
    pub(super) flow: Flow,
    /// It moves the stack pointer by an unknown number of bytes.
    pub(super) is_dynamic: bool,
    /// It may do nothing, and control goes on behind it (IT).
    pub(super) may_be_skipped: bool,
    /// It sets the process stack pointer, so threads have stacks that handlers do not use.
    pub(super) is_process: bool,
    /// It belongs to the floating-point unit.
    pub(super) is_floating: bool,
    /// It lets interrupts in, also in a handler (AVR).
    pub(super) lets_in: bool,
}

impl Step {
    pub(super) fn next(size: u32) -> Self {
        Step {
            size,
            flow: Flow::Next,
            is_dynamic: false,
            may_be_skipped: false,
            is_process: false,
            is_floating: false,
            lets_in: false,
        }
    }
}
