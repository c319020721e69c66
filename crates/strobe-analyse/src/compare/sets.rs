//! Sets of runs on either side: the run in the middle of each is compared, and all of them say how
//! much every figure varies.

use std::collections::BTreeMap;

use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Ended, Measurement, NamedPart, Number, Table, Unit,
};

use super::certain::{Certainty, Doubt, RATE, Repeated};
use super::comparison::{CERTAIN, Comparison, Note, Statement};
use super::unlike::Unlike;
use super::{compare, of_two};
use crate::figures::figures;
use crate::statistics::counts::corrected;
use crate::statistics::repeated::{Difference, Runs, welch};

/// The section of figures that vary.
const SPREAD: &str = "spread";

/// Figures of these groups have a row of their own.
const SHOWN: [&str; 7] =
    ["totals/", "window/", "interrupts/", "latencies/", "durations/", "wake-ups/", "pins/"];

/// Compares sets of runs; a set of one is that run. Nothing where a set is empty.
pub fn compare_sets(a: &[Measurement], b: &[Measurement]) -> Option<Comparison> {
    let (in_a, in_b) = (middle(a)?, middle(b)?);
    if a.len() < 2 && b.len() < 2 {
        return Some(compare(in_a, in_b));
    }
    let repeated = Repeated { a: a.iter().collect(), b: b.iter().collect() };
    let mut compared = of_two(in_a, in_b, &repeated);
    let (table, certain) = spread(a, b);
    let title = format!("spread of {} runs (a) and {} runs (b)", a.len(), b.len());
    compared.push(SPREAD, title, Content::Table(table));
    compared.note(SPREAD, Note::SpreadTest);
    compared.note(SPREAD, Note::MiddleRun);
    compared.state(SPREAD, CERTAIN, certain);
    // Behind the verdict and the functions.
    let sections = &mut compared.measurement.sections;
    let at = sections.iter().position(|section| section.id.starts_with(ids::prefix::TOTALS));
    if let Some(at) = at {
        sections[at..].rotate_right(1);
    }
    let parts = [("a", a), ("b", b)].into_iter().flat_map(|(name, set)| {
        set.iter().zip(1..).map(move |(run, n)| NamedPart {
            name: if set.len() == 1 { name.to_owned() } else { format!("{name}{n}") },
            measurement: run.clone(),
        })
    });
    compared.measurement.parts = parts.collect();
    Some(compared)
}

/// Runs of a set that ended otherwise than the rest have done other work, whichever run is shown.
pub(super) fn ends(compared: &mut Comparison, repeated: &Repeated) {
    let mut all: Vec<(&Ended, [usize; 2])> = Vec::new();
    for (side, runs) in [&repeated.a, &repeated.b].into_iter().enumerate() {
        for run in runs {
            let end = &run.window.ended;
            let is_alike = |other: &Ended| (&other.kind, other.code) == (&end.kind, end.code);
            match all.iter().position(|(other, _)| is_alike(other)) {
                Some(at) => all[at].1[side] += 1,
                None => all.push((end, if side == 0 { [1, 0] } else { [0, 1] })),
            }
        }
    }
    if all.len() < 2 {
        return;
    }
    let ends = all.into_iter().map(|(end, runs)| (end.text.clone(), runs)).collect();
    compared.unlike.retain(|unlike| !matches!(unlike, Unlike::End(_)));
    compared.unlike.push(Unlike::RunEnds(ends));
}

/// The run in the middle by its first total.
fn middle(set: &[Measurement]) -> Option<&Measurement> {
    let key = |run: &Measurement| {
        let first = run.totals.first().and_then(|total| total.quantity.value());
        first.map_or(0.0, Number::as_f64)
    };
    let mut order: Vec<&Measurement> = set.iter().collect();
    order.sort_by(|x, y| key(x).total_cmp(&key(y)));
    order.get(order.len().saturating_sub(1) / 2).copied()
}

struct Row {
    name: String,
    a: Runs,
    b: Runs,
    difference: Option<Difference>,
    certain: Certainty,
}

/// Every figure that all runs have and that is not the same in all, with whether it differs.
fn spread(a: &[Measurement], b: &[Measurement]) -> (Table, Vec<Statement>) {
    let mut rows = rows(a, b);
    let chances: Vec<f64> =
        rows.iter().filter_map(|row| Some(row.difference?.chance)).filter(|p| *p > 0.0).collect();
    let mut corrected = corrected(&chances).into_iter();
    for row in &mut rows {
        row.certain = match row.difference {
            None => Certainty::Undecided(Doubt::OneRun),
            Some(difference) if difference.chance == 0.0 => Certainty::Yes,
            Some(_) => match corrected.next() {
                Some(chance) if chance < RATE => Certainty::Test(chance),
                _ => Certainty::Undecided(Doubt::RunsVary),
            },
        };
    }
    let relative = |row: &Row| {
        let error = (row.a.variance + row.b.variance).sqrt();
        (row.b.mean - row.a.mean).abs() / error.max(1e-12)
    };
    rows.sort_by(|x, y| {
        let key = |row: &Row| (row.certain.is_known(), relative(row));
        let ((known_x, x), (known_y, y)) = (key(x), key(y));
        known_y.cmp(&known_x).then(y.total_cmp(&x))
    });
    let figure = |id: &str, title: &str| Column::figure(id, title, Unit::COUNT);
    let mut table = Table::new(vec![
        Column::text("figure", "figure"),
        figure("mean-a", "mean a"),
        figure("min-a", "min a").worth(1),
        figure("max-a", "max a").worth(1),
        figure("mean-b", "mean b"),
        figure("min-b", "min b").worth(1),
        figure("max-b", "max b").worth(1),
        figure("difference", "difference"),
        figure("low", "at least").worth(2),
        figure("high", "at most").worth(2),
        Column::text("verdict", "certain"),
    ]);
    let mut certain = Vec::new();
    for row in rows {
        let end = |of: fn(&Difference) -> f64| Cell::from(row.difference.as_ref().map(of));
        table.row([
            row.name.into(),
            row.a.mean.into(),
            row.a.min.into(),
            row.a.max.into(),
            row.b.mean.into(),
            row.b.min.into(),
            row.b.max.into(),
            (row.b.mean - row.a.mean).into(),
            end(|d| d.low),
            end(|d| d.high),
            Cell::Empty,
        ]);
        certain.push(Statement::Certainty(row.certain));
    }
    (table, certain)
}

fn rows(a: &[Measurement], b: &[Measurement]) -> Vec<Row> {
    let [of_a, of_b] = [a, b].map(|set| set.iter().map(figures).collect::<Vec<_>>());
    let Some(first) = of_a.first() else { return Vec::new() };
    // Ends of bounds are no figures of their own, and moments are neither more nor less.
    let is_one = |name: &str| {
        !["/low/", "/high/"].iter().any(|end| name.contains(end)) && !name.ends_with("-at")
    };
    let names = first
        .keys()
        .filter(|name| SHOWN.iter().any(|group| name.starts_with(group)) && is_one(name));
    let of = |set: &[BTreeMap<String, Number>], name: &str| {
        let values: Option<Vec<f64>> =
            set.iter().map(|run| Some(run.get(name)?.as_f64())).collect();
        Runs::of(&values?)
    };
    let row = |name: &String| {
        let (a, b) = (of(&of_a, name)?, of(&of_b, name)?);
        let is_same = a.min == b.max && a.max == b.min;
        let difference = welch(&a, &b);
        let name = name.clone();
        (!is_same).then_some(Row { name, a, b, difference, certain: Certainty::Equal })
    };
    names.filter_map(row).collect()
}
