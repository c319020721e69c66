//! Handlers that run in step with the sampling.
//!
//! Samples are taken at multiples of 64 cycles. What comes back each so many multiples of them is
//! met in the same places each time, so its samples do not show how long it takes. Exception
//! trace shows how long handlers take without any sample, so where the two disagree by more than
//! chance allows, that is why.

use crate::traced::totals::{Traced, TracedException};
use strobe_model::measurement::Finding;

/// Entries that must be known to the tick.
const FEWEST: u64 = 20;

/// Standard deviations, of independent samples, from which on it is not chance.
const DEVIATIONS: f64 = 5.0;

/// Names the handlers that have far more or fewer samples than their times allow. Times are in core
/// cycles.
pub(super) fn warnings(traced: &Traced) -> Vec<Finding> {
    let (times, sampling) = (&traced.times, &traced.sampling);
    // Where packets are lost, or sampling is off, samples and exceptions are not lost alike.
    let usable = times.tick_cycles.is_some()
        && sampling.pauses.is_empty()
        && traced.stream.overflows + traced.stream.packets_in_doubt == 0;
    let Some(period) = sampling.period_cycles.filter(|_| usable && sampling.taken > 0) else {
        return Vec::new();
    };
    let all = traced.exceptions.iter();
    all.filter_map(|exception| warning(exception, period)).collect()
}

fn warning(exception: &TracedException, period: u64) -> Option<Finding> {
    let TracedException { name, entered, timed, own, samples, .. } = exception;
    if *timed < FEWEST || timed * 2 < *entered {
        return None;
    }
    let cycles = *own as f64 / *timed as f64 * *entered as f64;
    let due = cycles / period as f64;
    if (*samples as f64 - due).abs() <= DEVIATIONS * (due.sqrt() + 1.0) {
        return None;
    }
    let text = format!(
        "{name} has {samples} samples where {due:.0} are due by its times from entry to end: it \
         runs in step with the sampling each {period} cycles, \
         and so may other code; a period that has no factor in common with theirs shows which"
    );
    Some(Finding::warning("samples-in-step", text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(samples: u64, timed: u64) -> Option<Finding> {
        let name = "SysTick".to_owned();
        let own = timed * 100;
        warning(
            &TracedException { name, entered: 1000, timed, own, samples, ..Default::default() },
            1000,
        )
    }

    #[test]
    fn possible_chance_is_not_a_warning() {
        // 1000 times 100 cycles, a sample each 1000 cycles: 100 are due.
        for samples in [50, 100, 150] {
            assert_eq!(with(samples, 1000), None, "{samples}");
        }
        assert_eq!(with(0, 499), None, "too few are timed");
    }

    #[test]
    fn none_and_ten_times_as_many_are_warnings() {
        for samples in [0, 40, 160, 1000] {
            let warning = with(samples, 900).map(|warning| warning.text);
            let text = warning.unwrap_or_else(|| panic!("{samples} samples"));
            assert!(
                text.starts_with(&format!("SysTick has {samples} samples where 100 are due")),
                "{text}"
            );
        }
    }
}
