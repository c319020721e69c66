//! What a set-up needs of its pin, and what there is.
//!
//! Rates that only the firmware knows the caller brings; what depends on how packets fall together
//! has bounds.

mod budget;
mod measurement;
mod proposals;
pub mod report;
#[cfg(test)]
mod tests;

use crate::plan::report::{PlanLine, PlanReport, PlanSamples, Verdict};
use strobe_decode::trace_settings::{Line, PcSampling, TraceSettings};
use strobe_model::Bounds;

use strobe_link::trace::registers::{self, Error};
use strobe_link::trace::target::Target;

use self::budget::Budget;
use self::proposals::proposals;

pub use measurement::{SettingsError, measurement, settings_of};

/// What the firmware does, per second: that makes packets beside those that only the clock makes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workload {
    /// Exceptions.
    pub exceptions: u64,
    /// What is written to stimulus ports.
    pub ports: Vec<PortLoad>,
    /// Accesses of each watch, in the order of the settings.
    pub watches: Vec<u64>,
    /// Percent of the time that the core is asleep: samples are shorter then.
    pub asleep_percent: u8,
}

/// What is written to a stimulus port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortLoad {
    /// The port, 0 to 31.
    pub port: u8,
    /// Bytes per second.
    pub bytes: u64,
    /// Bytes that are written at once: 1, 2 or 4.
    pub at_once: u8,
}

/// Bit rates that probes and serial adapters usually have.
const BAUDS: &[u32] = &[
    115_200, 230_400, 460_800, 500_000, 921_600, 1_000_000, 1_500_000, 2_000_000, 2_250_000,
    3_000_000, 4_000_000, 6_000_000, 8_000_000, 9_000_000, 10_000_000, 12_000_000, 16_000_000,
    20_000_000, 24_000_000, 32_000_000, 48_000_000,
];

/// How far a bit rate may be off, as a part of one, before bytes are damaged: with a receiver that
/// is as far off the other way the last bit is missed by two fifths of it.
const MAX_BAUD_ERROR: f64 = 0.02;

/// Works out the whole plan.
pub fn plan(
    settings: &TraceSettings,
    load: &Workload,
    target: &Target,
) -> Result<PlanReport, Error> {
    let registers = registers::writes(settings, target)?;
    check_rate(&settings.line)?;
    let budget = Budget::of(settings, load);
    let loss = budget.loss_ppm();
    let verdict = budget.verdict();
    let proposals =
        if verdict == Verdict::Loses { proposals(settings, load, target) } else { Vec::new() };
    Ok(PlanReport {
        settings: settings.clone(),
        target: target.name.to_owned(),
        line: line(&settings.line),
        samples: samples(settings, loss),
        notes: notes(settings, load, target, verdict),
        required: budget.required,
        available: budget.available,
        parts: budget.parts,
        loss_ppm: loss,
        verdict,
        proposals,
        registers,
    })
}

/// How far the middle of a byte's last bit may be off, in bits: there the neighbour begins.
const MAX_BITS_OFF: f64 = 0.5;

/// Refuses a bit rate that the divider misses so far that no byte arrives.
fn check_rate(line: &Line) -> Result<(), Error> {
    let error = line.baud_error();
    if (error * 9.5).abs() < MAX_BITS_OFF {
        return Ok(());
    }
    let nearest = BAUDS.iter().filter_map(|baud| {
        let other = Line::new(line.trace_hz(), *baud, line.encoding()).ok()?;
        (other.baud_error().abs() <= MAX_BAUD_ERROR).then_some(*baud)
    });
    let advice = match nearest.min_by_key(|baud| baud.abs_diff(line.baud())) {
        Some(baud) => format!("; {baud} baud can be made"),
        None => String::new(),
    };
    Err(Error::RateOff {
        asked: line.baud(),
        made: line.actual_baud().round() as u64,
        percent: format!("{:+.1}", error * 100.0),
        advice,
    })
}

fn line(line: &Line) -> PlanLine {
    let error = line.baud_error();
    PlanLine {
        divider: line.divider(),
        actual_baud: line.actual_baud(),
        error_ppm: (error * 1e6).round() as i64,
        // A receiver counts from the start bit's edge to the middle of the stop bit: nine and a
        // half bits.
        last_bit_off_ppm: (error * 9.5e6).round() as i64,
    }
}

fn samples(settings: &TraceSettings, loss: Bounds) -> Option<PlanSamples> {
    let taken = settings.samples_per_second()?;
    let received = |loss_ppm: u64| (taken * (1e6 - loss_ppm as f64) / 1e6).round() as u64;
    Some(PlanSamples {
        period_cycles: settings.sampling?.period_cycles(),
        asked_cycles: None,
        taken_per_second: taken,
        received_per_second: Bounds {
            low: received(loss.high),
            likely: received(loss.likely),
            high: received(loss.low),
        },
    })
}

fn notes(
    settings: &TraceSettings,
    load: &Workload,
    target: &Target,
    verdict: Verdict,
) -> Vec<String> {
    let mut notes = Vec::new();
    let error = settings.line.baud_error().abs();
    if error > MAX_BAUD_ERROR {
        notes.push(format!(
            "the divider makes a bit rate that is {:.1} % off: with a receiver that is off the \
             other way, bytes are damaged",
            error * 100.0
        ));
    }
    if settings.line.divider() > 1 << 13 && target.name != "generic-v8m" {
        notes.push("the divider has more than 13 bits, which Cortex-M3 and M4 do not have".into());
    }
    let longest = PcSampling::all().last();
    if verdict == Verdict::Loses && settings.sampling.is_some() && settings.sampling == longest {
        notes.push("a sample every 16384 cycles is the slowest that the DWT offers".into());
    }
    if verdict == Verdict::Loses && settings.sampling.is_some() {
        notes.push(
            "samples are not lost at random: the FIFO frees in a fixed rhythm, so code that runs \
             in step with it is weighed wrongly"
                .into(),
        );
    }
    if settings.exceptions && load.exceptions == 0 {
        notes.push(
            "exceptions are traced, and how many come is not said: none are counted here".into(),
        );
    }
    if target.routes.is_empty() {
        notes.push(
            "trace clock and pin are not routed here: the firmware has to, or name the --target"
                .into(),
        );
    }
    if settings.sync.is_none() {
        notes.push(
            "without synchronisation a decoder that lost its place finds it again by luck alone"
                .into(),
        );
    }
    notes
}
