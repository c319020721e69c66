//! How fine the clock was that took a capture, where the file only gives times.
//!
//! A VCD file in nanoseconds may come from an analyser that looked every 500 ns; a pulse in it is then known to 500 ns
//! and not to one. The edges tell: they all lie on the sampling clock's ticks.

use super::time::gcd;
use super::{Channel, Tick};

/// Fewer different times than this show no clock.
const MIN_TIMES: usize = 16;

/// Rates of common analysers whose period is no whole number of nanoseconds, in kHz, slow ones first.
const ODD_RATES_KHZ: [u64; 9] =
    [1_500, 3_000, 6_000, 12_000, 24_000, 30_000, 48_000, 60_000, 96_000];

/// The coarsest clock on whose ticks all edges lie, if they are many enough to show one. Coarse is careful: what is
/// said of a width is never better than it is.
pub(super) fn inferred(tick: Tick, start: i64, channels: &[Channel]) -> Option<Tick> {
    let times = || {
        let edges = channels.iter().flat_map(|c| &c.edges);
        edges.map(|e| (i128::from(start) + i128::from(e.at())).unsigned_abs() as u64)
    };
    if times().filter(|at| *at > 0).take(MIN_TIMES).count() < MIN_TIMES {
        return None;
    }
    let step = times().fold(0, gcd);
    if step > 1 {
        return tick.times(step);
    }
    let rates = ODD_RATES_KHZ.iter().filter_map(|khz| Tick::from_hz(khz * 1000));
    rates.filter(|rate| is_coarse(*rate, tick)).find(|rate| {
        times().all(|at| {
            let there = tick.convert(at, *rate).and_then(|sample| rate.convert(sample, tick));
            there.is_some_and(|there| there.abs_diff(at) <= 1)
        })
    })
}

/// Whether ticks are fine enough for a match to mean something: eight of them to a sample.
fn is_coarse(rate: Tick, tick: Tick) -> bool {
    tick.times(8).is_some_and(|eight| rate.is_longer_than(eight))
}
