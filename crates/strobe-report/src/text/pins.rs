//! Pins: widths, periods, duty, jitter and times between edges, and histograms of them.

use std::io::{self, Write};

use strobe_model::{Distribution, PinLevel, PinStatistics, PinsReport};

use super::capture::{cells, mean_bounds, notes, title};
use super::layout::{heading, item};
use crate::Options;
use crate::number::{counted, grouped, hertz, percent, picoseconds, share};
use crate::paint::Paint;
use crate::table::Table;

/// Columns of the longest bar.
const BAR: u64 = 40;

const EXPLAINED: &str = "dev. is the sample standard deviation; that of the period is its jitter. cycle to cycle is by how much a period \
                         differs from the one before.";

const SAMPLED: &str = " Sampling alone makes either up to about one resolution.";

const MODELLED: &str = "~ is modelled, as waiting for flash is: the bounds are those of the mean, the others are in the JSON form. Between \
                        edges that a timer or another peripheral paces they are wider than need be.";

/// What the pins did.
///
/// # Errors
/// Those of `out`.
pub fn pins(report: &PinsReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    title(&report.capture, options, out)?;
    let (moving, still): (Vec<_>, Vec<_>) =
        report.pins.iter().partition(|pin| pin.rising + pin.falling > 0);
    if !moving.is_empty() {
        heading("pins", options, out)?;
        for pin in &moving {
            edges(pin, report.capture.duration_ps, options, out)?;
        }
        for pin in &moving {
            writeln!(out)?;
            widths(pin).write(options.style, out)?;
        }
    }
    if !report.intervals.is_empty() {
        intervals(report, options, out)?;
    }
    if !still.is_empty() {
        heading("pins that never change", options, out)?;
        for pin in still {
            let level = match (pin.unknown, pin.initial) {
                (0, PinLevel::Low) => "low",
                (0, PinLevel::High) => "high",
                _ => "unknown",
            };
            item("", &format!("{}: {level}", pin.pin), Paint::Plain, options, out)?;
        }
    }
    histograms(report, options, out)?;
    notes(&report.notes, options, out)?;
    if options.quiet {
        return Ok(());
    }
    if moving.iter().any(|pin| pin.jitter.is_some()) {
        writeln!(out)?;
        let sampled = if report.capture.simulated.is_none() { SAMPLED } else { "" };
        item("", &format!("{EXPLAINED}{sampled}"), Paint::Faint, options, out)?;
    }
    let modelled = |pin: &&PinStatistics| {
        let parts = [&pin.high_ps, &pin.low_ps, &pin.period_ps];
        parts.into_iter().flatten().any(|d| d.bounds.is_some())
    };
    let mut times = report.intervals.iter().filter_map(|i| i.times_ps.as_ref());
    if moving.iter().any(modelled) || times.any(|d| d.bounds.is_some()) {
        item("", MODELLED, Paint::Faint, options, out)?;
    }
    Ok(())
}

fn edges(
    pin: &PinStatistics,
    duration_ps: u64,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut text = format!(
        "{}: {} rising and {}, high for {} of {} ({})",
        pin.pin,
        grouped(pin.rising),
        counted(pin.falling, "falling edge"),
        picoseconds(pin.high_total_ps),
        picoseconds(duration_ps),
        share(pin.high_total_ps, duration_ps)
    );
    if pin.unknown > 0 {
        text += &format!("; unknown {}", counted(pin.unknown, "time"));
    }
    if let Some(hz) = pin.period_ps.as_ref().and_then(|p| 1_000_000_000_000u64.checked_div(p.mean))
    {
        text += &format!("; about {} on the average", hertz(u32::try_from(hz).unwrap_or(u32::MAX)));
    }
    item("", &text, Paint::Plain, options, out)
}

fn table() -> Table {
    let table = Table::new().number("n").number("min").number("mean").number("median");
    table
        .number("p90")
        .optional(1)
        .number("p99")
        .number("max")
        .number("dev.")
        .optional(2)
        .number("mean's bounds")
        .optional(3)
        .text("what")
}

fn row(table: &mut Table, d: Option<&Distribution>, show: fn(u64) -> String, what: String) {
    let mut line = cells(d, show);
    line.extend([mean_bounds(d, show), what.into()]);
    table.row(line);
}

fn widths(pin: &PinStatistics) -> Table {
    let mut table = table();
    for (d, what) in [(&pin.high_ps, "high"), (&pin.low_ps, "low"), (&pin.period_ps, "period")] {
        row(&mut table, d.as_ref(), picoseconds, format!("{} {what}", pin.pin));
    }
    if let Some(duty) = &pin.duty_ppm {
        row(&mut table, Some(duty), percent, format!("{} duty", pin.pin));
    }
    if let Some(jitter) = &pin.jitter {
        let what = format!("{} cycle to cycle", pin.pin);
        row(&mut table, Some(&jitter.cycle_to_cycle_ps), picoseconds, what);
    }
    table
}

fn intervals(report: &PinsReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    heading("from edge to edge", options, out)?;
    let mut table = table().room(40);
    for interval in &report.intervals {
        let mut what = format!("{} to {}", interval.from, interval.to);
        if interval.unanswered > 0 {
            what += &format!(" ({} without)", grouped(interval.unanswered));
        }
        row(&mut table, interval.times_ps.as_ref(), picoseconds, what);
    }
    table.write(options.style, out)
}

fn histograms(report: &PinsReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let pins = report.pins.iter().flat_map(|pin| {
        let parts = [("high", &pin.high_ps), ("low", &pin.low_ps), ("period", &pin.period_ps)];
        parts.map(|(part, d)| (format!("{} {part}", pin.pin), d))
    });
    let intervals =
        report.intervals.iter().map(|i| (format!("{} to {}", i.from, i.to), &i.times_ps));
    for (what, distribution) in pins.chain(intervals) {
        let Some(d) = distribution.as_ref().filter(|d| !d.histogram.is_empty()) else { continue };
        heading(&format!("histogram of {what}: {}", counted(d.count, "time")), options, out)?;
        let mut table =
            Table::new().number("from").number("to").number("n").number("share").text("");
        let most = d.histogram.iter().map(|bin| bin.count).max().unwrap_or(1).max(1);
        let mut skipped = false;
        for (n, bin) in d.histogram.iter().enumerate() {
            let around = &d.histogram[n.saturating_sub(1)..(n + 2).min(d.histogram.len())];
            if around.iter().all(|bin| bin.count == 0) {
                if !std::mem::replace(&mut skipped, true) {
                    table.across("  ...", Paint::Faint);
                }
                continue;
            }
            skipped = false;
            // A single value is seen too.
            let bar = (bin.count * BAR).div_ceil(most) as usize;
            table.row(vec![
                picoseconds(bin.from).into(),
                picoseconds(bin.to.min(d.max)).into(),
                grouped(bin.count).into(),
                share(bin.count, d.count).into(),
                "#".repeat(bar).into(),
            ]);
        }
        table.write(options.style, out)?;
    }
    Ok(())
}
