//! What a core is to the rest of the simulation: how its runs end, and how its exceptions are numbered.

use crate::kernel::device::ResetCause;
use crate::kernel::signal::SignalId;

/// Why a run stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop<R> {
    /// The cycle limit.
    Limit,
    /// About to execute one of the addresses set with `Machine::set_stops`.
    Address(u32),
    /// One of the edges set with `Machine::set_stop_edges` has come: a pin and its level. The instruction that
    /// was executed meanwhile has retired.
    Edge(SignalId, bool),
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

impl<R> Stop<R> {
    /// The same with another kind of report.
    pub(crate) fn map<S>(self, f: impl FnOnce(R) -> S) -> Stop<S> {
        match self {
            Stop::Limit => Stop::Limit,
            Stop::Address(at) => Stop::Address(at),
            Stop::Edge(pin, level) => Stop::Edge(pin, level),
            Stop::Exit(code) => Stop::Exit(code),
            Stop::HardFault(report) => Stop::HardFault(Box::new(f(*report))),
            Stop::Lockup(report) => Stop::Lockup(Box::new(f(*report))),
            Stop::SleepsForever => Stop::SleepsForever,
            Stop::Unmodelled { address, pc } => Stop::Unmodelled { address, pc },
            Stop::Interrupted => Stop::Interrupted,
        }
    }
}

/// What devices ask of the core, until it takes it.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// A system reset.
    pub(crate) reset: Option<ResetCause>,
    /// An event, which wakes a core that waits for one.
    pub(crate) event: bool,
    /// The non-maskable interrupt.
    pub(crate) nmi: bool,
    /// To stand still for so many cycles.
    pub(crate) halted: u64,
    /// The instruction for sleep puts the core to sleep, on cores where a device decides that.
    pub(crate) sleep_enabled: bool,
    /// Cycles that the clock needs to start when the core wakes up.
    pub(crate) start_up: u64,
}

/// Exception numbers with a meaning of their own (B1.5.2).
pub mod number {
    /// Reset.
    pub const RESET: u16 = 1;
    /// Non-maskable interrupt.
    pub const NMI: u16 = 2;
    /// HardFault.
    pub const HARD_FAULT: u16 = 3;
    /// MemManage: memory protection.
    pub const MEM_MANAGE: u16 = 4;
    /// BusFault: nothing answers.
    pub const BUS_FAULT: u16 = 5;
    /// UsageFault: what an instruction is or does.
    pub const USAGE_FAULT: u16 = 6;
    /// Supervisor call.
    pub const SVCALL: u16 = 11;
    /// Debug monitor.
    pub const DEBUG_MONITOR: u16 = 12;
    /// Pendable service request.
    pub const PENDSV: u16 = 14;
    /// System tick timer.
    pub const SYSTICK: u16 = 15;
    /// External interrupt 0.
    pub const IRQ0: u16 = 16;
}
