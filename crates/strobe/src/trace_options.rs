//! What to trace, as arguments: `strobe plan` and `strobe record` share it.

use std::path::{Path, PathBuf};

use strobe_decode::capture::parse_frequency;
use strobe_decode::trace_settings::{
    BusId, Encoding, EventCounters, GlobalTimestamps, Line, PcSampling, TraceSettings, Watch,
    WatchAccess, WatchWhat, Watches,
};
use strobe_decode::trace_settings::{SyncPeriod, TimestampPrescaler};
use strobe_link::trace::target::{self, TARGETS, Target};
use strobe_source::plan::report::{PlanReport, Verdict};
use strobe_source::plan::{self, PortLoad, Workload};
use strobe_symbols::Firmware;

use crate::{exit, measurement};

/// What to trace.
#[derive(clap::Args, Default)]
#[group(skip)]
#[command(next_help_heading = "Trace")]
pub struct Options {
    /// The core's clock, as 168MHz.
    #[arg(long, value_name = "HZ", value_parser = frequency)]
    clock: Option<u32>,
    /// The clock that the pin's bit rate is divided from (TRACECLKIN); by default the core's.
    #[arg(long, value_name = "HZ", value_parser = frequency)]
    trace_clock: Option<u32>,
    /// The pin's bit rate.
    #[arg(long, value_name = "BAUD", value_parser = frequency)]
    baud: Option<u32>,
    /// Take the settings of a plan that `strobe plan -o FILE.measurement` wrote; options beside it
    /// change them.
    #[arg(long, value_name = "PLAN")]
    settings: Option<PathBuf>,
    /// Sample the program counter every so many cycles (64 to 16384, or the nearest there is),
    /// `fit` for the shortest period with which the plan fits, or `none`.
    #[arg(long, value_name = "CYCLES|fit|none", group = "sampling")]
    period: Option<Period>,
    /// Sample the program counter so often, as 10kHz.
    #[arg(long, value_name = "HZ", value_parser = frequency, group = "sampling")]
    rate: Option<u32>,
    /// Trace exceptions; with a number, so many of them each second are planned for.
    #[arg(
        long,
        value_name = "PER_SECOND",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0"
    )]
    exceptions: Option<u64>,
    /// Trace event counters.
    #[arg(long, value_name = "COUNTER", value_delimiter = ',')]
    counters: Vec<Counter>,
    /// Switch a stimulus port on: `0`, or with what the firmware writes to it each second,
    /// `0=2000`, or `0=2000/4` where it writes words.
    #[arg(long, value_name = "PORT[=BYTES[/1|2|4]]")]
    port: Vec<Port>,
    /// Watch a variable (with --elf) or an address: `ticks`, `0x20000010:4`, then what is reported
    /// (`value`, `pc`, `pc+value`, `address+value`), of which accesses (`r`, `w`, `rw`), and
    /// how many come each second: `current_task:value:w=2000`.
    #[arg(long, value_name = "PLACE[:BYTES][:WHAT][:ACCESS][=PER_SECOND]")]
    watch: Vec<WatchSpec>,
    /// Local timestamps, of a counter that counts every cycle, or every 4th, 16th or 64th.
    #[arg(long, value_name = "1|4|16|64|none", value_parser = timestamps)]
    timestamps: Option<OrNone<TimestampPrescaler>>,
    /// Global timestamps, about every 128 or 8192 cycles, or after each packet.
    #[arg(long, value_name = "128|8192|each|none", value_parser = global)]
    global_timestamps: Option<OrNone<GlobalTimestamps>>,
    /// Synchronisation packets every 2^24, 2^26 or 2^28 cycles.
    #[arg(long, value_name = "24|26|28|none", value_parser = sync)]
    sync: Option<OrNone<SyncPeriod>>,
    /// Have frames of 16 bytes around the packets (TPIU formatter).
    #[arg(long)]
    frames: bool,
    /// Manchester coding instead of a UART's bits.
    #[arg(long)]
    manchester: bool,
    /// The number of the stream in frames.
    #[arg(long, value_name = "1-111", value_parser = bus_id)]
    stream: Option<BusId>,
    /// Percent of the time that the core is asleep: samples are shorter then.
    #[arg(
        long,
        value_name = "PERCENT",
        value_parser = clap::value_parser!(u8).range(0..=100),
        default_value_t = 0,
        hide_default_value = true
    )]
    asleep: u8,
    /// The family of chips whose trace pin is routed.
    #[arg(long, value_name = "FAMILY", value_parser = family)]
    target: Option<&'static Target>,
}

/// A setting, or `none`.
#[derive(Clone, Copy)]
struct OrNone<T>(Option<T>);

/// How often to sample.
#[derive(Clone, Copy)]
enum Period {
    Cycles(u32),
    Fit,
    None,
}

impl std::str::FromStr for Period {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "fit" => Ok(Period::Fit),
            "none" => Ok(Period::None),
            _ => match text.parse() {
                Ok(cycles) if cycles > 0 => Ok(Period::Cycles(cycles)),
                _ => Err("a number of cycles, `fit` or `none`".to_owned()),
            },
        }
    }
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Counter {
    /// Additional cycles of instructions, and fetch stalls.
    Cpi,
    /// Cycles of exception overhead.
    Exc,
    /// Cycles asleep.
    Sleep,
    /// Additional cycles of loads and stores.
    Lsu,
    /// Instructions that took no cycle.
    Fold,
}

#[derive(Clone)]
struct Port(PortLoad);

impl std::str::FromStr for Port {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (port, load) = text.split_once('=').unwrap_or((text, "0"));
        let (bytes, at_once) = load.split_once('/').unwrap_or((load, "1"));
        let port = port.parse().ok().filter(|port| *port < 32);
        let at_once = at_once.parse().ok().filter(|n| matches!(n, 1 | 2 | 4));
        let parsed = port.zip(bytes.parse().ok()).zip(at_once);
        let port = parsed.map(|((port, bytes), at_once)| PortLoad { port, bytes, at_once });
        port.map(Port).ok_or_else(|| "as 0, 0=2000 or 31=4000/4; ports are 0 to 31".to_owned())
    }
}

#[derive(Clone)]
struct WatchSpec {
    place: String,
    bytes: Option<u32>,
    what: WatchWhat,
    access: WatchAccess,
    rate: u64,
}

impl std::str::FromStr for WatchSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (text, rate) = match text.rsplit_once('=') {
            Some((text, rate)) => {
                (text, rate.parse().map_err(|_| format!("{rate} accesses each second"))?)
            }
            None => (text, 0),
        };
        // Names of C++ and Rust have colons in pairs.
        let text = text.replace("::", "\0");
        let mut words = text.split(':').map(|word| word.replace('\0', "::"));
        let place = words.next().filter(|place| !place.is_empty()).ok_or("what is watched?")?;
        let (what, access) = (WatchWhat::Value, None);
        let mut spec = WatchSpec { place, bytes: None, what, access: WatchAccess::ReadWrite, rate };
        let mut given = access;
        for word in words {
            match word.as_str() {
                "value" => spec.what = WatchWhat::Value,
                "pc" => spec.what = WatchWhat::Pc,
                "pc+value" => spec.what = WatchWhat::PcAndValue,
                "address+value" => spec.what = WatchWhat::AddressAndValue,
                "r" => given = Some(WatchAccess::Read),
                "w" => given = Some(WatchAccess::Write),
                "rw" => given = Some(WatchAccess::ReadWrite),
                word => match word.parse() {
                    Ok(bytes) => spec.bytes = Some(bytes),
                    Err(_) => {
                        return Err(format!(
                            "`{word}` is no number of bytes, nothing to report and no access"
                        ));
                    }
                },
            }
        }
        // Writes are what most want to see, but the instruction alone comes of both.
        let usual =
            if spec.what == WatchWhat::Pc { WatchAccess::ReadWrite } else { WatchAccess::Write };
        spec.access = given.unwrap_or(usual);
        Ok(spec)
    }
}

/// A clock or a rate, as an argument.
pub fn frequency(text: &str) -> Result<u32, String> {
    let hz = parse_frequency(text).and_then(|hz| u32::try_from(hz).ok());
    hz.ok_or_else(|| "a number and a unit, as 168MHz, 500k, 1000000".to_owned())
}

fn timestamps(text: &str) -> Result<OrNone<TimestampPrescaler>, String> {
    if text == "none" {
        return Ok(OrNone(None));
    }
    let number: u32 = text.parse().map_err(|_| "1, 4, 16, 64 or none".to_owned())?;
    let prescaler = TimestampPrescaler::try_from(number).map_err(|error| error.to_string())?;
    Ok(OrNone(Some(prescaler)))
}

fn global(text: &str) -> Result<OrNone<GlobalTimestamps>, String> {
    let every = match text {
        "128" => Some(GlobalTimestamps::Every128Cycles),
        "8192" => Some(GlobalTimestamps::Every8192Cycles),
        "each" => Some(GlobalTimestamps::EveryPacket),
        "none" => None,
        _ => return Err("128, 8192, each or none".to_owned()),
    };
    Ok(OrNone(every))
}

fn sync(text: &str) -> Result<OrNone<SyncPeriod>, String> {
    let every = match text {
        "24" => Some(SyncPeriod::Pow24),
        "26" => Some(SyncPeriod::Pow26),
        "28" => Some(SyncPeriod::Pow28),
        "none" => None,
        _ => return Err("24, 26, 28 or none".to_owned()),
    };
    Ok(OrNone(every))
}

fn bus_id(text: &str) -> Result<BusId, String> {
    let number: u8 = text.parse().map_err(|_| "a number from 1 to 111".to_owned())?;
    BusId::new(number).map_err(|error| error.to_string())
}

fn family(text: &str) -> Result<&'static Target, String> {
    target::find(text).ok_or_else(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        format!("known are {}", names.join(", "))
    })
}

/// What the options come to.
pub struct RttFilter {
    /// The settings.
    pub settings: TraceSettings,
    /// What the firmware was said to do.
    pub load: Workload,
    /// The chip's family.
    pub target: &'static Target,
    /// What period was asked for, if there is no such one.
    asked_cycles: Option<u32>,
}

impl RttFilter {
    /// The plan of it.
    pub fn plan(&self) -> anyhow::Result<PlanReport> {
        let plan = plan::plan(&self.settings, &self.load, self.target);
        let mut plan = plan.map_err(|e| exit::usage(e.to_string()))?;
        if let Some(samples) = &mut plan.samples {
            samples.asked_cycles = self.asked_cycles;
        }
        Ok(plan)
    }
}

impl Options {
    /// Whether anything is said about the hardware: where bytes only are recorded nothing need be.
    pub fn given(&self) -> bool {
        self.clock.is_some() || self.settings.is_some()
    }

    /// The family that was named.
    pub fn target(&self) -> Option<&'static Target> {
        self.target
    }

    /// The line's speed that was named.
    pub fn baud(&self) -> Option<u32> {
        self.baud
    }

    /// The settings. Variables are looked up in the firmware. `default_target` is what the source
    /// knows of the chip.
    pub fn wanted(
        &self,
        firmware: Option<&Firmware>,
        default_target: Option<&'static Target>,
    ) -> anyhow::Result<RttFilter> {
        let (mut settings, planned) = self.base()?;
        let planned = planned.as_deref().and_then(target::find);
        let target = self.target.or(default_target).or(planned).unwrap_or(&TARGETS[0]);
        if self.exceptions.is_some() {
            settings.exceptions = true;
        }
        for counter in &self.counters {
            let c: &mut EventCounters = &mut settings.counters;
            match counter {
                Counter::Cpi => c.cpi = true,
                Counter::Exc => c.exc = true,
                Counter::Sleep => c.sleep = true,
                Counter::Lsu => c.lsu = true,
                Counter::Fold => c.fold = true,
            }
        }
        for Port(load) in &self.port {
            settings.ports |= 1 << load.port;
        }
        if !self.watch.is_empty() {
            settings.watches = self.watches(firmware)?;
        }
        let local = self.timestamps.unwrap_or(OrNone(settings.local_timestamps));
        let global = self.global_timestamps.unwrap_or(OrNone(settings.global_timestamps));
        settings.local_timestamps = local.0;
        settings.global_timestamps = global.0;
        settings.sync = self.sync.unwrap_or(OrNone(settings.sync)).0;
        settings.formatter |= self.frames;
        settings.bus_id = self.stream.unwrap_or(settings.bus_id);
        let load = Workload {
            exceptions: self.exceptions.unwrap_or_default(),
            ports: self.port.iter().map(|Port(load)| load.clone()).collect(),
            watches: self.watch.iter().map(|watch| watch.rate).collect(),
            asleep_percent: self.asleep,
        };
        let mut wanted = RttFilter { settings, load, target, asked_cycles: None };
        self.sample(&mut wanted)?;
        Ok(wanted)
    }

    /// The settings that the clocks make, or those of a plan with its family.
    fn base(&self) -> anyhow::Result<(TraceSettings, Option<String>)> {
        let unsupported =
            |e: strobe_decode::trace_settings::Unsupported| exit::usage(e.to_string());
        let manchester = self.manchester.then_some(Encoding::Manchester);
        if let Some(path) = &self.settings {
            let (mut settings, target) = read_plan(path)?;
            let line = settings.line;
            if let Some(clock) = self.clock.and_then(std::num::NonZeroU32::new) {
                settings.core_hz = clock;
            }
            let trace_hz = self.trace_clock.or(self.clock).unwrap_or(line.trace_hz());
            let baud = self.baud.unwrap_or(line.baud());
            let encoding = manchester.unwrap_or(line.encoding());
            settings.line = Line::new(trace_hz, baud, encoding).map_err(unsupported)?;
            return Ok((settings, Some(target)));
        }
        let core_hz = self.clock.and_then(std::num::NonZeroU32::new);
        let core_hz =
            core_hz.ok_or_else(|| exit::usage("the core's --clock is needed, as 168MHz"))?;
        let baud = self.baud.ok_or_else(|| exit::usage("the pin's --baud is needed"))?;
        let trace_hz = self.trace_clock.unwrap_or(core_hz.get());
        let line = Line::new(trace_hz, baud, manchester.unwrap_or_default());
        Ok((TraceSettings::new(core_hz, line.map_err(unsupported)?), None))
    }

    fn watches(&self, firmware: Option<&Firmware>) -> anyhow::Result<Watches> {
        let mut watches = Vec::new();
        for (comparator, spec) in (0u8..).zip(&self.watch) {
            let (address, size) = match address(&spec.place) {
                Some(address) => (address, 4),
                None => symbol(firmware, &spec.place)?,
            };
            let bytes = spec.bytes.unwrap_or(size);
            let watch =
                Watch::new(&spec.place, comparator, (address, bytes), spec.what, spec.access);
            watches.push(watch.map_err(|e| exit::usage(e.to_string()))?);
        }
        Watches::new(watches).map_err(|e| exit::usage(e.to_string()))
    }

    fn sample(&self, wanted: &mut RttFilter) -> anyhow::Result<()> {
        let core_hz = wanted.settings.core_hz.get();
        let asked = match (self.period, self.rate) {
            (Some(Period::None), _) => {
                wanted.settings.sampling = None;
                return Ok(());
            }
            (Some(Period::Cycles(cycles)), _) => cycles,
            (None, Some(rate)) => (core_hz + rate / 2) / rate,
            // A plan that was read has its own.
            (None, None) if self.settings.is_some() => return Ok(()),
            (Some(Period::Fit) | None, _) => return fit(wanted),
        };
        let sampling = PcSampling::nearest(asked);
        wanted.asked_cycles = (sampling.period_cycles() != asked).then_some(asked);
        wanted.settings.sampling = Some(sampling);
        Ok(())
    }
}

/// The shortest period with which the plan fits, or the longest there is.
fn fit(wanted: &mut RttFilter) -> anyhow::Result<()> {
    for sampling in PcSampling::all() {
        wanted.settings.sampling = Some(sampling);
        if wanted.plan()?.verdict == Verdict::Fits {
            break;
        }
    }
    Ok(())
}

fn address(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x")?;
    u32::from_str_radix(digits, 16).ok()
}

/// A variable's address and size.
fn symbol(firmware: Option<&Firmware>, name: &str) -> anyhow::Result<(u32, u32)> {
    let firmware = firmware.ok_or_else(|| {
        exit::usage(format!(
            "watching {name}: give the firmware with --elf, or an address as 0x20000010"
        ))
    })?;
    let found = firmware.symbol(name).map_err(|e| exit::usage(format!("watching {name}: {e}")))?;
    if found.function.is_some() {
        return Err(exit::usage(format!("watching {name}: it is a function; data is watched")));
    }
    Ok((found.address, if found.size == 0 { 4 } else { found.size }))
}

/// The settings of a plan, and its family of chips.
fn read_plan(path: &Path) -> anyhow::Result<(TraceSettings, String)> {
    let shown = path.display();
    let wrong = |e: &dyn std::fmt::Display| exit::data(format!("{shown} is no plan: {e}"));
    let plan = measurement::read(path)?.ok_or_else(|| wrong(&"it is no measurement"))?;
    let settings = strobe_source::plan::settings_of(&plan).map_err(|e| wrong(&e))?;
    Ok((settings, plan.subject.name))
}
