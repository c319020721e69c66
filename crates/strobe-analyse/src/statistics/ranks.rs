//! Two unpaired groups of samples: whether one tends to be larger, and how often. This is how most
//! tools compare, one group after the other; no command here does, and tests of those that measure
//! in pairs have it as their control.

use super::normal;

/// Two groups by ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranks {
    /// Mann and Whitney's U of the first group: pairs in which its sample is the larger one, ties
    /// half.
    pub u: f64,
    /// The two-sided probability that chance alone makes U so extreme: exact up to 50 samples in a
    /// group without ties, else the normal approximation with corrections for ties and continuity.
    pub p: f64,
    /// The probability that a sample of the first group is larger than one of the second (Vargha
    /// and Delaney's A): the effect's size, 0.5 where there is none.
    pub superiority: f64,
}

/// Compares two groups. `None` if one is empty or has a value that cannot be ordered.
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<Ranks> {
    let all: Vec<f64> = first.iter().chain(second).copied().collect();
    if first.is_empty() || second.is_empty() || all.iter().any(|value| value.is_nan()) {
        return None;
    }
    let u = larger(first, second);
    let whole = (first.len() * second.len()) as f64;
    let mut sorted = all;
    sorted.sort_by(f64::total_cmp);
    let ties: Vec<usize> =
        sorted.chunk_by(|a, b| a == b).map(<[f64]>::len).filter(|n| *n > 1).collect();
    let is_exact = ties.is_empty() && first.len().max(second.len()) <= 50;
    let extreme = u.max(whole - u);
    let p = if is_exact {
        exact(first.len(), second.len(), extreme)
    } else {
        approximate(first.len() as f64, second.len() as f64, extreme, &ties)
    };
    Some(Ranks { u, p, superiority: u / whole })
}

fn larger(first: &[f64], second: &[f64]) -> f64 {
    let mut sorted = second.to_vec();
    sorted.sort_by(f64::total_cmp);
    let below = |value: f64| sorted.partition_point(|other| *other < value);
    let up_to = |value: f64| sorted.partition_point(|other| *other <= value);
    first.iter().map(|value| (below(*value) + up_to(*value)) as f64 / 2.0).sum()
}

/// Twice the share of all orders of `n` and `m` samples whose U is at least `u`.
fn exact(n: usize, m: usize, u: f64) -> f64 {
    // Orders by U, as coefficients of the Gaussian binomial: each factor (1 - q^(m+i)) / (1 - q^i).
    let most = n * m;
    let mut orders = vec![0.0f64; most + 1];
    orders[0] = 1.0;
    for i in 1..=n {
        for at in (m + i..=most).rev() {
            orders[at] -= orders[at - m - i];
        }
        for at in i..=most {
            orders[at] += orders[at - i];
        }
    }
    // Symmetric; the lower half has the smaller rounding errors.
    let whole: f64 = orders.iter().sum();
    let extreme: f64 = orders.iter().take(most - u.ceil() as usize + 1).sum();
    (2.0 * extreme / whole).min(1.0)
}

fn approximate(n: f64, m: f64, u: f64, ties: &[usize]) -> f64 {
    let all = n + m;
    let tied: f64 = ties.iter().map(|t| (t.pow(3) - t) as f64).sum();
    let variance = n * m / 12.0 * (all + 1.0 - tied / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (u - n * m / 2.0 - 0.5) / variance.sqrt();
    (2.0 * normal::cumulative(-z)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separate_groups_are_as_unlikely_as_their_order() {
        let (low, high) = ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]);
        let ranks = mann_whitney(&high, &low).unwrap();
        // One of 35 orders, on either side.
        assert_eq!((ranks.u, ranks.superiority), (12.0, 1.0));
        assert!((ranks.p - 2.0 / 35.0).abs() < 1e-12);
        assert_eq!(mann_whitney(&low, &high).unwrap().u, 0.0);
        assert_eq!(mann_whitney(&[], &low), None);
        assert_eq!(mann_whitney(&[1.0; 9], &[1.0; 9]).unwrap().p, 1.0);
    }
}
