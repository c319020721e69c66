//! What the low and the high model make of a run that ends where the likely one does.
//!
//! Each row of a profile has its own cycles less and more. Where the run ends at a time, the sum of
//! them is not the difference of the whole: in the low model the firmware gets further, and what it
//! does then is taken for more of the same.

use strobe_model::Bounds;
use strobe_sim::observe::counts::AddressCount;
use strobe_sim::pace::Drift;

/// How much more of everything the two models get through.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Further {
    low: f64,
    high: f64,
}

impl Further {
    /// Of a run of so many cycles, less and more as the whole `drift` states, whose rows are these.
    pub(super) fn of(cycles: u64, drift: (i64, i64), rows: &[(u32, AddressCount)]) -> Self {
        let (mut low, mut high) = (0, 0);
        for (_, row) in rows {
            (low, high) = (low + row.slack_low, high + row.slack_high);
        }
        let part = |whole: i64, rows: i64| {
            let cycles = i64::try_from(cycles).unwrap_or(i64::MAX);
            let (whole, rows) = (cycles.saturating_add(whole), cycles.saturating_add(rows));
            if whole <= 0 || rows <= 0 { 1.0 } else { whole as f64 / rows as f64 }
        };
        Further { low: part(-drift.0, -low), high: part(drift.1, high) }
    }

    /// Cycles of a part that takes so many less in the low model, and more in the high one.
    pub(super) fn bounds(self, likely: u64, (less, more): (i64, i64)) -> Bounds {
        let (less, more) = self.slack(likely, (less, more));
        let drift = Drift { sooner: less, later: more, ..Drift::default() };
        Drift::between(Drift::default(), drift, likely)
    }

    fn slack(self, likely: u64, (less, more): (i64, i64)) -> (i64, i64) {
        let cycles = i64::try_from(likely).unwrap_or(i64::MAX);
        let scaled = |n: i64, by: f64| if by == 1.0 { n } else { (n as f64 * by).round() as i64 };
        (cycles - scaled(cycles - less, self.low), scaled(cycles + more, self.high) - cycles)
    }

    /// The rows with what these models make of them.
    pub(super) fn apply(self, rows: &mut [(u32, AddressCount)]) {
        for (_, row) in rows {
            let slack = (row.slack_low, row.slack_high);
            (row.slack_low, row.slack_high) = self.slack(row.cycles.total(), slack);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_model::{Cause, CauseCycles};

    fn row(cycles: u64, slack_low: i64, slack_high: i64) -> (u32, AddressCount) {
        let cycles = CauseCycles::of(Cause::Execute, cycles);
        (0, AddressCount { cycles, slack_low, slack_high, ..AddressCount::default() })
    }

    #[test]
    fn run_to_a_place_keeps_bounds_of_its_rows() {
        let rows = [row(600, 100, 200), row(400, 0, 0)];
        let further = Further::of(1000, (100, 200), &rows);
        assert_eq!(further.bounds(600, (100, 200)), Bounds { low: 500, likely: 600, high: 800 });
        assert_eq!(further.bounds(400, (0, 0)), Bounds::exact(400));
    }

    #[test]
    fn run_to_a_time_has_equal_length_in_models() {
        let mut rows = [row(600, 100, 200), row(400, 0, 0)];
        Further::of(1000, (0, 0), &rows).apply(&mut rows);
        let bounds = rows.map(|(_, row)| row.bounds());
        // 500 of 900 and 800 of 1,200, each of 1,000.
        assert_eq!(bounds[0], Bounds { low: 556, likely: 600, high: 667 });
        assert_eq!(bounds[1], Bounds { low: 333, likely: 400, high: 444 });
    }
}
