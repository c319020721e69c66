//! Whether samples depend on those before them: intervals take independent ones for granted.

/// How samples go with those `lag` places before: 1 alike, 0 unrelated, -1 opposite. The usual
/// estimate, whose divisor is the number of samples. 0 where nothing varies.
pub fn at(samples: &[f64], lag: usize) -> f64 {
    let mean = samples.iter().sum::<f64>() / samples.len().max(1) as f64;
    let whole: f64 = samples.iter().map(|x| (x - mean).powi(2)).sum();
    let later = samples.get(lag..).unwrap_or_default();
    let shared: f64 = later.iter().zip(samples).map(|(a, b)| (a - mean) * (b - mean)).sum();
    if whole > 0.0 { shared / whole } else { 0.0 }
}

/// Whether neighbours go together by more than chance explains in 1 of 100 (one-sided; the
/// estimate of independent samples has mean -1/n and deviation nearly 1/sqrt(n)).
pub fn is_dependent(samples: &[f64]) -> bool {
    let n = samples.len() as f64;
    samples.len() >= 8 && at(samples, 1) > 2.326 / n.sqrt() - 1.0 / n
}

/// How many neighbours to put together so that the groups' means do not depend on each other; 1
/// where samples do not. Groups double as long as at least eight are left.
pub fn group(samples: &[f64]) -> usize {
    let mut size = 1;
    let mut groups = samples.to_vec();
    while is_dependent(&groups) && groups.len() >= 16 {
        size *= 2;
        groups = grouped(samples, size);
    }
    size
}

/// Means of so many neighbours each. What is left over at the start is left out: the end is
/// further from any warm-up.
pub fn grouped(samples: &[f64], size: usize) -> Vec<f64> {
    let size = size.max(1);
    let whole = samples.get(samples.len() % size..).unwrap_or_default();
    whole.chunks_exact(size).map(|group| group.iter().sum::<f64>() / size as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Random;

    #[test]
    fn dependent_samples_are_put_together() {
        let mut random = Random::new(3);
        let free: Vec<f64> = (0..200).map(|_| random.unit()).collect();
        assert_eq!(group(&free), 1);
        let mut last = 0.0;
        let mut follow = |_| {
            last = 0.8 * last + random.unit() - 0.5;
            last
        };
        let bound: Vec<f64> = (0..200).map(&mut follow).collect();
        assert!(group(&bound) >= 4, "{}", group(&bound));
        assert_eq!(grouped(&[9.0, 1.0, 3.0, 5.0, 7.0], 2), [2.0, 6.0]);
        assert_eq!(at(&[], 1), 0.0);
        assert_eq!(group(&[1.0; 50]), 1);
    }
}
