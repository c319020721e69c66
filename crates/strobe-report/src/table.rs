//! Tables: columns as wide as what is in them, numbers to the right, one text column that gives
//! way.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use crate::Style;
use crate::paint::Paint;
use crate::words::{apart, begun, clean, folded, shortened, wrapped};

/// Narrower than this and a name is of no use: optional columns go first.
const MIN_NAME: usize = 24;

/// Narrower than this and wrapped text is a tower of words: it goes on lines of its own.
const MIN_WRAP: usize = 40;

/// The least that a name can do with.
const LEAST_NAME: usize = 16;

/// What is left to a name before columns go that matter.
const SHORT_NAME: usize = 20;

/// The least that other words can do with.
const LEAST_WORDS: usize = 12;

/// Words that are longer go beneath their row where there is no room for all columns.
const LONG_WORDS: usize = 20;

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

    /// The column just added goes where another of that number goes: a figure of one side says
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
        if self.narrows && self.used(&widths) > style.width {
            return match self.figures(style.width) {
                Some(widths) => self.write_beneath(&widths, style, out),
                None => self.write_paragraphs(style, out),
            };
        }
        if widths.iter().any(|w| *w > 0) {
            let heads: Vec<Cell> = self.columns.iter().map(|c| c.head.clone().into()).collect();
            self.write_cells(&heads, Paint::Faint, &widths, style, out)?;
        }
        let short = self.shortened(&widths);
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
                    self.write_wrapped(cells, *paint, &widths, style, out)?;
                }
                Line::Cells(cells, paint) => {
                    self.write_cells(&shorten(cells), *paint, &widths, style, out)?;
                }
                Line::Across(text, paint) => self.write_across(text, *paint, style, out)?,
                Line::Rule => self.write_rule(&widths, style, out)?,
            }
        }
        Ok(())
    }

    fn write_across(
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

    fn write_rule(&self, widths: &[usize], style: Style, out: &mut dyn Write) -> io::Result<()> {
        let dashes =
            |(c, w): (&Column, &usize)| if c.right { "-".repeat(*w) } else { String::new() };
        let cells = self.columns.iter().zip(widths).map(dashes);
        let cells: Vec<Cell> = cells.map(Cell::from).collect();
        self.write_cells(&cells, Paint::Faint, widths, style, out)
    }

    /// Whether a column with something in it is shown at that width.
    pub(crate) fn shows(&self, column: usize, width: usize) -> bool {
        let widths = self.widths(width);
        if !self.narrows || self.used(&widths) <= width {
            return widths.get(column).is_some_and(|w| *w > 0);
        }
        let figures = self.figures(width);
        let is_shown = |widths: Vec<usize>| widths.get(column).is_some_and(|w| *w > 0);
        self.long_words().get(column) == Some(&true) || figures.is_none_or(is_shown)
    }

    /// Of each column, whether its words are too long for a column where there is little room.
    fn long_words(&self) -> Vec<bool> {
        let widths = self.contents();
        let is_long = |(column, width): (&Column, usize)| !column.right && width > LONG_WORDS;
        self.columns.iter().zip(widths).map(is_long).collect()
    }

    /// Whether all columns are shown in full at that width.
    pub(crate) fn has_room(&self, width: usize) -> bool {
        let mut all = self.widths(usize::MAX / 2);
        if let Some(last) = all.last_mut().filter(|_| self.wraps) {
            *last = (*last).min(MIN_WRAP);
        }
        self.used(&all) <= width
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

    /// Characters of a line, without blanks at its end.
    fn used(&self, widths: &[usize]) -> usize {
        let shown: Vec<&usize> = widths.iter().filter(|w| **w > 0).collect();
        self.indent + shown.iter().map(|w| **w + 2).sum::<usize>().saturating_sub(2)
    }

    /// The width of what is in each column; 0 for empty ones.
    fn contents(&self) -> Vec<usize> {
        let mut widths = vec![0; self.columns.len()];
        for line in &self.lines {
            if let Line::Cells(cells, _) = line {
                for (width, cell) in widths.iter_mut().zip(cells) {
                    *width = (*width).max(cell.text.chars().count());
                }
            }
        }
        widths
    }

    /// The width of each column where long words go beneath their row; 0 for those, and for columns
    /// that are left out. Nothing if figures and short words alone are too wide.
    fn figures(&self, width: usize) -> Option<Vec<usize>> {
        let mut widths = self.contents();
        for (width, column) in widths.iter_mut().zip(&self.columns).filter(|(w, _)| **w > 0) {
            *width = (*width).max(column.head.chars().count());
        }
        for (width, _) in widths.iter_mut().zip(self.long_words()).filter(|(_, is_long)| *is_long) {
            *width = 0;
        }
        while self.used(&widths) > width {
            let shown = (0..widths.len()).filter(|i| widths[*i] > 0);
            let optional = shown.filter_map(|i| Some((self.columns[i].optional?, i)));
            let (_, drop) = optional.min()?;
            self.leave_out(drop, &mut widths);
        }
        Some(widths).filter(|widths| widths.iter().filter(|w| **w > 0).count() > 2)
    }

    fn leave_out(&self, column: usize, widths: &mut [usize]) {
        let pair = self.columns[column].pair;
        let goes = |at: usize| at == column || pair.is_some() && self.columns[at].pair == pair;
        (0..widths.len()).filter(|at| goes(*at)).for_each(|at| widths[at] = 0);
    }

    /// The width of each column; 0 for those left out.
    fn widths(&self, width: usize) -> Vec<usize> {
        let mut widths = self.contents();
        let Some(last) = widths.len().checked_sub(1) else { return widths };
        for (width, column) in widths.iter_mut().zip(&self.columns).filter(|(w, _)| **w > 0) {
            *width = (*width).max(column.head.chars().count());
        }
        let longest = widths[last];
        let wanted = longest.min(self.room);
        let used = |widths: &[usize]| {
            let shown = widths[..last].iter().filter(|w| **w > 0);
            self.indent + shown.map(|w| w + 2).sum::<usize>()
        };
        while used(&widths) + wanted > width {
            let tight = used(&widths) + longest.min(SHORT_NAME) > width;
            let shown = (0..last).filter(|i| widths[*i] > 0);
            let optional = shown.filter_map(|i| Some((self.columns[i].optional?, i)));
            let Some((_, drop)) = optional.filter(|(worth, _)| tight || *worth < MATTERS).min()
            else {
                break;
            };
            self.leave_out(drop, &mut widths);
        }
        while self.narrows && used(&widths) + wanted.min(LEAST_NAME) > width {
            let words = (0..last).filter(|i| !self.columns[*i].right && widths[*i] > LEAST_WORDS);
            let Some(widest) = words.max_by_key(|i| widths[*i]) else { break };
            widths[widest] -= 1;
        }
        let room = width.saturating_sub(used(&widths)).max(wanted.min(LEAST_NAME));
        widths[last] = widths[last].min(room);
        widths
    }

    /// Figures and short words in columns, and beneath each row what is longer, with its heading.
    /// The name is above its figures if nothing else in the row is in words.
    fn write_beneath(&self, widths: &[usize], style: Style, out: &mut dyn Write) -> io::Result<()> {
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
    fn write_paragraphs(&self, style: Style, out: &mut dyn Write) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new().number("cycles").number("range").text("why").optional(0);
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

    /// Where figures and short words fit, they stay in columns.
    #[test]
    fn long_words_go_beneath_their_row() {
        let mut table = Table::new().text("stack").number("size").number("worst");
        table = table.text("size from").text("deepest in").narrowing();
        let words = |size: &str, from: &str| {
            let deepest = "main > read_sensor > average > __aeabi_ddiv";
            ["main", size, "1,096", from, deepest].map(Cell::from).to_vec()
        };
        table.row(words("2,048", "the variable main_stack of the board's files"));
        table.across("src/main.c:12", Paint::Faint);
        table.row(words("128", ""));
        table.rule();
        table.row(["", "2,176", "", "", ""].map(Cell::from).to_vec());
        let mut out = Vec::new();
        table.write(Style { colour: false, width: 40 }, &mut out).unwrap();
        let expected = [
            "  stack   size  worst",
            "  main   2,048  1,096",
            "      size from the variable main_stack",
            "      of the board's files",
            "      deepest in main > read_sensor >",
            "      average > __aeabi_ddiv",
            "  src/main.c:12",
            "  main     128  1,096",
            "      deepest in main > read_sensor >",
            "      average > __aeabi_ddiv",
            "         -----  -----",
            "         2,176",
            "",
        ];
        assert_eq!(String::from_utf8(out).unwrap(), expected.join("\n"));
    }

    /// A name shorter than its heading leaves room for that.
    #[test]
    fn the_last_heading_is_not_cut_off() {
        let mut table = Table::new().number("cycles").number("more").optional(0).text("figure");
        table.row(vec!["1".into(), "2".into(), "time".into()]);
        let mut out = Vec::new();
        table.write(Style { colour: false, width: 16 }, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "  cycles  figure\n       1  time\n");
    }

    #[test]
    fn colours_are_written_only_when_asked_for() {
        assert!(!text(60, false).contains('\x1b'));
        assert!(text(60, true).contains("\x1b[1mtotal\x1b[0m"));
    }
}
