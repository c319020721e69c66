//! Distributions: pulse widths on pins, times between marks.

use std::io::{self, Write};

use strobe_model::{Record, Series};

use super::layout::{heading, item};
use crate::Options;
use crate::number::{cycles_to_time, grouped};
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
    let figures = |s: &Statistics, sign: &str| s.0.map(|n| format!("{sign}{}", grouped(n)));
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
        let time = |n| format!("{sign}{}", cycles_to_time(n, hz).unwrap_or_default());
        table.painted(line("", likely.0.map(time), "", "  as time"), Paint::Faint);
    }
}

/// Smallest, mean, median, 99th percentile (nearest rank) and largest.
struct Statistics([u64; 5]);

impl Statistics {
    fn of(values: &[u64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let n = sorted.len() as u128;
        let sum: u128 = sorted.iter().map(|v| u128::from(*v)).sum();
        // The mean lies between min and max, so it fits.
        let mean = u64::try_from((sum + n / 2) / n).unwrap_or(max);
        let rank = |percent: usize| sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1];
        Some(Statistics([min, mean, rank(50), rank(99), max]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values: Vec<u64> = (1..=200).rev().collect();
        assert_eq!(Statistics::of(&values).unwrap().0, [1, 101, 100, 198, 200]);
        assert_eq!(Statistics::of(&[7]).unwrap().0, [7; 5]);
        assert_eq!(Statistics::of(&[u64::MAX; 3]).unwrap().0, [u64::MAX; 5]);
        assert!(Statistics::of(&[]).is_none());
    }
}
