//! The normal distribution: its probabilities.

/// The probability of a value up to `z`.
pub fn cumulative(z: f64) -> f64 {
    let tail = tail(z.abs());
    if z > 0.0 { 1.0 - tail } else { tail }
}

/// The probability of a value above `z`, which is not negative: a power series near the middle,
/// a continued fraction (Abramowitz and Stegun 26.2.14) further out.
fn tail(z: f64) -> f64 {
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z < 3.0 {
        let (mut term, mut sum, mut n) = (z, z, 1.0);
        while term > sum * 1e-17 && term > 0.0 {
            n += 2.0;
            term *= z * z / n;
            sum += term;
        }
        return 0.5 - density * sum;
    }
    let fraction = (1..60).rev().fold(z, |below, n| z + f64::from(n) / below);
    density / fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Abramowitz and Stegun, table 26.1.
    #[test]
    fn probabilities_are_those_of_the_table() {
        let table = [(0.0, 0.5), (1.0, 0.841_344_746_068_543), (2.5, 0.993_790_334_674_224)];
        for (z, p) in table {
            assert!((cumulative(z) - p).abs() < 1e-13, "{z}");
            assert!((cumulative(-z) - (1.0 - p)).abs() < 1e-13, "-{z}");
        }
        assert!((cumulative(-4.0) / 3.167_124_183_311_992e-5 - 1.0).abs() < 1e-9);
    }
}
