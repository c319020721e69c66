//! What a core is to the rest of the simulation: what can be asked of it, how its runs end, what
//! devices may ask of it, and how its exceptions are numbered.

use crate::kernel::clock::Clocks;
use std::sync::atomic::AtomicBool;

use crate::kernel::bus::Bus;
use crate::kernel::device::{DeviceId, ResetCause, Shift};
use crate::kernel::memory::BusFault;
use crate::kernel::model::Model;
use crate::kernel::observe::Observer;
use crate::kernel::semihost::Console;
use crate::kernel::signal::SignalId;

/// A core with its bus and whoever watches, as those see it who drive a board.
pub trait Core<O: Observer> {
    /// A fault with the core's state.
    type Report;

    /// Starts from reset.
    ///
    /// # Errors
    /// When there is a vector table to read and it cannot be.
    fn reset(&mut self) -> Result<(), BusFault>;

    /// Runs until something stops it, at the latest when `limit` cycles since reset have passed or
    /// `interrupted` is set. Can be called again after any stop but a lockup.
    fn run(&mut self, limit: u64, interrupted: &AtomicBool) -> Stop<Self::Report>;

    /// Memories and devices.
    fn bus(&self) -> &Bus;

    /// Memories and devices.
    fn bus_mut(&mut self) -> &mut Bus;

    /// Whoever watches.
    fn observer(&self) -> &O;

    /// Whoever watches.
    fn observer_mut(&mut self) -> &mut O;

    /// Whoever watches, with the clocks that give it times.
    fn observer_and_clocks(&mut self) -> (&mut O, &Clocks);

    /// The program counter, as a byte address.
    fn pc(&self) -> u32;

    /// The stack pointer: the address of what was pushed last.
    fn sp(&self) -> u32;

    /// The lowest address that the stack has reached, on cores whose handlers share it with the
    /// program.
    fn deepest_stack(&self) -> Option<u32> {
        None
    }

    /// Cycles since the first reset.
    fn cycles(&self) -> u64;

    /// Of these, asleep or in idle loops.
    fn asleep(&self) -> u64;

    /// Instructions retired since the first reset.
    fn instructions(&self) -> u64;

    /// Takes the figures of one model, before anything runs.
    fn set_model(&mut self, model: Model) {
        let _ = model;
    }

    /// Reports to the observer, from here on, which thread or handler counts belong to
    /// ([`Observer::belongs_to`]).
    fn distinguish(&mut self);

    /// Sets where functions begin, so that changes of function are seen exactly.
    fn set_function_entries(&mut self, entries: Vec<u32>);

    /// Sets the addresses at which [`Core::run`] stops before executing.
    fn set_stops(&mut self, stops: Vec<u32>);

    /// Calls a function with one word as its argument, by the core's calling convention, while the
    /// core stands still: it returns to `back`. No time passes for the call itself.
    fn call(&mut self, function: u32, argument: u32, back: u32);

    /// Has pin edges recorded for [`Observer::pin`].
    fn record_pins(&mut self, on: bool) {
        self.bus_mut().outputs.record_edges = on;
    }

    /// After a run: lets serial devices send what they still hold; `limit` is the last cycle for
    /// it. No time passes for the core.
    fn finish_sending(&mut self, limit: u64);

    /// A byte from the host for a serial device; it is on the line from now on.
    fn host_byte(&mut self, device: DeviceId, byte: u8) {
        let now = self.cycles();
        // Devices' time stands at the last event or access, which may be long ago.
        self.bus_mut().run_events(now);
        self.bus_mut().host_byte(device, byte);
    }

    /// Shifts a timer's interrupts against the program from now on.
    fn shift_timer(&mut self, device: DeviceId, part: u32, of: u32) -> Shift {
        let now = self.cycles();
        self.bus_mut().run_events(now);
        self.bus_mut().shift_timer(device, part, of)
    }

    /// Writes a word as a debugger does, while the core stands still: a register of the core's own
    /// or of a device.
    ///
    /// # Errors
    /// When nothing answers there, as with everything on a core without debug access.
    fn debugger_write(&mut self, address: u32, value: u32) -> Result<(), BusFault> {
        let _ = value;
        Err(BusFault { address })
    }

    /// Reads a word as a debugger does, while the core stands still.
    ///
    /// # Errors
    /// When nothing answers there, as with everything on a core without debug access.
    fn debugger_read(&mut self, address: u32) -> Result<u32, BusFault> {
        Err(BusFault { address })
    }

    /// Sets where what the firmware writes by semihosting goes, on cores that have it.
    fn set_console(&mut self, console: Box<dyn Console>) {
        let _ = console;
    }

    /// Runs nothing as host code, where there is a compiler for the core.
    fn interpret(&mut self) {}

    /// Executes every turn of loops that wait, where the core would skip them.
    fn execute_waits(&mut self) {}
}

/// Why a run stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop<R> {
    /// The cycle limit; with [`Bus::stops_at_clock`] also a change of the core's clock.
    Limit,
    /// About to execute one of the addresses set with `Machine::set_stops`.
    Address(u32),
    /// One of the edges set with `Machine::set_stop_edges` has come: a pin and its level. The
    /// instruction that was executed meanwhile has retired.
    Edge(SignalId, bool),
    /// The firmware ended itself through semihosting.
    Exit(i32),
    /// A fault was taken; the core stands before the handler's first instruction and can go on.
    HardFault(Box<R>),
    /// A fault that could not be taken (Arm: the core is locked up), or behind which there is
    /// nothing to go on with (AVR: not an instruction).
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
    pub fn map<S>(self, f: impl FnOnce(R) -> S) -> Stop<S> {
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
pub struct Requests {
    /// A system reset.
    pub reset: Option<ResetCause>,
    /// An event, which wakes a core that waits for one.
    pub event: bool,
    /// The non-maskable interrupt.
    pub nmi: bool,
    /// To stand still for so many cycles.
    pub halted: u64,
    /// The instruction for sleep puts the core to sleep, on cores where a device decides that.
    pub sleep_enabled: bool,
    /// Cycles that the clock needs to start when the core wakes up.
    pub start_up: u64,
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
