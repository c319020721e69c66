//! A debug probe: sets up the registers and reads the pin, or asks for the program counter where
//! there is no pin.
//!
//! Everything goes over [`DebugPort`], which is as little as is needed, so that tests bring a probe
//! of their own.

use std::time::{Duration, Instant};

use strobe_decode::container::Note;
use strobe_decode::trace_settings::{Line, TraceSettings};

use super::link::{Error, Link, ReadOutcome, Sample};
use super::program::{self, Registers};
use super::registers::{writes, writes_off};
use super::target::Target;

/// What is needed of a probe.
pub trait DebugPort: Registers {
    /// Has the probe listen to the pin; gives the bit rate that it listens at, which may be another
    /// than was asked for.
    ///
    /// # Errors
    /// If the probe cannot.
    fn swo_start(&mut self, line: &Line) -> Result<u32, Error>;

    /// Appends what the probe has received to `into`, without waiting long; returns whether
    /// the probe had no room for some of it.
    ///
    /// # Errors
    /// If the probe is gone.
    fn swo_read(&mut self, into: &mut Vec<u8>) -> Result<bool, Error>;

    /// Has the probe listen no more.
    ///
    /// # Errors
    /// If the probe is gone.
    fn swo_stop(&mut self) -> Result<(), Error>;

    /// Resets the target and lets it run.
    ///
    /// # Errors
    /// If the target does not come back.
    fn reset(&mut self) -> Result<(), Error>;

    /// Halts the core, reads its program counter, and lets it run again.
    ///
    /// # Errors
    /// If that does not work; the core may be halted then.
    fn halted_pc(&mut self) -> Result<u32, Error>;
}

/// How long to rest where the probe has heard nothing.
const REST: Duration = Duration::from_millis(2);

/// A link to the pin through a probe.
pub struct Probe<P> {
    port: P,
    settings: TraceSettings,
    overrun: bool,
}

impl<P: DebugPort> Probe<P> {
    /// Sets up the pin and the registers. Gives the settings as they are: the probe may have
    /// another bit rate than was asked for.
    pub fn open(
        mut port: P,
        settings: &TraceSettings,
        target: &Target,
        reset: bool,
    ) -> Result<(Self, TraceSettings), Error> {
        program::capable(&mut port, settings)?;
        let asked = settings.line;
        let baud = port.swo_start(&asked)?;
        let line = Line::new(asked.trace_hz(), baud, asked.encoding());
        let line = line.map_err(|e| Error::open(format!("the pin at {baud} baud"), e))?;
        if line.baud_error().abs() > 0.02 {
            let (error, there) = (line.baud_error() * 100.0, asked.trace_hz());
            let why = format!(
                "the probe listens at {baud} baud, and the divider of {there} Hz comes no nearer \
                 than {error:+.1} %; choose another --baud"
            );
            return Err(Error::open("the pin", why));
        }
        let settings = TraceSettings { line, ..settings.clone() };
        let registers = writes(&settings, target).map_err(|e| Error::open("the trace", e))?;
        program::program(&mut port, &registers)?;
        if reset {
            // The debug registers keep their values; only power takes them.
            port.reset()?;
            program::program(&mut port, &registers)?;
        }
        let link = Probe { port, settings: settings.clone(), overrun: false };
        Ok((link, settings))
    }
}

impl<P: DebugPort> Link for Probe<P> {
    fn read(&mut self, into: &mut Vec<u8>, timeout: Duration) -> Result<ReadOutcome, Error> {
        let (until, had) = (Instant::now() + timeout, into.len());
        if std::mem::take(&mut self.overrun) {
            return Ok(ReadOutcome::Note(Note::Overrun {
                bytes: None,
                by: "the probe".to_owned(),
            }));
        }
        loop {
            self.overrun |= self.port.swo_read(into)?;
            if into.len() > had {
                return Ok(ReadOutcome::Bytes);
            }
            if self.overrun || Instant::now() >= until {
                return Ok(ReadOutcome::Nothing);
            }
            std::thread::sleep(REST);
        }
    }

    fn close(&mut self) -> Result<Option<Note>, Error> {
        program::program(&mut self.port, &writes_off(&self.settings))?;
        self.port.swo_stop()?;
        Ok(None)
    }
}

/// How to ask for the program counter where no pin sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polling {
    /// Read DWT_PCSR, which does not disturb the core.
    Pcsr,
    /// Halt the core each time.
    Halt,
}

const DEMCR: u32 = 0xe000_edfc;
const TRCENA: u32 = 1 << 24;
/// DWT_PCSR (DDI 0403 C1.8.6).
const DWT_PCSR: u32 = 0xe000_101c;
/// Samples after which a register that never had anything but zero is none.
const ENOUGH: u64 = 50;

/// Asks for the program counter.
pub struct Poller<P> {
    port: P,
    how: Polling,
    /// Time between samples; none is as fast as the probe goes.
    period: Option<Duration>,
    next: Instant,
    begun: Instant,
    taken: u64,
    not_zero: bool,
    halted: Duration,
}

impl<P: DebugPort> Poller<P> {
    /// Asks so many times a second, or as often as can be.
    pub fn open(mut port: P, how: Polling, rate_hz: Option<u32>) -> Result<Self, Error> {
        if how == Polling::Pcsr {
            let demcr = port.read_word(DEMCR)?;
            port.write_word(DEMCR, demcr | TRCENA)?;
        }
        let period = rate_hz.map(|hz| Duration::from_secs(1) / hz.max(1));
        let begun = Instant::now();
        let (taken, not_zero, halted) = (0, false, Duration::ZERO);
        Ok(Poller { port, how, period, next: begun, begun, taken, not_zero, halted })
    }

    fn sample(&mut self) -> Result<Sample, Error> {
        let before = Instant::now();
        let (pc, halted) = match self.how {
            Polling::Pcsr => (self.port.read_word(DWT_PCSR)?, Duration::ZERO),
            // Not all of it is halted time, but no more is.
            Polling::Halt => (self.port.halted_pc()?, before.elapsed()),
        };
        self.taken += 1;
        self.not_zero |= pc != 0;
        self.halted += halted;
        if self.taken >= ENOUGH && !self.not_zero {
            let why = "DWT_PCSR reads as zero: this core has none; --halt samples by halting";
            return Err(Error::failed("sampling", why));
        }
        Ok(Sample { at: Instant::now(), pc, halted })
    }
}

impl<P: DebugPort> Link for Poller<P> {
    fn read(&mut self, _: &mut Vec<u8>, timeout: Duration) -> Result<ReadOutcome, Error> {
        let until = Instant::now() + timeout;
        let mut samples = Vec::new();
        loop {
            let now = Instant::now();
            if now >= until {
                break;
            }
            if self.next > now {
                std::thread::sleep((self.next - now).min(until - now));
                continue;
            }
            if let Some(period) = self.period {
                // What was missed is not made up for.
                self.next = (self.next + period).max(now);
            }
            match self.sample() {
                Ok(sample) => samples.push(sample),
                Err(error) if samples.is_empty() => return Err(error),
                // The error will come again.
                Err(_) => break,
            }
        }
        Ok(if samples.is_empty() { ReadOutcome::Nothing } else { ReadOutcome::Samples(samples) })
    }

    fn close(&mut self) -> Result<Option<Note>, Error> {
        let us = |time: Duration| time.as_micros() as u64;
        let (total_us, halted_us) = (us(self.begun.elapsed()), us(self.halted));
        Ok(Some(Note::Intrusion { total_us, halted_us }))
    }
}
