//! Rows that are too wide for columns: long words beneath their row, or each row as a paragraph.

use std::io::{self, Write};

use super::{Cell, Line, Table};
use crate::Style;
use crate::paint::Paint;
use crate::words::folded;

impl Table {
    /// Figures and short words in columns, and beneath each row what is longer, with its heading.
    /// The name is above its figures if nothing else in the row is in words.
    pub(super) fn write_beneath(
        &self,
        widths: &[usize],
        style: Style,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let indent = self.indent + 4;
        let long = self.long_words();
        let mut words = self.columns.iter().zip(widths).filter(|(column, _)| !column.right);
        let named = words.any(|(_, width)| *width > 0);
        let heads: Vec<Cell> = self.columns.iter().map(|c| c.head.clone().into()).collect();
        self.write_cells(&heads, Paint::Faint, widths, style, out)?;
        for line in &self.lines {
            let (cells, paint) = match line {
                Line::Cells(cells, paint) => (cells, paint),
                Line::Across(text, paint) => {
                    self.write_across(text, *paint, style, out)?;
                    continue;
                }
                Line::Rule => {
                    self.write_rule(widths, style, out)?;
                    continue;
                }
            };
            let beneath = cells.iter().zip(&self.columns).zip(&long);
            let beneath = beneath.filter(|((cell, _), is_long)| **is_long && !cell.text.is_empty());
            let last = cells.last().filter(|name| !named && !name.text.is_empty());
            if let Some(name) = last {
                for line in folded(&name.text, style.width.saturating_sub(self.indent)) {
                    writeln!(out, "{}{}", " ".repeat(self.indent), paint.on(&line, style))?;
                }
            }
            self.write_cells(cells, *paint, widths, style, out)?;
            for ((cell, column), _) in beneath {
                if last.is_some_and(|name| std::ptr::eq(name, cell)) {
                    continue;
                }
                let text = format!("{} {}", column.head, cell.text);
                for line in folded(text.trim_start(), style.width.saturating_sub(indent)) {
                    writeln!(out, "{}{}", " ".repeat(indent), Paint::Faint.on(&line, style))?;
                }
            }
        }
        Ok(())
    }

    /// Each row as its name and, beneath, what the columns hold.
    pub(super) fn write_paragraphs(&self, style: Style, out: &mut dyn Write) -> io::Result<()> {
        let indent = " ".repeat(self.indent);
        let mut is_sum = false;
        for line in &self.lines {
            is_sum |= matches!(line, Line::Rule);
            let Line::Cells(cells, paint) = line else { continue };
            let Some(name) = self.heading(cells) else { continue };
            let title = match name.text.as_str() {
                "" if is_sum => "all",
                text => text,
            };
            let inside: String = title.chars().take_while(|c| *c == ' ').collect();
            let room = style.width.saturating_sub(self.indent + inside.len());
            for line in folded(title, room) {
                writeln!(out, "{indent}{inside}{}", paint.on(&line, style))?;
            }
            let figures = cells.iter().zip(&self.columns);
            let figures =
                figures.filter(|(cell, _)| !cell.text.is_empty() && !std::ptr::eq(*cell, name));
            let figures = figures.map(|(cell, column)| match column.head.as_ref() {
                "" => cell.text.clone(),
                head => format!("{head} {}", cell.text),
            });
            let text = figures.collect::<Vec<_>>().join(", ");
            for line in folded(&text, style.width.saturating_sub(self.indent + 4)) {
                writeln!(out, "{indent}    {line}")?;
            }
        }
        Ok(())
    }

    /// What a row is called: its last cell or, where that is empty, the first in words.
    fn heading<'c>(&self, cells: &'c [Cell]) -> Option<&'c Cell> {
        let last = cells.last()?;
        let mut words = cells.iter().zip(&self.columns).filter(|(_, column)| !column.right);
        let first = words.find(|(cell, _)| !cell.text.is_empty()).map(|(cell, _)| cell);
        if last.text.is_empty() { first.or(Some(last)) } else { Some(last) }
    }
}
