//! Figures of a damaged stream: none is exact.

use strobe_model::Traced;
use strobe_model::measurement::{
    Cell, Column, Content, Measurement, Number, Quantity, Spread, Table, Trust, Unit,
};

use super::super::doubt::{silent, why};
use super::unit;

/// Columns whose figures a single wrong packet changes beyond measure, by section.
const UNKNOWN: [(&str, &[&str]); 8] = [
    ("interrupts", &["exact", "min", "mean", "max", "vague", "at-most", "nested"]),
    ("threads", &["time"]),
    ("counters", &["counted"]),
    ("watched-variables", &["first", "min", "max", "last"]),
    ("kit-records", &["missing", "places", "restarts"]),
    ("kit-regions", &["exact", "min", "mean", "max", "vague", "at-most"]),
    ("kit-marks", &["exact", "min", "mean", "max", "vague"]),
    ("kit-values", &["first", "min", "max", "last"]),
];

/// Columns that count packets: each wrong one is one more or one less.
const COUNTS: [(&str, &[&str]); 10] = [
    ("interrupts", &["entered", "left", "unmatched"]),
    ("threads", &["runs"]),
    ("counters", &["packets"]),
    ("watched-variables", &["reads", "writes", "matches"]),
    ("watched-from", &["matches"]),
    ("ports", &["writes"]),
    ("kit-records", &["records", "unusable"]),
    ("kit-regions", &["begun", "ended", "unmatched"]),
    ("kit-marks", &["count"]),
    ("kit-values", &["count"]),
];

/// Those of them that count events on the target, and not the packets of them.
const HAPPENED: [(&str, &[&str]); 6] = [
    ("interrupts", &["entered", "left"]),
    ("threads", &["runs"]),
    ("counters", &["packets", "counted"]),
    ("watched-variables", &["reads", "writes", "matches"]),
    ("watched-from", &["matches"]),
    ("ports", &["writes"]),
];

/// Sections that are nothing but such figures: times, and values with their times.
const LEFT_OUT: [&str; 5] =
    ["durations", "watched", "kit-durations", "kit-intervals", "kit-timeline"];

/// Adds what is in doubt; of a damaged stream, no figure stays exact that damage may have changed.
pub(super) fn qualify(traced: &Traced, out: &mut Measurement) {
    section(traced, out);
    let Some(silent) = silent(traced) else {
        if is_lossy(traced) {
            at_least(out);
        }
        return;
    };
    let reason = why(traced);
    for section in &mut out.sections {
        let id = section.id.clone();
        let Content::Table(table) = &mut section.content else { continue };
        each(table, columns(&UNKNOWN, &id), |_| {
            let trust = Trust::Unknown { why: reason.clone() };
            Cell::Figure { value: None, trust }
        });
        each(table, columns(&COUNTS, &id), |n| {
            let low = of_packets(n.as_u64(), silent);
            Cell::Figure { value: Some(low), trust: Trust::AtLeast }
        });
        if id == "interrupts" {
            longest(traced, silent, table);
        }
    }
    out.sections.retain(|section| !LEFT_OUT.contains(&section.id.as_str()));
}

/// Whether packets were lost, are missing or in doubt.
fn is_lossy(traced: &Traced) -> bool {
    let stream = &traced.stream;
    stream.overflows + stream.packets_in_doubt + traced.times.unsure > 0
}

/// What is counted beside a loss happened at least as often.
fn at_least(out: &mut Measurement) {
    for section in &mut out.sections {
        let id = section.id.clone();
        let Content::Table(table) = &mut section.content else { continue };
        each(table, columns(&HAPPENED, &id), |n| Cell::Figure {
            value: Some(n),
            trust: Trust::AtLeast,
        });
    }
}

/// So many packets of a damaged stream came at least: where bytes are wrong others may be missing,
/// or have gone to another stream.
fn of_packets(n: u64, silent: u64) -> Number {
    n.saturating_sub(silent).into()
}

/// How often a mark came, which is a packet or a record of the kit.
pub(super) fn marks(n: u64, traced: &Traced) -> Quantity {
    match silent(traced) {
        Some(silent) => Quantity::at_least(of_packets(n, silent), Unit::COUNT),
        None => Quantity::exact(n, Unit::COUNT),
    }
}

/// A number that follows from which mark came before which other one.
pub(super) fn between_marks(n: u64, unit: Unit, traced: &Traced) -> Quantity {
    match silent(traced) {
        Some(_) => Quantity::unknown(unit, why(traced)),
        None => Quantity::exact(n, unit),
    }
}

fn columns(of: &[(&str, &'static [&'static str])], id: &str) -> &'static [&'static str] {
    of.iter().find(|(section, _)| *section == id).map_or(&[], |(_, columns)| columns)
}

/// Changes the exact figures of some columns.
fn each(table: &mut Table, ids: &[&str], change: impl Fn(Number) -> Cell) {
    for column in table.columns.iter_mut().filter(|column| ids.contains(&column.id.as_str())) {
        for cell in &mut column.cells {
            if let Cell::Exact(number) = cell {
                *cell = change(*number);
            }
        }
    }
}

/// If no more times are wrong than that, a handler took at least as long as the longest without
/// these.
fn longest(traced: &Traced, silent: u64, table: &mut Table) {
    let Some(column) = table.columns.iter_mut().find(|column| column.id == "max") else { return };
    for (cell, exception) in column.cells.iter_mut().zip(&traced.exceptions) {
        if let Some(least) = without_longest(&exception.times, silent) {
            *cell = Quantity::at_least(least, unit(&traced.times)).into();
        }
    }
}

fn without_longest(times: &Spread, n: u64) -> Option<u64> {
    let buckets: Vec<(u64, u64)> = times.buckets().collect();
    let mut left = n;
    buckets.into_iter().rev().find_map(|(value, times)| match left.checked_sub(times) {
        Some(rest) => {
            left = rest;
            None
        }
        None => Some(value),
    })
}

/// What is in doubt, and in no other figure.
fn section(traced: &Traced, out: &mut Measurement) {
    let stream = &traced.stream;
    if stream.packets_in_doubt == 0 && traced.in_doubt.is_empty() {
        return;
    }
    let mut table = Table::new(vec![
        Column::text("what", "what"),
        Column::figure("packets", "packets", Unit::COUNT),
    ]);
    if stream.packets_in_doubt > 0 {
        table.row(["near bytes of no packet".into(), stream.packets_in_doubt.into()]);
    }
    for seldom in &traced.in_doubt {
        table.row([seldom.what.as_str().into(), seldom.packets.into()]);
    }
    out.push("in-doubt", "in doubt, and in no other figure", Content::Table(table));
}
