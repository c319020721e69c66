//! Infers the sampling clock of a capture whose file only has times.
//!
//! A VCD file in nanoseconds may come from an analyser that sampled every 500 ns; a pulse in it is
//! then known to 500 ns and not to one. The edges show it: they all lie on ticks of the sampling
//! clock.

use super::time::gcd;
use super::{Channel, Tick};

/// With fewer different times no clock can be inferred.
const MIN_TIMES: usize = 16;

/// Rates of common analysers whose period is not a whole number of nanoseconds, in kHz, slow ones
/// first.
const ODD_RATES_KHZ: [u64; 9] =
    [1_500, 3_000, 6_000, 12_000, 24_000, 30_000, 48_000, 60_000, 96_000];

/// The coarsest clock with all edges on its ticks, if there are enough edges to infer one. The
/// coarsest is the safe choice: the stated precision of a width is never too good.
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

/// Whether ticks are fine enough for a match to be significant: at least eight of them to a sample.
fn is_coarse(rate: Tick, tick: Tick) -> bool {
    tick.times(8).is_some_and(|eight| rate.is_longer_than(eight))
}
