//! Instructions of the functions that changed most, those of one function aligned with each other
//! whatever their addresses.

use similar::{Algorithm, DiffTag, capture_diff_slices};
use strobe_model::measurement::{Address, Cell, Column, Content, Measure, Table, Unit};

use super::comparison::{Comparison, Note};
use super::difference::Figure;
use super::found::{FunctionChange, FunctionChanges};
use super::groups::{Group, Instruction, Side};

/// Functions that are shown by instruction.
const FUNCTIONS: usize = 3;

/// Longer functions would take too long to align.
const MOST: usize = 20_000;

/// Adds a table for each function that changed much and whose instructions both sides have.
pub(super) fn push(
    compared: &mut Comparison,
    section: &str,
    sides: &[Side; 2],
    found: &FunctionChanges,
    measure: &Measure,
) {
    let both = |row: &&FunctionChange| {
        let a = &sides[0].groups.get(row.matched.a?)?.code;
        let b = &sides[1].groups.get(row.matched.b?)?.code;
        let some = !a.is_empty() && !b.is_empty() && a.len().max(b.len()) <= MOST;
        some.then_some(())
    };
    let changed = found.rows.iter().filter(|row| row.difference() != 0);
    let changed = changed.filter(|row| both(row).is_some()).take(FUNCTIONS);
    for row in changed {
        let (Some(a), Some(b)) = (row.matched.a, row.matched.b) else { continue };
        let table = table(sides, [&sides[0].groups[a], &sides[1].groups[b]], measure);
        let id = compared.free(&format!("{section}-instructions-{}", row.name));
        let title = format!("instructions of {}: {}", row.name, measure.title);
        compared.push(&id, title, Content::Table(table));
        compared.note(&id, Note::Alignment);
    }
}

fn table(sides: &[Side; 2], [a, b]: [&Group; 2], measure: &Measure) -> Table {
    let figure = |id: &str, title: &str| Column::figure(id, title, measure.unit.clone());
    let mut table = Table::new(vec![
        figure("a", "a"),
        figure("b", "b"),
        figure("difference", "difference"),
        Column::figure("count-a", "count a", Unit::COUNT).worth(2),
        Column::figure("count-b", "count b", Unit::COUNT).worth(2),
        Column::address("address-a", "address a").worth(1),
        Column::address("address-b", "address b").worth(1),
        Column::text("in", "in"),
        Column::text("instruction", "instruction"),
    ]);
    for (x, y) in aligned(&a.code, &b.code) {
        let cell = |figure: Option<Figure>| figure.as_ref().map_or(Cell::Empty, Cell::from);
        let taken = |side: usize, i: Option<&Instruction>| {
            Some(i?.taken.times(sides[side].profile, &measure.id))
        };
        let ran = |side: usize, i: Option<&Instruction>| {
            Some(i?.executions.times(sides[side].profile, "executions"))
        };
        let address = |side: Option<&Instruction>| Cell::from(side.map(|i| Address(i.address)));
        let nothing = || Figure::exact(0i64);
        let [of_a, of_b] = [taken(0, x), taken(1, y)];
        let more = of_a.clone().unwrap_or_else(nothing);
        let more = more.more(&of_b.clone().unwrap_or_else(nothing), sides[0].one_model);
        let mark = match (x, y) {
            (Some(_), Some(_)) => "=",
            (Some(_), None) => "a",
            _ => "b",
        };
        let text = y.or(x).map(|instruction| instruction.text.as_str());
        table.row([
            cell(of_a),
            cell(of_b),
            (&more).into(),
            cell(ran(0, x)),
            cell(ran(1, y)),
            address(x),
            address(y),
            mark.into(),
            text.into(),
        ]);
    }
    table
}

type Pair<'i> = (Option<&'i Instruction>, Option<&'i Instruction>);

/// Every instruction of both in their order, side by side where they do the same.
fn aligned<'i>(a: &'i [Instruction], b: &'i [Instruction]) -> Vec<Pair<'i>> {
    let [of_a, of_b] = [a, b].map(|code| code.iter().map(|i| i.token.as_str()).collect::<Vec<_>>());
    let mut pairs: Vec<Pair> = Vec::new();
    for step in capture_diff_slices(Algorithm::Myers, &of_a, &of_b) {
        let (left, right) = (&a[step.old_range()], &b[step.new_range()]);
        if step.tag() == DiffTag::Equal {
            pairs.extend(left.iter().zip(right).map(|(x, y)| (Some(x), Some(y))));
        } else {
            pairs.extend(left.iter().map(|x| (Some(x), None)));
            pairs.extend(right.iter().map(|y| (None, Some(y))));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserted_instructions_move_no_others() {
        let code = |texts: &[&str]| -> Vec<Instruction> {
            let each = texts.iter().zip(1u64..).map(|(text, n)| Instruction {
                address: n,
                token: (*text).to_owned(),
                ..Instruction::default()
            });
            each.collect()
        };
        let (a, b) =
            (code(&["push", "adds", "pop"]), code(&["push", "nop", "adds", "subs", "pop"]));
        let pairs = aligned(&a, &b);
        let at: Vec<(Option<u64>, Option<u64>)> =
            pairs.iter().map(|(x, y)| (x.map(|i| i.address), y.map(|i| i.address))).collect();
        let wanted = [
            (Some(1), Some(1)),
            (None, Some(2)),
            (Some(2), Some(3)),
            (None, Some(4)),
            (Some(3), Some(5)),
        ];
        assert_eq!(at, wanted);
    }
}
