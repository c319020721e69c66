//! A section's table: figures first and the name last, as everywhere in these reports; shares and
//! bounds beside their figures, and beneath what cells could not show.

mod beneath;
mod bounds;
mod columns;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use strobe_model::measurement::ids;

use strobe_model::measurement::{Cell, Column, Number, Section, Table};

pub(super) use self::beneath::beneath;
pub(super) use self::columns::value;
use self::columns::{CellStyle, FINE, Shape, columns, is_difference, source_line, without_units};
use super::text::notes;
use super::{Page, View};
use crate::number::counted;
use crate::paint::Paint;
use crate::table::{Cell as Shown, Table as Layout};
use crate::text::layout::{heading, item};

/// Rows shown of a longer table, unless all are asked for.
const MOST_ROWS: usize = 40;

/// Rows shown of a comparison's table in which nothing differs.
const MOST_EQUAL: usize = 10;

/// How sections with the messages of a port begin.
const LOG: &str = ids::prefix::PORT;

/// The section of loops that wait, the longest first.
const WAITS: &str = ids::section::WAITING;

/// Of loops that wait those with less than one of so many parts of the whole are left out.
const SMALL: f64 = 1000.0;

/// The section.
pub(super) struct Rows<'a> {
    pub(super) section: &'a Section,
    pub(super) table: &'a Table,
}

impl View for Rows<'_> {
    fn write(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        if self.table.is_empty() && self.table.footer.is_empty() {
            return Ok(());
        }
        heading(&self.section.title, page.options, out)?;
        let rows = self.table.len();
        let shown = if page.selection.top == 0 { rows } else { self.worth_showing() };
        if rows > MOST_EQUAL && page.selection.top != 0 && is_all_equal(self.table) {
            let all = counted(rows as u64, "row");
            let same = format!("the same in both; --top 0 shows all {all}");
            return item("", &same, Paint::Faint, page.options, out);
        }
        // Of what grows at its end, the end is shown.
        let is_log = self.section.id.starts_with(LOG);
        let range = if is_log { rows - shown..rows } else { 0..shown };
        let arranged = self.arranged(range, page.options.style.width);
        arranged.layout.write(page.options.style, out)?;
        if shown < rows {
            let which = if is_log { "earlier row" } else { "more row" };
            let more = counted((rows - shown) as u64, which) + &self.left_out(shown);
            item("", &format!("and {more}; --top 0 shows all"), Paint::Faint, page.options, out)?;
        }
        self.without_room(&arranged, page, out)?;
        beneath(self.table, &arranged.fine(), page, out)?;
        notes(self.section, page, out)
    }
}

/// Rows as they are laid out in a width.
struct Arranged<'a> {
    columns: Vec<Shape<'a>>,
    layout: Layout,
    /// Units that headings have no room for, each with the titles of its columns.
    units: BTreeMap<String, Vec<String>>,
    width: usize,
}

impl Arranged<'_> {
    /// Whether there is room for a column.
    fn shows(&self, column: usize) -> bool {
        self.layout.shows(column, self.width)
    }

    /// The columns of the table that show themselves how fine their figures are.
    fn fine(&self) -> Vec<usize> {
        let fine = self.columns.iter().enumerate().filter(|(_, column)| column.head == FINE);
        fine.filter(|(i, _)| self.shows(*i)).map(|(_, column)| column.index).collect()
    }
}

impl Rows<'_> {
    /// The rows to show where not all are asked for.
    fn worth_showing(&self) -> usize {
        let rows = self.table.len();
        let small = || {
            let (column, whole) = self.whole()?;
            let is_small =
                |cell: &Cell| cell.number().is_some_and(|n| n.as_f64() * SMALL < whole.as_f64());
            column.cells.iter().position(is_small)
        };
        // One is better than none, however small they are.
        let large = small().map_or(rows, |first| first.max(1));
        large.min(rows).min(MOST_ROWS)
    }

    /// The cycles of loops that wait, and of what they are shares.
    fn whole(&self) -> Option<(&Column, Number)> {
        let mut columns = self.table.columns.iter().filter(|_| self.section.id == WAITS);
        columns.find_map(|column| Some((column, column.whole?)))
    }

    /// What rows from there on sum up to, if that is known to matter.
    fn left_out(&self, from: usize) -> String {
        let Some((column, _)) = self.whole() else { return String::new() };
        let cells = column.cells.iter().skip(from);
        let mark =
            if cells.clone().any(|cell| matches!(cell, Cell::Figure { .. })) { "~" } else { "" };
        let sum: f64 = cells.filter_map(Cell::number).map(Number::as_f64).sum();
        format!(" with {mark}{} in all", counted(sum as u64, "cycle"))
    }

    /// The rows with units in their headings or, where there is no room for that, without.
    fn arranged(&self, range: Range<usize>, width: usize) -> Arranged<'_> {
        let columns = columns(self.table, &self.section.title, false);
        let layout = self.layout(&columns, range.clone());
        if layout.has_room(width) {
            return Arranged { columns, layout, units: BTreeMap::new(), width };
        }
        let mut columns = self::columns(self.table, &self.section.title, true);
        let units = without_units(&mut columns);
        let layout = self.layout(&columns, range);
        Arranged { columns, layout, units, width }
    }

    /// The first rows and the footer.
    fn layout(&self, columns: &[Shape], range: Range<usize>) -> Layout {
        let mut layout = columns.iter().fold(Layout::new().narrowing(), |layout, column| {
            let head = column.head.clone();
            let layout = if column.right { layout.number(head) } else { layout.text(head) };
            let layout = match column.worth {
                Some(worth) => layout.optional(worth),
                None => layout,
            };
            match self.pair(column) {
                Some(first) => layout.paired(first),
                None => layout,
            }
        });
        if columns.last().is_some_and(|last| last.is_prose(self.table.len())) {
            layout = layout.wrapping();
        }
        let mut line = None;
        for row in range {
            let now = source_line(self.table, row);
            if now != line {
                layout.across(now.as_deref().unwrap_or("(no line)"), Paint::Faint);
                line = now;
            }
            let cells = columns.iter().map(|c| c.text(c.cell(row)));
            layout.row(cells.map(Shown::from).collect());
        }
        if !self.table.footer.is_empty() {
            layout.rule();
        }
        for (i, row) in self.table.footer.iter().enumerate() {
            let last = i + 1 == self.table.footer.len();
            let cells = columns.iter().map(|c| c.text(row.get(c.index).unwrap_or(&Cell::Empty)));
            let paint = if last { Paint::Strong } else { Paint::Plain };
            layout.painted(cells.map(Shown::from).collect(), paint);
        }
        layout
    }

    /// Of a side's figure in a comparison, the number of the other side's column, the lesser of the
    /// two.
    fn pair(&self, shape: &Shape) -> Option<usize> {
        let column = shape.column.filter(|_| shape.shows == CellStyle::Value)?;
        let at = |id: String| self.table.columns.iter().position(|column| column.id == id);
        let stem = |end| column.id.strip_suffix(end);
        let other = match (stem("-a"), stem("-b")) {
            (Some(stem), _) => at(format!("{stem}-b"))?,
            (_, Some(stem)) => at(format!("{stem}-a"))?,
            _ => return None,
        };
        Some(other.min(shape.index))
    }
}

/// Whether a table compares rows that are the same on both sides, all of them.
fn is_all_equal(table: &Table) -> bool {
    let mut differences = table.columns.iter().filter(|c| is_difference(c)).peekable();
    let is_zero = |cell: &Cell| match cell {
        Cell::Empty => true,
        Cell::Exact(n) => n.as_f64() == 0.0,
        _ => false,
    };
    let is_one_sided = |column: &Column| column.cells.iter().any(|cell| *cell != Cell::Empty);
    differences.peek().is_some()
        && differences.all(|column| column.cells.iter().all(is_zero))
        && !table.column(ids::column::SIDE).is_some_and(is_one_sided)
}
