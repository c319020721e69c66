//! Rows in columns: each a line, or several where the last column is wrapped.

use std::collections::HashMap;
use std::io::{self, Write};

use super::{Cell, Column, Line, MIN_WRAP, Table};
use crate::Style;
use crate::paint::Paint;
use crate::words::{apart, begun, shortened, wrapped};

impl Table {
    /// Headings, and all rows in columns.
    pub(super) fn write_rows(
        &self,
        widths: &[usize],
        style: Style,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if widths.iter().any(|w| *w > 0) {
            let heads: Vec<Cell> = self.columns.iter().map(|c| c.head.clone().into()).collect();
            self.write_cells(&heads, Paint::Faint, widths, style, out)?;
        }
        let short = self.shortened(widths);
        let shorten = |cells: &[Cell]| -> Vec<Cell> {
            let cells = cells.iter().zip(&short);
            let text = |(cell, short): (&Cell, &HashMap<&str, String>)| {
                let text = short.get(cell.text.as_str()).unwrap_or(&cell.text).clone();
                Cell { text, paint: cell.paint }
            };
            cells.map(text).collect()
        };
        for line in &self.lines {
            match line {
                Line::Cells(cells, paint) if self.wraps => {
                    self.write_wrapped(cells, *paint, widths, style, out)?;
                }
                Line::Cells(cells, paint) => {
                    self.write_cells(&shorten(cells), *paint, widths, style, out)?;
                }
                Line::Across(text, paint) => self.write_across(text, *paint, style, out)?,
                Line::Rule => self.write_rule(widths, style, out)?,
            }
        }
        Ok(())
    }

    pub(super) fn write_across(
        &self,
        text: &str,
        paint: Paint,
        style: Style,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let text = begun(text, style.width.saturating_sub(self.indent));
        let line = format!("{}{}", " ".repeat(self.indent), paint.on(&text, style));
        writeln!(out, "{}", line.trim_end())
    }

    pub(super) fn write_rule(
        &self,
        widths: &[usize],
        style: Style,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let dashes =
            |(c, w): (&Column, &usize)| if c.right { "-".repeat(*w) } else { String::new() };
        let cells = self.columns.iter().zip(widths).map(dashes);
        let cells: Vec<Cell> = cells.map(Cell::from).collect();
        self.write_cells(&cells, Paint::Faint, widths, style, out)
    }

    /// Of each column, the texts that do not fit, as they are shown: no two of them alike.
    fn shortened(&self, widths: &[usize]) -> Vec<HashMap<&str, String>> {
        let texts = |column: usize| {
            let cells = self.lines.iter().filter_map(move |line| match line {
                Line::Cells(cells, _) => cells.get(column),
                Line::Across(..) | Line::Rule => None,
            });
            cells.map(|cell| cell.text.as_str())
        };
        let one = |(column, width): (usize, &usize)| {
            let last = column + 1 == widths.len();
            let too_long = texts(column).any(|text| text.chars().count() > *width);
            if *width == 0 || !too_long || last && self.keeps_start {
                return HashMap::new();
            }
            let texts: Vec<&str> = texts(column).collect();
            let short = apart(&texts, *width);
            texts.into_iter().zip(short).collect()
        };
        widths.iter().enumerate().map(one).collect()
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

    pub(super) fn write_cells(
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
        for (i, ((cell, column), width)) in cells.iter().zip(&self.columns).zip(widths).enumerate()
        {
            if *width == 0 {
                continue;
            }
            let text = if self.keeps_start && i + 1 == widths.len() {
                begun(&cell.text, *width)
            } else {
                shortened(&cell.text, *width)
            };
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
