//! Shares: how far one that was counted on samples can be from the truth.

/// The normal distribution's 97.5 % quantile: 95 % of it lie within so many deviations of its mean.
pub(super) const Z: f64 = 1.959_963_984_540_054;

/// Where the true share lies with 95 % confidence when `k` of `n` independent samples had the
/// property: Wilson's score interval (Wilson 1927), as (lower, upper) from 0 to 1.
///
/// Unlike the usual `p +/- z*sqrt(p*q/n)` it stays within 0 and 1 and is right for rare things and
/// few samples: of 100 samples none of which was somewhere, up to 3.7 % may still belong there.
/// Without samples nothing is known: (0, 1). A `k` above `n` counts as `n`.
pub fn wilson(n: u64, k: u64) -> (f64, f64) {
    if n == 0 {
        return (0.0, 1.0);
    }
    let (count, n_is_k) = (n as f64, k >= n);
    let share = k.min(n) as f64 / count;
    let z2 = Z * Z;
    let divisor = 1.0 + z2 / count;
    let centre = (share + z2 / (2.0 * count)) / divisor;
    let half = Z / divisor * (share * (1.0 - share) / count + z2 / (4.0 * count * count)).sqrt();
    // At the ends the formula gives exactly 0 and 1, and floating point nearly so.
    let low = if k == 0 { 0.0 } else { (centre - half).max(0.0) };
    let high = if n_is_k { 1.0 } else { (centre + half).min(1.0) };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine
    /// 17 (1998), table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    #[test]
    fn intervals_are_those_of_the_textbook() {
        let table = [
            (263, 81, 0.2553, 0.3662),
            (148, 15, 0.0624, 0.1605),
            (20, 0, 0.0, 0.1611),
            (29, 1, 0.0061, 0.1718),
        ];
        for (n, k, low, high) in table {
            let (l, h) = wilson(n, k);
            assert!((l - low).abs() < 0.000_05 && (h - high).abs() < 0.000_05, "{k}/{n}: {l} {h}");
        }
    }

    #[test]
    fn ends_are_exact() {
        assert_eq!(wilson(0, 0), (0.0, 1.0));
        assert_eq!(wilson(50, 0).0, 0.0);
        assert_eq!(wilson(50, 50).1, 1.0);
        assert_eq!(wilson(5, 9), wilson(5, 5));
        assert!(wilson(u64::MAX, u64::MAX / 2).1 < 0.500_001);
    }

    /// What "95 %" promises: over all outcomes of `n` throws, the interval covers the true share
    /// nearly that often.
    #[test]
    fn intervals_cover_as_often_as_they_say() {
        let n = 200u64;
        for share in [0.02, 0.1, 0.3, 0.5, 0.9] {
            let mut covered = 0.0;
            // The binomial distribution, term by term.
            let mut probability = (1.0f64 - share).powi(n as i32);
            for k in 0..=n {
                let (low, high) = wilson(n, k);
                if (low..=high).contains(&share) {
                    covered += probability;
                }
                probability *= (n - k) as f64 / (k + 1) as f64 * share / (1.0 - share);
            }
            assert!((0.93..0.975).contains(&covered), "{share}: {covered}");
        }
    }

    proptest! {
        #[test]
        fn interval_contains_the_share_and_narrows_with_samples(
            n in 1u64..1_000_000, k in 0u64..1_000_000,
        ) {
            let k = k.min(n);
            let (low, high) = wilson(n, k);
            let share = k as f64 / n as f64;
            prop_assert!(0.0 <= low && low <= share && share <= high && high <= 1.0);
            let (closer_low, closer_high) = wilson(4 * n, 4 * k);
            prop_assert!(closer_high - closer_low < high - low);
        }
    }
}
