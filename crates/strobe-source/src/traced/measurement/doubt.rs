//! Figures of a damaged stream: none is exact.

use crate::traced::totals::Traced;
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Measurement, Number, Quantity, Spread, Table, Trust, Unit,
};

use super::super::doubt::{silent, why};
use super::unit;

/// Columns of tables, by section.
type Columns = [(&'static str, &'static [&'static str])];

/// Columns whose figures a single wrong packet changes beyond measure.
const UNKNOWN: &Columns = &[
    ("interrupts", &["exact", "min", "mean", "max", "vague", "at-most", "nested", "samples"]),
    ("threads", &["time", "samples"]),
    ("counters", &["counted"]),
    ("watched-variables", &["first", "min", "max", "last"]),
    ("kit-records", &["missing", "places", "restarts"]),
    ("kit-regions", &["exact", "min", "mean", "max", "vague", "at-most"]),
    ("kit-marks", &["exact", "min", "mean", "max", "vague"]),
    ("kit-values", &["first", "min", "max", "last"]),
    ("kit-channels", &["bytes"]),
    ("ports", &["rate"]),
    ("packets", &["rate"]),
];

/// Columns that count packets: each wrong one is one more or one less.
const COUNTS: &Columns = &[
    ("interrupts", &["entered", "left", "unmatched"]),
    ("threads", &["runs"]),
    ("counters", &["packets"]),
    ("watched-variables", &["reads", "writes", "matches"]),
    ("watched-from", &["matches"]),
    ("ports", &["writes", "messages"]),
    ("kit-records", &["records", "unusable"]),
    ("kit-regions", &["begun", "ended", "unmatched"]),
    ("kit-marks", &["count"]),
    ("kit-values", &["count"]),
];

/// Columns that count bytes of such packets.
const BYTES: &Columns = &[("ports", &["bytes"])];

/// Bytes of a write to a port, at most.
const WORD: u64 = 4;

/// Columns of what happened on the target: what was lost is more of it, or a greater one.
const AT_LEAST: &Columns = &[
    ("interrupts", &["entered", "left", "max", "nested", "samples"]),
    ("threads", &["runs", "time", "samples"]),
    ("counters", &["packets", "counted"]),
    ("watched-variables", &["reads", "writes", "matches", "max"]),
    ("watched-from", &["matches"]),
    ("ports", &["writes", "bytes", "messages"]),
];

/// What was lost may be less.
const AT_MOST: &Columns = &[("interrupts", &["min"]), ("watched-variables", &["min"])];

/// Nothing bounds what was lost.
const UNBOUNDED: &Columns = &[("interrupts", &["at-most"]), ("ports", &["rate"])];

/// The same of records of the kit, of which their numbers show whether any are missing.
const AT_LEAST_OF_KIT: &Columns = &[
    ("kit-regions", &["begun", "ended"]),
    ("kit-marks", &["count"]),
    ("kit-values", &["count", "max"]),
    ("kit-channels", &["bytes"]),
];
const AT_MOST_OF_KIT: &Columns = &[("kit-values", &["min"])];

/// Times between records, which need timestamps as well.
const LONGEST_OF_KIT: &Columns = &[("kit-regions", &["max"]), ("kit-marks", &["max"])];
const SHORTEST_OF_KIT: &Columns = &[("kit-regions", &["min"]), ("kit-marks", &["min"])];
const UNBOUNDED_OF_KIT: &Columns = &[("kit-regions", &["at-most"])];

/// Why what lies between marks is not known.
pub(super) const MARKS: &str =
    "packets or records were lost inside of parts, and their ends perhaps among them";

/// Why a greatest figure has no bound.
const LOST: &str = "packets were lost, and with them perhaps what took longer or came more often";

/// Sections that are nothing but such figures: times, and values with their times.
const LEFT_OUT: [&str; 5] =
    ["durations", "watched", "kit-durations", "kit-intervals", "kit-timeline"];

/// Adds what is in doubt; of a damaged stream, no figure stays exact that damage may have changed.
pub(super) fn qualify(traced: &Traced, out: &mut Measurement) {
    section(traced, out);
    let Some(silent) = silent(traced) else {
        let (is_lossy, are_missing) = (is_lossy(traced), misses_records(traced));
        if is_lossy {
            bound(out, AT_LEAST, AT_MOST, UNBOUNDED);
            unsure_lines(out);
        }
        if are_missing {
            bound(out, AT_LEAST_OF_KIT, AT_MOST_OF_KIT, &[]);
        }
        if is_lossy || are_missing {
            bound(out, LONGEST_OF_KIT, SHORTEST_OF_KIT, UNBOUNDED_OF_KIT);
        }
        return;
    };
    let reason = why(traced);
    for section in &mut out.sections {
        let id = section.id.clone();
        let Content::Table(table) = &mut section.content else { continue };
        each(table, columns(UNKNOWN, &id), |_| {
            let trust = Trust::Unknown { why: reason.clone() };
            Cell::Figure { value: None, trust }
        });
        for (counts, each_has) in [(COUNTS, 1), (BYTES, WORD)] {
            each(table, columns(counts, &id), |n| {
                let low = of_packets(n.as_u64(), silent.saturating_mul(each_has));
                Cell::Figure { value: Some(low), trust: Trust::AtLeast }
            });
        }
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

/// Whether records of the kit are missing.
fn misses_records(traced: &Traced) -> bool {
    traced.kit.as_ref().is_some_and(|kit| kit.losses > 0)
}

/// What was seen beside a loss bounds what there was.
fn bound(out: &mut Measurement, least: &Columns, most: &Columns, unbounded: &Columns) {
    for section in &mut out.sections {
        let id = section.id.clone();
        let Content::Table(table) = &mut section.content else { continue };
        each(table, columns(least, &id), seen(Trust::AtLeast));
        each(table, columns(most, &id), seen(Trust::AtMost));
        each(table, columns(unbounded, &id), |_| {
            let trust = Trust::Unknown { why: LOST.to_owned() };
            Cell::Figure { value: None, trust }
        });
    }
}

/// What was seen, as a bound.
fn seen(trust: Trust) -> impl Fn(Number) -> Cell {
    move |n| Cell::Figure { value: Some(n), trust: trust.clone() }
}

/// Of the watched values some may be missing anywhere.
fn unsure_lines(out: &mut Measurement) {
    let watched = out.sections.iter_mut().filter(|section| section.id == ids::section::WATCHED);
    for section in watched {
        if let Content::Timeline(line) = &mut section.content {
            line.exact.clear();
        }
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
        None if loses_marks(traced) => Quantity::at_least(n, Unit::COUNT),
        None => Quantity::exact(n, Unit::COUNT),
    }
}

/// Whether marks may be among what was lost.
fn loses_marks(traced: &Traced) -> bool {
    let window = traced.window.as_ref();
    window.is_some_and(|window| window.losses_inside + window.losses_outside > 0)
}

/// Whether ends of parts may be among what was lost, so that parts go on to the next end.
pub(super) fn loses_ends(traced: &Traced) -> bool {
    let window = traced.window.as_ref();
    window.is_some_and(|window| window.to.is_some() && window.losses_inside > 0)
}

/// A number that follows from which mark came before which other one.
pub(super) fn between_marks(n: u64, unit: Unit, traced: &Traced) -> Quantity {
    match silent(traced) {
        Some(_) => Quantity::unknown(unit, why(traced)),
        None if loses_ends(traced) => Quantity::unknown(unit, MARKS),
        None => Quantity::exact(n, unit),
    }
}

/// How often packets or records were lost between two marks.
pub(super) fn losses(n: u64, traced: &Traced) -> Quantity {
    match silent(traced) {
        Some(_) => Quantity::unknown(Unit::COUNT, why(traced)),
        None => Quantity::exact(n, Unit::COUNT),
    }
}

fn columns(of: &Columns, id: &str) -> &'static [&'static str] {
    of.iter().find(|(section, _)| *section == id).map_or(&[], |(_, columns)| columns)
}

/// Changes the figures of some columns that have a value.
fn each(table: &mut Table, ids: &[&str], change: impl Fn(Number) -> Cell) {
    for column in table.columns.iter_mut().filter(|column| ids.contains(&column.id.as_str())) {
        for cell in &mut column.cells {
            if let Some(number) = cell.number() {
                *cell = change(number);
            }
        }
    }
}

/// If no more times are wrong than that, a handler took at least as long as the longest without
/// these.
fn longest(traced: &Traced, silent: u64, table: &mut Table) {
    let Some(column) = table.columns.iter_mut().find(|column| column.id == ids::column::MAX) else {
        return;
    };
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
        Column::text(ids::column::WHAT, "what"),
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
