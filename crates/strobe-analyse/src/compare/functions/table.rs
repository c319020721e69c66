//! The table of functions: columns for both sides and their difference, a row for each function.

use strobe_model::measurement::ids;
use strobe_model::measurement::{Cell, Column, Measure, Table, Unit};

use super::super::certain;
use super::super::difference::{Figure, three_of};
use super::super::found::{FunctionChange, FunctionChanges, nameless};
use super::super::groups::Side;
use super::super::sum::Sum;
use super::{figures, three};

pub(super) fn table(sides: &[Side; 2], found: &FunctionChanges, measure: &Measure) -> Table {
    let has_inclusive = sides.iter().all(|side| side.has_inclusive);
    let has_calls = sides.iter().all(|side| side.has_calls);
    let are_known = nameless(found.names_known, found.all).is_none();
    let mut columns = vec![Column::text(ids::column::FUNCTION, "function")];
    columns.extend(three_columns("self", &measure.unit, None));
    if found.sampled {
        columns.push(Column::figure(ids::column::SHARE_DIFFERENCE, "share", Unit::PERCENT));
    }
    if has_inclusive {
        columns.extend(three_columns("inclusive", &measure.unit, Some(1)));
    }
    if has_calls {
        columns.extend(three_columns("calls", &Unit::COUNT, Some(4)));
        let each = |end: &str| {
            let title = format!("per call {end}");
            Column::figure(&format!("per-call-{end}"), &title, measure.unit.clone()).worth(8)
        };
        columns.extend([each("a"), each("b")]);
    }
    columns.push(Column::text(ids::column::SIDE, "only in").worth(0));
    columns.push(Column::text("verdict", "certain"));
    // The last one goes on in further lines.
    columns.push(Column::text("change", "change"));
    let mut table = Table::new(columns);
    for row in &found.rows {
        let mut cells = vec![Cell::from(row.name.as_str())];
        cells.extend(three_by(sides, figures(sides, &row.matched)));
        if found.sampled {
            cells.push(certain::share_cell(row, found));
        }
        if has_inclusive {
            cells.extend(three_by(sides, three(sides, &row.matched, |group| group.inclusive)));
        }
        if has_calls {
            cells.extend(calls(sides, row));
        }
        cells.push(match (row.matched.a, row.matched.b) {
            _ if !are_known => Cell::Empty,
            (Some(_), None) => "a".into(),
            (None, Some(_)) => "b".into(),
            _ => Cell::Empty,
        });
        cells.extend([Cell::Empty, Cell::Empty]);
        table.columns.iter_mut().zip(cells).for_each(|(column, cell)| column.cells.push(cell));
    }
    footer(&mut table, sides);
    table
}

/// Both sides and the difference; where there is no room, the sides go before their difference.
fn three_columns(id: &str, unit: &Unit, worth: Option<u8>) -> [Column; 3] {
    // Without their sides, differences of what is called need a name of their own.
    let figure = |end: &str, title: &str, more: u8| {
        let column = Column::figure(&format!("{id}-{end}"), title, unit.clone());
        Column { worth: worth.map(|worth| worth + more), ..column }
    };
    [
        figure("a", &format!("{id} a"), 0),
        figure("b", &format!("{id} b"), 0),
        figure(
            "difference",
            &if id == "self" { "difference".to_owned() } else { format!("{id} diff.") },
            2,
        ),
    ]
}

/// Calls of both, their difference, and what each takes by itself.
fn calls(sides: &[Side; 2], row: &FunctionChange) -> Vec<Cell> {
    let of = |side: &Side, at: Option<usize>| {
        let called = at.map_or(Sum::default(), |at| side.groups[at].called);
        called.times(side.profile, "calls")
    };
    let calls = [of(&sides[0], row.matched.a), of(&sides[1], row.matched.b)];
    let each = [0, 1].map(|side: usize| {
        let n = row.calls[side];
        let likely = (n > 0).then(|| row.own[side] as f64 / n as f64);
        match likely {
            Some(likely) if calls[side].is_about() => {
                Cell::from(&Figure::about(likely.into(), None))
            }
            likely => Cell::from(likely),
        }
    });
    let mut cells: Vec<Cell> = three_of(calls, false).into();
    cells.extend(each);
    cells
}

/// The cells of figures that may rest on one model.
fn three_by(sides: &[Side; 2], figures: [Figure; 2]) -> [Cell; 3] {
    three_of(figures, sides[0].one_model)
}

/// What is idle, and everything: the sum of the rows and of what is idle.
fn footer(table: &mut Table, sides: &[Side; 2]) {
    let whole = |side: &Side| side.whole.figure(&side.kind, side.all);
    let idle = sides.each_ref().map(|side| {
        if side.idle.is_exact() {
            Figure::exact(side.idle.value)
        } else {
            side.idle.figure(&side.kind, side.all)
        }
    });
    let rows = [("idle", idle), ("all", sides.each_ref().map(whole))];
    let some_idle = sides.iter().any(|side| side.idle.value > 0);
    for (what, figures) in rows.into_iter().filter(|(what, _)| *what != "idle" || some_idle) {
        let mut cells = vec![Cell::from(what)];
        cells.extend(three_by(sides, figures));
        cells.resize(table.columns.len(), Cell::Empty);
        table.footer.push(cells);
    }
}
