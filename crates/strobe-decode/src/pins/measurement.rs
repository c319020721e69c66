//! Pins as a measurement: widths, periods, duty and times between edges as distributions, edges as
//! tables.

use crate::pins::report::{CaptureSummary, PinInterval, PinLevel, PinStatistics, PinsReport};
use strobe_model::Bounds;
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Distribution, Distributions, Measurement, Quantity, Table, Unit,
};

use crate::capture::measured::{MODELLED, distribution, head, is_modelled, resolved, seen, total};

const JITTER: &str = "jitter is the sample standard deviation of the period; cycle to cycle is by \
                      how much a period differs from the one before";
const SAMPLED: &str = "sampling alone makes jitter of up to about one resolution";

/// Millionths, of a period's high part.
fn millionths() -> Unit {
    Unit::other("millionths")
}

/// What a capture's pins did.
pub fn measurement(report: &PinsReport) -> Measurement {
    let capture = &report.capture;
    let mut measurement = head(capture, &report.notes);
    if !report.pins.is_empty() {
        let edges = report.pins.iter().map(|pin| pin.rising.saturating_add(pin.falling));
        let edges = seen(edges.fold(0, u64::saturating_add), Unit::COUNT, capture);
        measurement.push_total("edges", "edges", edges);
    }
    let mut distributions = Vec::new();
    for pin in &report.pins {
        distributions.extend(widths(pin, capture));
    }
    for interval in &report.intervals {
        let times = interval.times_ps.as_ref();
        distributions.extend(distribution(times, &name(interval), Unit::PICOSECONDS, capture));
    }
    if !report.pins.is_empty() {
        let section = measurement.push(ids::section::EDGES, "pins", Content::Table(table(report)));
        section.notes.push(JITTER.to_owned());
        if capture.simulated.is_none() {
            section.notes.push(SAMPLED.to_owned());
        }
    }
    if !distributions.is_empty() {
        let content = Content::Distributions(Distributions { distributions });
        measurement.push(ids::section::PINS, "pins: widths, periods, times", content);
    }
    if !report.intervals.is_empty() {
        let table = Content::Table(intervals(&report.intervals));
        measurement.push("intervals", "from edge to edge", table);
    }
    measurement
}

fn name(interval: &PinInterval) -> String {
    format!("{} to {}", interval.from, interval.to)
}

fn widths(pin: &PinStatistics, capture: &CaptureSummary) -> Vec<Distribution> {
    let cycle = pin.jitter.as_ref().map(|jitter| &jitter.cycle_to_cycle_ps);
    let all = [
        ("high", pin.high_ps.as_ref(), Unit::PICOSECONDS),
        ("low", pin.low_ps.as_ref(), Unit::PICOSECONDS),
        ("period", pin.period_ps.as_ref(), Unit::PICOSECONDS),
        ("duty", pin.duty_ppm.as_ref(), millionths()),
        ("cycle to cycle", cycle, Unit::PICOSECONDS),
    ];
    let each = all.into_iter().filter_map(|(what, values, unit)| {
        distribution(values, &format!("{} {what}", pin.pin), unit, capture)
    });
    each.collect()
}

fn table(report: &PinsReport) -> Table {
    let capture = &report.capture;
    let time = |id, title| Column::figure(id, title, Unit::PICOSECONDS);
    let mut table = Table::new(vec![
        Column::text("pin", "pin"),
        Column::text("initial", "at first"),
        Column::figure("rising", "rising", Unit::COUNT),
        Column::figure("falling", "falling", Unit::COUNT),
        Column::figure("unknown", "unknown", Unit::COUNT).worth(0),
        time("high", "high").of(capture.duration_ps),
        time("low", "low").of(capture.duration_ps),
        Column::figure("frequency", "mean frequency", Unit::HERTZ),
        time("jitter", "jitter"),
    ]);
    for pin in &report.pins {
        let initial = match pin.initial {
            PinLevel::Low => "low",
            PinLevel::High => "high",
            PinLevel::Unknown => "unknown",
        };
        table.row([
            pin.pin.as_str().into(),
            initial.into(),
            seen(pin.rising, Unit::COUNT, capture).into(),
            seen(pin.falling, Unit::COUNT, capture).into(),
            seen(pin.unknown, Unit::COUNT, capture).into(),
            total(pin.high_total_ps, capture).into(),
            total(pin.low_total_ps, capture).into(),
            frequency(pin, capture),
            jitter(pin, capture),
        ]);
    }
    table
}

/// How often a second a pin rises, by its mean period.
fn frequency(pin: &PinStatistics, capture: &CaptureSummary) -> Cell {
    let Some(period) = pin.period_ps.as_ref().filter(|period| period.mean > 0) else {
        return Cell::Empty;
    };
    let hertz = |ps: u64| 1e12 / ps.max(1) as f64;
    let bounds = period.bounds.as_ref().map(|bounds| (bounds.mean.low, bounds.mean.high));
    // Of many periods together the ends alone are off.
    let off = capture.resolution_ps.div_ceil(period.count.max(1));
    let sampled = capture.simulated.is_none();
    let bounds = bounds.or_else(|| {
        sampled.then(|| (period.mean.saturating_sub(off), period.mean.saturating_add(off)))
    });
    let value = hertz(period.mean).into();
    let modelled = || is_modelled(capture).then_some((period.mean, period.mean));
    let bounds = bounds.or_else(modelled);
    let Some((low, high)) = bounds.map(|(low, high)| (hertz(high).into(), hertz(low).into()))
    else {
        return Cell::Exact(value);
    };
    let trust = if sampled {
        strobe_model::measurement::Trust::Resolution { low, high }
    } else {
        strobe_model::measurement::Trust::Modelled { low, high, why: Some(MODELLED.to_owned()) }
    };
    Cell::Figure { value: Some(value), trust }
}

/// Period jitter.
fn jitter(pin: &PinStatistics, capture: &CaptureSummary) -> Cell {
    let Some(jitter) = &pin.jitter else { return Cell::Empty };
    let bounds = pin.period_ps.as_ref().and_then(|period| period.bounds.as_ref());
    match bounds {
        Some(bounds) => {
            let bounds = Bounds { likely: jitter.period_ps, ..bounds.deviation };
            Quantity::modelled(bounds, Unit::PICOSECONDS, Some(MODELLED.to_owned())).into()
        }
        None => resolved(jitter.period_ps, capture).into(),
    }
}

fn intervals(all: &[PinInterval]) -> Table {
    let mut table = Table::new(vec![
        Column::text("from", "from"),
        Column::text("to", "to"),
        Column::figure("times", "times", Unit::COUNT),
        Column::figure("unanswered", "without an end", Unit::COUNT),
    ]);
    for interval in all {
        table.row([
            interval.from.as_str().into(),
            interval.to.as_str().into(),
            interval.times_ps.as_ref().map_or(0, |times| times.count).into(),
            interval.unanswered.into(),
        ]);
    }
    table
}
