//! Tables: columns as wide as what is in them, numbers to the right, one text column that gives
//! way.

mod beneath;
mod rows;
#[cfg(test)]
mod tests;
mod widths;

use std::borrow::Cow;
use std::io::{self, Write};

use crate::Style;
use crate::paint::Paint;
use crate::words::clean;

/// Narrower than this and a name is of no use: optional columns go first.
const MIN_NAME: usize = 24;

/// Narrower than this and wrapped text is a tower of words: it goes on lines of its own.
const MIN_WRAP: usize = 40;

/// Optional columns of at least this worth go only where a name would have less than the least.
pub(crate) const MATTERS: u8 = 128;

/// A column.
#[derive(Debug, Clone)]
struct Column {
    head: Cow<'static, str>,
    right: bool,
    /// Whether the column may go where there is no room; the least goes first.
    optional: Option<u8>,
    /// Columns of one number go together.
    pair: Option<usize>,
}

/// A cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    text: String,
    paint: Paint,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell { text: clean(&text.into()), paint: Paint::Plain }
    }
}

/// A line of the table.
#[derive(Debug)]
enum Line {
    Cells(Vec<Cell>, Paint),
    /// Text across all columns.
    Across(String, Paint),
    Rule,
}

/// A table under construction. Its last column takes what width is left and is shortened to fit;
/// columns with nothing in them are left out.
#[derive(Debug, Default)]
pub(crate) struct Table {
    columns: Vec<Column>,
    lines: Vec<Line>,
    indent: usize,
    /// Optional columns go until the last column has this much, if it needs it.
    room: usize,
    wraps: bool,
    keeps_start: bool,
    narrows: bool,
}

impl Table {
    pub(crate) fn new() -> Self {
        Table { indent: 2, room: MIN_NAME, ..Table::default() }
    }

    /// A column of numbers.
    pub(crate) fn number(mut self, head: impl Into<Cow<'static, str>>) -> Self {
        self.columns.push(Column { head: head.into(), right: true, optional: None, pair: None });
        self
    }

    /// A column of text.
    pub(crate) fn text(mut self, head: impl Into<Cow<'static, str>>) -> Self {
        self.columns.push(Column { head: head.into(), right: false, optional: None, pair: None });
        self
    }

    /// The column just added may be left out where there is no room; the one with the least `worth`
    /// goes first.
    pub(crate) fn optional(mut self, worth: u8) -> Self {
        if let Some(column) = self.columns.last_mut() {
            column.optional = Some(worth);
        }
        self
    }

    /// The column just added goes where another of that number goes: a figure of one side shows
    /// nothing without the other side's.
    pub(crate) fn paired(mut self, pair: usize) -> Self {
        if let Some(column) = self.columns.last_mut() {
            column.pair = Some(pair);
        }
        self
    }

    /// The last column goes on in further lines instead of being shortened.
    pub(crate) fn wrapping(mut self) -> Self {
        self.wraps = true;
        self.room = MIN_WRAP;
        self
    }

    /// The last column is shortened at its end, not in its middle: for prose and source text.
    pub(crate) fn keeping_start(mut self) -> Self {
        self.keeps_start = true;
        self
    }

    /// Where even the columns that must stay do not fit, words in other columns are shortened too;
    /// then long words go beneath their row, and at last each row becomes a paragraph: no line is
    /// wider than the report.
    pub(crate) fn narrowing(mut self) -> Self {
        self.narrows = true;
        self
    }

    /// Optional columns go until the last column has this much, if it needs it.
    pub(crate) fn room(mut self, characters: usize) -> Self {
        self.room = characters;
        self
    }

    /// A line of text across all columns, shortened to the width of the report.
    pub(crate) fn across(&mut self, text: &str, paint: Paint) {
        self.lines.push(Line::Across(clean(text), paint));
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.painted(cells, Paint::Plain);
    }

    /// A row in one colour.
    pub(crate) fn painted(&mut self, cells: Vec<Cell>, paint: Paint) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.lines.push(Line::Cells(cells, paint));
    }

    /// A line under the numbers, above their sum.
    pub(crate) fn rule(&mut self) {
        self.lines.push(Line::Rule);
    }

    pub(crate) fn write(&self, style: Style, out: &mut dyn Write) -> io::Result<()> {
        let widths = self.widths(style.width);
        if !self.narrows || self.used(&widths) <= style.width {
            return self.write_rows(&widths, style, out);
        }
        match self.figures(style.width) {
            Some(widths) => self.write_beneath(&widths, style, out),
            None => self.write_paragraphs(style, out),
        }
    }
}
