//! Source files and lines of two profiles, those that changed most first.

use std::collections::{BTreeMap, BTreeSet};

use strobe_model::measurement::{Cell, Column, Content, Kind, Measure, Profile, Table};

use super::comparison::{Comparison, Note, SideId};
use super::difference::{Figure, three_of};
use super::lines;
use super::sum::Sum;
use super::unlike::Unlike;
use crate::attribution::{By, rows};
use crate::bands::{self, Band};

/// A profile, and what its timing model may be off.
type Banded<'m> = (&'m Profile, Option<&'m Band>);

/// Adds the files and the lines that both profiles know.
pub(super) fn push(
    compared: &mut Comparison,
    section: &str,
    sides: [Banded<'_>; 2],
    measure: &Measure,
    one_model: bool,
) {
    let profiles = sides.map(|(profile, _)| profile);
    match profiles.map(|profile| profile.files.is_empty()) {
        [true, false] => compared.unlike.push(Unlike::NoFiles(SideId::A)),
        [false, true] => compared.unlike.push(Unlike::NoFiles(SideId::B)),
        _ => {}
    }
    let has_lines = |profile: &&Profile| profile.frames.line.iter().any(Option::is_some);
    let lines_known = profiles.iter().any(has_lines);
    for (by, id, what) in [(By::File, "files", "file"), (By::Line, "lines", "source line")] {
        if by == By::Line && !lines_known {
            continue;
        }
        let moved = match by {
            By::Line => lines::moved(profiles[0], profiles[1]),
            _ => BTreeMap::new(),
        };
        if let Some(table) = table(sides, measure, (&by, what), &moved, one_model) {
            let title = format!("{id}: {}", measure.title);
            let id = format!("{section}-{id}");
            compared.push(&id, title, Content::Table(table));
            if !moved.is_empty() {
                compared.note(&id, Note::MovedLines);
            }
        }
    }
}

/// Nothing unless both know files and something differs.
fn table(
    sides: [Banded<'_>; 2],
    measure: &Measure,
    (by, what): (&By, &str),
    moved: &BTreeMap<String, String>,
    one_model: bool,
) -> Option<Table> {
    if sides.iter().any(|(profile, _)| profile.files.is_empty()) {
        return None;
    }
    let mut both: Vec<(BTreeMap<String, Sum>, i64, Kind)> = Vec::new();
    for (side, (profile, band)) in sides.into_iter().enumerate() {
        let flat = rows(profile, &measure.id, by)?;
        let own = profile.measure(&measure.id)?;
        let band = band.filter(|_| bands::is_work(own));
        let kind = band.map_or_else(|| own.kind.clone(), |band| band.kind(&own.kind));
        let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
        for row in &flat.rows {
            let busy = row.sums.busy();
            let name = moved.get(&row.name).filter(|_| side == 0).unwrap_or(&row.name);
            let sum = Sum { value: busy.value, low: busy.low, high: busy.high };
            sums.entry(name.clone()).or_default().add(sum);
        }
        if let Some(band) = band {
            sums.values_mut().for_each(|sum| *sum = sum.widened(Sum::default(), band));
        }
        both.push((sums, flat.total.all.value, kind));
    }
    let [a, b] = both.as_slice() else { return None };
    let value = |side: &(BTreeMap<String, Sum>, i64, Kind), name: &str| {
        side.0.get(name).copied().unwrap_or_default()
    };
    let names: BTreeSet<&String> = a.0.keys().chain(b.0.keys()).collect();
    let change = |name: &str| value(b, name).value.abs_diff(value(a, name).value);
    let mut names: Vec<&String> = names.into_iter().filter(|name| change(name) > 0).collect();
    names.sort_by_key(|name| std::cmp::Reverse(change(name)));
    let figure = |id: &str, title: &str| Column::figure(id, title, measure.unit.clone());
    let mut table = Table::new(vec![
        Column::text("name", what),
        figure("a", "a"),
        figure("b", "b"),
        figure("difference", "difference"),
    ]);
    for name in &names {
        let of = |side: &(BTreeMap<String, Sum>, i64, Kind)| -> Figure {
            value(side, name).figure(&side.2, side.1)
        };
        let [x, y, difference] = three_of([of(a), of(b)], one_model);
        table.row([Cell::from(name.as_str()), x, y, difference]);
    }
    (!table.is_empty()).then_some(table)
}
