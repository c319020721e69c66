//! A section's table: figures first and the name last, as everywhere in these reports; shares and
//! bounds beside their figures, and beneath what cells could not say.

use std::collections::BTreeMap;
use std::io::{self, Write};

use strobe_model::measurement::{Cell, CellKind, Column, Number, Section, Table, Trust, Unit};

use super::annotate::line_text;
use super::figure::{cell, number, range, spread, unit_name};
use super::text::notes;
use super::{Page, View};
use crate::number::{counted, share};
use crate::paint::Paint;
use crate::table::{Cell as Shown, MATTERS, Table as Layout};
use crate::text::layout::{heading, item};
use crate::words::one_line;

/// Rows shown of a longer table, unless all are asked for.
const MOST_ROWS: usize = 40;

/// Prose whose words are no longer than this is wrapped, names are shortened.
const LONGEST_WORD: usize = 24;

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
        let columns = columns(self.table, &self.section.title);
        let mut layout = columns.iter().fold(Layout::new().narrowing(), |layout, column| {
            let head = column.head.clone();
            let layout = if column.right { layout.number(head) } else { layout.text(head) };
            match column.worth {
                Some(worth) => layout.optional(worth),
                None => layout,
            }
        });
        if columns.last().is_some_and(|last| last.is_prose(self.table.len())) {
            layout = layout.wrapping();
        }
        let rows = self.table.len();
        let shown = if page.selection.top == 0 { rows } else { rows.min(MOST_ROWS) };
        let mut line = None;
        for row in 0..shown {
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
        layout.write(page.options.style, out)?;
        if shown < rows {
            let more = counted((rows - shown) as u64, "more row");
            item("", &format!("and {more}"), Paint::Faint, page.options, out)?;
        }
        let width = page.options.style.width;
        let hidden = columns.iter().enumerate().filter(|(i, _)| !layout.shows(*i, width));
        for (at, column) in hidden.filter(|(_, column)| column.shows == Shows::Bounds) {
            let figure = columns.iter().take(at).rposition(|c| c.shows == Shows::Value);
            if figure.is_some_and(|figure| layout.shows(figure, width)) {
                bounds_note(column, page, out)?;
            }
        }
        beneath(self.table, page, out)?;
        notes(self.section, page, out)
    }
}

/// What a column of the layout shows of a column of the table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shows {
    Value,
    Share,
    Bounds,
}

/// A column of the layout.
struct Shape<'a> {
    head: String,
    right: bool,
    worth: Option<u8>,
    shows: Shows,
    index: usize,
    column: Option<&'a Column>,
    unit: Unit,
}

impl Shape<'_> {
    fn cell(&self, row: usize) -> &Cell {
        self.column.and_then(|column| column.cells.get(row)).unwrap_or(&Cell::Empty)
    }

    fn text(&self, cell: &Cell) -> String {
        let text = match self.shows {
            Shows::Value => value(cell, &self.unit),
            Shows::Share => {
                let whole = self.column.and_then(|column| column.whole);
                let of = |part: Number| Some(share(part.as_u64(), whole?.as_u64()));
                cell.number().and_then(of)
            }
            Shows::Bounds => bounds(cell, &self.unit),
        };
        text.unwrap_or_default()
    }

    fn is_prose(&self, rows: usize) -> bool {
        let words = |row| self.cell(row).text().unwrap_or_default().split_whitespace();
        !self.right
            && (0..rows).any(|row| words(row).count() > 2)
            && (0..rows).flat_map(words).all(|word| word.chars().count() <= LONGEST_WORD)
    }
}

/// The columns as they are shown: the name last, which gives way where there is no room.
fn columns<'a>(table: &'a Table, title: &str) -> Vec<Shape<'a>> {
    let mut order: Vec<usize> = (0..table.columns.len()).collect();
    let has = |id: &str| table.column(id).is_some();
    // What stands above the rows, and names for programs where there are some for people.
    order.retain(|i| match table.columns[*i].id.as_str() {
        "file" | "line" | "inlined" | "source" => !has_source(table),
        "id" => !has("title"),
        _ => true,
    });
    let is_text = |i: &usize| table.columns[*i].kind == CellKind::Text;
    // Names are longer than what else is in words.
    let longest = |i: &usize| {
        let texts = table.columns[*i].cells.iter().filter_map(Cell::text);
        (texts.map(|text| text.chars().count()).max(), std::cmp::Reverse(*i))
    };
    let widest = || order.iter().copied().filter(is_text).max_by_key(longest);
    let name = order.last().copied().filter(is_text).or_else(widest);
    order.retain(|i| Some(*i) != name);
    let mut shapes: Vec<Shape<'a>> = Vec::new();
    for index in order.into_iter().chain(name) {
        shapes.extend(shapes_of(index, &table.columns[index], title));
    }
    if name.is_none() {
        let (head, unit) = (String::new(), Unit::COUNT);
        let shows = Shows::Value;
        shapes.push(Shape {
            head,
            right: false,
            worth: None,
            shows,
            index: usize::MAX,
            column: None,
            unit,
        });
    }
    shapes
}

/// Whether rows are code with its source.
fn has_source(table: &Table) -> bool {
    ["file", "line", "source"].iter().all(|id| table.column(id).is_some())
}

/// The source line that a row comes from.
fn source_line(table: &Table, row: usize) -> Option<String> {
    if !has_source(table) {
        return None;
    }
    let cell = |id: &str| table.column(id).and_then(|column| column.cells.get(row));
    let text = |id: &str| cell(id).and_then(Cell::text);
    let line = cell("line").and_then(Cell::number)?;
    let (inlined, words) = (text("inlined").unwrap_or_default(), text("source"));
    Some(line_text(text("file")?, line.as_u64(), inlined, words.unwrap_or_default()))
}

/// A column with its share and bounds, which go before it does.
fn shapes_of<'a>(index: usize, column: &'a Column, title: &str) -> Vec<Shape<'a>> {
    let unit = column.unit.clone().unwrap_or(Unit::COUNT);
    let right = column.kind == CellKind::Figure;
    let worth = |rank: u8| column.worth.map(|worth| worth.min(40) * 3 + rank);
    let shape = |head: String, shows, worth| Shape {
        head,
        right,
        worth,
        shows,
        index,
        column: Some(column),
        unit: unit.clone(),
    };
    let mut shapes = vec![shape(head(column, &unit, title), Shows::Value, worth(2))];
    if right && column.whole.is_some() {
        shapes.push(shape("share".to_owned(), Shows::Share, worth(0)));
    }
    if right && column.cells.iter().any(|cell| bounds(cell, &unit).is_some()) {
        let sampled = column.cells.iter().any(is_sampled);
        let head = if sampled { "interval" } else { "bounds" };
        shapes.push(shape(head.to_owned(), Shows::Bounds, worth(1).or(Some(MATTERS))));
    }
    shapes
}

/// The column's title, with the unit where nothing else names it.
fn head(column: &Column, unit: &Unit, title: &str) -> String {
    let named = |unit: &str| {
        let stem = unit.strip_suffix('s').unwrap_or(unit);
        column.title.contains(stem) || title.contains(stem)
    };
    match unit_name(unit).filter(|unit| column.kind == CellKind::Figure && !named(unit)) {
        Some(unit) => format!("{} ({unit})", column.title),
        None => column.title.clone(),
    }
}

fn is_sampled(cell: &Cell) -> bool {
    matches!(cell, Cell::Figure { trust: Trust::Sampled { .. }, .. })
}

/// A cell's own words or figure; nothing where there is nothing to say.
pub(super) fn value(content: &Cell, unit: &Unit) -> Option<String> {
    match content {
        Cell::Empty => None,
        Cell::Text(text) => Some(one_line(text)),
        Cell::Address(address) => Some(address.to_string()),
        Cell::Exact(value) => Some(number(*value, unit)),
        Cell::Figure { value, trust } => Some(cell(*value, trust, unit)),
    }
}

/// How far from the figure the truth may be; for samples, from where to where.
fn bounds(cell: &Cell, unit: &Unit) -> Option<String> {
    let Cell::Figure { value: Some(value), trust } = cell else { return None };
    match trust {
        Trust::Modelled { low, high, .. } => spread(*value, *low, *high),
        Trust::Sampled { low, high, .. } => Some(range(*low, *high, unit)),
        _ => None,
    }
}

/// The widest bounds of a column for which there was no room.
fn bounds_note(shape: &Shape, page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let Some(column) = shape.column else { return Ok(()) };
    let width = |cell: &&Cell| match cell {
        Cell::Figure { value: Some(value), trust } => trust.bounds().map_or(0.0, |(low, high)| {
            (high.as_f64() - low.as_f64()) / value.as_f64().abs().max(f64::MIN_POSITIVE)
        }),
        _ => 0.0,
    };
    let widest = column.cells.iter().max_by(|a, b| width(a).total_cmp(&width(b)));
    let Some(text) = widest.and_then(|cell| bounds(cell, &shape.unit)) else { return Ok(()) };
    item(
        "~ ",
        &format!("{}: bounds of at most {text}", column.title),
        Paint::Faint,
        page.options,
        out,
    )
}

/// What cells could not say: why figures are unknown, and how fine those of limited resolution are.
pub(super) fn beneath(table: &Table, page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let mut unknown: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let footer = |i: usize| table.footer.iter().filter_map(move |row| row.get(i));
    for (i, column) in table.columns.iter().enumerate() {
        let mut off = 0.0f64;
        for cell in column.cells.iter().chain(footer(i)) {
            let Cell::Figure { value, trust } = cell else { continue };
            if let Trust::Unknown { why } = trust {
                let titles = unknown.entry(why).or_default();
                if !titles.contains(&column.title.as_str()) {
                    titles.push(&column.title);
                }
            }
            if let (Trust::Resolution { low, high }, Some(value)) = (trust, value) {
                let value = value.as_f64();
                off = off.max(value - low.as_f64()).max(high.as_f64() - value);
            }
        }
        if off > 0.0 {
            let unit = column.unit.as_ref().unwrap_or(&Unit::COUNT);
            let off = number(Number::Real(off), unit);
            let text = format!("{}: +/- {off}, by the resolution", column.title);
            item("", &text, Paint::Faint, page.options, out)?;
        }
    }
    for (why, titles) in unknown {
        let why = if why.is_empty() { "nobody says why" } else { why };
        let text = format!("unknown {}: {why}", titles.join(", "));
        item("? ", &text, Paint::Warn, page.options, out)?;
    }
    Ok(())
}
