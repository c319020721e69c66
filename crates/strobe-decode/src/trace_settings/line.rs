//! The pin: its bit rate, what the trace clock is divided by for that, and how its bits look.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::Unsupported;

/// How bits look on the pin (TPIU_SPPR).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// As a UART: one start bit, eight data bits, one stop bit.
    #[default]
    Nrz,
    /// Manchester: a start bit, one to eight bytes of bits, and a rest.
    Manchester,
}

impl Encoding {
    fn ticks_per_bit(self) -> u64 {
        match self {
            Encoding::Nrz => 1,
            Encoding::Manchester => 2,
        }
    }
}

/// The pin's clock and how its bits look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawLine", into = "RawLine")]
pub struct Line {
    trace_hz: NonZeroU32,
    baud: NonZeroU32,
    encoding: Encoding,
}

#[derive(Serialize, Deserialize)]
struct RawLine {
    trace_hz: u32,
    baud: u32,
    #[serde(default)]
    encoding: Encoding,
}

/// The divider's register has no more than sixteen bits (TPIU_ACPR.SWOSCALER); on Cortex-M3 and M4
/// it has thirteen.
const MAX_DIVIDER: u32 = 1 << 16;

impl Line {
    /// For TRACECLKIN of `trace_hz` and a wanted bit rate, which must be one that a whole divider
    /// comes near to.
    pub fn new(trace_hz: u32, baud: u32, encoding: Encoding) -> Result<Line, Unsupported> {
        let positive = |hz, what| {
            NonZeroU32::new(hz).ok_or_else(|| Unsupported::new(format!("a {what} of 0")))
        };
        let line = Line {
            trace_hz: positive(trace_hz, "trace clock")?,
            baud: positive(baud, "bit rate")?,
            encoding,
        };
        let divider = (f64::from(trace_hz) / line.ticks_per_second() as f64).round();
        if divider < 1.0 {
            let text = format!("{baud} baud from a trace clock of {trace_hz} Hz, which is slower");
            return Err(Unsupported::new(text));
        }
        if divider > f64::from(MAX_DIVIDER) {
            let text = format!("{baud} baud from {trace_hz} Hz: the divider ends at {MAX_DIVIDER}");
            return Err(Unsupported::new(text));
        }
        Ok(line)
    }

    /// TRACECLKIN, in hertz.
    pub fn trace_hz(&self) -> u32 {
        self.trace_hz.get()
    }

    /// The bit rate that was asked for; the other end is set to this.
    pub fn baud(&self) -> u32 {
        self.baud.get()
    }

    /// How bits look.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// What TRACECLKIN is divided by: the whole number that comes nearest to the bit rate.
    pub fn divider(&self) -> u32 {
        let (trace, ticks) = (u64::from(self.trace_hz()), self.ticks_per_second());
        ((trace + ticks / 2) / ticks).max(1) as u32
    }

    /// Ticks of the divided clock: Manchester's bits have two.
    fn ticks_per_second(&self) -> u64 {
        u64::from(self.baud()) * self.encoding.ticks_per_bit()
    }

    /// The bit rate that the pin has, in bits per second.
    pub fn actual_baud(&self) -> f64 {
        let ticks = f64::from(self.trace_hz()) / f64::from(self.divider());
        ticks / self.encoding.ticks_per_bit() as f64
    }

    /// How far that is from what was asked for, as a part of one.
    pub fn baud_error(&self) -> f64 {
        self.actual_baud() / f64::from(self.baud()) - 1.0
    }
}

impl TryFrom<RawLine> for Line {
    type Error = Unsupported;

    fn try_from(raw: RawLine) -> Result<Self, Unsupported> {
        Line::new(raw.trace_hz, raw.baud, raw.encoding)
    }
}

impl From<Line> for RawLine {
    fn from(line: Line) -> RawLine {
        RawLine { trace_hz: line.trace_hz(), baud: line.baud(), encoding: line.encoding }
    }
}
