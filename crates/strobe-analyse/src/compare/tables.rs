//! Tables that both measurements have: rows matched by their name, columns by theirs.

use std::collections::BTreeMap;

use strobe_model::measurement::{
    Cell, CellKind, Column, Content, Finding, Measurement, Section, Severity, Table,
};

use super::difference::Figure;
use super::free;

/// Adds a table of differences for each table of both whose rows have names.
pub(super) fn push(compared: &mut Measurement, a: &Measurement, b: &Measurement) {
    let mut not_compared = Vec::new();
    for section in &a.sections {
        let Some(there) = b.section(&section.id) else { continue };
        let (Content::Table(of_a), Content::Table(of_b)) = (&section.content, &there.content)
        else {
            continue;
        };
        if let Some(table) = table(of_a, of_b) {
            let Section { id, title, .. } = section;
            let id = free(compared, id);
            compared.push(&id, title.clone(), Content::Table(table)).notes = section.notes.clone();
        } else {
            not_compared.push(section.id.as_str());
        }
    }
    if !not_compared.is_empty() {
        let tables = not_compared.join(", ");
        let text =
            format!("tables whose rows have no names of their own are not compared: {tables}");
        let count = not_compared.len() as u64;
        let finding = Finding::new(Severity::Note, "not-compared", text);
        compared.findings.push(Finding { count, ..finding });
    }
}

/// Rows by the words in their first cell, in their order.
struct Rows<'t> {
    table: &'t Table,
    names: Vec<&'t str>,
    places: BTreeMap<&'t str, usize>,
}

impl<'t> Rows<'t> {
    /// Nothing where rows have no names or share them.
    fn of(table: &'t Table) -> Option<Rows<'t>> {
        let first = table.columns.first().filter(|column| column.kind == CellKind::Text)?;
        let footer = table.footer.iter().filter_map(|row| row.first());
        let names: Option<Vec<&str>> = first.cells.iter().chain(footer).map(Cell::text).collect();
        let names = names?;
        let places: BTreeMap<&str, usize> = names.iter().copied().zip(0..).collect();
        (places.len() == names.len()).then_some(Rows { table, names, places })
    }

    /// The figure of a row in a column; rows of the footer come behind the others.
    fn figure(&self, name: &str, column: usize) -> Option<Figure> {
        let row = *self.places.get(name)?;
        let cells = &self.table.columns.get(column)?.cells;
        let cell = match row.checked_sub(self.table.len()) {
            Some(footer) => self.table.footer.get(footer)?.get(column)?,
            None => cells.get(row)?,
        };
        Figure::of(cell)
    }
}

fn table(a: &Table, b: &Table) -> Option<Table> {
    let (of_a, of_b) = (Rows::of(a)?, Rows::of(b)?);
    let place = |column: &Column| {
        let same = |there: &Column| {
            there.id == column.id && there.kind == column.kind && there.unit == column.unit
        };
        b.columns.iter().position(same)
    };
    let figures = (0..).zip(&a.columns).filter(|(_, column)| column.kind == CellKind::Figure);
    let pairs: Vec<(usize, usize, &Column)> =
        figures.filter_map(|(n, column)| Some((n, place(column)?, column))).collect();
    if pairs.is_empty() {
        return None;
    }
    let first = a.columns.first()?;
    let mut columns = vec![Column::text(&first.id, &first.title)];
    for (_, _, column) in &pairs {
        let part = |end: &str, title: String| Column {
            id: format!("{}-{end}", column.id),
            title,
            whole: None,
            cells: Vec::new(),
            ..(*column).clone()
        };
        columns.push(part("a", format!("{} a", column.title)));
        columns.push(part("b", format!("{} b", column.title)));
        columns.push(part("difference", "difference".to_owned()));
    }
    columns.push(Column::text("side", "only in"));
    let mut table = Table::new(columns);
    let new = of_b.names.iter().filter(|name| !of_a.places.contains_key(*name));
    let is_footer = |name: &str| {
        let last = |rows: &Rows, len: usize| rows.places.get(name).is_none_or(|row| *row >= len);
        last(&of_a, a.len()) && last(&of_b, b.len())
    };
    for name in of_a.names.iter().chain(new) {
        let mut cells = vec![Cell::from(*name)];
        for (in_a, in_b, _) in &pairs {
            cells.extend(three(of_a.figure(name, *in_a), of_b.figure(name, *in_b)));
        }
        cells.push(match (of_a.places.contains_key(name), of_b.places.contains_key(name)) {
            (true, false) => "a".into(),
            (false, true) => "b".into(),
            _ => Cell::Empty,
        });
        if is_footer(name) {
            table.footer.push(cells);
        } else {
            table.columns.iter_mut().zip(cells).for_each(|(column, cell)| column.cells.push(cell));
        }
    }
    Some(table)
}

/// Both and the difference; none where one side has none.
fn three(a: Option<Figure>, b: Option<Figure>) -> [Cell; 3] {
    let difference = a.as_ref().zip(b.as_ref()).map(|(a, b)| a.to(b));
    [a, b, difference].map(|figure| figure.as_ref().map_or(Cell::Empty, Cell::from))
}
