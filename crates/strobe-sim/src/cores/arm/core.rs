//! A core on its bus: what it consists of, and what can be asked of it.

use super::block::{BlockId, Blocks};
use super::cpu::Cpu;
use super::fault::{FaultReport, HandledFault};
use super::guard::Guarded;
use super::irregular::Deviations;
use super::jit::Jit;
use super::system::System;
use super::timing::Timing;
use super::trace::Waveform;
use super::turns::Turns;
use crate::kernel::bus::Bus;
use crate::kernel::flash::HalfCycleCarry;
use crate::kernel::masked::{Disabled, Masked};
use crate::kernel::model::Model;
use crate::kernel::observe::schedule::Who;
use crate::kernel::observe::{Observer, Wait};
use crate::kernel::semihost::Semihost;

/// What a chip's maker chose when building the core in.
#[derive(Debug, Clone)]
pub struct CoreOptions {
    /// Timing options, with the kind of core.
    pub timing: Timing,
    /// Interrupt lines: at most 32 on ARMv6-M, 240 on ARMv7-M.
    pub irq_lines: u32,
    /// Priority bits that exist, from the top of the byte: 2 on ARMv6-M, 3-8 on ARMv7-M.
    pub priority_bits: u8,
    /// Regions of the memory protection unit: 8, or 0 if there is none.
    pub mpu_regions: u8,
    /// CPUID register.
    pub cpuid: u32,
    /// SysTick reference clock: core cycles per tick; 0 for none.
    pub systick_reference_divider: u32,
    /// SYST_CALIB register.
    pub systick_calibration: u32,
    /// Writable bits of VTOR; 0 on a Cortex-M0.
    pub vtor_mask: u32,
    /// The core has bit-band aliases.
    pub bit_band: bool,
    /// Address of the vector table at reset.
    pub vectors: u32,
    /// The chip's register that lets the trace pin out, if there is one.
    pub trace_gate: Option<TraceGate>,
}

/// When the trace pin shows something: a register's bits have a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceGate {
    /// The register.
    pub address: u32,
    /// Its bits.
    pub mask: u32,
    /// Their value.
    pub value: u32,
}

impl TraceGate {
    pub(crate) fn is_open(self, register: u32) -> bool {
        register & self.mask == self.value
    }
}

/// A core with its bus and whoever watches.
pub struct Machine<O: Observer> {
    /// Registers.
    pub cpu: Cpu,
    /// Memories and devices.
    pub bus: Bus,
    /// Whoever watches.
    pub observer: O,
    /// Semihosting calls go here.
    pub semihost: Semihost,
    pub(crate) system: System,
    pub(crate) timing: Timing,
    pub(crate) vectors: u32,
    /// The vector table that a bootloader starts from instead.
    pub(crate) handed_over: Option<u32>,
    pub(crate) blocks: Blocks,
    pub(crate) jit: Jit,
    /// Cycles since reset.
    pub(crate) now: u64,
    /// Of these, asleep or idle.
    pub(crate) asleep: u64,
    /// Instructions retired since reset.
    pub(crate) instructions: u64,
    /// Which of the three the time line is.
    pub(crate) model: Model,
    /// Turns of loops that wait.
    pub(crate) turns: Turns,
    pub(crate) carry: HalfCycleCarry,
    /// What the code last masked.
    pub(crate) masked: Masked,
    /// Which interrupts it last disabled in the NVIC.
    pub(crate) disabled: Disabled,
    /// Something may have become pending, masked or due.
    pub(crate) check: bool,
    /// The cycle before which nothing happens unless the core does it.
    pub(crate) horizon: u64,
    pub(crate) sleep: Sleep,
    /// Faults on their way into a handler.
    pub(crate) raised: Vec<FaultReport>,
    /// Faults that the firmware's own handlers were started for.
    pub(crate) handled: Vec<HandledFault>,
    /// Instructions that faulted instead of retiring.
    pub(crate) abandoned: u64,
    /// Memory protection must be asked at each access and fetch.
    pub(crate) guarded: Guarded,
    pub(crate) resets: u64,
    /// A block that was left in the middle, and where it goes on: what its instructions cost
    /// depends on those before them.
    pub(crate) resume: Option<(BlockId, usize)>,
    /// The stop address that was reported last, until the core has gone on from there.
    pub(crate) stopped_at: Option<u32>,
    /// What the block that runs now does beyond what it always costs.
    pub(crate) deviations: Deviations,
    /// Counts are kept apart by who runs; this is who does.
    pub(crate) belongs_to: Option<Who>,
    /// The trace blocks look at each instruction.
    pub(crate) traced: bool,
    /// The trace pin as a wire.
    pub(crate) waveform: Waveform,
}

/// Whether the core sleeps and what wakes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sleep {
    /// Running.
    Awake,
    /// WFI (or sleep on exit): until an interrupt is pending.
    Interrupt,
    /// WFE: until an event.
    Event,
}

impl<O: Observer> Machine<O> {
    /// A core at rest on a bus; [`Machine::reset`] reads the vector table and starts it.
    pub fn new(bus: Bus, options: &CoreOptions, observer: O) -> Self {
        Machine {
            waveform: Waveform::new(&bus),
            cpu: Cpu::new(options.timing.kind.architecture()),
            bus,
            observer,
            semihost: Semihost::default(),
            system: System::new(options),
            timing: options.timing.clone(),
            vectors: options.vectors,
            handed_over: None,
            blocks: Blocks::default(),
            jit: Jit::default(),
            now: 0,
            asleep: 0,
            instructions: 0,
            model: Model::Likely,
            turns: Turns::default(),
            carry: HalfCycleCarry::default(),
            masked: Masked::default(),
            disabled: Disabled::default(),
            check: true,
            horizon: 0,
            sleep: Sleep::Awake,
            raised: Vec::new(),
            handled: Vec::new(),
            abandoned: 0,
            guarded: Guarded::default(),
            resets: 0,
            resume: None,
            stopped_at: None,
            deviations: Deviations::default(),
            belongs_to: None,
            traced: false,
        }
    }

    /// Makes each reset end as a bootloader's does: with the stack pointer and VTOR of the vector
    /// table at `table`, at its reset vector.
    pub fn start_behind_bootloader(&mut self, table: u32) {
        self.handed_over = Some(table);
    }

    /// Requests of an exception that came while the same one was pending. Of an interrupt that has
    /// not been enabled yet there are none: its flag is for whoever polls it.
    pub fn lost_requests(&self, exception: u16) -> u64 {
        match exception.checked_sub(super::system::number::IRQ0) {
            Some(irq) if self.system.nvic.wanted.contains(exception) => self.bus.lost_requests(irq),
            None if exception == super::system::number::SYSTICK => self.system.lost_ticks,
            _ => 0,
        }
    }

    /// Where exceptions are taken from. On a core without VTOR a bootloader passes them on, until
    /// the firmware has RAM shown in its place.
    pub(crate) fn vector_table(&self) -> u32 {
        if self.system.has_vtor() {
            return self.system.vtor;
        }
        let shows_ram = || self.bus.memory_at(self.vectors).is_some_and(|m| m.writable);
        self.handed_over.filter(|_| !shows_ram()).unwrap_or(self.vectors)
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

    /// System resets since the first.
    pub fn resets(&self) -> u64 {
        self.resets
    }

    /// Whether the core sleeps now.
    pub fn is_asleep(&self) -> bool {
        self.sleep != Sleep::Awake
    }

    /// Sets the addresses at which [`Machine::run`] stops before executing.
    pub fn set_stops(&mut self, stops: Vec<u32>) {
        self.forget_code();
        self.blocks.set_stops(stops);
    }

    /// The core goes to sleep.
    pub(super) fn fall_asleep(&mut self, sleep: Sleep) {
        self.sleep = sleep;
        self.check = true;
        self.turns.abandon();
    }

    /// Adds cycles beyond the instruction table, with their bounds and cause.
    pub(crate) fn add_wait(&mut self, pc: u32, wait: Wait) {
        let wait = wait.in_model(self.model);
        self.now = self.now.wrapping_add_signed(wait.likely);
        self.turns.note_wait(pc, wait);
        if O::COUNTS {
            self.observer.wait(pc, wait);
        }
    }
}
