//! The pulses of a channel, and their widths.

use crate::pins::report::{PinLevel, PinStatistics};
use crate::summary::ValueCounts;

use crate::capture::{Capture, Channel, Level};

/// Takes the widths of a channel's pulses, by the ticks of their edges.
pub(super) trait Pulses {
    /// High from the one to the other.
    fn high(&mut self, rise: u64, fall: u64);
    /// Low from the one to the other.
    fn low(&mut self, fall: u64, rise: u64);
    /// From one rise to the next.
    fn period(&mut self, rise: u64, fall: Option<u64>, next: u64);
}

/// Widths in ticks by how often they occur.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) high: ValueCounts,
    pub(super) low: ValueCounts,
    pub(super) periods: ValueCounts,
    last_period: Option<u64>,
    pub(super) cycle_to_cycle: ValueCounts,
    /// In millionths.
    pub(super) duties: ValueCounts,
}

impl Pulses for Counts {
    fn high(&mut self, rise: u64, fall: u64) {
        self.high.add(fall - rise);
    }

    fn low(&mut self, fall: u64, rise: u64) {
        self.low.add(rise - fall);
    }

    fn period(&mut self, rise: u64, fall: Option<u64>, next: u64) {
        let period = next - rise;
        self.periods.add(period);
        if let Some(last) = self.last_period.replace(period) {
            self.cycle_to_cycle.add(period.abs_diff(last));
        }
        if let Some(fall) = fall {
            self.duties.add(ppm(fall - rise, next - fall));
        }
    }
}

/// A walk along a channel, in ticks.
#[derive(Default)]
pub(super) struct Walk {
    rising: u64,
    falling: u64,
    unknown: u64,
    high_total: u64,
    low_total: u64,
    last_rise: Option<u64>,
    last_fall: Option<u64>,
}

impl Walk {
    /// Along a channel up to `end`.
    pub(super) fn along(channel: &Channel, end: u64, pulses: &mut impl Pulses) -> Walk {
        let mut walk = Walk::default();
        let mut before = (0, channel.initial);
        for edge in &channel.edges {
            let at = edge.at();
            walk.stretch(before, at);
            walk.edge(before.1, at, edge.level(), pulses);
            before = (at, edge.level());
        }
        walk.stretch(before, end);
        walk
    }

    fn stretch(&mut self, (from, level): (u64, Level), to: u64) {
        match level {
            Level::High => self.high_total += to.saturating_sub(from),
            Level::Low => self.low_total += to.saturating_sub(from),
            Level::Unknown => {}
        }
    }

    fn edge(&mut self, before: Level, at: u64, level: Level, pulses: &mut impl Pulses) {
        match (before, level) {
            (Level::Low, Level::High) => {
                self.rising += 1;
                if let Some(fall) = self.last_fall {
                    pulses.low(fall, at);
                }
                if let Some(rise) = self.last_rise {
                    pulses.period(rise, self.last_fall, at);
                }
                (self.last_rise, self.last_fall) = (Some(at), None);
            }
            (Level::High, Level::Low) => {
                self.falling += 1;
                if let Some(rise) = self.last_rise {
                    pulses.high(rise, at);
                }
                self.last_fall = Some(at);
            }
            (_, Level::Unknown) => {
                self.unknown += 1;
                (self.last_rise, self.last_fall) = (None, None);
            }
            _ => {}
        }
    }

    /// The figures that need no widths.
    pub(super) fn totals(&self, capture: &Capture, channel: &Channel) -> PinStatistics {
        PinStatistics {
            pin: channel.name.clone(),
            initial: level(channel.initial),
            rising: self.rising,
            falling: self.falling,
            unknown: self.unknown,
            high_total_ps: capture.ps(self.high_total),
            low_total_ps: capture.ps(self.low_total),
            duty_ppm: None,
            high_ps: None,
            low_ps: None,
            period_ps: None,
            jitter: None,
        }
    }
}

/// The part of a period that is high.
fn ppm(high: u64, low: u64) -> u64 {
    let ppm = u128::from(high) * 1_000_000 / (u128::from(high) + u128::from(low)).max(1);
    u64::try_from(ppm).unwrap_or(u64::MAX)
}

fn level(level: Level) -> PinLevel {
    match level {
        Level::Low => PinLevel::Low,
        Level::High => PinLevel::High,
        Level::Unknown => PinLevel::Unknown,
    }
}
