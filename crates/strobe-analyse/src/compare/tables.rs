//! Tables that both measurements have: rows matched by their name, columns by theirs.

use std::collections::BTreeMap;
use strobe_model::measurement::ids;

use strobe_model::measurement::{Cell, CellKind, Column, Content, Measurement, Section, Table};

use super::change::Change;
use super::comparison::Comparison;
use super::difference::{Figure, three};
use super::models::is_one_model;
use super::unlike::Unlike;
use crate::naming::placeless;

/// Sections that are read for what they say of code, and compared by function.
const OF_CODE: [&str; 2] = [ids::section::DISASSEMBLY, ids::section::SOURCE];

/// Columns of moments that are not marked as such.
const MOMENTS: [&str; 2] = ["at", "cycle"];

/// Columns behind so many are all worth the same.
const MOST_COLUMNS: u8 = 15;

/// Adds a table of differences for each table of both whose rows have names. Returns in which
/// tables, and rows of them, something differs.
pub(super) fn push(compared: &mut Comparison, a: &Measurement, b: &Measurement) -> Vec<Change> {
    let one_model = is_one_model(a, b);
    let mut not_compared = Vec::new();
    let mut differing = Vec::new();
    for section in a.sections.iter().filter(|s| !OF_CODE.contains(&s.id.as_str())) {
        let Some(there) = b.section(&section.id) else { continue };
        let (Content::Table(of_a), Content::Table(of_b)) = (&section.content, &there.content)
        else {
            continue;
        };
        if let Some((table, most)) = table(of_a, of_b, one_model) {
            differing.extend(most.map(|most| most.in_section(&section.id)));
            let Section { id, title, .. } = section;
            let id = compared.free(id);
            compared.push(&id, title.clone(), Content::Table(table)).notes = section.notes.clone();
        } else {
            not_compared.push(section.id.clone());
        }
    }
    if !not_compared.is_empty() {
        compared.unlike.push(Unlike::NamelessRows(not_compared));
    }
    differing
}

/// A cell that differs.
#[derive(Clone)]
struct Differing {
    /// By how many times.
    by: f64,
    column: String,
    row: String,
    sides: [f64; 2],
}

impl Differing {
    fn in_section(self, section: &str) -> Change {
        let Differing { column, row, sides, .. } = self;
        Change::Cell { section: section.to_owned(), column, row, sides }
    }
}

/// Rows by name, in their order.
struct Rows<'t> {
    table: &'t Table,
    names: Vec<String>,
    places: BTreeMap<String, usize>,
}

impl<'t> Rows<'t> {
    /// Rows by the words of the first of these columns, or of so many of them that no two rows
    /// share a name; nothing where they do all the same.
    fn of(table: &'t Table, keys: &[usize]) -> Option<Rows<'t>> {
        let names = Rows::names(table, keys, |word| word)?;
        let places: BTreeMap<String, usize> = names.iter().cloned().zip(0..).collect();
        (places.len() == names.len()).then_some(Rows { table, names, places })
    }

    /// The same rows by names without places in the code; those of one name are counted.
    fn without_places(&self, keys: &[usize]) -> Option<Rows<'t>> {
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        let mut names = Rows::names(self.table, keys, placeless)?;
        for name in &mut names {
            let n = times.entry(name.clone()).or_default();
            *n += 1;
            if *n > 1 {
                *name = format!("{name} ({n})");
            }
        }
        let places: BTreeMap<String, usize> = names.iter().cloned().zip(0..).collect();
        (places.len() == names.len()).then_some(Rows { table: self.table, names, places })
    }

    /// What rows are called by these columns.
    fn names(
        table: &Table,
        keys: &[usize],
        of: impl for<'w> Fn(&'w str) -> &'w str,
    ) -> Option<Vec<String>> {
        let whole = |row: usize| -> Option<Vec<&str>> {
            let cell = |key: &usize| match row.checked_sub(table.len()) {
                Some(footer) => table.footer.get(footer)?.get(*key),
                None => table.columns.get(*key)?.cells.get(row),
            };
            keys.iter().map(|key| cell(key).map(|cell| cell.text().unwrap_or(""))).collect()
        };
        let rows = table.len() + table.footer.len();
        let name = |row: usize| {
            let words = whole(row)?.into_iter().filter(|word| !word.is_empty());
            let words: Vec<&str> = words.map(&of).collect();
            (!words.is_empty()).then(|| words.join(", "))
        };
        (0..rows).map(name).collect()
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

/// Rows of both, named by as few columns of words as distinguish them on both sides.
fn named<'t>(a: &'t Table, b: &'t Table) -> Option<(Rows<'t>, Rows<'t>, usize)> {
    let words = |table: &Table| -> Vec<(usize, String)> {
        let texts = (0..).zip(&table.columns).filter(|(_, column)| column.kind == CellKind::Text);
        texts.map(|(at, column)| (at, column.id.clone())).collect()
    };
    let (of_a, of_b) = (words(a), words(b));
    let both: Vec<(usize, usize)> = of_a
        .iter()
        .filter_map(|(at, id)| Some((*at, of_b.iter().find(|(_, other)| other == id)?.0)))
        .collect();
    (1..=both.len()).find_map(|n| {
        let (in_a, in_b): (Vec<usize>, Vec<usize>) = both[..n].iter().copied().unzip();
        let (of_a, of_b) = (Rows::of(a, &in_a)?, Rows::of(b, &in_b)?);
        let key = both.first()?.0;
        let lacks = |x: &Rows, y: &Rows| x.names.iter().any(|name| !y.places.contains_key(name));
        if lacks(&of_a, &of_b) && lacks(&of_b, &of_a) {
            // Another build has the same code elsewhere.
            let stripped = of_a.without_places(&in_a).zip(of_b.without_places(&in_b));
            if let Some((x, y)) = stripped.filter(|(x, _)| x.names != of_a.names) {
                return Some((x, y, key));
            }
        }
        Some((of_a, of_b, key))
    })
}

/// The table, and the row that differs most by ratio in the first column that matters, if any does.
fn table(a: &Table, b: &Table, one_model: bool) -> Option<(Table, Option<Differing>)> {
    let (of_a, of_b, key) = named(a, b)?;
    let place = |column: &Column| {
        let same = |there: &Column| {
            there.id == column.id && there.kind == column.kind && there.unit == column.unit
        };
        b.columns.iter().position(same)
    };
    // Moments of two runs are not more or less than each other.
    let figures = (0..).zip(&a.columns).filter(|(_, column)| {
        let is_moment =
            column.moment || column.id.ends_with("-at") || MOMENTS.contains(&column.id.as_str());
        column.kind == CellKind::Figure && !is_moment
    });
    let pairs: Vec<(usize, usize, &Column)> =
        figures.filter_map(|(n, column)| Some((n, place(column)?, column))).collect();
    if pairs.is_empty() {
        return None;
    }
    // What one side alone has differs in everything.
    let both: Vec<&String> =
        of_a.names.iter().filter(|name| of_b.places.contains_key(*name)).collect();
    let differs = |in_a: usize, in_b: usize| {
        let mut each = both.iter().map(|name| (of_a.figure(name, in_a), of_b.figure(name, in_b)));
        each.any(|(a, b)| a.as_ref().map(|a| a.value) != b.as_ref().map(|b| b.value))
    };
    let first = a.columns.get(key)?;
    let mut columns = vec![Column { cells: Vec::new(), ..first.clone() }];
    for (at, (in_a, in_b, column)) in pairs.iter().enumerate() {
        // What is the same in both gives way where there is no room; then the sides of what
        // differs, and of differences those behind: tables begin with what they are about.
        let ahead = u8::try_from(pairs.len() - at).unwrap_or(u8::MAX).min(MOST_COLUMNS);
        let worth = |more: u8| if differs(*in_a, *in_b) { more + ahead } else { 0 };
        let part = |end: &str, title: String, worth: u8| Column {
            id: format!("{}-{end}", column.id),
            title,
            whole: None,
            worth: Some(worth),
            cells: Vec::new(),
            ..(*column).clone()
        };
        columns.push(part("a", format!("{} a", column.title), worth(0)));
        columns.push(part("b", format!("{} b", column.title), worth(0)));
        let title = format!("{} diff.", column.title);
        columns.push(part("difference", title, worth(MOST_COLUMNS)));
    }
    columns.push(Column::text(ids::column::SIDE, "only in").worth(2 * MOST_COLUMNS));
    let mut table = Table::new(columns);
    let new = of_b.names.iter().filter(|name| !of_a.places.contains_key(*name));
    let is_footer = |name: &str| {
        let last = |rows: &Rows, len: usize| rows.places.get(name).is_none_or(|row| *row >= len);
        last(&of_a, a.len()) && last(&of_b, b.len())
    };
    let mut most: Vec<Option<Differing>> = vec![None; pairs.len()];
    for name in of_a.names.iter().chain(new) {
        let mut cells = vec![Cell::from(name.as_str())];
        for (most, (in_a, in_b, column)) in most.iter_mut().zip(&pairs) {
            let figures = (of_a.figure(name, *in_a), of_b.figure(name, *in_b));
            let change = ratio(&figures).filter(|_| !is_footer(name) && !column.moment);
            if let Some((by, sides)) =
                change.filter(|(by, _)| most.as_ref().is_none_or(|most| *by > most.by))
            {
                let (column, row) = (column.title.clone(), name.clone());
                *most = Some(Differing { by, column, row, sides });
            }
            // What adds up is cycles of code, as functions are; what else there is depends on the
            // moment too, which a run of another model shifts.
            let adds_up =
                a.footer.iter().any(|row| row.get(*in_a).is_some_and(|c| *c != Cell::Empty));
            cells.extend(three(figures.0, figures.1, one_model && adds_up));
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
    Some((table, first_of(most)))
}

/// What changed most in the first column in which something changed by much: columns begin with
/// what a table is about.
fn first_of(most: Vec<Option<Differing>>) -> Option<Differing> {
    let by = |most: &Option<Differing>| most.as_ref().map_or(0.0, |most| most.by);
    let much = most.iter().position(|column| by(column) >= super::WORTH_NAMING);
    match much {
        Some(at) => most.into_iter().nth(at).flatten(),
        None => most.into_iter().max_by(|x, y| by(x).total_cmp(&by(y))).flatten(),
    }
}

/// By how many times two figures differ, whichever is larger, and the two.
pub(super) fn ratio((a, b): &(Option<Figure>, Option<Figure>)) -> Option<(f64, [f64; 2])> {
    let [x, y] = [a, b].map(|figure| figure.as_ref().and_then(|f| f.value).map(|v| v.as_f64()));
    let (x, y) = (x?, y?);
    if x == y || x < 0.0 || y < 0.0 {
        return None;
    }
    // What appears from nothing counts as from one.
    let by = x.max(y) / x.min(y).max(1.0);
    Some((by, [x, y]))
}
