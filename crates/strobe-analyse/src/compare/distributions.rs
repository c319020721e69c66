//! Distributions that both measurements have: how many values, their mean and their largest.

use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Distribution, Measurement, Number, Spread, Table, Trust, Unit,
};

use super::change::{Change, Longest};
use super::comparison::Comparison;
use super::difference::{Figure, three};
use super::tables::ratio;
use super::unlike::Unlike;
use super::{WORTH_NAMING, kebab};

/// Adds a table for each section of distributions that both have, and each unit in it. Returns what
/// differs most in each.
pub(super) fn push(compared: &mut Comparison, a: &Measurement, b: &Measurement) -> Vec<Change> {
    let mut differing = Vec::new();
    for section in &a.sections {
        let there = b.section(&section.id).map(|section| &section.content);
        let (Content::Distributions(of_a), Some(Content::Distributions(of_b))) =
            (&section.content, there)
        else {
            continue;
        };
        let mut tables: Vec<(&Unit, Table)> = Vec::new();
        let mut longer: Vec<(f64, Longest)> = Vec::new();
        for a in &of_a.distributions {
            let same = |b: &&Distribution| b.name == a.name && b.unit == a.unit;
            let Some(b) = of_b.distributions.iter().find(same) else { continue };
            if a.hertz != b.hertz {
                other_clock(compared, a);
            }
            let known = tables.iter().position(|(unit, _)| **unit == a.unit);
            let place = known.unwrap_or_else(|| {
                tables.push((&a.unit, empty(&a.unit)));
                tables.len() - 1
            });
            tables[place].1.row(row(a, b));
            let largest = |d: &Distribution| figure(d, |spread| spread.max().map(Number::from));
            let both = (largest(a), largest(b));
            let change = ratio(&both).filter(|(by, _)| *by >= WORTH_NAMING);
            longer.extend(change.map(|(by, sides)| {
                (by, Longest { name: a.name.clone(), sides, unit: a.unit.clone() })
            }));
        }
        longer.sort_by(|x, y| y.0.total_cmp(&x.0));
        // How long a thread or handler ran is what its functions took.
        if !longer.is_empty() && section.id != ids::section::DURATIONS {
            let of = longer.into_iter().map(|(_, longest)| longest).collect();
            differing.push(Change::Longest { section: section.id.clone(), of });
        }
        let several = tables.len() > 1;
        for (unit, table) in tables {
            let id = if several {
                format!("{}-{}", section.id, kebab(unit))
            } else {
                section.id.clone()
            };
            let id = compared.free(&id);
            compared.push(&id, section.title.clone(), Content::Table(table));
        }
    }
    differing
}

/// Ticks of another length: numbers of them are compared all the same, times would differ.
fn other_clock(compared: &mut Comparison, distribution: &Distribution) {
    let known = compared.unlike.iter_mut().find_map(|unlike| match unlike {
        Unlike::Ticks { count, .. } => Some(count),
        _ => None,
    });
    match known {
        Some(count) => *count += 1,
        None => {
            let (name, unit) = (distribution.name.clone(), distribution.unit.clone());
            compared.unlike.push(Unlike::Ticks { name, unit, count: 1 });
        }
    }
}

fn empty(unit: &Unit) -> Table {
    let figure = |id, title| Column::figure(id, title, unit.clone());
    Table::new(vec![
        Column::text("name", ""),
        Column::figure("count-a", "n a", Unit::COUNT),
        Column::figure("count-b", "n b", Unit::COUNT),
        figure("mean-a", "mean a"),
        figure("mean-b", "mean b"),
        figure("mean-difference", "difference"),
        figure("max-a", "max a"),
        figure("max-b", "max b"),
        figure("max-difference", "difference"),
    ])
}

fn row(a: &Distribution, b: &Distribution) -> [Cell; 9] {
    let mean = |d: &Distribution| figure(d, |spread| spread.mean().map(Number::from));
    let max = |d: &Distribution| figure(d, |spread| spread.max().map(Number::from));
    let [mean_a, mean_b, mean_difference] = three(mean(a), mean(b), false);
    let [max_a, max_b, max_difference] = three(max(a), max(b), false);
    [
        a.name.as_str().into(),
        a.spread.count().into(),
        b.spread.count().into(),
        mean_a,
        mean_b,
        mean_difference,
        max_a,
        max_b,
        max_difference,
    ]
}

/// A figure of a distribution with the bounds that follow from those of its values.
fn figure(d: &Distribution, of: impl Fn(&Spread) -> Option<Number>) -> Option<Figure> {
    let value = of(&d.spread)?;
    let bounds = d.low.as_ref().and_then(&of).zip(d.high.as_ref().and_then(&of));
    let trust = match (bounds, d.resolution) {
        (Some((low, high)), _) => {
            let low = if low <= value { low } else { value };
            let high = if high >= value { high } else { value };
            if low == high {
                Trust::Exact
            } else {
                Trust::Modelled { low, high, why: d.why.clone() }
            }
        }
        (None, Some(off @ 1..)) => {
            let off = off as f64;
            let low = Number::from((value.as_f64() - off).max(0.0));
            let high = Number::from(value.as_f64() + off);
            Trust::Resolution { low, high }
        }
        // A reason without bounds: nobody knows them.
        (None, _) if d.why.is_some() => return Some(Figure::about(value, d.why.clone())),
        (None, _) => Trust::Exact,
    };
    Some(Figure { value: Some(value), trust })
}
