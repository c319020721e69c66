//! Bounds of every figure of a measurement from two further ones of the same: of a run in which
//! each thing that is not known takes the least, and of one in which it takes the most.
//!
//! What the other runs measured lies within the bounds by construction, whatever the figure is: how
//! code waits for the world, which interrupt comes first and how often a loop goes round are in the
//! runs and need no rule here. What is about one moment of the run alone (when the worst case was,
//! the time line) stays as it is.

mod places;
mod spreads;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use strobe_model::measurement::ids;

use strobe_model::measurement::{
    Cell, CellKind, Column, Content, Distributions, Measurement, Number, Profile, Quantity,
    Section, Table, Trust, Unit,
};

use crate::evidence;
use crate::naming::what;

/// Gives the figures of `likely` the bounds that it has with the two `others`, where they differ
/// because of `why`; bounds that it had by itself are replaced.
pub fn enclose(likely: &mut Measurement, others: [&Measurement; 2], why: &str) {
    quantity(&mut likely.window.duration, others.map(|m| Some(&m.window.duration)), why);
    for (own, theirs) in [
        (&mut likely.coverage.whole, others.map(|m| m.coverage.whole.as_ref())),
        (&mut likely.coverage.seen, others.map(|m| m.coverage.seen.as_ref())),
    ] {
        own.iter_mut().for_each(|own| quantity(own, theirs, why));
    }
    for total in &mut likely.totals {
        quantity(&mut total.quantity, others.map(|m| m.total(&total.id)), why);
    }
    for section in &mut likely.sections {
        let found = others.map(|m| m.section(&section.id));
        if found.iter().any(Option::is_some) {
            enclose_section(section, found, why);
        }
    }
    for part in &mut likely.parts {
        let [Some(low), Some(high)] = others.map(|m| m.part(&part.name)) else { continue };
        enclose(&mut part.measurement, [low, high], why);
    }
    evidence::follow_causes(likely);
}

/// A run in which nothing was measured (a window that never began) lacks sections: no code ran
/// there, and of what happens one by one it bounds nothing.
fn enclose_section(section: &mut Section, others: [Option<&Section>; 2], why: &str) {
    let [low, high] = others.map(|other| other.map(|section| &section.content));
    match &mut section.content {
        Content::Profile(own) => {
            let nothing = Profile::default();
            if let (Some(low), Some(high)) = (places_of(low, &nothing), places_of(high, &nothing)) {
                places::enclose(own, [low, high], why);
            }
        }
        Content::Distributions(own) => {
            let nothing = Distributions::default();
            if let (Some(low), Some(high)) = (each_of(low, &nothing), each_of(high, &nothing)) {
                spreads::enclose(own, [low, high], why);
            }
        }
        Content::Table(own) => {
            if let (Some(Content::Table(low)), Some(Content::Table(high))) = (low, high) {
                table(own, [low, high]);
            }
        }
        Content::Timeline(_) | Content::Text(_) => {}
    }
}

/// The profile of a section, which may be missing.
fn places_of<'a>(content: Option<&'a Content>, nothing: &'a Profile) -> Option<&'a Profile> {
    match content {
        Some(Content::Profile(profile)) => Some(&**profile),
        Some(_) => None,
        None => Some(nothing),
    }
}

/// The distributions of a section, which may be missing.
fn each_of<'a>(
    content: Option<&'a Content>,
    nothing: &'a Distributions,
) -> Option<&'a Distributions> {
    match content {
        Some(Content::Distributions(all)) => Some(all),
        Some(_) => None,
        None => Some(nothing),
    }
}

/// The least and the most of a value and of what others are between.
fn hull(value: Number, others: impl IntoIterator<Item = (Number, Number)>) -> (Number, Number) {
    others.into_iter().fold((value, value), |(least, most), (low, high)| {
        (if low < least { low } else { least }, if high > most { high } else { most })
    })
}

/// A figure's own bounds; of one whose bounds are unknown, the figure.
fn ends(value: Option<Number>, trust: &Trust) -> Option<(Number, Number)> {
    match trust {
        Trust::Exact | Trust::Modelled { .. } => trust.bounds().or(value.zip(value)),
        _ => None,
    }
}

fn quantity(own: &mut Quantity, others: [Option<&Quantity>; 2], why: &str) {
    let [Some(low), Some(high)] =
        others.map(|other| other.and_then(|other| ends(other.value(), other.trust())))
    else {
        return;
    };
    let (Some(value), Some(trust)) = (own.value(), enclosed(own.value(), own.trust(), [low, high]))
    else {
        return;
    };
    let trust = match trust {
        Trust::Modelled { low, high, why: None } if low != high => {
            Trust::Modelled { low, high, why: Some(why.to_owned()) }
        }
        // All three runs agree.
        Trust::Modelled { low, high, .. } if low == high => Trust::Exact,
        trust => trust,
    };
    if let Ok(bounded) = Quantity::new(Some(value), own.unit().clone(), trust) {
        *own = bounded;
    }
}

/// How far a figure can be trusted that others are to enclose; `None` where it stays as it is.
fn enclosed(value: Option<Number>, trust: &Trust, others: [(Number, Number); 2]) -> Option<Trust> {
    let value = value?;
    let (low, high) = hull(value, others);
    match trust {
        // Nothing shows that a model has a part in it.
        Trust::Exact if low == high => None,
        Trust::Exact => Some(Trust::Modelled { low, high, why: None }),
        Trust::Modelled { why, .. } => Some(Trust::Modelled { low, high, why: why.clone() }),
        _ => None,
    }
}

/// Whether a column states when or where something was, once: of another run it would be another
/// moment.
pub(crate) fn is_moment(column: &Column) -> bool {
    let id = column.id.as_str();
    column.moment || ["at", "cycle", "at-cycle", "number"].contains(&id) || id.ends_with("-at")
}

fn table(own: &mut Table, others: [&Table; 2]) {
    let [low, high] = others.map(|other| rows(own, other));
    for at in 0..own.columns.len() {
        let column = &own.columns[at];
        if column.kind != CellKind::Figure || is_moment(column) {
            continue;
        }
        let [Some(of_low), Some(of_high)] = others.map(|other| other.column(&column.id)) else {
            continue;
        };
        for (row, cell) in own.columns[at].cells.iter_mut().enumerate() {
            let there = |column: &Column, rows: &[Option<usize>]| {
                let other = column.cells.get((*rows.get(row)?)?)?;
                match other {
                    Cell::Exact(number) => Some((*number, *number)),
                    Cell::Figure { value, trust } => ends(*value, trust),
                    _ => None,
                }
            };
            let (Some(low), Some(high)) = (there(of_low, &low), there(of_high, &high)) else {
                continue;
            };
            self::cell(cell, [low, high]);
        }
    }
    footer(own, others);
}

/// Rows under the others, which have the same order in all.
fn footer(own: &mut Table, others: [&Table; 2]) {
    if others.iter().any(|other| other.footer.len() != own.footer.len()) {
        return;
    }
    for (row, cells) in own.footer.iter_mut().enumerate() {
        for (at, own) in cells.iter_mut().enumerate() {
            let [Some(low), Some(high)] = others.map(|other| {
                let cell = other.footer[row].get(at)?;
                match cell {
                    Cell::Exact(number) => Some((*number, *number)),
                    Cell::Figure { value, trust } => ends(*value, trust),
                    _ => None,
                }
            }) else {
                continue;
            };
            cell(own, [low, high]);
        }
    }
}

fn cell(own: &mut Cell, others: [(Number, Number); 2]) {
    let enclosed = match own {
        Cell::Exact(value) => self::enclosed(Some(*value), &Trust::Exact, others),
        Cell::Figure { value, trust } => self::enclosed(*value, trust, others),
        _ => None,
    };
    // Where all three runs agree, no model has a part in it, as in the profile.
    match (enclosed, own.number()) {
        (Some(Trust::Modelled { low, high, .. }), Some(value)) if low == value && value == high => {
            *own = Cell::Exact(value);
        }
        (Some(trust), value) => *own = Cell::Figure { value, trust },
        (None, _) => {}
    }
}

/// What a row is of, and how many before it are of the same.
type Name = (String, usize);

/// Where each row of a table is in another one: by its place in the code, where it has one, else by
/// the first column of words, else of addresses, that distinguishes the rows of both.
fn rows(own: &Table, other: &Table) -> Vec<Option<usize>> {
    let is_place =
        |column: &&Column| column.kind == CellKind::Text && column.id == ids::column::PLACE;
    let of_kind = |kind: CellKind| own.columns.iter().filter(move |column| column.kind == kind);
    let columns = own.columns.iter().filter(is_place);
    let columns = columns.chain(of_kind(CellKind::Text)).chain(of_kind(CellKind::Address));
    for column in columns {
        let theirs = other.column(&column.id).and_then(names);
        if let Some((own, theirs)) = names(column).zip(theirs) {
            let places: BTreeMap<&Name, usize> = theirs.iter().zip(0..).collect();
            return own.iter().map(|name| places.get(name).copied()).collect();
        }
    }
    let same = own.len() == other.len();
    (0..own.len()).map(|row| same.then_some(row)).collect()
}

/// What a column's cells name, if each names something else. Words that go on with where something
/// happened count without that, which is another place in each run; what shares a name then is
/// counted, as these tables have the same order in all runs.
fn names(column: &Column) -> Option<Vec<Name>> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut name = |cell: &Cell| {
        let (words, is_counted) = match cell {
            Cell::Text(text) => (what(text).to_owned(), what(text) != text.as_str()),
            Cell::Address(address) => (address.to_string(), false),
            Cell::Empty | Cell::Exact(_) | Cell::Figure { .. } => return None,
        };
        let before = times.entry(words.clone()).or_default();
        let name = (words, if is_counted { *before } else { 0 });
        *before += 1;
        seen.insert(name.clone()).then_some(name)
    };
    column.cells.iter().map(&mut name).collect()
}

/// Whether a unit is one that models have a part in.
fn is_cycles(unit: &Unit) -> bool {
    *unit == Unit::CYCLES
}
