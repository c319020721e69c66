//! Statistics of every command that judges samples: values in, intervals and verdicts out.
//!
//! [`wilson`] bounds a share that was counted on samples, [`counts`] finds whether two such shares
//! differ, [`repeated`] whether two sets of runs do, [`bytes`] estimates from sampled blocks.
//! [`Paired`] compares two ways that were measured in pairs, [`sequential`] decides with it after
//! each look without raising more false alarms than one look would. [`change`] finds warm-ups and
//! levels, [`steps`] the first build of each level in a history, [`autocorrelation`] samples that
//! depend on each other; [`crossover`] and [`growth`] read sweeps. Everything that draws lots does
//! so from a seed: the same samples give the same answer.

pub mod autocorrelation;
pub mod bytes;
pub mod change;
pub mod counts;
pub mod crossover;
mod generator;
pub mod growth;
mod normal;
mod paired;
mod proportion;
pub mod ranks;
pub mod repeated;
pub mod sequential;
mod sign;
pub mod steps;

pub use generator::Random;
pub use paired::{Interval, Paired};
pub use proportion::wilson;
pub use sign::{median_ranks, sign_test};

/// The middle value, or the mean of the two in the middle; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// A quantile by linear interpolation between the values (Hyndman and Fan's type 7, which R, NumPy
/// and spreadsheets use); `None` without values. `part` runs from 0 to 1.
pub fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    of_sorted(&sorted, part)
}

fn of_sorted(sorted: &[f64], part: f64) -> Option<f64> {
    let at = part.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let below = at.floor() as usize;
    let low = *sorted.get(below)?;
    let high = sorted.get(below + 1).copied().unwrap_or(low);
    Some(low + (high - low) * (at - below as f64))
}

/// The median distance from the median, times 1.4826: the standard deviation of normal samples,
/// and hardly moved by outliers.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    median(&distances).map(|distance| distance * 1.482_602_218_505_602)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_type_seven() {
        let values = [7.0, 1.0, 3.0, 5.0];
        assert_eq!(median(&values), Some(4.0));
        assert_eq!(quantile(&values, 0.25), Some(2.5));
        assert_eq!((quantile(&values, 0.0), quantile(&values, 1.0)), (Some(1.0), Some(7.0)));
        assert_eq!(median(&[]), None);
        assert_eq!(deviation(&[1.0, 1.0, 1.0, 9.0]), Some(0.0));
    }
}
