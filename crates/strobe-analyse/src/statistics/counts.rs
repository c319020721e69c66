//! Whether counts of samples differ: a test of two shares, how much streams of samples vary more
//! than independent ones, and what looking at many rows does to false alarms.

use super::proportion::{Z, wilson};

/// Samples of one row among all, of each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// Samples that the row has, of A and of B.
    pub k: [u64; 2],
    /// All samples, of A and of B.
    pub n: [u64; 2],
}

/// Rows with fewer samples on both sides together say nothing about how streams vary.
const ENOUGH: u64 = 10;

/// From so many rows on, their variation is estimated from themselves.
pub const FEWEST_ROWS: usize = 8;

/// The median of a chi-squared variable with one degree of freedom.
const MEDIAN_OF_SQUARES: f64 = 0.454_936_4;

/// Deviations that leave 80 % power beside 5 % false alarms: 1.96 + 0.84.
const WITH_POWER: f64 = 2.801_585;

impl Shares {
    fn of(&self, side: usize) -> f64 {
        if self.n[side] == 0 { 0.0 } else { self.k[side] as f64 / self.n[side] as f64 }
    }

    /// How much larger the share of B is, from -1 to 1.
    pub fn difference(&self) -> f64 {
        self.of(1) - self.of(0)
    }

    /// The difference in standard errors, if the samples vary `inflation` times as much as
    /// independent ones: the pooled test of two proportions. 0 where a side has no samples.
    pub fn z(&self, inflation: f64) -> f64 {
        let [a, b] = self.n.map(|n| n as f64);
        if a == 0.0 || b == 0.0 {
            return 0.0;
        }
        let pooled = (self.k[0] as f64 + self.k[1] as f64) / (a + b);
        let error = (inflation * pooled * (1.0 - pooled) * (1.0 / a + 1.0 / b)).sqrt();
        if error > 0.0 { self.difference() / error } else { 0.0 }
    }

    /// The 95 % interval of the difference of shares (Newcombe 1998, method 10), wider by the root
    /// of `inflation`.
    pub fn interval(&self, inflation: f64) -> (f64, f64) {
        let ends = [0, 1].map(|side| {
            let (low, high) = wilson(self.n[side], self.k[side]);
            (self.of(side) - low, high - self.of(side))
        });
        let wider = inflation.max(1.0).sqrt();
        let [(a_low, a_high), (b_low, b_high)] = ends;
        let low = self.difference() - wider * a_high.hypot(b_low);
        let high = self.difference() + wider * a_low.hypot(b_high);
        (low.max(-1.0), high.min(1.0))
    }

    /// How many times the samples that show the difference that was seen is not none, 4 times
    /// of 5; `None` where there was none.
    pub fn more(&self, inflation: f64) -> Option<f64> {
        let z = self.z(inflation).abs();
        (z > 0.0).then(|| (WITH_POWER / z).powi(2)).filter(|times| *times > 1.0)
    }
}

/// How many times the variance of independent samples these rows vary: the median of their squared
/// deviations over what it would be (as in genomic control, Devlin and Roeder 1999). It holds as
/// long as less than half of the rows truly differ; what all rows share, as one function that
/// takes room from all others, is taken out first. `None` of too few rows; never below 1.
pub fn inflation(rows: &[[u64; 2]]) -> Option<f64> {
    let rows: Vec<[f64; 2]> = rows
        .iter()
        .filter(|[a, b]| a.saturating_add(*b) >= ENOUGH)
        .map(|row| row.map(|k| k as f64))
        .collect();
    if rows.len() < FEWEST_ROWS {
        return None;
    }
    let scale = median(rows.iter().map(|[a, b]| ((b + 0.5) / (a + 0.5)).ln()).collect()).exp();
    let squares = rows.iter().map(|[a, b]| {
        // Both sides' counts as the common scale would have them.
        let expected = (a + b) * scale / (1.0 + scale);
        let variance = (a + b) * scale / (1.0 + scale).powi(2);
        (b - expected).powi(2) / variance
    });
    let seen = median(squares.collect()) / MEDIAN_OF_SQUARES;
    // A median of few rows varies, and one that is too small makes false alarms.
    let careful = 1.0 + 2.0 / (rows.len() as f64).sqrt();
    Some(if seen > 1.0 { (seen * careful).max(1.0) } else { 1.0 })
}

/// 0 of nothing.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[middle],
        _ => values[middle - 1].midpoint(values[middle]),
    }
}

/// How likely a deviation of so many standard errors is by chance, either way: the normal
/// distribution's two tails, to 1.2e-7 of the value (Press et al., Numerical Recipes, `erfcc`).
pub fn chance(z: f64) -> f64 {
    const C: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * x);
    let sum = C.iter().rev().fold(0.0, |sum, c| sum * t + c);
    (t * (sum - x * x).exp()).clamp(0.0, 1.0)
}

/// Chances corrected for how many there are (Benjamini and Hochberg 1995): of all rows whose
/// corrected value is below 0.05, no more than 5 % are expected to be false alarms, and where
/// nothing differs there is one in no more than 5 % of all comparisons.
pub fn corrected(chances: &[f64]) -> Vec<f64> {
    let n = chances.len() as f64;
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|i, j| chances[*i].total_cmp(&chances[*j]));
    let mut corrected = vec![1.0; chances.len()];
    let mut least = 1.0f64;
    for (rank, at) in order.iter().enumerate().rev() {
        least = least.min(chances[*at] * n / (rank as f64 + 1.0));
        corrected[*at] = least;
    }
    corrected
}

/// Whether two shares differ by more than independent samples would, at 5 %.
pub fn differs(shares: &Shares) -> bool {
    shares.z(1.0).abs() > Z
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator of its own (splitmix64), so that the numbers stay what they are.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }

        fn unit(&mut self) -> f64 {
            (self.next() >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    const ROWS: usize = 30;

    /// Counts by row of `n` samples that come in bursts of one row each; row r has a share like
    /// 1/(r+1), the first one `more` times that.
    fn stream(random: &mut Random, n: u64, burst: u64, more: f64) -> Vec<u64> {
        let weight = |r: usize| if r == 0 { more } else { 1.0 } / (r as f64 + 1.0);
        let all: f64 = (0..ROWS).map(weight).sum();
        let mut counts = vec![0; ROWS];
        for _ in 0..n / burst {
            let mut at = random.unit() * all;
            let row = (0..ROWS).find(|r| {
                at -= weight(*r);
                at < 0.0
            });
            counts[row.unwrap_or(ROWS - 1)] += burst;
        }
        counts
    }

    fn rows(a: &[u64], b: &[u64]) -> (f64, Vec<Shares>) {
        let n = [a, b].map(|side| side.iter().sum());
        let pairs: Vec<[u64; 2]> = a.iter().zip(b).map(|(a, b)| [*a, *b]).collect();
        let inflation = inflation(&pairs).unwrap_or(1.0);
        (inflation, pairs.into_iter().map(|k| Shares { k, n }).collect())
    }

    fn alarms(a: &[u64], b: &[u64]) -> Vec<bool> {
        let (inflation, rows) = rows(a, b);
        let chances: Vec<f64> = rows.iter().map(|row| chance(row.z(inflation))).collect();
        corrected(&chances).into_iter().map(|chance| chance < 0.05).collect()
    }

    #[test]
    fn tails_are_those_of_the_textbook() {
        for (z, p) in [(0.0, 1.0), (1.0, 0.317_310_5), (1.959_964, 0.05), (5.0, 5.733_031e-7)] {
            assert!((chance(z) - p).abs() <= 1e-6 * p.max(0.1), "{z}: {}", chance(z));
        }
    }

    /// Benjamini and Hochberg's own example (1995, section 3.2): 4 of 15 are rejected at 5 %.
    #[test]
    fn correction_is_that_of_its_paper() {
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        assert_eq!(corrected(&p).into_iter().filter(|q| *q < 0.05).count(), 4);
    }

    /// Two recordings of one thing, with samples one by one and in bursts: an alarm in no more
    /// than one of twenty comparisons, within what 600 of them can show.
    #[test]
    fn equal_streams_raise_no_alarm() {
        for burst in [1, 4, 16] {
            let mut random = Random(17 + burst);
            let wrong = (0..600).filter(|_| {
                let [a, b] = [(), ()].map(|()| stream(&mut random, 8000, burst, 1.0));
                alarms(&a, &b).contains(&true)
            });
            let wrong = wrong.count();
            assert!(wrong <= 45, "bursts of {burst}: {wrong} of 600");
        }
    }

    /// Taken as independent, bursts would make an alarm nearly every time: the estimate is needed.
    #[test]
    fn bursts_taken_as_independent_would_raise_alarms() {
        let mut random = Random(3);
        let wrong = (0..100).filter(|_| {
            let [a, b] = [(), ()].map(|()| stream(&mut random, 8000, 16, 1.0));
            rows(&a, &b).1.iter().any(|row| chance(row.z(1.0)) < 0.05 / ROWS as f64)
        });
        assert!(wrong.count() > 80);
    }

    #[test]
    fn differences_are_found() {
        let mut random = Random(5);
        let found = (0..100).filter(|_| {
            let a = stream(&mut random, 8000, 4, 1.0);
            let b = stream(&mut random, 8000, 4, 2.0);
            alarms(&a, &b)[0]
        });
        assert!(found.count() >= 99);
    }

    /// Coverage of the interval of a difference, with bursts.
    #[test]
    fn intervals_cover_the_true_difference() {
        for burst in [1, 8] {
            let mut random = Random(29 + burst);
            let sum: f64 = (0..ROWS).map(|r| 1.0 / (r as f64 + 1.0)).sum();
            let truly = 1.5 / (sum + 0.5) - 1.0 / sum;
            let covered = (0..500).filter(|_| {
                let a = stream(&mut random, 8000, burst, 1.0);
                let b = stream(&mut random, 8000, burst, 1.5);
                let (inflation, rows) = rows(&a, &b);
                let (low, high) = rows[0].interval(inflation);
                low <= truly && truly <= high
            });
            let covered = covered.count();
            assert!(covered >= 460, "bursts of {burst}: {covered} of 500");
        }
    }

    #[test]
    fn shares_that_do_not_differ_need_more_samples() {
        let shares = Shares { k: [50, 60], n: [1000, 1000] };
        assert!(!differs(&shares));
        let times = shares.more(1.0).unwrap();
        let more = |n: u64| (n as f64 * times).round() as u64;
        let then = Shares { k: shares.k.map(more), n: shares.n.map(more) };
        assert!((then.z(1.0) - 2.8).abs() < 0.05, "{}", then.z(1.0));
        assert_eq!(Shares { k: [5, 5], n: [100, 100] }.more(1.0), None);
        assert_eq!(Shares { k: [0, 0], n: [0, 100] }.z(1.0), 0.0);
    }
}
