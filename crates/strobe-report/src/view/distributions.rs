//! Distributions: how often, the least, the mean, percentiles, the most; bounds and times beneath.

use std::io::{self, Write};

use strobe_model::measurement::{Distribution, Distributions, Number, Section, Spread};

use super::figure::{number, unit_name};
use super::text::notes;
use super::{Page, View};
use crate::number::{grouped, picoseconds};
use crate::paint::Paint;
use crate::table::{Cell, Table};
use crate::text::layout::{heading, item};

/// The section.
pub(super) struct Spreads<'a> {
    pub(super) section: &'a Section,
    pub(super) all: &'a Distributions,
}

impl View for Spreads<'_> {
    fn write(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        let all = &self.all.distributions;
        if all.is_empty() {
            return Ok(());
        }
        heading(&self.section.title, page.options, out)?;
        let mut table = Table::new().narrowing().number("n").number("min").number("mean");
        table = table.number("median").number("p90").optional(2).number("p99").number("max");
        table = table.number("dev.").optional(1).text("unit").text("what");
        all.iter().for_each(|distribution| rows(distribution, &mut table));
        table.write(page.options.style, out)?;
        if all.iter().any(|distribution| distribution.spread.is_coarse()) {
            let text =
                "of more than 1,024 different values, median, p90 and p99 are low by up to 0.8 %";
            item("", text, Paint::Faint, page.options, out)?;
        }
        notes(self.section, page, out)
    }
}

fn rows(distribution: &Distribution, table: &mut Table) {
    let Distribution { name, unit, spread, low, high, why, hertz, .. } = distribution;
    let unit_text = unit_name(unit).unwrap_or_default();
    let line = |first: &str, figures: [String; 7], unit: &str, name: &str| {
        let mut cells: Vec<Cell> = vec![first.into()];
        cells.extend(figures.map(Cell::from));
        cells.extend([unit.into(), name.into()]);
        cells
    };
    let count = grouped(spread.count());
    let Some(likely) = statistics(spread) else {
        table.row(line(&count, std::array::from_fn(|_| "-".to_owned()), &unit_text, name));
        return;
    };
    let bounds = low.as_ref().zip(high.as_ref()).filter(|(low, high)| low != high);
    // A reason without bounds: nobody knows them.
    let unbounded = why.is_some() && low.is_none();
    let sign = if bounds.is_some() || unbounded { "~" } else { "" };
    let figures = |all: [Number; 7], sign: &str| all.map(|n| format!("{sign}{}", number(n, unit)));
    table.row(line(&count, figures(likely, sign), &unit_text, name));
    if let Some((low, high)) = bounds {
        for (what, spread) in [("at least", low), ("at most", high)] {
            let Some(all) = statistics(spread) else { continue };
            let cells = line("", figures(all, ""), &unit_text, &format!("  {what}"));
            table.painted(cells, Paint::Faint);
        }
    }
    if let Some(hz) = hertz.filter(|hz| *hz > 0) {
        let times = likely.map(|ticks| format!("{sign}{}", time(ticks, hz)));
        table.painted(line("", times, "", "  as time"), Paint::Faint);
    }
}

/// Smallest, mean, median, 90th and 99th percentile, largest, and the sample standard deviation;
/// the mean as it is, not rounded.
fn statistics(spread: &Spread) -> Option<[Number; 7]> {
    let (sum, count) = (spread.sum(), spread.count());
    let mean = if count > 0 && sum.is_multiple_of(count) {
        Number::from(sum / count)
    } else {
        Number::from(spread.mean()?)
    };
    let [median, p90, p99] = [0.5, 0.9, 0.99].map(|part| spread.quantile(part));
    let deviation = Number::Real(spread.deviation()?);
    let (min, max) = (spread.min()?.into(), spread.max()?.into());
    Some([min, mean, median?.into(), p90?.into(), p99?.into(), max, deviation])
}

/// How long ticks take at so many in a second.
fn time(ticks: Number, hz: u64) -> String {
    match ticks {
        Number::Integer(n) => {
            let ps = u128::from(n.unsigned_abs()) * 1_000_000_000_000 + u128::from(hz) / 2;
            picoseconds(u64::try_from(ps / u128::from(hz)).unwrap_or(u64::MAX))
        }
        Number::Real(x) => picoseconds((x * 1e12 / hz as f64).round().max(0.0) as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of pulses of 25 and 26 cycles at 8 MHz: the mean of 25.5 cycles is 3.188 us and not 3.250
    /// us.
    #[test]
    fn means_become_time_before_they_are_rounded() {
        let spread: Spread = [25, 26].into_iter().collect();
        let [min, mean, ..] = statistics(&spread).unwrap();
        assert_eq!(time(mean, 8_000_000), "3.188 us");
        assert_eq!(time(min, 8_000_000), "3.125 us");
        assert_eq!(time(u64::MAX.into(), 1), "18,446,744 s");
    }
}
