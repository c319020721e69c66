//! How the difference of a function divides: more calls, more of a cause for each call, a rest.
//! Parts add up to the whole difference.

use strobe_model::measurement::ids;
use strobe_model::measurement::{Cell, Column, Content, Measure, Part, Table};

use super::comparison::{Comparison, Note, Statement, WHY};
use super::explain::groups;
use super::found::{FunctionChange, FunctionChanges};
use super::groups::{Group, Side};

/// How a row's difference divides: what more calls alone would make, then each part of what a call
/// takes. The sum is the difference.
struct Division {
    calls: i64,
    parts: Vec<i64>,
    rest: i64,
}

fn divide(row: &FunctionChange, sides: &[Side; 2], parts: &[&Measure]) -> Division {
    let [a, b] = groups(sides, &row.matched);
    let calls = [a, b].map(|group| group.map_or(0, |group| group.calls));
    let of = |group: Option<&Group>, id: &str| {
        group.and_then(|group| group.parts.get(id).copied()).unwrap_or(0)
    };
    // What more calls of what A is would take, part by part.
    let by_calls = |value: i64| match calls {
        [x, y] if x > 0 && y > 0 => {
            (value as f64 * (y as f64 - x as f64) / x as f64).round() as i64
        }
        _ => 0,
    };
    let mut division = Division { calls: 0, parts: Vec::new(), rest: 0 };
    for part in parts {
        let [x, y] = [of(a, &part.id), of(b, &part.id)];
        let of_calls = by_calls(x);
        division.calls = division.calls.saturating_add(of_calls);
        division.parts.push(y.saturating_sub(x).saturating_sub(of_calls));
    }
    if parts.is_empty() {
        division.calls = by_calls(row.own[0]);
    }
    let named = division.parts.iter().fold(division.calls, |sum, n| sum.saturating_add(*n));
    division.rest = row.difference().saturating_sub(named);
    division
}

/// Adds the division of every function's difference, and of all of them together.
pub(super) fn push(
    compared: &mut Comparison,
    section: &str,
    sides: &[Side; 2],
    found: &FunctionChanges,
    measure: &Measure,
) {
    let parts: Vec<&Measure> = sides[0]
        .profile
        .parts(&measure.id)
        .filter(|(part, Part { idle, .. })| !idle && sides[1].profile.measure(&part.id).is_some())
        .map(|(part, _)| part)
        .collect();
    let differing = || found.rows.iter().filter(|row| row.difference() != 0);
    let has_calls = sides.iter().all(|side| side.has_calls);
    if found.sampled || differing().next().is_none() || (parts.is_empty() && !has_calls) {
        return;
    }
    let divisions: Vec<(&FunctionChange, Division)> =
        differing().map(|row| (row, divide(row, sides, &parts))).collect();
    // A part that nothing differs in has no column.
    let used: Vec<usize> = (0..parts.len())
        .filter(|at| divisions.iter().any(|(_, division)| division.parts[*at] != 0))
        .collect();
    let figure = |id: &str, title: &str| Column::figure(id, title, measure.unit.clone());
    let mut columns =
        vec![Column::text(ids::column::FUNCTION, "function"), figure("difference", "difference")];
    // The note at the end has which there is no room for: those with least in their rows.
    let size = |of: &dyn Fn(&Division) -> i64| -> u64 {
        divisions.iter().fold(0, |sum, (_, each)| sum.saturating_add(of(each).unsigned_abs()))
    };
    let mut sizes = vec![size(&|division| division.calls)];
    sizes.extend(used.iter().map(|at| size(&|division| division.parts[*at])));
    sizes.push(size(&|division| division.rest));
    let worth = |at: usize| {
        let less = sizes.iter().filter(|other| **other < sizes[at]).count();
        u8::try_from(less).unwrap_or(u8::MAX)
    };
    columns.push(figure("more-calls", "more calls").worth(worth(0)));
    let parts_of = used.iter().zip(1..);
    columns.extend(parts_of.map(|(at, n)| {
        let part = parts[*at];
        figure(&part.id, &part.title).worth(worth(n))
    }));
    columns.push(figure("rest", "rest").worth(worth(used.len() + 1)));
    columns.push(Column::text("why", "why"));
    let mut table = Table::new(columns);
    let mut sums = vec![0i64; used.len() + 3];
    for (row, division) in &divisions {
        let mut numbers = vec![row.difference(), division.calls];
        numbers.extend(used.iter().map(|at| division.parts[*at]));
        numbers.push(division.rest);
        sums.iter_mut().zip(&numbers).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
        let mut cells = vec![Cell::from(row.name.as_str())];
        cells.extend(numbers.into_iter().map(Cell::from));
        cells.push(Cell::Empty);
        table.columns.iter_mut().zip(cells).for_each(|(column, cell)| column.cells.push(cell));
    }
    let idle = sides[1].idle.value.saturating_sub(sides[0].idle.value);
    let whole = found.all[1].saturating_sub(found.all[0]);
    let beside = whole.saturating_sub(sums[0]).saturating_sub(idle);
    for (name, n) in [("idle", idle), ("in no function", beside)] {
        if n != 0 {
            let mut row = vec![Cell::from(name), n.into()];
            row.resize(table.columns.len(), Cell::Empty);
            table.footer.push(row);
        }
    }
    sums[0] = whole;
    let mut row = vec![Cell::from("all")];
    row.extend(sums.into_iter().map(Cell::from));
    row.push(Cell::Empty);
    table.footer.push(row);
    let title = format!("causes of the difference: {}, by function", measure.title);
    let id = format!("{section}-causes");
    compared.push(&id, title, Content::Table(table));
    compared.note(&id, Note::Division);
    let causes = divisions.iter().map(|(row, _)| Statement::Causes(row.why.clone())).collect();
    compared.state(&id, WHY, causes);
}
