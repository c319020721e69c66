//! What running a board has in common on all cores, and one type for whichever a board has.

use std::sync::atomic::AtomicBool;

use crate::boards::Board;
use strobe_sim::cores::{arm, avr};
use strobe_sim::kernel::bus::Bus;
use strobe_sim::kernel::clock::Clocks;
use strobe_sim::kernel::core::Core;
pub use strobe_sim::kernel::core::Stop;
use strobe_sim::kernel::device::{DeviceId, Shift};
use strobe_sim::kernel::memory::BusFault;
use strobe_sim::kernel::model::Model;
use strobe_sim::kernel::observe::Observer;
use strobe_sim::kernel::semihost::Console;
use strobe_sim::kernel::signal::SignalId;

/// A fault with the state of whichever core it happened on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// On one of Arm's.
    Arm(arm::FaultReport),
    /// On an AVR.
    Avr(avr::FaultReport),
}

/// A board's core, whichever it is, with its bus and whoever watches.
pub enum Machine<O: Observer> {
    /// One of Arm's.
    Arm(Box<arm::Machine<O>>),
    /// An AVR.
    Avr(Box<avr::Machine<O>>),
}

/// The same expression for either core.
macro_rules! either {
    ($machine:expr, $m:ident => $e:expr) => {
        match $machine {
            Machine::Arm($m) => $e,
            Machine::Avr($m) => $e,
        }
    };
}

impl<O: Observer> Machine<O> {
    /// The core that a board describes, at rest on the bus that was built from it.
    pub fn new(board: &Board, bus: Bus, observer: O) -> Option<Self> {
        if let Some(core) = board.avr_core() {
            return Some(Machine::Avr(Box::new(avr::Machine::new(bus, &core, observer))));
        }
        let core = board.arm_core()?;
        Some(Machine::Arm(Box::new(arm::Machine::new(bus, &core, observer))))
    }

    /// Starts from reset.
    ///
    /// # Errors
    /// When there is a vector table to read and it cannot be.
    pub fn reset(&mut self) -> Result<(), BusFault> {
        either!(self, m => m.reset())
    }

    /// Requests of an exception, since reset, that came while the same one was pending and for
    /// which no handler ran of its own.
    pub fn lost_requests(&self, exception: u16) -> u64 {
        match self {
            Machine::Arm(m) => m.lost_requests(exception),
            Machine::Avr(m) => exception
                .checked_sub(avr::FIRST_EXCEPTION)
                .map_or(0, |irq| m.bus().lost_requests(irq)),
        }
    }

    /// Makes each reset start from the vector table at `table`, as a bootloader does; of an AVR,
    /// which has no addresses there, at that address itself.
    pub fn start_elsewhere(&mut self, table: u32) {
        match self {
            Machine::Arm(m) => m.start_behind_bootloader(table),
            Machine::Avr(m) => m.begin_at(table),
        }
    }

    /// Runs until something stops it, at the latest when `limit` cycles since reset have passed or
    /// `interrupted` is set. Can be called again after any stop but a lockup.
    pub fn run(&mut self, limit: u64, interrupted: &AtomicBool) -> Stop<Report> {
        match self {
            Machine::Arm(m) => m.run(limit, interrupted).map(Report::Arm),
            Machine::Avr(m) => m.run(limit, interrupted).map(Report::Avr),
        }
    }

    /// Memories and devices.
    pub fn bus(&self) -> &Bus {
        either!(self, m => m.bus())
    }

    /// Memories and devices.
    pub fn bus_mut(&mut self) -> &mut Bus {
        either!(self, m => m.bus_mut())
    }

    /// Whoever watches.
    pub fn observer(&self) -> &O {
        either!(self, m => m.observer())
    }

    /// Whoever watches.
    pub fn observer_mut(&mut self) -> &mut O {
        either!(self, m => m.observer_mut())
    }

    /// Whoever watches, with the clocks that give it times.
    pub fn observer_and_clocks(&mut self) -> (&mut O, &Clocks) {
        either!(self, m => m.observer_and_clocks())
    }

    /// The program counter, as a byte address.
    pub fn pc(&self) -> u32 {
        either!(self, m => m.pc())
    }

    /// The stack pointer: the address of what was pushed last.
    pub fn sp(&self) -> u32 {
        either!(self, m => m.sp())
    }

    /// The lowest address that the stack has reached, on cores whose handlers share it with the
    /// program (AVR).
    pub fn deepest_stack(&self) -> Option<u32> {
        either!(self, m => m.deepest_stack())
    }

    /// Calls a function with one word as its argument, while the core stands still: it returns to
    /// `back`. No time passes for the call itself.
    pub fn call(&mut self, function: u32, argument: u32, back: u32) {
        either!(self, m => m.call(function, argument, back));
    }

    /// System resets since the first.
    pub fn resets(&self) -> u64 {
        either!(self, m => m.resets())
    }

    /// Cycles since the first reset.
    pub fn cycles(&self) -> u64 {
        either!(self, m => m.cycles())
    }

    /// Cycles asleep or in idle loops since the first reset.
    pub fn asleep(&self) -> u64 {
        either!(self, m => m.asleep())
    }

    /// Instructions retired since the first reset.
    pub fn instructions(&self) -> u64 {
        either!(self, m => m.instructions())
    }

    /// Takes the figures of one model, before anything runs.
    pub fn set_model(&mut self, model: Model) {
        either!(self, m => m.set_model(model));
    }

    /// Faults that the firmware's own handlers were started for, which only Arm's cores have.
    pub fn handled_faults(&self) -> &[arm::HandledFault] {
        match self {
            Machine::Arm(m) => m.handled_faults(),
            Machine::Avr(_) => &[],
        }
    }

    /// Writes a word as a debugger does, while the core stands still: a register of the trace
    /// blocks or of a device.
    ///
    /// # Errors
    /// When nothing answers there, as with everything on an AVR.
    pub fn debugger_write(&mut self, address: u32, value: u32) -> Result<(), BusFault> {
        either!(self, m => m.debugger_write(address, value))
    }

    /// Reads a word as a debugger does, while the core stands still.
    ///
    /// # Errors
    /// When nothing answers there, as with everything on an AVR.
    pub fn debugger_read(&mut self, address: u32) -> Result<u32, BusFault> {
        either!(self, m => m.debugger_read(address))
    }

    /// How much the trace blocks' buffers hold, on cores that have them.
    pub fn set_trace_depths(&mut self, depths: arm::Depths) {
        if let Machine::Arm(m) = self {
            m.set_trace_depths(depths);
        }
    }

    /// Where what the firmware writes by semihosting goes; AVR parts have none.
    pub fn set_console(&mut self, console: Box<dyn Console>) {
        either!(self, m => m.set_console(console));
    }

    /// Runs nothing as host code, where there is a compiler for the core.
    pub fn interpret(&mut self) {
        either!(self, m => m.interpret());
    }

    /// Executes every turn of loops that wait, instead of skipping what does nothing.
    pub fn execute_waits(&mut self) {
        either!(self, m => m.execute_waits());
    }

    /// Reports to the observer, from here on, which thread or handler counts belong to
    /// ([`Observer::belongs_to`]).
    pub fn distinguish(&mut self) {
        either!(self, m => m.distinguish());
    }

    /// States where functions begin, so that changes of function are seen exactly.
    pub fn set_function_entries(&mut self, entries: Vec<u32>) {
        either!(self, m => m.set_function_entries(entries));
    }

    /// Sets the addresses at which [`Machine::run`] stops before executing.
    pub fn set_stops(&mut self, stops: Vec<u32>) {
        either!(self, m => m.set_stops(stops));
    }

    /// Sets the edges (pin, level) at which running stops.
    pub fn set_stop_edges(&mut self, edges: Vec<(SignalId, bool)>) {
        self.bus_mut().outputs.stop_edges = edges;
    }

    /// Has pin edges recorded for [`Observer::pin`].
    pub fn record_pins(&mut self, on: bool) {
        either!(self, m => m.record_pins(on));
    }

    /// After a run: lets serial devices send what they still hold; `limit` is the last cycle for
    /// it. No time passes for the core.
    pub fn finish_sending(&mut self, limit: u64) {
        either!(self, m => m.finish_sending(limit));
    }

    /// Shifts a timer's interrupts against the program from now on, by `part` of `of` of what is
    /// left until the next one.
    pub fn shift_timer(&mut self, device: DeviceId, part: u32, of: u32) -> Shift {
        either!(self, m => m.shift_timer(device, part, of))
    }

    /// The timers that can be shifted, with their names.
    pub fn shifted_timers(&mut self) -> Vec<(DeviceId, String)> {
        let bus = either!(self, m => m.bus_mut());
        let all = bus.shifted_timers();
        all.into_iter().map(|id| (id, bus.device_name(id).to_owned())).collect()
    }

    /// A byte from the host for a serial device; it is on the line from now on.
    pub fn host_byte(&mut self, device: DeviceId, byte: u8) {
        either!(self, m => m.host_byte(device, byte));
    }
}
