//! A core on its bus: state, and what may be asked of it.

use super::block::Blocks;
use super::cpu::Cpu;
use super::{Architecture, CoreOptions, DATA};
use crate::kernel::bus::Bus;
use crate::kernel::device::DeviceId;
use crate::kernel::observe::code::BlockId;
use crate::kernel::observe::schedule::Who;
use crate::kernel::observe::{Observer, Wait};

/// A core with its bus and whoever watches.
pub struct Machine<O: Observer> {
    /// Registers.
    pub cpu: Cpu,
    /// Memories and devices.
    pub bus: Bus,
    /// Whoever watches.
    pub observer: O,
    pub(super) options: CoreOptions,
    pub(super) arch: Architecture,
    pub(super) blocks: Blocks,
    /// Cycles since reset.
    pub(super) now: u64,
    /// Of these, asleep or idle.
    pub(super) asleep: u64,
    /// Instructions retired since reset.
    pub(super) instructions: u64,
    /// Something may have become pending, enabled or due.
    pub(super) check: bool,
    /// The cycle before which nothing happens unless the core does it.
    pub(super) horizon: u64,
    pub(super) sleeps: bool,
    /// The core has just woken up.
    pub(super) woken: bool,
    /// An interrupt is asked for.
    pub(super) pending: bool,
    /// No interrupt is taken in this cycle: the instruction after SEI or RETI comes first.
    pub(super) shadow: u64,
    /// Handlers under way, as far as remembered: exception, and the stack pointer of what was interrupted.
    pub(super) handlers: Vec<(u16, u16)>,
    pub(super) resets: u64,
    /// A block that was left in the middle, and where it goes on.
    pub(super) resume: Option<(BlockId, usize)>,
    /// Counts are told apart by who runs; this is who does.
    pub(super) belongs_to: Option<Who>,
}

impl<O: Observer> Machine<O> {
    /// A core at rest on a bus; [`Machine::reset`] starts it.
    pub fn new(bus: Bus, options: &CoreOptions, observer: O) -> Self {
        let arch = Architecture::new(options.kind, bus.flash.data.len() as u32);
        Machine {
            cpu: Cpu::new(arch, 0),
            bus,
            observer,
            options: *options,
            arch,
            blocks: Blocks::default(),
            now: 0,
            asleep: 0,
            instructions: 0,
            check: true,
            horizon: 0,
            sleeps: false,
            woken: false,
            pending: false,
            shadow: u64::MAX,
            handlers: Vec::new(),
            resets: 0,
            resume: None,
            belongs_to: None,
        }
    }

    /// Cycles since the first reset.
    pub fn cycles(&self) -> u64 {
        self.now
    }

    /// Cycles asleep or in idle loops since the first reset.
    pub fn asleep(&self) -> u64 {
        self.asleep
    }

    /// Instructions retired since the first reset.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Cycles since reset. Nothing of them is modelled, so the bounds are one figure.
    pub fn cycle_bounds(&self) -> strobe_model::Bounds {
        strobe_model::Bounds::exact(self.now)
    }

    /// System resets since the first.
    pub fn resets(&self) -> u64 {
        self.resets
    }

    /// Whether the core sleeps now.
    pub fn is_asleep(&self) -> bool {
        self.sleeps
    }

    /// The address of what was pushed last, which is one above where the stack pointer points.
    pub fn stack_top(&self) -> u32 {
        DATA + u32::from(self.cpu.sp) + 1
    }

    /// Tells the observer, from here on, what counts belong to which thread or handler
    /// ([`Observer::belongs_to`]).
    pub fn tell_apart(&mut self) {
        self.belongs_to = self.observer.who();
        if let Some(who) = self.belongs_to {
            self.observer.belongs_to(who);
        }
    }

    /// Tells where functions begin, so that changes of function are seen exactly.
    pub fn set_function_entries(&mut self, entries: Vec<u32>) {
        self.forget_code();
        self.blocks.set_entries(entries);
    }

    /// Sets the addresses at which [`Machine::run`] stops before executing.
    pub fn set_stops(&mut self, stops: Vec<u32>) {
        self.forget_code();
        self.blocks.set_stops(stops);
    }

    fn forget_code(&mut self) {
        self.resume = None;
        if O::COUNTS {
            self.observer.forget();
        }
    }

    /// Has pin edges recorded for [`Observer::pin`].
    pub fn record_pins(&mut self, on: bool) {
        self.bus.outputs.record_edges = on;
    }

    /// After a run: lets serial devices send what they still hold; `limit` is the last cycle for it. No
    /// time passes for the core.
    pub fn finish_sending(&mut self, limit: u64) {
        self.bus.finish_sending(limit);
        self.drain();
    }

    /// A byte from the host for a serial device; it is on the line from now on.
    pub fn host_byte(&mut self, device: DeviceId, byte: u8) {
        // Devices' time stands at the last event or access, which may be long ago.
        self.bus.run_events(self.now);
        self.bus.host_byte(device, byte);
    }

    /// Adds cycles beyond the instruction table.
    pub(super) fn add_wait(&mut self, pc: u32, wait: Wait) {
        self.now = self.now.wrapping_add_signed(wait.likely);
        if O::COUNTS {
            self.observer.wait(pc, wait);
        }
    }

    /// Hands what devices have recorded to whoever watches.
    pub(super) fn drain(&mut self) {
        for edge in self.bus.outputs.edges.drain(..) {
            self.observer.pin(&edge);
        }
        for frame in self.bus.outputs.frames.drain(..) {
            self.observer.frame(&frame);
        }
    }
}
