//! The sign test: whether more pairs went one way than chance explains.

/// The two-sided probability that chance alone divides so many pairs at least as unevenly: exact,
/// from the binomial distribution. Ties are to be left out. 1 without pairs.
pub fn sign_test(less: u64, more: u64) -> f64 {
    let n = less + more;
    (2.0 * at_most(less.min(more), n)).min(1.0)
}

/// The probability that at most `k` of `n` fair throws are heads.
fn at_most(k: u64, n: u64) -> f64 {
    let mut log = -(n as f64) * std::f64::consts::LN_2;
    let mut sum = log.exp();
    for i in 0..k.min(n) {
        log += ((n - i) as f64 / (i + 1) as f64).ln();
        sum += log.exp();
    }
    sum.min(1.0)
}

/// Which of `n` sorted values enclose the true median with at least that confidence, whatever the
/// distribution: `(first, last)`, counted from 0. `None` where not even the extremes do, as with
/// five values at 95 %.
pub fn median_ranks(n: usize, confidence: f64) -> Option<(usize, usize)> {
    let outside = (1.0 - confidence) / 2.0;
    let mut log = -(n as f64) * std::f64::consts::LN_2;
    let mut below = log.exp();
    if n == 0 || below > outside {
        return None;
    }
    let mut rank = 0;
    loop {
        log += ((n - rank) as f64 / (rank + 1) as f64).ln();
        below += log.exp();
        if below > outside || rank + 1 >= n / 2 {
            return Some((rank, n - 1 - rank));
        }
        rank += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_textbook() {
        // Conover, Practical Nonparametric Statistics, table A3: for 16 values the 4th and 13th.
        assert_eq!(median_ranks(16, 0.95), Some((3, 12)));
        assert_eq!(median_ranks(6, 0.95), Some((0, 5)));
        assert_eq!(median_ranks(5, 0.95), None);
        assert_eq!(median_ranks(0, 0.5), None);
        assert_eq!(median_ranks(1, 0.0), Some((0, 0)));
    }

    #[test]
    fn one_sided_outcomes_are_rare() {
        assert_eq!(sign_test(0, 0), 1.0);
        assert!((sign_test(0, 6) - 2.0 / 64.0).abs() < 1e-12);
        assert_eq!(sign_test(6, 0), sign_test(0, 6));
        assert!(sign_test(400, 600) < 1e-9);
        assert!(sign_test(5000, 5000) > 0.99);
    }
}
