//! Tables: columns as wide as what is in them, numbers to the right, one text column that gives way.

use std::io::{self, Write};

use crate::Style;
use crate::paint::Paint;
use crate::words::{clean, shortened, wrapped};

/// Narrower than this and a name says nothing: optional columns go first.
const MIN_TEXT: usize = 24;

/// Narrower than this and wrapped text is a tower of words: it goes on lines of its own.
const MIN_WRAP: usize = 40;

/// A column.
#[derive(Debug, Clone, Copy)]
struct Column {
    head: &'static str,
    right: bool,
    optional: bool,
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

/// A table under construction. Its last column takes what width is left and is shortened to fit; columns
/// with nothing in them are left out.
#[derive(Debug, Default)]
pub(crate) struct Table {
    columns: Vec<Column>,
    lines: Vec<Line>,
    indent: usize,
    wraps: bool,
}

impl Table {
    pub(crate) fn new() -> Self {
        Table { indent: 2, ..Table::default() }
    }

    /// A column of numbers.
    pub(crate) fn number(mut self, head: &'static str) -> Self {
        self.columns.push(Column { head, right: true, optional: false });
        self
    }

    /// A column of text.
    pub(crate) fn text(mut self, head: &'static str) -> Self {
        self.columns.push(Column { head, right: false, optional: false });
        self
    }

    /// The column just added may be left out where there is no room; the last such column goes first.
    pub(crate) fn optional(mut self) -> Self {
        if let Some(column) = self.columns.last_mut() {
            column.optional = true;
        }
        self
    }

    /// The last column goes on in further lines instead of being shortened.
    pub(crate) fn wrapping(mut self) -> Self {
        self.wraps = true;
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
        if widths.iter().any(|w| *w > 0) {
            let heads: Vec<Cell> = self.columns.iter().map(|c| c.head.into()).collect();
            self.write_cells(&heads, Paint::Faint, &widths, style, out)?;
        }
        for line in &self.lines {
            match line {
                Line::Cells(cells, paint) if self.wraps => {
                    self.write_wrapped(cells, *paint, &widths, style, out)?;
                }
                Line::Cells(cells, paint) => {
                    self.write_cells(cells, *paint, &widths, style, out)?;
                }
                Line::Across(text, paint) => {
                    let text = shortened(text, style.width.saturating_sub(self.indent));
                    let line = format!("{}{}", " ".repeat(self.indent), paint.on(&text, style));
                    writeln!(out, "{}", line.trim_end())?;
                }
                Line::Rule => {
                    let dashes = |(c, w): (&Column, &usize)| {
                        if c.right { "-".repeat(*w) } else { String::new() }
                    };
                    let cells = self.columns.iter().zip(&widths).map(dashes);
                    let cells: Vec<Cell> = cells.map(Cell::from).collect();
                    self.write_cells(&cells, Paint::Faint, &widths, style, out)?;
                }
            }
        }
        Ok(())
    }

    /// The width of each column; 0 for those left out.
    fn widths(&self, width: usize) -> Vec<usize> {
        let mut widths = vec![0; self.columns.len()];
        for line in &self.lines {
            if let Line::Cells(cells, _) = line {
                for (width, cell) in widths.iter_mut().zip(cells) {
                    *width = (*width).max(cell.text.chars().count());
                }
            }
        }
        let Some(last) = widths.len().checked_sub(1) else { return widths };
        let wanted = widths[last].min(if self.wraps { MIN_WRAP } else { MIN_TEXT });
        for (width, column) in widths.iter_mut().zip(&self.columns).filter(|(w, _)| **w > 0) {
            *width = (*width).max(column.head.len());
        }
        let used = |widths: &[usize]| {
            let shown = widths[..last].iter().filter(|w| **w > 0);
            self.indent + shown.map(|w| w + 2).sum::<usize>()
        };
        while used(&widths) + wanted > width {
            let optional = |i: &usize| self.columns[*i].optional && widths[*i] > 0;
            let Some(drop) = (0..last).rev().find(optional) else { break };
            widths[drop] = 0;
        }
        let room = width.saturating_sub(used(&widths)).max(wanted.min(16));
        widths[last] = widths[last].min(room);
        widths
    }

    fn write_wrapped(
        &self,
        cells: &[Cell],
        row: Paint,
        widths: &[usize],
        style: Style,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let Some((last, first)) = cells.split_last() else { return Ok(()) };
        let room = widths.last().copied().unwrap_or_default();
        if room < last.text.chars().count().min(MIN_WRAP) {
            self.write_cells(first, row, widths, style, out)?;
            let indent = self.indent + widths.first().map_or(0, |w| w + 2);
            for line in wrapped(&last.text, style.width.saturating_sub(indent)) {
                writeln!(out, "{}{}", " ".repeat(indent), row.on(&line, style))?;
            }
            return Ok(());
        }
        let lines = wrapped(&last.text, room);
        let mut cells = first.to_vec();
        for (i, line) in
            lines.iter().map(String::as_str).chain(lines.is_empty().then_some("")).enumerate()
        {
            if i > 0 {
                cells = vec![Cell::default(); first.len()];
            }
            cells.push(Cell { text: line.to_owned(), paint: last.paint });
            self.write_cells(&cells, row, widths, style, out)?;
        }
        Ok(())
    }

    fn write_cells(
        &self,
        cells: &[Cell],
        row: Paint,
        widths: &[usize],
        style: Style,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut line = " ".repeat(self.indent);
        // Blanks wait until something follows them: no line ends in blanks.
        let mut blanks = 0;
        let mut gap = 0;
        for ((cell, column), width) in cells.iter().zip(&self.columns).zip(widths) {
            if *width == 0 {
                continue;
            }
            let text = shortened(&cell.text, *width);
            let fill = width - text.chars().count();
            blanks += gap + if column.right { fill } else { 0 };
            if !text.is_empty() {
                line.push_str(&" ".repeat(blanks));
                let paint = if cell.paint == Paint::Plain { row } else { cell.paint };
                line.push_str(&paint.on(&text, style));
                blanks = 0;
            }
            blanks += if column.right { 0 } else { fill };
            gap = 2;
        }
        writeln!(out, "{}", line.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new().number("cycles").number("range").text("why").optional();
        table = table.text("name");
        table.row(vec!["12".into(), "".into(), "EEEEEEEEEE".into(), "main".into()]);
        table.row(vec!["1,234".into(), "".into(), "RRRRRRRRRR".into(), "a".repeat(40).into()]);
        table.rule();
        table.painted(vec!["1,246".into(), "".into(), "".into(), "total".into()], Paint::Strong);
        table
    }

    fn text(width: usize, colour: bool) -> String {
        let mut out = Vec::new();
        table().write(Style { colour, width }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_align_and_empty_ones_go() {
        insta::assert_snapshot!(text(60, false));
    }

    #[test]
    fn optional_columns_go_before_names_become_unreadable() {
        insta::assert_snapshot!(text(40, false));
    }

    #[test]
    fn colours_are_written_only_when_asked_for() {
        assert!(!text(60, false).contains('\x1b'));
        assert!(text(60, true).contains("\x1b[1mtotal\x1b[0m"));
    }
}
