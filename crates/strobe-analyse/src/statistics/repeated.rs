//! Whether a figure differs between two sets of runs: Welch's test, its interval, and what a set
//! of equal runs means.

/// What repeated runs of one side measured of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Runs {
    /// How many.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// Variance of a sample; 0 of a single run.
    pub variance: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Runs {
    /// Nothing of no runs.
    pub fn of(values: &[f64]) -> Option<Runs> {
        let n = values.len();
        let (first, rest) = values.split_first()?;
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let (min, max) = rest.iter().fold((*first, *first), |(a, b), x| (a.min(*x), b.max(*x)));
        let variance = if min == max { 0.0 } else { squares / (n as f64 - 1.0).max(1.0) };
        Some(Runs { n, mean, variance, min, max })
    }
}

/// The difference of two sets' means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Mean of B without that of A.
    pub mean: f64,
    /// The 95 % interval of it.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// How likely one as large is by chance; 0 where no run of either set varied and they differ.
    pub chance: f64,
}

/// Welch's test of two means (1947), which takes no variance for the other's. `None` where nothing
/// shows how much a side varies: it has a single run and the runs of the other one are not all
/// alike, or both have a single one.
pub fn welch(a: &Runs, b: &Runs) -> Option<Difference> {
    let mean = b.mean - a.mean;
    let errors = [a, b].map(|side| side.variance / side.n as f64);
    let error: f64 = errors.iter().sum();
    if a.n < 2 || b.n < 2 {
        return None;
    }
    if error == 0.0 {
        let chance = if mean == 0.0 { 1.0 } else { 0.0 };
        return Some(Difference { mean, low: mean, high: mean, chance });
    }
    let freedom = error.powi(2)
        / (errors[0].powi(2) / (a.n as f64 - 1.0) + errors[1].powi(2) / (b.n as f64 - 1.0));
    let half = quantile(freedom) * error.sqrt();
    let chance = tails(mean / error.sqrt(), freedom);
    Some(Difference { mean, low: mean - half, high: mean + half, chance })
}

/// Both tails of Student's distribution beyond `t`.
fn tails(t: f64, freedom: f64) -> f64 {
    beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// What leaves 5 % in both tails together, by bisection.
fn quantile(freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e3);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if tails(middle, freedom) > 0.05 { low = middle } else { high = middle }
    }
    high
}

/// The regularised incomplete beta function, by its continued fraction (Press et al., Numerical
/// Recipes, 6.4).
fn beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front =
        (log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    let whole = if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    };
    whole.clamp(0.0, 1.0)
}

fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const SMALL: f64 = 1e-300;
    let held = |value: f64| if value.abs() < SMALL { SMALL } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / held(1.0 - (a + b) * x / (a + 1.0));
    let mut all = d;
    for m in 1..300 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for term in [even, odd] {
            d = 1.0 / held(1.0 + term * d);
            c = held(1.0 + term / c);
            step = c * d;
            all *= step;
        }
        if (step - 1.0).abs() < 1e-12 {
            break;
        }
    }
    all
}

/// Lanczos' approximation, good to 1e-10 for what is above 0.
fn log_gamma(x: f64) -> f64 {
    const C: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        0.001_208_650_973_866_179,
        -0.000_005_395_239_384_953,
    ];
    let base = x + 5.5;
    let terms = C.iter().zip(1..).map(|(c, n)| c / (x + f64::from(n)));
    let sum: f64 = 1.000_000_000_190_015 + terms.sum::<f64>();
    (x + 0.5) * base.ln() - base + (2.506_628_274_631_000_5 * sum / x).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_textbook() {
        for (freedom, t) in [(1.0, 12.706), (2.0, 4.303), (5.0, 2.571), (10.0, 2.228), (1e6, 1.960)]
        {
            assert!((quantile(freedom) - t).abs() < 0.001, "{freedom}: {}", quantile(freedom));
        }
    }

    #[test]
    fn equal_runs_are_exact_and_single_ones_say_nothing() {
        let of = |values: &[f64]| Runs::of(values).unwrap();
        let same = welch(&of(&[5.0, 5.0]), &of(&[7.0, 7.0])).unwrap();
        assert_eq!((same.mean, same.low, same.high, same.chance), (2.0, 2.0, 2.0, 0.0));
        assert_eq!(welch(&of(&[5.0, 5.0]), &of(&[5.0, 5.0])).unwrap().chance, 1.0);
        assert_eq!(welch(&of(&[5.0]), &of(&[7.0, 7.0])), None);
        assert_eq!(Runs::of(&[]), None);
    }

    /// False alarms and coverage over fixed seeds: values that vary evenly, four runs a side.
    #[test]
    fn intervals_cover_and_alarms_are_rare_as_claimed() {
        let mut seed = 7u64;
        let mut value = |around: f64| {
            // A sum of four uniform numbers is nearly normal.
            let mut uniform = || {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (seed >> 11) as f64 / (1u64 << 53) as f64
            };
            around + uniform() + uniform() + uniform() + uniform() - 2.0
        };
        let (mut covered, mut alarms) = (0, 0);
        for _ in 0..2000 {
            let a: Vec<f64> = (0..4).map(|_| value(10.0)).collect();
            let b: Vec<f64> = (0..4).map(|_| value(10.5)).collect();
            let again: Vec<f64> = (0..4).map(|_| value(10.0)).collect();
            let [a, b, again] = [a, b, again].map(|values| Runs::of(&values).unwrap());
            let found = welch(&a, &b).unwrap();
            covered += usize::from(found.low <= 0.5 && 0.5 <= found.high);
            alarms += usize::from(welch(&a, &again).unwrap().chance < 0.05);
        }
        assert!((1880..=1945).contains(&covered), "{covered} of 2000");
        assert!((55..=120).contains(&alarms), "{alarms} of 2000");
    }
}
