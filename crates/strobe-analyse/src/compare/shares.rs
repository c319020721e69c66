//! A recording against what was counted: samples of one side and cycles of the other are no
//! figures of one unit, but each function's share of them is. This is how a simulated run is held
//! against the board.

use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Kind, Measure, Measurement, Number, Profile, Table, Trust, Unit,
};

use super::certain::{Certain, RATE};
use super::difference::{Figure, three_of};
use super::groups::{NOWHERE, Side};
use super::matching::matches;
use super::sum::Sum;
use crate::bands::Band;
use crate::statistics::counts::{chance, corrected};

/// A function's part of both sides.
struct Row {
    name: String,
    parts: [Sum; 2],
    certain: Certain,
}

/// Adds a table of shares where one side counts samples and the other does not. Returns which
/// function's share differs most beyond chance, if one does.
pub(super) fn push(
    compared: &mut Measurement,
    [a, b]: [&Measurement; 2],
    bands: [Option<&Band>; 2],
) -> Option<String> {
    let [(of_a, in_a), (of_b, in_b)] = [first(a)?, first(b)?];
    let sampled = [in_a, in_b].map(|measure| matches!(measure.kind, Kind::Sampled { .. }));
    if in_a.unit == in_b.unit || sampled[0] == sampled[1] {
        return None;
    }
    let by_name = ![of_a, of_b].into_iter().all(Side::knows_files);
    let sides =
        [Side::new(a, of_a, in_a, by_name, bands[0]), Side::new(b, of_b, in_b, by_name, bands[1])];
    let are_known = sides.iter().all(|side| side.knows_names() && side.all > 0);
    if !are_known {
        return None;
    }
    let rows = rows(&sides, usize::from(sampled[1]));
    let [unit_a, unit_b] = [&in_a.unit, &in_b.unit];
    let title = format!("functions: shares of all {unit_a} (a) and of all {unit_b} (b)");
    let table = Content::Table(table(&sides, &rows));
    let added = compared.push("profile-shares", title, table);
    added.notes.push(format!(
        "certain: the share of samples against what the other side has, within its bounds, \
         corrected for the number of rows (Benjamini and Hochberg, {:.0} % false alarms); samples \
         are taken as independent",
        RATE * 100.0
    ));
    let Some(most) = rows.iter().find(|row| row.certain.is_known()) else {
        return Some("no function's share differs beyond chance".to_owned());
    };
    let [x, y] = [0, 1].map(|side| percent(most.parts[side].value, sides[side].all));
    Some(format!("shares: {} has {x:.1} % of {unit_a} (a), {y:.1} % of {unit_b} (b)", most.name))
}

/// The profile of functions and what it counts.
fn first(of: &Measurement) -> Option<(&Profile, &Measure)> {
    let Content::Profile(profile) = &of.section(ids::section::PROFILE)?.content else {
        return None;
    };
    Some((profile, profile.measures.first()?))
}

/// Those whose shares differ most first.
fn rows(sides: &[Side; 2], sampled: usize) -> Vec<Row> {
    let own =
        |side: usize, at: Option<usize>| at.map_or(Sum::default(), |at| sides[side].groups[at].own);
    let found = matches(&sides[0], &sides[1]).into_iter();
    let mut rows: Vec<Row> = found
        .filter_map(|m| {
            let group =
                m.b.map(|at| &sides[1].groups[at]).or(m.a.map(|at| &sides[0].groups[at]))?;
            let parts = [own(0, m.a), own(1, m.b)];
            let name = group.name.clone();
            (parts.iter().any(|part| part.value != 0) && name != NOWHERE).then_some(Row {
                name,
                parts,
                certain: Certain::Equal,
            })
        })
        .collect();
    if sides.iter().any(|side| side.idle.value > 0) {
        let parts = [sides[0].idle, sides[1].idle];
        rows.push(Row { name: "(idle)".to_owned(), parts, certain: Certain::Equal });
    }
    let chances: Vec<f64> = rows.iter().map(|row| by_chance(row, sides, sampled)).collect();
    for (row, chance) in rows.iter_mut().zip(corrected(&chances)) {
        row.certain = match chance {
            chance if chance < RATE => Certain::Test(chance),
            _ => Certain::No(String::new()),
        };
    }
    let apart = |row: &Row| {
        let [x, y] = [0, 1].map(|side| percent(row.parts[side].value, sides[side].all));
        (x - y).abs()
    };
    rows.sort_by(|x, y| apart(y).total_cmp(&apart(x)).then_with(|| x.name.cmp(&y.name)));
    rows
}

fn percent(part: i64, all: i64) -> f64 {
    part as f64 * 100.0 / all.max(1) as f64
}

/// How likely as many samples are if the share is the nearest that the other side may have.
fn by_chance(row: &Row, sides: &[Side; 2], sampled: usize) -> f64 {
    let counted = 1 - sampled;
    let n = sides[sampled].all as f64;
    let seen = row.parts[sampled].value as f64 / n;
    let of = |part: i64| part as f64 / sides[counted].all as f64;
    let part = row.parts[counted];
    let (low, high) = (part.low.min(part.value), part.high.max(part.value));
    // A share of nothing would make a single sample impossible.
    let expected = seen.clamp(of(low), of(high).max(of(low))).max(0.5 / n).min(1.0);
    let error = (expected * (1.0 - expected) / n).sqrt();
    if error > 0.0 { chance((seen - expected) / error) } else { 1.0 }
}

fn table(sides: &[Side; 2], rows: &[Row]) -> Table {
    let figure = |id: &str, title: &str| Column::figure(id, title, Unit::PERCENT);
    let mut table = Table::new(vec![
        Column::text(ids::column::FUNCTION, "function"),
        figure("share-a", "share a"),
        figure("share-b", "share b"),
        figure("difference", "difference"),
        Column::text("verdict", "certain"),
    ]);
    for row in rows {
        let shares = [0, 1].map(|side| share(row.parts[side], &sides[side]));
        let [x, y, difference] = three_of(shares, false);
        let words = row.certain.words();
        table.row([Cell::from(row.name.as_str()), x, y, difference, words.into()]);
    }
    table
}

/// A part of a side in percent, with its interval or bounds.
fn share(part: Sum, side: &Side) -> Figure {
    let figure = part.figure(&side.kind, side.all);
    let of = |n: Number| Number::from(n.as_f64() * 100.0 / side.all.max(1) as f64);
    let trust = match figure.trust {
        Trust::Modelled { low, high, why } => Trust::Modelled { low: of(low), high: of(high), why },
        Trust::Sampled { n, low, high } => Trust::Sampled { n, low: of(low), high: of(high) },
        trust => trust,
    };
    Figure { value: figure.value.map(of), trust }
}
