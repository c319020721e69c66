//! Distributions that both measurements have: how many values, their mean and their largest.

use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Distribution, Finding, Measurement, Number, Severity, Spread, Table,
    Trust, Unit,
};

use super::difference::{Figure, three};
use super::tables::ratio;
use super::{WORTH_NAMING, free, kebab, words};

/// So many of a section are named in the verdict.
const NAMED: usize = 2;

/// Adds a table for each section of distributions that both have, and each unit in it. Returns what
/// differs most in each.
pub(super) fn push(compared: &mut Measurement, a: &Measurement, b: &Measurement) -> Vec<String> {
    let mut differing = Vec::new();
    for section in &a.sections {
        let there = b.section(&section.id).map(|section| &section.content);
        let (Content::Distributions(of_a), Some(Content::Distributions(of_b))) =
            (&section.content, there)
        else {
            continue;
        };
        let mut tables: Vec<(&Unit, Table)> = Vec::new();
        let mut longer: Vec<(f64, String)> = Vec::new();
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
            let value = |figure: &Option<Figure>| {
                figure.as_ref().and_then(|figure| figure.value).map_or(0.0, Number::as_f64)
            };
            longer.extend(change.map(|(by, _)| {
                let from_to = words::from_to(value(&both.0), value(&both.1), &a.unit);
                (by, format!("{} {from_to}", a.name))
            }));
        }
        longer.sort_by(|x, y| y.0.total_cmp(&x.0));
        // How long a thread or handler ran is what its functions took.
        if !longer.is_empty() && section.id != ids::section::DURATIONS {
            let all = words::some(longer.iter().map(|(_, words)| words.as_str()), NAMED);
            differing.push(format!("{}: longest of {all}", section.id));
        }
        let several = tables.len() > 1;
        for (unit, table) in tables {
            let id = match several {
                true => format!("{}-{}", section.id, kebab(unit)),
                false => section.id.clone(),
            };
            let id = free(compared, &id);
            compared.push(&id, section.title.clone(), Content::Table(table));
        }
    }
    differing
}

/// Ticks of another length: numbers of them are compared all the same, times would differ.
fn other_clock(compared: &mut Measurement, distribution: &Distribution) {
    const CODE: &str = "other-tick";
    match compared.findings.iter_mut().find(|finding| finding.code == CODE) {
        Some(finding) => finding.count += 1,
        None => {
            let (name, unit) = (&distribution.name, &distribution.unit);
            let text = format!("{unit} of {name} are of another length in b: as times they differ");
            compared.findings.push(Finding::new(Severity::Warning, CODE, text));
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
            match low == high {
                true => Trust::Exact,
                false => Trust::Modelled { low, high, why: d.why.clone() },
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
