//! How a cost grows with the size of its input.

/// Forms of growth, the slowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Growth {
    /// It does not.
    Constant,
    /// With the logarithm.
    Logarithmic,
    /// In proportion.
    Linear,
    /// With n log n, as sorting.
    Linearithmic,
    /// With the square.
    Quadratic,
}

impl Growth {
    /// All of them, the slowest first.
    pub const ALL: [Growth; 5] = [
        Growth::Constant,
        Growth::Logarithmic,
        Growth::Linear,
        Growth::Linearithmic,
        Growth::Quadratic,
    ];

    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Growth::Constant => "constant",
            Growth::Logarithmic => "log n",
            Growth::Linear => "n",
            Growth::Linearithmic => "n log n",
            Growth::Quadratic => "n^2",
        }
    }

    /// As a word, where there is a usual one.
    pub fn title(self) -> &'static str {
        match self {
            Growth::Constant => "constant",
            Growth::Logarithmic => "logarithmic",
            Growth::Linear => "linear",
            Growth::Linearithmic => "n log n",
            Growth::Quadratic => "quadratic",
        }
    }

    fn of(self, n: f64) -> f64 {
        match self {
            Growth::Constant => 0.0,
            Growth::Logarithmic => n.ln(),
            Growth::Linear => n,
            Growth::Linearithmic => n * n.ln(),
            Growth::Quadratic => n * n,
        }
    }
}

/// A cost of `offset + slope * form(n)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// The form.
    pub form: Growth,
    /// What it costs at once.
    pub offset: f64,
    /// What each unit of the form costs more; 0 for constant growth.
    pub slope: f64,
    /// The root of the mean squared relative error, as 0.05 for 5 %.
    pub error: f64,
}

/// Fits one form by least squares of relative errors, so that small sizes count as much as large
/// ones. `None` without two sizes (one for constant growth), or where sizes or costs are not
/// positive.
pub fn fit(form: Growth, points: &[(f64, f64)]) -> Option<Fit> {
    let positive = |(n, cost): &(f64, f64)| *n >= 1.0 && *cost > 0.0 && cost.is_finite();
    if points.is_empty() || !points.iter().all(positive) {
        return None;
    }
    // Dividing by the cost makes every equation read 1 = offset / cost + slope * form / cost.
    let (mut aa, mut ab, mut bb, mut a1, mut b1) = (0.0, 0.0, 0.0, 0.0, 0.0);
    let scale = points.iter().map(|(n, _)| form.of(*n)).fold(1.0, f64::max);
    for (n, cost) in points {
        let (a, b) = (1.0 / cost, form.of(*n) / scale / cost);
        aa += a * a;
        ab += a * b;
        bb += b * b;
        a1 += a;
        b1 += b;
    }
    let (offset, slope) = if form == Growth::Constant {
        (a1 / aa, 0.0)
    } else {
        let divisor = aa * bb - ab * ab;
        if divisor <= 1e-12 * aa * bb {
            return None;
        }
        ((a1 * bb - b1 * ab) / divisor, (b1 * aa - a1 * ab) / divisor / scale)
    };
    let squares = points.iter().map(|(n, cost)| {
        let predicted = offset + slope * form.of(*n);
        (predicted / cost - 1.0).powi(2)
    });
    let error = (squares.sum::<f64>() / points.len() as f64).sqrt();
    Some(Fit { form, offset, slope, error })
}

/// The form that fits best. A cost that falls, or rises by less than 5 % or four times the error
/// over the whole sweep, fits none but constant growth, and a further parameter must pay for itself
/// by the Schwarz criterion. `None` with fewer than four sizes or
/// less than a factor of eight between them: more than one form fits those.
pub fn growth(points: &[(f64, f64)]) -> Option<Fit> {
    let mut sizes: Vec<f64> = points.iter().map(|(n, _)| *n).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let (first, last) = (sizes.first()?, sizes.last()?);
    if sizes.len() < 4 || last / first < 8.0 {
        return None;
    }
    let count = points.len() as f64;
    let score = |fit: &Fit| {
        let parameters = if fit.form == Growth::Constant { 1.0 } else { 2.0 };
        count * fit.error.max(1e-9).powi(2).ln() + parameters * count.ln()
    };
    let fits = Growth::ALL.into_iter().filter_map(|form| fit(form, points));
    let rises = |fit: &Fit| {
        let at = |n: f64| fit.offset + fit.slope * fit.form.of(n);
        at(*last) >= at(*first) * (1.0 + (4.0 * fit.error).max(0.05))
    };
    fits.filter(|fit| fit.form == Growth::Constant || rises(fit))
        .min_by(|a, b| score(a).total_cmp(&score(b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Random;

    #[test]
    fn each_form_is_recognised() {
        let mut random = Random::new(8);
        for form in Growth::ALL {
            let cost = |n: &f64| (*n, (50.0 + 3.0 * form.of(*n)) * (1.0 + 0.01 * random.unit()));
            let sizes = [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0];
            let points: Vec<(f64, f64)> = sizes.iter().map(cost).collect();
            let fit = growth(&points).unwrap();
            assert_eq!(fit.form, form);
            assert!((fit.offset / 50.0 - 1.0).abs() < 0.05, "{fit:?}");
        }
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(growth(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 4.0)]), None);
        assert_eq!(growth(&[]), None);
        assert_eq!(fit(Growth::Linear, &[(2.0, 0.0)]), None);
        assert_eq!(fit(Growth::Linear, &[(2.0, 3.0), (2.0, 4.0)]), None);
    }
}
