//! What a run of a simulated board has collected, before it becomes a measurement.
//!
//! The builders in `simulated/measurement` read it, and the command for how the run ended. It holds
//! no host path, date or machine: the same firmware and settings give the same bytes.

mod calls;
mod scheduling;
mod waits;

use strobe_isa::Machine;
use strobe_model::measurement::{self, Balance, Finding, Instrument, Measurement, Spread, Subject};
use strobe_model::{Bounds, Cause, CauseCycles};

use crate::code_profile::{AddressSample, CodeProfile};

pub use calls::{FunctionCalls, Windows, WorstCall};
pub use scheduling::*;
pub use waits::{Until, Wait};

/// A run, with all that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    /// What was measured.
    pub subject: Subject,
    /// The instruction set of its core.
    pub machine: Machine,
    /// What measured it, how set.
    pub instrument: Instrument,
    /// From when to when, and why it ended.
    pub window: RunWindow,
    /// Sums over the window.
    pub totals: Totals,
    /// What became of every cycle.
    pub balance: Balance,
    /// The causes whose cycles come from a model; none where every figure is exact.
    pub modelled: Vec<ModelledCause>,
    /// Cycles from reset to the end, inside and outside of windows.
    pub run_cycles: u64,
    /// Samples by address and call chain.
    pub profile: CodeProfile,
    /// Interrupts and other exceptions.
    pub exceptions: Vec<ExceptionStatistics>,
    /// Threads; absent where the instrument cannot identify them.
    pub scheduling: Option<Scheduling>,
    /// Further distributions (pin pulses, marks), with units.
    pub series: Vec<Series>,
    /// Registers touched that are not modelled.
    pub unmodelled: Vec<UnmodelledRegister>,
    /// What the user should know, with how often it came up.
    pub warnings: Vec<Finding>,
    /// The fault that ended or marked the run.
    pub fault: Option<Fault>,
    /// Places and marks that were asked for and never reached, as the user gave them: `--until
    /// finished`.
    pub unreached: Vec<String>,
    /// Single calls of the functions that were chosen.
    pub calls: Vec<FunctionCalls>,
    /// Single windows, where windows were asked for.
    pub windows: Option<Windows>,
    /// Where the core waited busily.
    pub waits: Vec<Wait>,
}

/// A moment in simulated time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SimTime {
    /// Core cycles since reset.
    pub cycle: u64,
    /// Nanoseconds since reset.
    pub nanoseconds: u64,
}

impl From<SimTime> for measurement::Moment {
    fn from(time: SimTime) -> Self {
        let nanoseconds = i64::try_from(time.nanoseconds).unwrap_or(i64::MAX);
        measurement::Moment { nanoseconds: Some(nanoseconds), cycle: Some(time.cycle) }
    }
}

/// What part of the run was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunWindow {
    /// Start of the (first) window.
    pub begin: SimTime,
    /// End of the (last) window.
    pub end: SimTime,
    /// How often a `--from`/`--to` window was entered; 1 when the whole run was measured.
    pub entries: u64,
    /// Nanoseconds inside windows.
    pub nanoseconds: u64,
    /// Why the run ended.
    pub end_reason: EndReason,
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndReason {
    /// The firmware exited.
    Exit {
        /// Its exit code.
        code: i32,
    },
    /// The address asked for was reached.
    Reached {
        /// Its symbol or address.
        place: String,
    },
    /// The limit of cycles or time that the user set.
    Limit,
    /// The built-in limit: the firmware did not end by itself.
    DefaultLimit,
    /// A fault that the firmware's HardFault handler would now handle.
    HardFault,
    /// A fault inside HardFault or NMI: the core is locked up. On an AVR, an opcode that is no
    /// instruction.
    Lockup,
    /// Asleep or in an empty loop with nothing left that could wake it.
    SleepsForever,
    /// `--strict`: an unmodelled register was accessed.
    Unmodelled,
    /// The user stopped it.
    Interrupted,
    /// Another chip of the same rig came to its end.
    OtherChip {
        /// That chip's name.
        chip: String,
    },
}

/// Sums over the window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals {
    /// Core clock cycles.
    pub cycles: u64,
    /// Instructions retired.
    pub instructions: u64,
    /// Cycles by cause, by the run's model; their sum is `cycles`.
    pub by_cause: CauseCycles,
}

impl RunRecord {
    /// The measurement of the run.
    pub fn measurement(&self) -> Measurement {
        super::measurement(self)
    }

    /// What cycles per instruction are worked out from: cycles and instructions, both without the
    /// idle ones.
    pub fn busy(&self) -> (u64, u64) {
        let cycles = self.totals.cycles.saturating_sub(self.totals.by_cause[Cause::Asleep]);
        let idle = self.profile.addresses.iter().map(AddressSample::idle_count);
        let idle = idle.fold(0, u64::saturating_add);
        (cycles, self.totals.instructions.saturating_sub(idle))
    }
}

/// A cause whose cycles come from a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelledCause {
    /// The cause.
    pub cause: Cause,
    /// Its cycles, with the minimum and with the maximum of each modelled wait among them.
    pub cycles: Bounds,
    /// Why it cannot be exact, in a sentence.
    pub why: String,
}

/// One exception's statistics.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExceptionStatistics {
    /// Exception number.
    pub number: u16,
    /// Its name, as `SysTick` or `IRQ27 (USART1)`.
    pub name: String,
    /// The handler's function, where known.
    pub handler: Option<String>,
    /// Times entered.
    pub count: u64,
    /// Of these, tail-chained.
    pub tail_chained: u64,
    /// Cycles in the handler and what it called, entry and exit included.
    pub cycles: u64,
    /// From pending to the handler's first instruction, in cycles: shortest.
    pub latency_min: u64,
    /// Sum over all entries; divide by `count` for the mean.
    pub latency_sum: u64,
    /// Longest.
    pub latency_max: u64,
    /// When the longest one ended.
    pub latency_max_at: SimTime,
    /// The longest one, with the code that was interrupted.
    pub latency_worst: Option<Extreme>,
    /// Of `cycles`, those asleep.
    pub idle: u64,
    /// The longest run of the handler, without handlers that interrupted it.
    pub longest_run: Option<Extreme>,
    /// Requests of the whole run that came while the same one was pending, so that no handler ran
    /// for them, where the instrument counts them.
    pub lost: Option<u64>,
    /// All latencies, where the instrument keeps them.
    pub latencies: Spread,
    /// All runs, likewise.
    pub durations: Spread,
}

impl ExceptionStatistics {
    /// Its cycles without those asleep.
    pub fn busy(&self) -> u64 {
        self.cycles.saturating_sub(self.idle)
    }
}

/// A distribution of values: pulse widths on a pin, times between two marks.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What it is, as `PB8 high`.
    pub name: String,
    /// Unit of the values, as `cycles`.
    pub unit: String,
    /// The values in the order they came, as far as they are kept.
    pub values: Vec<u64>,
    /// How many came in all; more than are kept when there were very many.
    pub count: u64,
    /// Core cycle from which on all values were taken; identifies the clock they belong to.
    pub since_cycle: u64,
}

/// A register that nobody modelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmodelledRegister {
    /// Address, as `0x40005400`.
    pub address: String,
    /// Peripheral, where the board knows its name.
    pub peripheral: Option<String>,
    /// Register with its peripheral, as `RCC.CR`, where an SVD file names it.
    pub register: Option<String>,
    /// The board has a device there, but not this register.
    pub known_device: bool,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// First accessed from this function or address.
    pub first_from: String,
}

/// A fault, as the report prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// `HardFault` or `lockup`.
    pub kind: String,
    /// What happened, in a sentence.
    pub text: String,
    /// Address of the instruction.
    pub pc: String,
    /// Fault status registers that hold something: their names, and their values with what the bits
    /// mean. Empty where the core has none.
    pub status: Vec<(String, String)>,
    /// When.
    pub at: SimTime,
    /// R0-R12, SP, LR, PC, xPSR, MSP, PSP with their values.
    pub registers: Vec<(String, String)>,
    /// The stacked frame's words with their names.
    pub frame: Vec<(String, String)>,
    /// Innermost first: `function at file:line`.
    pub backtrace: Vec<String>,
}
