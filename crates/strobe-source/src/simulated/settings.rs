//! What a run is asked to do: when to stop, what to measure, what to be strict about.

use std::collections::BTreeMap;
use strobe_sim::device::analog::Analog;
use strobe_sim::device::ethernet::Backend;
use strobe_sim::model::Model;

use super::heap::Allocators;
use super::rtos::Systems;
use super::trace::{Depths, Programme};

/// How long to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Core cycles since reset.
    Cycles(u64),
    /// Simulated time since reset, in nanoseconds.
    Nanoseconds(u64),
}

/// How long a firmware without an end runs if no limit is given: a second
/// of its own time.
pub const DEFAULT_LIMIT: Limit = Limit::Nanoseconds(1_000_000_000);

/// A place in the code: a symbol, or an address written as one (`0x080000c0`).
pub type Spot = String;

/// A part of the run for which to keep who ran when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineSettings {
    /// Around the worst latency instead of at the end.
    pub worst: bool,
    /// How much of it, in nanoseconds.
    pub nanoseconds: u64,
}

/// Bytes for a serial device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SerialInput {
    /// The device; the board must have it.
    pub device: String,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// They are not sent before this, in nanoseconds since reset.
    pub not_before_nanoseconds: u64,
}

/// By how much of its period the system timer is shifted against the program: `part` of `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// None is no shift.
    pub part: u32,
    /// Parts in a period.
    pub of: u32,
}

/// Settings of a simulated run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The user's limit, if any.
    pub limit: Option<Limit>,
    /// The built-in limit, for firmware that does not end; none where only the firmware ends the
    /// run.
    pub default_limit: Option<Limit>,
    /// Ends the run when reached.
    pub until: Option<Spot>,
    /// Measuring starts each time this is reached; from reset without it.
    pub from: Option<Spot>,
    /// Measuring stops each time this is reached.
    pub to: Option<Spot>,
    /// Pins (`PB8`) and symbols whose edges and arrivals are listed.
    pub marks: Vec<String>,
    /// Functions whose calls are measured one by one.
    pub calls: Vec<String>,
    /// Functions that only wait, beside the loops that are seen to.
    pub idle: Vec<String>,
    /// Serial ports that the host serves; the board must have them.
    pub serial: Vec<String>,
    /// What is sent to serial devices.
    pub inputs: Vec<SerialInput>,
    /// What comes in at analog channels, as `ADC0`; the board must have them.
    pub analog: Vec<(String, Analog)>,
    /// An AVR's fuses, low, high and extended, instead of the firmware's own; none if empty.
    pub fuses: Vec<u8>,
    /// What is at the other end of Ethernet controllers' cables, where not what the board file
    /// states; the board must have them.
    pub networks: Vec<(String, Backend)>,
    /// What is put into parts, as a memory card's contents: (part, contents); the board must have
    /// them.
    pub media: Vec<(String, Vec<u8>)>,
    /// Unmodelled registers end the run.
    pub strict: bool,
    /// Go on into the firmware's HardFault handler instead of ending there.
    pub run_on_after_fault: bool,
    /// Keep who ran when.
    pub timeline: Option<TimelineSettings>,
    /// Only the thread or interrupt of this name is of interest: the worst latency is its own.
    pub only: Option<String>,
    /// Keep the counts of threads and interrupts apart.
    pub apart: bool,
    /// Operating systems to look for.
    pub systems: Systems,
    /// Report every edge of every pin ([`Recorder`](super::Recorder)), from `from` on.
    pub record_pins: bool,
    /// What a debugger writes before the run: how the trace blocks of a Cortex-M3 or M4 are
    /// programmed from outside.
    pub trace: Programme,
    /// Other buffers of the trace blocks than those assumed.
    pub trace_depths: Option<Depths>,
    /// Which of the models' figures the time line takes: tests hold the bounds of the likely one
    /// against the two others.
    pub model: Model,
    /// Compile no hot code: the same figures, more slowly.
    pub interpret: bool,
    /// Execute every iteration of loops that wait: the same figures, more slowly.
    pub execute_waits: bool,
    /// Keep the exact high-water mark of every stack.
    pub watch_stacks: bool,
    /// A shift of interrupts against the program.
    pub phase: Option<Phase>,
    /// Watch the firmware's memory allocators.
    pub heap: Option<HeapSettings>,
}

/// Which memory allocators are watched: those that the project knows and, before them, these.
#[derive(Debug, Clone, Default)]
pub struct HeapSettings {
    /// The user's own.
    pub allocators: Option<Allocators>,
    /// Check every access of memory as well, which takes a run several times as long.
    pub check_memory: bool,
    /// Follow samples of the blocks, and not all.
    pub sample: Option<HeapSampling>,
}

/// Which blocks are followed: those with a point in them, points being at random along all bytes
/// that are allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapSampling {
    /// The mean distance of two points.
    pub bytes: u32,
    /// Which points: the same seed gives the same.
    pub seed: u64,
}

impl HeapSampling {
    /// One point in so many bytes, the same in every run.
    pub fn every(bytes: u32) -> Self {
        HeapSampling { bytes, seed: 0x5eed_0016 }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            limit: None,
            default_limit: Some(DEFAULT_LIMIT),
            until: None,
            from: None,
            to: None,
            marks: Vec::new(),
            calls: Vec::new(),
            idle: Vec::new(),
            serial: Vec::new(),
            inputs: Vec::new(),
            analog: Vec::new(),
            fuses: Vec::new(),
            networks: Vec::new(),
            media: Vec::new(),
            strict: false,
            run_on_after_fault: false,
            timeline: None,
            only: None,
            apart: false,
            systems: Systems::default(),
            record_pins: false,
            trace: Programme::default(),
            trace_depths: None,
            model: Model::Likely,
            interpret: false,
            execute_waits: false,
            watch_stacks: true,
            phase: None,
            heap: None,
        }
    }
}

impl Settings {
    /// The settings by name, as the record keeps them.
    pub fn describe(&self) -> BTreeMap<String, String> {
        let mut map = BTreeMap::new();
        let mut put = |name: &str, value: String| map.insert(name.to_owned(), value);
        match self.limit {
            Some(Limit::Cycles(n)) => put("until", format!("{n} cycles")),
            Some(Limit::Nanoseconds(n)) => put("until", format!("{n} ns")),
            None => match self.default_limit {
                Some(Limit::Cycles(n)) => put("default-limit", format!("{n} cycles")),
                Some(Limit::Nanoseconds(n)) => put("default-limit", format!("{n} ns")),
                None => put("until", "exit".to_owned()),
            },
        };
        for (name, spot) in [("until-symbol", &self.until), ("from", &self.from), ("to", &self.to)]
        {
            if let Some(spot) = spot {
                put(name, spot.clone());
            }
        }
        for (name, values) in self.lists().into_iter().filter(|(_, values)| !values.is_empty()) {
            put(name, values.join(","));
        }
        if self.strict {
            put("strict", "true".to_owned());
        }
        if self.run_on_after_fault {
            put("on-fault", "run".to_owned());
        }
        if let Some(Phase { part, of }) = self.phase {
            put("phase", format!("{part}/{of}"));
        }
        if let Some(only) = &self.only {
            put("thread", only.clone());
        }
        match &self.systems {
            Systems::BuiltIn => None,
            Systems::None => put("rtos", "none".to_owned()),
            Systems::This(description) => put("rtos", description.name().to_owned()),
        };
        map
    }

    /// Those that can be given several times.
    fn lists(&self) -> [(&'static str, Vec<String>); 9] {
        let networks = self.networks.iter().map(|(name, end)| format!("{name}={}", end.name()));
        let media = self.media.iter().map(|(part, bytes)| format!("{part}={} bytes", bytes.len()));
        [
            ("mark", self.marks.clone()),
            ("calls", self.calls.clone()),
            ("idle", self.idle.clone()),
            ("ethernet", networks.collect()),
            ("uart-input", self.inputs.iter().map(describe_input).collect()),
            ("insert", media.collect()),
            ("adc", self.analog.iter().map(describe_analog).collect()),
            ("fuses", self.fuses.iter().map(|byte| format!("{byte:#04x}")).collect()),
            ("trace-write", self.trace.writes.iter().map(ToString::to_string).collect()),
        ]
    }
}

fn describe_input(input: &SerialInput) -> String {
    let (device, bytes) = (&input.device, input.bytes.len());
    format!("{device}={bytes} bytes from {} ns", input.not_before_nanoseconds)
}

fn describe_analog((channel, input): &(String, Analog)) -> String {
    match input {
        Analog::Constant(value) => format!("{channel}={value}"),
        Analog::Each(values) => format!("{channel}={} values", values.len()),
        Analog::Course(course) => format!("{channel}={} values at times", course.len()),
    }
}
