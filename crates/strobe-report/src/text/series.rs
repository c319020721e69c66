//! Distributions: pulse widths on pins, times between marks.

use std::io::{self, Write};

use strobe_model::{Record, Series};

use super::layout::{heading, item};
use crate::Options;
use crate::number::{grouped, time};
use crate::paint::Paint;
use crate::table::{Cell, Table};

/// The table, if there are any.
pub(super) fn table(record: &Record, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    if record.series.is_empty() {
        return Ok(());
    }
    heading("pins and marks", options, out)?;
    let mut table = Table::new()
        .number("n")
        .number("min")
        .number("mean")
        .number("median")
        .number("p99")
        .number("max")
        .text("unit")
        .text("what");
    for series in &record.series {
        rows(series, clock(record, series), &mut table);
    }
    table.write(options.style, out)?;
    for series in record.series.iter().filter(|s| s.count > s.values.len() as u64) {
        let text = format!(
            "{}: figures are of the first {} of {} values; the others were not kept",
            series.name,
            grouped(series.values.len() as u64),
            grouped(series.count)
        );
        item("! ", &text, Paint::Warn, options, out)?;
    }
    Ok(())
}

/// The core clock, if it was the same for all values.
fn clock(record: &Record, series: &Series) -> Option<u32> {
    let last = record.subject.clock.last()?;
    (last.cycle <= series.since_cycle).then_some(last.hz)
}

fn rows(series: &Series, clock: Option<u32>, table: &mut Table) {
    let count = grouped(series.count);
    let Some(likely) = Statistics::of(&series.values) else {
        let mut cells: Vec<Cell> = vec![count.into()];
        cells.extend(std::iter::repeat_n("-", 5).map(Cell::from));
        cells.extend([series.unit.as_str().into(), series.name.as_str().into()]);
        table.row(cells);
        return;
    };
    let modelled = series.bounds.len() == series.values.len()
        && series.bounds.iter().zip(&series.values).any(|(b, v)| b.0 != *v || b.1 != *v);
    let sign = if modelled { "~" } else { "" };
    // No figure is larger than the largest value.
    let whole = |(sum, n)| grouped(u64::try_from(rounded(sum, n)).unwrap_or(u64::MAX));
    let figures = |s: &Statistics, sign: &str| s.figures().map(|f| format!("{sign}{}", whole(f)));
    let line = |first: &str, figures: [String; 5], unit: &str, name: &str| {
        let mut cells: Vec<Cell> = vec![first.into()];
        cells.extend(figures.map(Cell::from));
        cells.extend([unit.into(), name.into()]);
        cells
    };
    table.row(line(&count, figures(&likely, sign), &series.unit, &series.name));
    if modelled {
        let side = |pick: fn(&(u64, u64)) -> u64| {
            Statistics::of(&series.bounds.iter().map(pick).collect::<Vec<_>>())
        };
        for (what, statistics) in [("at least", side(|b| b.0)), ("at most", side(|b| b.1))] {
            let Some(statistics) = statistics else { continue };
            let figures = figures(&statistics, "");
            table.painted(line("", figures, &series.unit, &format!("  {what}")), Paint::Faint);
        }
    }
    if series.unit == "cycles"
        && let Some(hz) = clock.filter(|hz| *hz > 0)
    {
        // A mean of a few cycles would be far off if it were rounded before it becomes a time.
        let time = |(sum, n): (u128, u128)| {
            let nanoseconds = rounded(sum.saturating_mul(1_000_000_000), n * u128::from(hz));
            format!("{sign}{}", time(nanoseconds))
        };
        table.painted(line("", likely.figures().map(time), "", "  as time"), Paint::Faint);
    }
}

/// Smallest, median, 99th percentile (nearest rank) and largest, and what the mean is worked out
/// from.
#[derive(Debug, PartialEq, Eq)]
struct Statistics {
    min: u64,
    sum: u128,
    count: u128,
    median: u64,
    p99: u64,
    max: u64,
}

impl Statistics {
    fn of(values: &[u64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let rank = |percent: usize| sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1];
        Some(Statistics {
            min,
            sum: sorted.iter().map(|v| u128::from(*v)).sum(),
            count: sorted.len() as u128,
            median: rank(50),
            p99: rank(99),
            max,
        })
    }

    /// In the order of the columns, each a sum of so many values.
    fn figures(&self) -> [(u128, u128); 5] {
        let one = |n: u64| (u128::from(n), 1);
        [one(self.min), (self.sum, self.count), one(self.median), one(self.p99), one(self.max)]
    }
}

/// A quotient to the nearest whole.
fn rounded(sum: u128, n: u128) -> u128 {
    let n = n.max(1);
    sum.saturating_add(n / 2) / n
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values: Vec<u64> = (1..=200).rev().collect();
        let figures = |values: &[u64]| {
            Statistics::of(values).unwrap().figures().map(|(sum, n)| rounded(sum, n) as u64)
        };
        assert_eq!(figures(&values), [1, 101, 100, 198, 200]);
        assert_eq!(figures(&[7]), [7; 5]);
        assert_eq!(figures(&[u64::MAX; 3]), [u64::MAX; 5]);
        assert!(Statistics::of(&[]).is_none());
    }

    /// 51.5 cycles of 16 MHz are 3.219 us; the rounded mean, 52 cycles, would be 3.250 us.
    #[test]
    fn a_mean_becomes_a_time_before_it_is_rounded() {
        let mut record = samples::exact();
        record.subject.clock = vec![strobe_model::ClockSpan { cycle: 0, hz: 16_000_000 }];
        record.series = vec![Series {
            name: "PB8 high".into(),
            unit: "cycles".into(),
            values: vec![51, 51, 51, 53],
            bounds: Vec::new(),
            count: 4,
            since_cycle: 0,
        }];
        let mut out = Vec::new();
        table(&record, &Options::default(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("3.219 us") && !text.contains("3.250 us"), "{text}");
    }
}
