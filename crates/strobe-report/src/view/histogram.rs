//! Histograms of distributions, drawn on request: how often values lie in each of some stretches.

use std::io::{self, Write};

use strobe_model::measurement::{Distribution, Distributions, Number, Spread};

use super::figure::number;
use super::{Page, View};
use crate::number::{counted, grouped, share};
use crate::paint::Paint;
use crate::table::Table;
use crate::text::layout::heading;

/// Columns of the longest bar.
const BAR: u64 = 40;
/// No more stretches than this.
const MOST: u64 = 25;

/// One histogram for each distribution of a section.
pub(super) struct Histograms<'a> {
    pub(super) all: &'a Distributions,
}

impl View for Histograms<'_> {
    fn write(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        let mut all = self.all.distributions.iter().filter(|d| d.spread.count() > 0);
        all.try_for_each(|distribution| {
            let times = counted(distribution.spread.count(), "value");
            let title = format!("histogram of {}: {times}", distribution.name);
            heading(&title, page.options, out)?;
            bars(distribution).write(page.options.style, out)
        })
    }
}

fn bars(distribution: &Distribution) -> Table {
    let Distribution { spread, unit, resolution, .. } = distribution;
    let (first, width, counts) = bins(spread, resolution.unwrap_or(1));
    let mut table = Table::new().number("from").number("to").number("n").number("share").text("");
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let mut skipped = false;
    for (n, count) in counts.iter().enumerate() {
        let around = &counts[n.saturating_sub(1)..(n + 2).min(counts.len())];
        if around.iter().all(|count| *count == 0) {
            if !std::mem::replace(&mut skipped, true) {
                table.across("  ...", Paint::Faint);
            }
            continue;
        }
        skipped = false;
        let from = first.saturating_add(width.saturating_mul(n as u64));
        let at = |value: u64| number(Number::from(value), unit);
        // A single value is seen too.
        let bar = (u128::from(*count) * u128::from(BAR)).div_ceil(most.into()) as usize;
        table.row(vec![
            at(from).into(),
            at(from.saturating_add(width)).into(),
            grouped(*count).into(),
            share(*count, spread.count()).into(),
            "#".repeat(bar).into(),
        ]);
    }
    table
}

/// Where the first stretch begins, how wide each is, and how many values are in it. Widths are 1, 2
/// or 5 times a power of ten of the resolution.
fn bins(spread: &Spread, resolution: u64) -> (u64, u64, Vec<u64>) {
    let (min, max) = (spread.min().unwrap_or(0), spread.max().unwrap_or(0));
    let steps = [2u64, 5, 10];
    let (mut scale, mut width) = (resolution.max(1), resolution.max(1));
    let mut step = 0;
    while max / width - min / width >= MOST {
        width = scale.saturating_mul(steps[step]);
        if steps[step] == 10 {
            scale = width;
        }
        step = (step + 1) % steps.len();
    }
    let first = min / width;
    let mut counts = vec![0u64; (max / width - first + 1) as usize];
    for (value, times) in spread.buckets() {
        // A coarse bucket is known by its lower end, which may lie below the smallest value.
        let at = (value.max(min) / width - first) as usize;
        counts[at] = counts[at].saturating_add(times);
    }
    (first.saturating_mul(width), width, counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stretches_are_round_and_hold_every_value() {
        let spread: Spread = [104, 105, 105, 1667].into_iter().collect();
        let (first, width, counts) = bins(&spread, 1);
        assert_eq!((first, width, counts.len()), (100, 100, 16));
        assert_eq!((counts[0], counts[15]), (3, 1));
        let (first, width, counts) = bins(&[7].into_iter().collect(), 4);
        assert_eq!((first, width, counts), (4, 4, vec![1]));
    }

    proptest! {
        #[test]
        fn no_value_is_left_out(
            values in proptest::collection::vec(any::<u64>(), 1..50),
            resolution in any::<u64>(),
        ) {
            let spread: Spread = values.iter().copied().collect();
            let (_, _, counts) = bins(&spread, resolution);
            prop_assert!(counts.len() as u64 <= MOST);
            prop_assert_eq!(counts.iter().sum::<u64>(), values.len() as u64);
        }
    }
}
