//! Source files and lines of two profiles, those that changed most first.

use std::collections::{BTreeMap, BTreeSet};

use strobe_model::measurement::{
    Cell, Column, Content, Kind, Measure, Measurement, Profile, Table,
};

use super::difference::Figure;
use super::functions::three_by_model;
use super::sum::Sum;
use crate::attribution::{By, rows};

/// Adds the files and the lines that both profiles know.
pub(super) fn push(
    compared: &mut Measurement,
    section: &str,
    profiles: [&Profile; 2],
    measure: &Measure,
    one_model: bool,
) {
    for (by, id, what) in [(By::File, "files", "file"), (By::Line, "lines", "source line")] {
        if let Some(table) = table(profiles, measure, (&by, what), one_model) {
            let title = format!("{id}: {}", measure.title);
            compared.push(&format!("{section}-{id}"), title, Content::Table(table));
        }
    }
}

/// Nothing unless both know files and something differs.
fn table(
    profiles: [&Profile; 2],
    measure: &Measure,
    (by, what): (&By, &str),
    one_model: bool,
) -> Option<Table> {
    if profiles.iter().any(|profile| profile.files.is_empty()) {
        return None;
    }
    let mut sides: Vec<(BTreeMap<String, Sum>, i64, Kind)> = Vec::new();
    for profile in profiles {
        let flat = rows(profile, &measure.id, by)?;
        let kind = profile.measure(&measure.id)?.kind.clone();
        let sums = flat.rows.iter().map(|row| {
            let busy = row.sums.busy();
            (row.name.clone(), Sum { value: busy.value, low: busy.low, high: busy.high })
        });
        sides.push((sums.collect(), flat.total.all.value, kind));
    }
    let [a, b] = sides.as_slice() else { return None };
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
        let [x, y, difference] = three_by_model([of(a), of(b)], one_model);
        table.row([Cell::from(name.as_str()), x, y, difference]);
    }
    (!table.is_empty()).then_some(table)
}
