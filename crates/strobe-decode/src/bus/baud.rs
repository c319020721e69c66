//! How fast a UART is, from the widths of its pulses.
//!
//! All pulses within words are whole numbers of bits. The shortest width that is common is one bit,
//! or a few; the bit that fits all of them best follows by least squares.

use strobe_model::{Baud, BaudOrigin};

use crate::capture::{Capture, Channel, Level};

/// Pulses that are looked at; more do not make it better.
const MAX_PULSES: usize = 100_000;

/// Longer pulses, in bits, may be the line at rest.
const MAX_BITS: f64 = 9.5;

/// Usual speeds, in bits per second.
const USUAL: [u32; 30] = [
    110, 300, 600, 1200, 2400, 4800, 9600, 14_400, 19_200, 28_800, 31_250, 38_400, 57_600, 76_800,
    115_200, 125_000, 128_000, 230_400, 250_000, 256_000, 460_800, 500_000, 576_000, 921_600,
    1_000_000, 1_500_000, 2_000_000, 3_000_000, 4_000_000, 8_000_000,
];

/// How far from a usual speed still means it: what receivers tolerate.
const NEAR: f64 = 0.02;

/// What the pulses of a line say of its speed; `None` when there are fewer than three.
pub fn estimate(capture: &Capture, channel: usize) -> Option<Baud> {
    let mut widths = widths(&capture.channels[channel]);
    widths.sort_by(f64::total_cmp);
    let shortest = shortest_common(&widths)?;
    // Where only pulses of two and three bits occur, the shortest is two.
    let fits = [1.0, 2.0, 3.0].map(|bits| Fit::of(&widths, shortest / bits));
    let fit = fits.iter().find(|fit| fit.misfit < 0.12).unwrap_or(&fits[0]);
    let (numerator, denominator) = capture.tick.fraction();
    let measured = denominator as f64 / (numerator as f64 * fit.bit);
    let usual = USUAL.iter().map(|baud| f64::from(*baud));
    let nearest = usual.min_by(|a, b| (a - measured).abs().total_cmp(&(b - measured).abs()))?;
    let near = (nearest - measured).abs() <= NEAR * nearest;
    Some(Baud {
        used: if near { nearest } else { measured },
        origin: if near { BaudOrigin::NearestUsual } else { BaudOrigin::Measured },
        measured: Some(measured),
        misfit: Some(fit.misfit),
        pulses: fit.pulses,
        sure: fit.pulses >= 10 && fit.different >= 2 && fit.misfit < 0.12,
    })
}

/// Ticks of a bit at a speed.
pub fn bit_ticks(capture: &Capture, baud: f64) -> f64 {
    let (numerator, denominator) = capture.tick.fraction();
    denominator as f64 / (numerator as f64 * baud)
}

fn widths(channel: &Channel) -> Vec<f64> {
    let known = |pair: &&[crate::capture::Edge]| {
        pair[0].level() != Level::Unknown && pair[1].level() != Level::Unknown
    };
    let pairs = channel.edges.windows(2).filter(known).take(MAX_PULSES);
    pairs.map(|pair| (pair[1].at() - pair[0].at()) as f64).collect()
}

/// The mean of the shortest widths that are no rarity: a glitch in fifty pulses is none of them.
fn shortest_common(sorted: &[f64]) -> Option<f64> {
    if sorted.len() < 3 {
        return None;
    }
    let enough = (sorted.len() / 50).max(2);
    let mut from = 0;
    while let Some(first) = sorted.get(from) {
        let cluster = sorted[from..].iter().take_while(|w| **w <= first * 1.3 + 1.0).count();
        if cluster >= enough {
            return Some(sorted[from..from + cluster].iter().sum::<f64>() / cluster as f64);
        }
        from += cluster;
    }
    sorted.first().copied()
}

struct Fit {
    bit: f64,
    misfit: f64,
    pulses: u64,
    different: usize,
}

impl Fit {
    /// The bit near `guess` that fits best.
    fn of(widths: &[f64], guess: f64) -> Fit {
        let mut fit = Fit { bit: guess, misfit: 1.0, pulses: 0, different: 0 };
        for _ in 0..4 {
            let (mut products, mut squares, mut errors) = (0.0, 0.0, 0.0);
            let (mut n, mut seen) = (0u64, [false; 10]);
            for width in widths {
                let bits = width / fit.bit;
                if !(0.5..=MAX_BITS).contains(&bits) {
                    continue;
                }
                let whole = bits.round().max(1.0);
                products += width * whole;
                squares += whole * whole;
                errors += (bits - whole) * (bits - whole);
                n += 1;
                seen[whole as usize % 10] = true;
            }
            if n == 0 {
                break;
            }
            fit.misfit = (errors / n as f64).sqrt();
            (fit.pulses, fit.different) = (n, seen.iter().filter(|s| **s).count());
            fit.bit = products / squares;
        }
        fit
    }
}
