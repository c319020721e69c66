//! Estimates from blocks that were sampled by their bytes: every byte with the same chance, the
//! points independent of each other (a Poisson process along the bytes that are allocated).
//!
//! A block of s bytes is in the sample with the chance 1 - exp(-s / N), N being the mean distance
//! of points. Each block that is stands for one divided by that chance (Horvitz and Thompson 1952):
//! without bias for any size. Intervals are those of Fay and Feuer (1997) for sums of weighted
//! counts, which hold the level also for a handful of samples, with the quantiles of Wilson and
//! Hilferty (1931).

/// The 97.5 % point of the normal distribution.
const Z: f64 = 1.959_963_985;

/// As many events may be expected where none was seen: -ln 0.025.
const NONE: f64 = 3.688_879_454;

/// An estimate with its 95 % interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Estimate {
    /// Samples that it rests on.
    pub samples: u64,
    /// The estimate.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The chance that a block is in the sample; one of no bytes counts as one of one.
pub fn chance(bytes: u32, distance: f64) -> f64 {
    -(-f64::from(bytes.max(1)) / distance).exp_m1()
}

/// What all blocks have, from those that were sampled: their sizes, and what each has. `least` is
/// the same of the smallest block that there may be: the interval has room for one that was not
/// sampled, and the smallest stands for the most blocks.
pub fn estimate(
    blocks: impl IntoIterator<Item = (u32, f64)>,
    distance: f64,
    least: (u32, f64),
) -> Estimate {
    let mut out = Estimate::default();
    let (mut variance, mut seen) = (0.0, 0.0);
    let one = least.1 / chance(least.0, distance);
    let mut most = one * (1.0 - chance(least.0, distance));
    for (bytes, has) in blocks {
        let chance = chance(bytes, distance);
        let weighted = has / chance;
        out.samples += 1;
        out.value += weighted;
        seen += has;
        // Of what is nearly always sampled little is unknown.
        variance += weighted * weighted * (1.0 - chance);
        most = most.max(weighted * (1.0 - chance));
    }
    (out.low, out.high) = (out.value, out.value + NONE * most);
    if out.samples == 0 {
        out.high = NONE * one;
    }
    if variance > 0.0 && out.value > 0.0 {
        // What was seen is there for certain.
        out.low = quantile(out.value, variance, -Z).max(seen).min(out.value);
        out.high = quantile(out.value + most, variance + most * most, Z).max(out.value);
    }
    out
}

/// A quantile of the gamma distribution with this mean and variance, by the normal one's.
fn quantile(mean: f64, variance: f64, z: f64) -> f64 {
    let shape = mean * mean / variance;
    let root = 1.0 - 1.0 / (9.0 * shape) + z / (3.0 * shape.sqrt());
    mean * root.max(0.0).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Random;

    #[test]
    fn a_big_block_is_always_sampled_and_exact() {
        let estimate = estimate([(1_000_000, 1e6)], 1000.0, (1_000_000, 1e6));
        assert_eq!((estimate.value, estimate.low, estimate.high), (1e6, 1e6, 1e6));
    }

    #[test]
    fn nothing_seen_is_not_nothing() {
        let estimate = estimate([], 1000.0, (1, 1.0));
        assert_eq!((estimate.samples, estimate.value, estimate.low), (0, 0.0, 0.0));
        assert!((3688.0..3692.0).contains(&estimate.high));
    }

    /// Quantiles of chi square with 2, 10 and 100 degrees of freedom, halved, as tables have them.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (shape, low, high) in [(1.0, 0.025, 3.689), (5.0, 1.623, 10.242), (50.0, 37.11, 64.78)]
        {
            let (a, b) = (quantile(shape, shape, -Z), quantile(shape, shape, Z));
            assert!((a - low).abs() < 0.02 * shape.sqrt(), "{shape}: {a}, {low}");
            assert!((b - high).abs() < 0.02 * high, "{shape}: {b}, {high}");
        }
    }

    /// Blocks of all sizes, sampled again and again: no bias, and intervals hold their level.
    #[test]
    fn estimates_have_no_bias_and_intervals_hold_the_truth() {
        let mut random = Random::new(16);
        let sizes: Vec<u32> = (0..2000).map(|n| 1 << (n % 12)).collect();
        let truth: f64 = sizes.iter().map(|size| f64::from(*size)).sum();
        let (rounds, mut sum, mut held) = (400, 0.0, 0);
        for _ in 0..rounds {
            let sampled: Vec<u32> =
                sizes.iter().copied().filter(|&s| random.unit() < chance(s, 4096.0)).collect();
            let got = estimate(sampled.iter().map(|&s| (s, f64::from(s))), 4096.0, (1, 1.0));
            sum += got.value;
            held += u32::from((got.low..=got.high).contains(&truth));
        }
        let mean = sum / f64::from(rounds);
        assert!((mean / truth - 1.0).abs() < 0.01, "{mean} {truth}");
        assert!(held >= 375, "{held} of {rounds}");
    }

    /// Numbers of blocks too, where a few big ones are sampled and many small ones hardly ever.
    #[test]
    fn rarely_sampled_blocks_are_in_the_interval() {
        let mut random = Random::new(17);
        let sizes: Vec<u32> = (0..24).map(|n| [16, 40, 100, 900][n % 4]).collect();
        for distance in [100.0, 500.0, 2000.0, 20_000.0] {
            let (rounds, mut held) = (400, 0);
            for _ in 0..rounds {
                let sampled: Vec<u32> = sizes
                    .iter()
                    .copied()
                    .filter(|&s| random.unit() < chance(s, distance))
                    .collect();
                let got = estimate(sampled.iter().map(|&s| (s, 1.0)), distance, (16, 1.0));
                held += u32::from((got.low..=got.high).contains(&(sizes.len() as f64)));
            }
            assert!(held >= 375, "{held} of {rounds} with {distance}");
        }
    }
}
