//! How the trace hardware of a Cortex-M core is set up: what it sends, and how fast the pin is.
//!
//! Plain values, after the Architecture Reference Manuals of ARMv7-M (DDI 0403, chapter C1) and
//! ARMv8-M (DDI 0553). What the hardware cannot do cannot be built, and cannot be read from JSON
//! either. They know no register address, no probe and no target.

mod line;
mod watch;

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

pub use line::{Encoding, Line};
pub use watch::{Watch, WatchAccess, WatchWhat, Watches};

/// A value that the hardware has no setting for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported(String);

impl Unsupported {
    fn new(text: impl Into<String>) -> Self {
        Unsupported(text.into())
    }
}

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

/// Defines an enumeration of numbers that the hardware offers; in JSON it is the number.
macro_rules! choice {
    (
        $(#[$doc:meta])* $name:ident, $what:literal:
        $($(#[$each:meta])* $variant:ident = $value:literal),+
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "u32", into = "u32")]
        pub enum $name {
            $($(#[$each])* $variant),+
        }

        impl $name {
            /// All of them, the smallest first.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// The number.
            pub const fn value(self) -> u32 {
                match self {
                    $($name::$variant => $value),+
                }
            }
        }

        impl From<$name> for u32 {
            fn from(choice: $name) -> u32 {
                choice.value()
            }
        }

        impl TryFrom<u32> for $name {
            type Error = Unsupported;

            fn try_from(value: u32) -> Result<Self, Unsupported> {
                let found = Self::ALL.iter().find(|choice| choice.value() == value);
                let all: Vec<String> = Self::ALL.iter().map(|c| c.value().to_string()).collect();
                let text = || format!("{} {value}: the hardware has {}", $what, all.join(", "));
                found.copied().ok_or_else(|| Unsupported::new(text()))
            }
        }
    };
}

choice! {
    /// Which bit of the cycle counter drives the sampler's prescaler (DWT_CTRL.CYCTAP): it toggles
    /// it every so many cycles.
    CycleTap, "a tap of the cycle counter at":
    /// Bit 6.
    By64 = 64,
    /// Bit 10.
    By1024 = 1024
}

/// How often the program counter is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawSampling", into = "RawSampling")]
pub struct PcSampling {
    tap: CycleTap,
    count: u8,
}

#[derive(Serialize, Deserialize)]
struct RawSampling {
    tap: CycleTap,
    count: u8,
}

impl PcSampling {
    /// One sample for `count` taps, 1 to 16 (DWT_CTRL.POSTPRESET holds one less).
    pub fn new(tap: CycleTap, count: u8) -> Result<Self, Unsupported> {
        if !(1..=16).contains(&count) {
            return Err(Unsupported::new(format!("a sample every {count} taps: 1 to 16 can be")));
        }
        Ok(PcSampling { tap, count })
    }

    /// Every setting there is, the shortest period first; of two with the same period the one of
    /// the finer tap.
    pub fn all() -> impl Iterator<Item = PcSampling> {
        let of = |tap| (1..=16).map(move |count| PcSampling { tap, count });
        // 64 * 16 = 1024 * 1.
        of(CycleTap::By64).chain(of(CycleTap::By1024).skip(1))
    }

    /// The setting whose period is nearest to so many cycles.
    pub fn nearest(cycles: u32) -> PcSampling {
        let shortest = PcSampling { tap: CycleTap::By64, count: 1 };
        PcSampling::all().min_by_key(|s| s.period_cycles().abs_diff(cycles)).unwrap_or(shortest)
    }

    /// The tap.
    pub fn tap(&self) -> CycleTap {
        self.tap
    }

    /// Taps between samples, 1 to 16.
    pub fn count(&self) -> u8 {
        self.count
    }

    /// Core cycles between samples.
    pub fn period_cycles(&self) -> u32 {
        self.tap.value() * u32::from(self.count)
    }
}

impl TryFrom<RawSampling> for PcSampling {
    type Error = Unsupported;

    fn try_from(raw: RawSampling) -> Result<Self, Unsupported> {
        PcSampling::new(raw.tap, raw.count)
    }
}

impl From<PcSampling> for RawSampling {
    fn from(sampling: PcSampling) -> RawSampling {
        RawSampling { tap: sampling.tap, count: sampling.count }
    }
}

/// Which event counters emit a packet every 256 events (DWT_CTRL.*EVTENA).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventCounters {
    /// Additional cycles of instructions that take several, and instruction fetch stalls.
    pub cpi: bool,
    /// Cycles of exception overhead.
    pub exc: bool,
    /// Cycles asleep.
    pub sleep: bool,
    /// Additional cycles of loads and stores.
    pub lsu: bool,
    /// Instructions that took no cycle.
    pub fold: bool,
}

impl EventCounters {
    /// Whether any is on.
    pub fn any(&self) -> bool {
        *self != EventCounters::default()
    }
}

choice! {
    /// What the local timestamp counter's clock is divided by (ITM_TCR.TSPrescale).
    TimestampPrescaler, "a timestamp prescaler of":
    /// It counts cycles.
    By1 = 1,
    /// Every fourth.
    By4 = 4,
    /// Every sixteenth.
    By16 = 16,
    /// Every 64th.
    By64 = 64
}

/// When global timestamps are sent (ITM_TCR.GTSFREQ).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GlobalTimestamps {
    /// About every 128 cycles.
    Every128Cycles,
    /// About every 8192 cycles.
    Every8192Cycles,
    /// After each packet, where the FIFO is empty.
    EveryPacket,
}

choice! {
    /// Core cycles between synchronisation packets (DWT_CTRL.SYNCTAP).
    SyncPeriod, "synchronisation every":
    /// 2^24: 10 times a second at 168 MHz.
    Pow24 = 0x0100_0000,
    /// 2^26.
    Pow26 = 0x0400_0000,
    /// 2^28: every 1.6 seconds at 168 MHz.
    Pow28 = 0x1000_0000
}

/// The number of ITM's and DWT's stream among those of a formatter (ITM_TCR.TraceBusID): 1 to 0x6f.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct BusId(u8);

impl BusId {
    /// The stream of that number.
    pub fn new(id: u8) -> Result<Self, Unsupported> {
        let text = || format!("trace stream {id:#x}: 1 to 0x6f can be");
        (1..=0x6f).contains(&id).then_some(BusId(id)).ok_or_else(|| Unsupported::new(text()))
    }

    /// The number.
    pub fn value(self) -> u8 {
        self.0
    }
}

impl Default for BusId {
    fn default() -> Self {
        BusId(1)
    }
}

impl TryFrom<u8> for BusId {
    type Error = Unsupported;

    fn try_from(id: u8) -> Result<Self, Unsupported> {
        BusId::new(id)
    }
}

impl From<BusId> for u8 {
    fn from(id: BusId) -> u8 {
        id.0
    }
}

/// How the trace hardware is set up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSettings {
    /// The core's clock, in hertz: cycles become times by it.
    pub core_hz: NonZeroU32,
    /// The pin.
    pub line: Line,
    /// Frames of sixteen bytes stand around the packets (TPIU_FFCR.EnFCont), so that other streams
    /// can stand between them.
    #[serde(default)]
    pub formatter: bool,
    /// The program counter is sampled.
    #[serde(default)]
    pub sampling: Option<PcSampling>,
    /// Exceptions are traced (DWT_CTRL.EXCTRCENA).
    #[serde(default)]
    pub exceptions: bool,
    /// Event counters.
    #[serde(default)]
    pub counters: EventCounters,
    /// Packets are followed by local timestamps (ITM_TCR.TSENA).
    #[serde(default)]
    pub local_timestamps: Option<TimestampPrescaler>,
    /// Global timestamps are sent.
    #[serde(default)]
    pub global_timestamps: Option<GlobalTimestamps>,
    /// Synchronisation packets are sent.
    #[serde(default)]
    pub sync: Option<SyncPeriod>,
    /// Stimulus ports that are on, one bit each, port 0 the lowest (ITM_TER).
    #[serde(default)]
    pub ports: u32,
    /// Watched memory.
    #[serde(default)]
    pub watches: Watches,
    /// The stream's number.
    #[serde(default)]
    pub bus_id: BusId,
}

impl TraceSettings {
    /// Nothing is traced but synchronisation, as often as can be.
    pub fn new(core_hz: NonZeroU32, line: Line) -> Self {
        TraceSettings {
            core_hz,
            line,
            formatter: false,
            sampling: None,
            exceptions: false,
            counters: EventCounters::default(),
            local_timestamps: None,
            global_timestamps: None,
            sync: Some(SyncPeriod::Pow24),
            ports: 0,
            watches: Watches::default(),
            bus_id: BusId::default(),
        }
    }

    /// Samples in a second, if there are any.
    pub fn samples_per_second(&self) -> Option<f64> {
        self.sampling.map(|s| f64::from(self.core_hz.get()) / f64::from(s.period_cycles()))
    }
}
