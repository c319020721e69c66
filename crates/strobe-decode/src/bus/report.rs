//! What happened on a serial bus: words with times, transfers, faults, and how full the line was.

use std::collections::BTreeMap;

use crate::pins::report::CaptureSummary;
use crate::summary::ValueSummary;

/// A capture's bus, decoded. All times are in picoseconds on the capture's own time line.
#[derive(Debug, Clone, PartialEq)]
pub struct BusReport {
    /// What was looked at.
    pub capture: CaptureSummary,
    /// `uart`, `spi` or `i2c`.
    pub protocol: String,
    /// A setting of the decoder, as `data bits` and `8`.
    pub settings: Vec<BusSetting>,
    /// One for each line that carries data.
    pub lanes: Vec<BusLane>,
    /// Words that belong together: from select to deselect, from start to stop.
    pub transfers: Vec<BusTransfer>,
    /// Times between transfers.
    pub transfer_gaps_ps: Option<ValueSummary>,
    /// I2C: how long the clock was held low, bit by bit.
    pub clock_low_ps: Option<ValueSummary>,
    /// I2C: clock lows of more than twice the median, and how long they were beyond it.
    pub stretched: Option<Stretched>,
    /// What the user counts in, as pixels.
    pub unit: Option<BusUnit>,
    /// What the core did meanwhile, where the pins are simulated and there were words.
    pub core: Option<BusCore>,
    /// How often each kind of fault occurred; kinds that did not occur are absent.
    pub fault_counts: BTreeMap<FaultKind, u64>,
    /// Every fault, by time.
    pub faults: Vec<BusFault>,
    /// What the reader should know, each a sentence or two.
    pub notes: Vec<String>,
}

/// A decoder's setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusSetting {
    /// What.
    pub name: String,
    /// How it was set.
    pub value: String,
}

/// One line that carries data.
#[derive(Debug, Clone, PartialEq)]
pub struct BusLane {
    /// Its part in the protocol, as `rx`.
    pub name: String,
    /// The pin.
    pub pin: String,
    /// How fast it is, where the decoder had to find out or was given it.
    pub baud: Option<Baud>,
    /// Everything it carried, by time.
    pub words: Vec<BusWord>,
    /// In short.
    pub summary: LaneSummary,
}

/// The speed of a UART line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Baud {
    /// What the line was decoded with, in bits per second.
    pub used: f64,
    /// Where it comes from.
    pub origin: BaudOrigin,
    /// The rate by the widths of the pulses, in bits per second, if there were enough of them.
    pub measured: Option<f64>,
    /// How far pulses are from whole numbers of bits at the measured speed: root of the mean
    /// square, in bits. Random pulses have 0.29.
    pub misfit: Option<f64>,
    /// Pulses that the measurement is made of.
    pub pulses: u64,
    /// Whether the pulses leave no doubt: at least ten, of different numbers of bits, that fit.
    pub sure: bool,
}

/// Where a UART's speed comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaudOrigin {
    /// Given by the user.
    Given,
    /// The usual speed that the pulses are next to, within 2 %.
    NearestUsual,
    /// As the pulses are: no usual speed is near.
    Measured,
}

/// What a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordKind {
    /// Data.
    Data,
    /// A display's command: its data/command bit or line is low.
    Command,
    /// The address byte of I2C, read/write bit included.
    Address,
}

/// A byte, or however many bits the bus has to a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BusWord {
    /// Beginning of its first bit.
    pub start_ps: i64,
    /// End of its last bit.
    pub end_ps: i64,
    /// Its value.
    pub value: u32,
    /// What it is.
    pub kind: WordKind,
    /// I2C: whether it was acknowledged.
    pub acknowledged: Option<bool>,
    /// Whether it is not to be relied on; the faults are the reason.
    pub faulty: bool,
}

/// A line in short.
#[derive(Debug, Clone, PartialEq)]
pub struct LaneSummary {
    /// Words, faulty ones included.
    pub words: u64,
    /// Of these, how many are faulty.
    pub faulty: u64,
    /// From the beginning of the first word to the end of the last.
    pub span_ps: u64,
    /// How much of that words take.
    pub busy_ps: u64,
    /// Words per second over the span.
    pub words_per_second: Option<f64>,
    /// The part of the whole recording that words take, in millionths.
    pub utilisation_ppm: u64,
    /// From the end of each word to the beginning of the next.
    pub gaps_ps: Option<ValueSummary>,
}

/// Words that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BusTransfer {
    /// Select or start condition.
    pub start_ps: i64,
    /// Deselect, stop or repeated start condition.
    pub end_ps: i64,
    /// Index of its first word, in each lane.
    pub first: u64,
    /// Number of its words, in each lane.
    pub words: u64,
    /// I2C: the device, seven bits or ten.
    pub address: Option<u16>,
    /// I2C: whether data went to the master.
    pub read: Option<bool>,
    /// Whether the recording has both its beginning and its end.
    pub whole: bool,
}

/// What some data words make together.
#[derive(Debug, Clone, PartialEq)]
pub struct BusUnit {
    /// Its name, as `pixel`.
    pub name: String,
    /// Data words to one.
    pub words: u64,
    /// How many the first lane carried; what is left over is none.
    pub count: u64,
    /// How many in a second, from the beginning of its first word to the end of its last.
    pub per_second: Option<f64>,
}

impl BusUnit {
    /// Counted in a lane.
    pub fn of(name: String, words: u64, lane: &BusLane) -> BusUnit {
        let data = lane.words.iter().filter(|word| word.kind == WordKind::Data).count() as u64;
        let (count, span) = (data / words.max(1), lane.summary.span_ps);
        let per_second = (span > 0).then(|| count as f64 * 1e12 / span as f64);
        BusUnit { name, words, count, per_second }
    }
}

/// How busy a simulated core was while a bus was in use. That is all it did in that time, for
/// whatever purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BusCore {
    /// From the beginning of the first word to the end of the last.
    pub span: CoreTime,
    /// While a word was under way, on any line.
    pub words: CoreTime,
    /// From select to deselect, or from start to stop.
    pub transfers: Option<CoreTime>,
}

/// What a core did in some time. It is awake while it executes instructions, polling loops
/// included, and not while it sleeps or goes round an empty loop that only an interrupt ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CoreTime {
    /// How long.
    pub time_ps: u64,
    /// Cycles of its clock in that time.
    pub cycles: u64,
    /// Of these, how many it was awake.
    pub awake_cycles: u64,
}

/// Long clock lows of I2C.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stretched {
    /// How many lows were longer than twice the median.
    pub count: u64,
    /// How long these were beyond the median, together.
    pub total_ps: u64,
    /// The longest of them beyond the median.
    pub longest_ps: u64,
}

/// What can go wrong on a bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// UART: a stop bit is low.
    Framing,
    /// UART: the parity bit is wrong.
    Parity,
    /// UART: the line is low for a whole frame. Not counted as framing fault.
    Break,
    /// UART: a pulse shorter than half a bit.
    Glitch,
    /// A word that ends early: by deselect, by a start or stop condition, by the end of the
    /// recording.
    CutShort,
    /// The level was unknown where a bit should be.
    UnknownLevel,
    /// What the protocol forbids, as a stop condition where none was begun.
    Violation,
}

impl FaultKind {
    /// Its name in text.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Framing => "framing error",
            FaultKind::Parity => "parity error",
            FaultKind::Break => "break",
            FaultKind::Glitch => "glitch",
            FaultKind::CutShort => "cut short",
            FaultKind::UnknownLevel => "unknown level",
            FaultKind::Violation => "violation",
        }
    }
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusFault {
    /// Where it begins: that of the word where it is about one.
    pub start_ps: i64,
    /// Where it ends.
    pub end_ps: i64,
    /// The lane's name; empty where the fault is not one lane's.
    pub lane: String,
    /// What it is.
    pub kind: FaultKind,
    /// In words, as `stop bit low after 0x41`.
    pub text: String,
}

impl LaneSummary {
    /// Of a lane's words, within a recording of that length.
    pub fn of(words: &[BusWord], duration_ps: u64) -> LaneSummary {
        let length = |from: i64, to: i64| u64::try_from(to.saturating_sub(from)).unwrap_or(0);
        let busy = words.iter().map(|w| length(w.start_ps, w.end_ps)).fold(0, u64::saturating_add);
        let span = match (words.first(), words.last()) {
            (Some(first), Some(last)) => length(first.start_ps, last.end_ps),
            _ => 0,
        };
        let gaps = words.windows(2).map(|pair| length(pair[0].end_ps, pair[1].start_ps));
        let n = words.len() as f64;
        LaneSummary {
            words: words.len() as u64,
            faulty: words.iter().filter(|w| w.faulty).count() as u64,
            span_ps: span,
            busy_ps: busy,
            words_per_second: (span > 0).then(|| n * 1e12 / span as f64),
            utilisation_ppm: millionths(busy, duration_ps),
            gaps_ps: ValueSummary::of_counts(&gaps.collect(), |ps| ps, None),
        }
    }
}

/// A part of a whole, in millionths; 0 of nothing.
fn millionths(part: u64, whole: u64) -> u64 {
    let ppm = (u128::from(part) * 1_000_000 + u128::from(whole) / 2).checked_div(u128::from(whole));
    u64::try_from(ppm.unwrap_or(0)).unwrap_or(u64::MAX).min(1_000_000)
}
