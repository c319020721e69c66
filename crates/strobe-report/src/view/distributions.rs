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
    let ends = bounds.and_then(|(low, high)| Some([statistics(low)?, statistics(high)?]));
    let sign =
        |at: usize| if unbounded || is_open(likely[at], at, ends.as_ref()) { "~" } else { "" };
    let signed = |of: &dyn Fn(Number) -> String| -> [String; 7] {
        std::array::from_fn(|at| format!("{}{}", sign(at), of(likely[at])))
    };
    let figure = |n: Number| number(n, unit);
    table.row(line(&count, signed(&figure), &unit_text, name));
    for (what, all) in [LEAST, "at most"].into_iter().zip(ends.iter().flatten()) {
        let mut cells = all.map(|bound| figure(outward(bound, what == LEAST)));
        // How the least values differ among themselves is no bound of how all do.
        cells[DEVIATION] = String::new();
        table.painted(line("", cells, &unit_text, &format!("  {what}")), Paint::Faint);
    }
    if let Some(hz) = hertz.filter(|hz| *hz > 0) {
        let times = signed(&|ticks| time(ticks, hz));
        table.painted(line("", times, "", "  as time"), Paint::Faint);
    }
}

/// What the row of lower bounds is called.
const LEAST: &str = "at least";

/// Which of the statistics is the deviation.
const DEVIATION: usize = 6;

/// Whether one of the statistics may be another than it is: all but the deviation are what they are
/// where the least and the most of it agree.
fn is_open(likely: Number, at: usize, ends: Option<&[[Number; 7]; 2]>) -> bool {
    ends.is_some_and(|ends| at == DEVIATION || ends.iter().any(|all| all[at] != likely))
}

/// A bound that is not whole with the decimals that it is shown with, rounded so that it stays one.
fn outward(bound: Number, is_least: bool) -> Number {
    let Number::Real(x) = bound else { return bound };
    let shown = match x.abs() {
        1000.0.. => 1.0,
        10.0.. => 10.0,
        _ => 100.0,
    };
    // Of what is binary, 18.1 times ten may be a little more than 181.
    let (scaled, little) = (x * shown, 1e-6);
    let end = if is_least { (scaled + little).floor() } else { (scaled - little).ceil() };
    Number::Real(end / shown)
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
    use strobe_model::measurement::Unit;

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

    /// A bit of 1,456 cycles is that in each model, whatever the longest one is, and how much bits
    /// differ is in no bound.
    #[test]
    fn only_what_bounds_leave_open_is_about() {
        let spread = |values: [u64; 3]| Some(values.into_iter().collect::<Spread>());
        let one = Distribution {
            low: spread([1_456, 1_456, 2_000]),
            high: spread([1_456, 1_456, 2_001]),
            why: Some("waits are modelled".to_owned()),
            hertz: Some(1_000_000),
            ..Distribution::exact("bit", Unit::CYCLES, [1_456, 1_456, 2_001].into_iter().collect())
        };
        let mut table = Table::new().number("n").number("min").number("mean").number("median");
        table = table.number("p90").number("p99").number("max").number("dev.");
        table = table.text("unit").text("what");
        rows(&one, &mut table);
        let mut out = Vec::new();
        table.write(crate::Options::default().style, &mut out).expect("memory takes everything");
        let text = String::from_utf8(out).expect("UTF-8");
        let lines: Vec<&str> = text.lines().collect();
        let words = |at: usize| lines[at].split_whitespace().collect::<Vec<_>>();
        let figures = ["3", "1,456", "~1,638", "1,456", "~2,001", "~2,001", "~2,001"];
        assert_eq!(words(1)[..7], figures, "{text}");
        assert_eq!(words(2)[..6], ["1,456", "1,637", "1,456", "2,000", "2,000", "2,000"], "{text}");
        assert_eq!(words(2)[6..], ["cycles", "at", "least"], "no deviation: {text}");
        assert_eq!(words(3)[..3], ["1,456", "1,638", "1,456"], "{text}");
        assert_eq!(words(4)[..2], ["1.456", "ms"], "{text}");
    }
}
