//! Charts of counters, for time lines on which there is nothing else: the most of each column.

use std::io::{self, Write};

use strobe_model::measurement::{Extent, Number, Timeline, Unit};

use super::number;
use crate::Options;
use crate::paint::Paint;
use crate::words::clean;

/// Lines of a chart.
const LINES: u128 = 8;

/// Charts drawn; the others are in the table.
const MOST: usize = 2;

/// Draws the first counters.
pub(super) fn write(timeline: &Timeline, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let is_alone = timeline.spans.begin.is_empty() && timeline.moments.at.is_empty();
    if !is_alone || timeline.counters.at.is_empty() {
        return Ok(());
    }
    for (index, track) in (0u32..).zip(&timeline.tracks).take(MOST) {
        let counters = &timeline.counters;
        let values = counters.track.iter().zip(counters.at.iter().zip(&counters.value));
        let mut values: Vec<(i64, i64)> =
            values.filter(|(of, _)| **of == index).map(|(_, (at, value))| (*at, *value)).collect();
        values.sort_by_key(|(at, _)| *at);
        let most = values.iter().map(|(_, value)| *value).max().unwrap_or(0);
        if most <= 0 {
            continue;
        }
        let unit = track.unit.as_ref().unwrap_or(&Unit::COUNT);
        let top = number(Number::from(most), unit);
        let margin = top.chars().count().max(1);
        let width = options.style.width.saturating_sub(margin + 5).max(20);
        let columns = columns(&values, timeline.extent, width);
        writeln!(out)?;
        writeln!(out, "  {}", Paint::Faint.on(&clean(&track.name), options.style))?;
        for line in (0..LINES).rev() {
            let label = match line {
                _ if line == LINES - 1 => top.as_str(),
                0 => "0",
                _ => "",
            };
            let text: String = columns.iter().map(|value| cell(*value, most, line)).collect();
            writeln!(out, "{}", format!("  {label:>margin$} |{text}").trim_end())?;
        }
    }
    writeln!(out)
}

/// What a column shows on a line, from 0 at the bottom: all of it, half of it, nothing.
fn cell(value: i64, most: i64, line: u128) -> char {
    let (value, most) = (value.max(0).unsigned_abs(), most.unsigned_abs().max(1));
    // In halves of a line, rounded up: what is not nothing is seen.
    let halves = (u128::from(value) * LINES * 2).div_ceil(u128::from(most));
    match halves.saturating_sub(line * 2) {
        0 => ' ',
        1 => '.',
        _ => '#',
    }
}

/// The greatest value in each column; a value holds until the next one.
fn columns(values: &[(i64, i64)], extent: Extent, width: usize) -> Vec<i64> {
    let span = (i128::from(extent.to) - i128::from(extent.from)).max(1);
    let column = |at: i64| {
        let along = (i128::from(at) - i128::from(extent.from)).clamp(0, span - 1);
        usize::try_from(along * width as i128 / span).unwrap_or(0)
    };
    let mut out: Vec<Option<i64>> = vec![None; width];
    let mut before = None;
    let mut from = 0;
    for &(at, value) in values {
        let to = column(at);
        for place in out.iter_mut().take(to + 1).skip(from) {
            *place = (*place).max(before);
        }
        out[to] = out[to].max(Some(value));
        (before, from) = (Some(value), to + 1);
    }
    for place in out.iter_mut().skip(from) {
        *place = (*place).max(before);
    }
    out.into_iter().map(|value| value.unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_the_most_of_what_was_there() {
        let extent = Extent { from: 0, to: 100 };
        let values = [(0, 5), (25, 9), (26, 1), (70, 4)];
        assert_eq!(columns(&values, extent, 10), [5, 5, 9, 1, 1, 1, 1, 4, 4, 4]);
        assert_eq!(columns(&[], extent, 3), [0, 0, 0]);
    }

    #[test]
    fn nonzero_values_are_visible() {
        let column = |value| -> String { (0..LINES).map(|line| cell(value, 1000, line)).collect() };
        assert_eq!(column(0), "        ");
        assert_eq!(column(1), ".       ");
        assert_eq!(column(1000), "########");
    }
}
