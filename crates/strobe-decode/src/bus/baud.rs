//! How fast a UART is, from the widths of its pulses.
//!
//! All pulses within words are whole numbers of bits. The shortest width that is common is one bit,
//! or a few; the bit that fits all of them best follows by least squares. Usual speeds are tried
//! besides, and the words of each speed decide.

use crate::bus::report::{Baud, BaudOrigin};
use crate::summary::ValueCounts;

use super::uart::{Event, Format, Uart};
use crate::capture::time::gcd;
use crate::capture::{Capture, Channel, Level};

/// Pulses that are looked at; more do not make it better.
const MAX_PULSES: usize = 100_000;

/// Longer pulses, in bits, may be the line at rest.
const MAX_BITS: f64 = 9.5;

/// Usual speeds, in bits per second.
const USUAL: [u32; 32] = [
    110, 300, 600, 1200, 2400, 4800, 9600, 14_400, 19_200, 28_800, 31_250, 38_400, 57_600, 74_880,
    76_800, 100_000, 115_200, 125_000, 128_000, 230_400, 250_000, 256_000, 460_800, 500_000,
    576_000, 921_600, 1_000_000, 1_500_000, 2_000_000, 3_000_000, 4_000_000, 8_000_000,
];

/// How far from a usual speed still means it: what receivers tolerate.
const NEAR: f64 = 0.02;

/// Edges by which words are tried.
const TRIED_EDGES: usize = 4000;

/// Root of the mean square of what pulses are off whole bits, from which on they do not fit.
const MISFIT: f64 = 0.12;

/// Share of words with faults from which on the speed is in doubt.
const FAULTY: f64 = 0.05;

/// What a speed that nobody uses must fit better by, to be believed all the same.
const UNUSUAL: f64 = 0.04;

/// Another usual speed that fits as well but for this speaks against the first.
const AS_GOOD: f64 = 0.03;

/// What pulses that are all of two bits, or of three, and multiples of these, speak against a
/// speed: they are as whole at a half or a third of it, which may be a speed that nobody uses.
const COMMON: f64 = 0.05;

/// How words are tried: 8E1 looks like nine data bits, 7E1 like eight.
const DATA_BITS: [u8; 3] = [8, 9, 7];

/// The speed of a line by its pulses; `None` when there are fewer than three.
///
/// Pulses that are whole numbers of bits are so at twice the speed as well. What distinguishes
/// these are the words: at the wrong speed stop bits are low where they must not be, and pulses are
/// too short for a bit.
pub fn estimate(capture: &Capture, channel: usize) -> Option<Baud> {
    let pulses = Pulses::of(&capture.channels[channel]);
    let shortest = shortest_common(&pulses.all)?;
    let mut all = speeds(capture, channel, &pulses, shortest);
    let order = |speed: &Speed| speed.cost + if speed.fit.has_common() { COMMON } else { 0.0 };
    all.sort_by(|a, b| order(a).total_cmp(&order(b)).then(b.fit.bit.total_cmp(&a.fit.bit)));
    let best = all.first()?;
    let differs = |other: &&Speed| (other.used / best.used - 1.0).abs() > NEAR;
    let mut rivals = all.iter().filter(|other| other.usual).filter(differs);
    let rivalled = rivals.any(|rival| rival.cost < best.cost + AS_GOOD);
    let fits = best.fit.misfit < MISFIT && best.faulty < FAULTY;
    let is_settled = pulses.settle(best.fit.bit);
    Some(Baud {
        used: best.used,
        origin: if best.usual { BaudOrigin::NearestUsual } else { BaudOrigin::Measured },
        measured: Some(per_second(capture, best.fit.bit)),
        misfit: Some(best.fit.misfit),
        pulses: best.fit.pulses,
        sure: fits && best.fit.pulses >= 10 && is_settled && !rivalled,
    })
}

/// Whether so many faulty words of all leave the speed, or the format, in doubt. A single one does
/// not: lines have faults.
pub fn are_many(faulty: u64, words: u64) -> bool {
    faulty as f64 > 1.0 + FAULTY * words as f64
}

/// A speed that may be the line's.
struct Speed {
    used: f64,
    usual: bool,
    fit: Fit,
    /// Share of the words, pulses and breaks that are faults.
    faulty: f64,
    /// The less, the more likely.
    cost: f64,
}

/// The usual speeds that the pulses allow, and those that the shortest common one suggests.
fn speeds(capture: &Capture, channel: usize, pulses: &Pulses, shortest: f64) -> Vec<Speed> {
    // Where only pulses of two and three bits occur, the shortest is two.
    let guesses = [1.0, 2.0, 3.0].map(|bits| pulses.fit(shortest / bits));
    let guesses = guesses.into_iter().map(|fit| {
        let measured = per_second(capture, fit.bit);
        let near = USUAL.iter().map(|baud| f64::from(*baud));
        let near = near.min_by(|a, b| (a - measured).abs().total_cmp(&(b - measured).abs()));
        let near = near.filter(|near| (near - measured).abs() <= NEAR * near);
        (near.unwrap_or(measured), near.is_some(), fit)
    });
    let usual = USUAL.iter().filter_map(|baud| {
        let baud = f64::from(*baud);
        let bit = bit_ticks(capture, baud);
        // Pulses of more bits than a word has are no sign of anything.
        let bits = shortest / bit;
        if bit < 2.0 || !(0.7..MAX_BITS).contains(&bits) {
            return None;
        }
        let fit = pulses.fit(bit);
        let near = fit.pulses > 0 && (fit.bit / bit - 1.0).abs() <= NEAR;
        near.then_some((baud, true, fit))
    });
    let speed = |(used, usual, fit): (f64, bool, Fit)| {
        let faulty = faulty(&capture.channels[channel], fit.bit);
        let cost = faulty + fit.misfit + if usual { 0.0 } else { UNUSUAL };
        Speed { used, usual, fit, faulty, cost }
    };
    guesses.chain(usual).map(speed).collect()
}

fn per_second(capture: &Capture, bit: f64) -> f64 {
    let (numerator, denominator) = capture.tick.fraction();
    denominator as f64 / (numerator as f64 * bit)
}

/// The share of what is on the line that is no sound word, in the format that has fewest.
fn faulty(line: &Channel, bit: f64) -> f64 {
    let formats = DATA_BITS.iter().flat_map(|data_bits| {
        [false, true].map(|inverted| Format {
            data_bits: *data_bits,
            inverted,
            ..Format::default()
        })
    });
    let share = |format: Format| {
        let (mut all, mut wrong) = (0u64, 0u64);
        let mut uart = Uart::new(format, bit, line.initial);
        let edges = line.edges.iter().take(TRIED_EDGES);
        edges.for_each(|edge| {
            uart.push(edge.at(), edge.level(), &mut |event| {
                let fault = match event {
                    Event::Word(word) => word.framing_error,
                    Event::Break { .. } | Event::Glitch { .. } => true,
                    Event::CutShort { .. } => return,
                };
                all += 1;
                wrong += u64::from(fault);
            });
        });
        if all == 0 { 1.0 } else { wrong as f64 / all as f64 }
    };
    formats.map(share).fold(1.0, f64::min)
}

/// Ticks of a bit at a speed.
pub fn bit_ticks(capture: &Capture, baud: f64) -> f64 {
    let (numerator, denominator) = capture.tick.fraction();
    denominator as f64 / (numerator as f64 * baud)
}

/// A width of pulses, and how many have it.
type Width = (f64, u64);

/// The widths of a line's pulses, from the shortest on.
struct Pulses {
    all: Vec<Width>,
    /// Those of each level: where the line rests, one of them has the rests among its own.
    levels: [Vec<Width>; 2],
}

impl Pulses {
    fn of(channel: &Channel) -> Pulses {
        let mut all = ValueCounts::default();
        let mut levels = [ValueCounts::default(), ValueCounts::default()];
        let edges = &channel.edges;
        for (from, to) in edges.iter().zip(edges.iter().skip(1)).take(MAX_PULSES) {
            if from.level() == Level::Unknown || to.level() == Level::Unknown {
                continue;
            }
            let width = to.at() - from.at();
            levels[usize::from(from.level().is_high())].add(width);
            all.add(width);
        }
        Pulses { all: widths(&all), levels: levels.each_ref().map(widths) }
    }

    /// Whether the pulses allow no other bit than this, of which they are whole multiples: those of
    /// each level have different lengths without a common divisor. Rests between words are among
    /// those of one level, of any length, and settle nothing.
    fn settle(&self, bit: f64) -> bool {
        self.levels.iter().all(|widths| Fit::of(widths, bit).is_settled())
    }

    /// The bit near `guess` that fits best: all pulses, or those of one level if these have
    /// different lengths.
    fn fit(&self, guess: f64) -> Fit {
        let of_levels = self.levels.iter().map(|widths| Fit::of(widths, guess));
        let significant = of_levels.filter(|fit| fit.different >= 2 && fit.pulses >= 5);
        significant.fold(Fit::of(&self.all, guess), |best, fit| {
            if fit.misfit < best.misfit { fit } else { best }
        })
    }
}

fn widths(counts: &ValueCounts) -> Vec<Width> {
    let sorted = counts.sorted(|width| width);
    sorted.into_iter().map(|(width, count)| (width as f64, count)).collect()
}

fn count(widths: &[Width]) -> u64 {
    widths.iter().map(|(_, count)| count).sum()
}

/// The mean of the shortest widths that are no rarity: a glitch in fifty pulses is none of them.
fn shortest_common(sorted: &[Width]) -> Option<f64> {
    if count(sorted) < 3 {
        return None;
    }
    let enough = (count(sorted) / 50).max(2);
    let mut rest = sorted;
    while let Some((first, _)) = rest.first() {
        let cluster = rest.iter().take_while(|(width, _)| *width <= first * 1.3 + 1.0).count();
        let (cluster, longer) = rest.split_at(cluster);
        if count(cluster) >= enough {
            let sum: f64 = cluster.iter().map(|(width, count)| width * *count as f64).sum();
            return Some(sum / count(cluster) as f64);
        }
        rest = longer;
    }
    sorted.first().map(|(width, _)| *width)
}

struct Fit {
    bit: f64,
    misfit: f64,
    pulses: u64,
    different: usize,
    /// The greatest number of bits that all pulses are a multiple of; 0 of none.
    divisor: u64,
}

impl Fit {
    /// Whether different pulses are all of two bits or more, and multiples of these.
    fn has_common(&self) -> bool {
        self.different >= 2 && self.divisor > 1
    }

    /// Whether the pulses are multiples of no other bit.
    fn is_settled(&self) -> bool {
        self.different >= 2 && self.divisor == 1
    }

    /// The bit near `guess` that fits best.
    fn of(widths: &[Width], guess: f64) -> Fit {
        let mut fit = Fit { bit: guess, misfit: 1.0, pulses: 0, different: 0, divisor: 0 };
        for _ in 0..4 {
            let (mut products, mut squares, mut errors) = (0.0, 0.0, 0.0);
            let (mut n, mut seen) = (0u64, [false; 10]);
            for (width, count) in widths {
                let bits = width / fit.bit;
                if !(0.5..=MAX_BITS).contains(&bits) {
                    continue;
                }
                let whole = bits.round().max(1.0);
                let times = *count as f64;
                products += width * whole * times;
                squares += whole * whole * times;
                errors += (bits - whole) * (bits - whole) * times;
                n += count;
                seen[whole as usize % 10] = true;
            }
            if n == 0 {
                break;
            }
            fit.misfit = (errors / n as f64).sqrt();
            (fit.pulses, fit.different) = (n, seen.iter().filter(|s| **s).count());
            let lengths = (1..).zip(&seen[1..]).filter(|(_, seen)| **seen);
            fit.divisor = lengths.map(|(bits, _)| bits).fold(0, gcd);
            fit.bit = products / squares;
        }
        fit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pulses_with_a_common_divisor_settle_no_bit() {
        let each = |widths: &[f64]| widths.iter().map(|width| (*width, 1)).collect::<Vec<_>>();
        let levels = |low: &[f64], high: &[f64]| Pulses {
            all: each(&[low, high].concat()),
            levels: [each(low), each(high)],
        };
        let high = [10.0, 20.0, 40.0];
        assert!(levels(&[10.0, 30.0], &high).settle(10.0));
        assert!(levels(&[20.0, 30.0], &high).settle(10.0));
        // All of one length, or as whole at another speed; rests of any length do not change that.
        assert!(!levels(&[10.0, 10.0, 10.0], &high).settle(10.0));
        assert!(!levels(&[10.0, 30.0, 20.0], &high).settle(5.0));
        assert!(!levels(&[20.0, 40.0], &[20.0, 33.0, 70.0]).settle(10.0));
        let of = |widths: &[f64], bit| Fit::of(&each(widths), bit).divisor;
        assert_eq!((of(&[40.0, 60.0], 10.0), of(&[30.0, 60.0, 90.0], 10.0)), (2, 3));
        assert_eq!((of(&[40.0, 50.0], 10.0), of(&[400.0], 10.0)), (1, 0));
    }
}
