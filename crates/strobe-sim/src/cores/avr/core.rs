//! A core on its bus: state, and what may be asked of it.

use super::block::Blocks;
use super::cpu::Cpu;
use super::turns::Turns;
use super::{Architecture, CoreKind, DATA};
use crate::kernel::bus::Bus;
use crate::kernel::masked::Masked;
use crate::kernel::observe::code::BlockId;
use crate::kernel::observe::schedule::Who;
use crate::kernel::observe::{Observer, Wait};

/// What a chip's maker chose when building the core in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreOptions {
    /// Which core.
    pub kind: CoreKind,
    /// Bytes from one interrupt vector to the next.
    pub vector_bytes: u32,
    /// How many vectors there are, reset's among them.
    pub vectors: u16,
}

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
    /// What the code last masked.
    pub(super) masked: Masked,
    /// Handlers under way, as far as remembered: exception, and the stack pointer of what was
    /// interrupted.
    pub(super) handlers: Vec<(u16, u16)>,
    /// The stack pointer that was last passed to whoever follows it, and for how many instructions
    /// it may be half written.
    pub(super) followed_sp: u32,
    pub(super) unsettled: u8,
    pub(super) resets: u64,
    /// Where each reset begins.
    pub(super) begin: u32,
    /// A block that was left in the middle, and where it goes on.
    pub(super) resume: Option<(BlockId, usize)>,
    /// The stop address that was reported last, until the core has gone on from there.
    pub(super) stopped_at: Option<u32>,
    /// Loops that wait.
    pub(super) turns: Turns,
    /// Counts are kept apart by who runs; this is who does.
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
            masked: Masked::default(),
            check: true,
            horizon: 0,
            sleeps: false,
            woken: false,
            pending: false,
            shadow: u64::MAX,
            handlers: Vec::new(),
            followed_sp: 0,
            unsettled: 0,
            resets: 0,
            begin: 0,
            resume: None,
            stopped_at: None,
            turns: Turns::default(),
            belongs_to: None,
        }
    }

    /// Makes each reset begin at this address, as the fuse BOOTRST does with the boot section.
    pub fn begin_at(&mut self, address: u32) {
        self.begin = address & self.arch.pc_mask & !1;
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

    /// Turns of loops that were not executed since the first reset.
    pub fn skipped_turns(&self) -> u64 {
        self.turns.skipped
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

    /// Sets the addresses at which [`Machine::run`] stops before executing.
    pub fn set_stops(&mut self, stops: Vec<u32>) {
        self.forget_code();
        self.blocks.set_stops(stops);
    }

    pub(super) fn forget_code(&mut self) {
        self.resume = None;
        self.turns.forget();
        if O::COUNTS {
            self.observer.forget();
        }
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
