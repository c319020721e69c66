//! What running a board has in common on all cores.

/// Why a run stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop<R> {
    /// The cycle limit.
    Limit,
    /// About to execute one of the addresses set with `Machine::set_stops`.
    Address(u32),
    /// The firmware ended itself through semihosting.
    Exit(i32),
    /// A fault was taken; the core stands before the handler's first instruction and can go on.
    HardFault(Box<R>),
    /// A fault that could not be taken (Arm: the core is locked up), or behind which there is nothing to go on with (AVR: not an
    /// instruction).
    Lockup(Box<R>),
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
