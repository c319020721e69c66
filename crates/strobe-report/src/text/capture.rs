//! What reports on a capture have in common: its heading, its notes, and figures of distributions.

use std::io::{self, Write};

use strobe_model::{CaptureSummary, Distribution, SimulatedCapture};

use super::layout::{heading, item};
use crate::Options;
use crate::figure::spread;
use crate::number::{counted, grouped, moment, picoseconds};
use crate::paint::Paint;
use crate::table::Cell;
use crate::words::clean;

/// The first lines: which capture, how long, how fine.
pub(super) fn title(
    capture: &CaptureSummary,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let title = format!(
        "{}: {}, {}, {}",
        clean(&capture.file),
        capture.format,
        picoseconds(capture.duration_ps),
        counted(capture.channels.len() as u64, "channel")
    );
    writeln!(out, "{}", Paint::Strong.on(&title, options.style))?;
    if capture.start_ps != 0 {
        let at = moment(capture.start_ps, decimals(capture));
        item("", &format!("begins at {at} s of its own time line"), Paint::Plain, options, out)?;
    }
    if let Some(simulated) = &capture.simulated {
        return item("", &exactness(capture, simulated), Paint::Plain, options, out);
    }
    let origin = if capture.resolution_inferred { ", judging by where edges lie" } else { "" };
    let resolution = picoseconds(capture.resolution_ps);
    let text = format!("resolution {resolution}{origin}; times between edges are +/- {resolution}");
    item("", &text, Paint::Plain, options, out)
}

/// How far a simulated board's times can be trusted.
fn exactness(capture: &CaptureSummary, simulated: &SimulatedCapture) -> String {
    let cycle = picoseconds(capture.resolution_ps);
    let bounds = simulated.duration_ps;
    if bounds.is_exact() {
        return format!("every edge is exact to the cycle, of {cycle} at the fastest");
    }
    format!(
        "times are modelled: the whole takes {} to {} ({}); a cycle is {cycle} at the fastest",
        picoseconds(bounds.low),
        picoseconds(bounds.high),
        spread(bounds)
    )
}

/// Decimals of seconds that a capture's moments deserve.
pub(super) fn decimals(capture: &CaptureSummary) -> u32 {
    if capture.resolution_ps < 1000 { 12 } else { 9 }
}

/// What the reader should know.
pub(super) fn notes(notes: &[String], options: &Options, out: &mut dyn Write) -> io::Result<()> {
    if notes.is_empty() {
        return Ok(());
    }
    heading("warnings", options, out)?;
    notes.iter().try_for_each(|note| item("! ", note, Paint::Warn, options, out))
}

/// n, min, mean, median, p90, p99, max and deviation; dashes for none.
pub(super) fn cells(distribution: Option<&Distribution>, show: fn(u64) -> String) -> Vec<Cell> {
    let Some(d) = distribution else {
        let dashes = std::iter::repeat_n("-", 7).map(Cell::from);
        return std::iter::once(Cell::from("0")).chain(dashes).collect();
    };
    let figures = [d.min, d.mean, d.p50, d.p90, d.p99, d.max, d.deviation].map(show);
    let about = |(figure, exact): (String, bool)| if exact { figure } else { format!("~{figure}") };
    let exact = d.bounds.as_ref().map_or([true; 7], |b| {
        [b.min, b.mean, b.p50, b.p90, b.p99, b.max, b.deviation].map(|bounds| bounds.is_exact())
    });
    let figures = figures.into_iter().zip(exact).map(about);
    std::iter::once(grouped(d.count)).chain(figures).map(Cell::from).collect()
}

/// The bounds of a modelled distribution's mean, relative to it where that says more; nothing for
/// one that is not.
pub(super) fn mean_bounds(distribution: Option<&Distribution>, show: fn(u64) -> String) -> Cell {
    let Some(bounds) = distribution.and_then(|d| d.bounds.as_ref()) else { return "".into() };
    let mean = bounds.mean;
    if mean.high / 10 > mean.likely {
        return format!("up to {}", show(mean.high)).into();
    }
    spread(mean).into()
}
