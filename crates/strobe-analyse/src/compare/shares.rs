//! A recording against what was counted: samples of one side and cycles of the other are no
//! figures of one unit, but each function's share of them is. This is how a simulated run is held
//! against the board.

use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Kind, Measure, Measurement, Number, Profile, Table, Trust, Unit,
};

use super::certain::{Certainty, Doubt, RATE};
use super::change::Change;
use super::comparison::{CERTAIN, Comparison, Note, Statement};
use super::difference::{Figure, three_of};
use super::groups::{NOWHERE, Side};
use super::matching::matches;
use super::sum::Sum;
use crate::bands::Band;
use crate::statistics::counts::{chance, corrected};

/// The section of shares.
const SHARES: &str = "profile-shares";

/// A function's part of both sides.
struct Row {
    name: String,
    parts: [Sum; 2],
    certain: Certainty,
}

/// Adds a table of shares where one side counts samples and the other does not. Returns which
/// function's share differs most beyond chance, if one does.
pub(super) fn push(
    compared: &mut Comparison,
    [a, b]: [&Measurement; 2],
    bands: [Option<&Band>; 2],
) -> Option<Change> {
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
    compared.push(SHARES, title, Content::Table(table(&sides, &rows)));
    compared.note(SHARES, Note::ShareTest);
    let certain = rows.iter().map(|row| Statement::Certainty(row.certain.clone()));
    compared.state(SHARES, CERTAIN, certain.collect());
    let Some(most) = rows.iter().find(|row| row.certain.is_known()) else {
        return Some(Change::NoShare);
    };
    let percent = [0, 1].map(|side| percent(most.parts[side].value, sides[side].all));
    let units = [unit_a.clone(), unit_b.clone()];
    Some(Change::Share { function: most.name.clone(), percent, units })
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
                certain: Certainty::Equal,
            })
        })
        .collect();
    if sides.iter().any(|side| side.idle.value > 0) {
        let parts = [sides[0].idle, sides[1].idle];
        rows.push(Row { name: "(idle)".to_owned(), parts, certain: Certainty::Equal });
    }
    let chances: Vec<f64> = rows.iter().map(|row| by_chance(row, sides, sampled)).collect();
    for (row, chance) in rows.iter_mut().zip(corrected(&chances)) {
        row.certain = match chance {
            chance if chance < RATE => Certainty::Test(chance),
            _ => Certainty::Undecided(Doubt::Bounds),
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
        table.row([Cell::from(row.name.as_str()), x, y, difference, Cell::Empty]);
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
