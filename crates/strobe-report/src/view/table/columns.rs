//! The columns of a table's layout: which of the table's columns they show and in which order, what
//! they are called, and what their cells read.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use strobe_model::measurement::{Cell, CellKind, Column, Number, Table, Unit};

use super::bounds::{bounds, is_alike, is_fine, is_sampled, is_uneven};
use crate::number::{moment, share};
use crate::table::MATTERS;
use crate::view::annotate::line_text;
use crate::view::figure::{cell, number, unit_name};
use crate::words::one_line;

/// Over what figures of limited resolution are off by.
pub(super) const FINE: &str = "+/-";

/// Prose whose words are no longer than this is wrapped, names are shortened.
const LONGEST_WORD: usize = 24;

/// So many words are a sentence and no name, whatever language names are from.
const SENTENCE: usize = 7;

/// What a column of the layout shows of a column of the table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CellStyle {
    Value,
    Share,
    Bounds,
}

/// A column of the layout.
pub(super) struct Shape<'a> {
    pub(super) head: String,
    pub(super) right: bool,
    pub(super) worth: Option<u8>,
    pub(super) shows: CellStyle,
    pub(super) index: usize,
    pub(super) column: Option<&'a Column>,
    pub(super) unit: Unit,
    /// Decimals of moments.
    pub(super) decimals: Option<u32>,
}

impl Shape<'_> {
    pub(super) fn cell(&self, row: usize) -> &Cell {
        self.column.and_then(|column| column.cells.get(row)).unwrap_or(&Cell::Empty)
    }

    pub(super) fn text(&self, cell: &Cell) -> String {
        let text = match self.shows {
            CellStyle::Value => match self.decimals.zip(cell.number()) {
                Some((decimals, at)) => Some(moment(picoseconds(at, &self.unit), decimals)),
                None => value(cell, &self.unit),
            },
            CellStyle::Share => {
                let whole = self.column.and_then(|column| column.whole);
                let of = |part: Number| Some(share(part.as_u64(), whole?.as_u64()));
                cell.number().and_then(of)
            }
            CellStyle::Bounds => bounds(cell, &self.unit),
        };
        text.unwrap_or_default()
    }

    pub(super) fn is_prose(&self, rows: usize) -> bool {
        let words = |row| self.cell(row).text().unwrap_or_default().split_whitespace();
        // A sentence may have a name in it.
        let names = |row| usize::from(words(row).count() >= SENTENCE);
        let is_long = |word: &&str| word.chars().count() > LONGEST_WORD;
        !self.right
            && (0..rows).any(|row| words(row).count() > 2)
            && (0..rows).all(|row| words(row).filter(is_long).count() <= names(row))
    }
}

/// The columns as they are shown: the name last, which gives way where there is no room. In a
/// `tight` comparison that is the widest text, whichever column it is in: its last one is short.
pub(super) fn columns<'a>(table: &'a Table, title: &str, tight: bool) -> Vec<Shape<'a>> {
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
        (texts.map(|text| text.chars().count()).max(), Reverse(*i))
    };
    let widest = || order.iter().copied().filter(is_text).max_by_key(longest);
    let is_short = |i: &usize| longest(i).0.is_none_or(|n| n < LONGEST_WORD);
    let tight = tight && table.columns.iter().any(is_difference);
    let last = order.last().copied().filter(is_text).filter(|i| !(tight && is_short(i)));
    let name = last.or_else(widest);
    order.retain(|i| Some(*i) != name);
    let mut shapes: Vec<Shape<'a>> = Vec::new();
    for index in order.into_iter().chain(name) {
        let is_first = shapes.iter().all(|shape| shape.shows != CellStyle::Bounds);
        shapes.extend(shapes_of(index, &table.columns[index], title, is_first));
    }
    if name.is_none() {
        let (head, unit) = (String::new(), Unit::COUNT);
        let shows = CellStyle::Value;
        shapes.push(Shape {
            head,
            right: false,
            worth: None,
            shows,
            index: usize::MAX,
            column: None,
            unit,
            decimals: None,
        });
    }
    shapes
}

pub(super) fn is_difference(column: &Column) -> bool {
    column.id.ends_with("-difference")
}

/// Takes units out of headings: the columns of each.
pub(super) fn without_units(columns: &mut [Shape]) -> BTreeMap<String, Vec<String>> {
    let mut units: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for shape in columns {
        let Some(column) = shape.column.filter(|c| shape.head != c.title) else { continue };
        if let (CellStyle::Value, false, Some(unit)) =
            (shape.shows, column.moment, unit_name(&shape.unit))
        {
            let titles = units.entry(unit.into_owned()).or_default();
            if !titles.contains(&column.title) {
                titles.push(column.title.clone());
            }
            shape.head = column.title.clone();
        }
    }
    units
}

/// Whether rows are code with its source.
fn has_source(table: &Table) -> bool {
    ["file", "line", "source"].iter().all(|id| table.column(id).is_some())
}

/// The source line that a row comes from.
pub(super) fn source_line(table: &Table, row: usize) -> Option<String> {
    if !has_source(table) {
        return None;
    }
    let cell = |id: &str| table.column(id).and_then(|column| column.cells.get(row));
    let text = |id: &str| cell(id).and_then(Cell::text);
    let line = cell("line").and_then(Cell::number)?;
    let (inlined, words) = (text("inlined").unwrap_or_default(), text("source"));
    Some(line_text(text("file")?, line.as_u64(), inlined, words.unwrap_or_default()))
}

/// What bounds behind a table's first ones are worth, if their figure always stays: what else the
/// table has comes first, since a line beneath states the widest. Where that does not describe the
/// others, they stay longer.
const FURTHER: u8 = 0;
const FURTHER_UNLIKE: u8 = 1;

/// A column with its share and bounds, which go before it does.
fn shapes_of<'a>(index: usize, column: &'a Column, title: &str, is_first: bool) -> Vec<Shape<'a>> {
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
        decimals: decimals(column, &unit).filter(|_| shows == CellStyle::Value),
    };
    let mut shapes = vec![shape(head(column, &unit, title), CellStyle::Value, worth(2))];
    if right && column.whole.is_some() {
        shapes.push(shape("share".to_owned(), CellStyle::Share, worth(0)));
    }
    let by_resolution = column.cells.iter().any(is_fine);
    let bounded = column.cells.iter().any(|cell| bounds(cell, &unit).is_some());
    if right && bounded && (!by_resolution || is_uneven(column, &unit)) {
        let sampled = column.cells.iter().any(is_sampled);
        let head = match (sampled, by_resolution) {
            (true, _) => "interval",
            (_, true) => FINE,
            _ => "bounds",
        };
        let alone = match is_first {
            true => MATTERS,
            false if is_alike(&column.cells) => FURTHER,
            false => FURTHER_UNLIKE,
        };
        shapes.push(shape(head.to_owned(), CellStyle::Bounds, worth(1).or(Some(alone))));
    }
    shapes
}

/// The column's title, with the unit where nothing else names it.
fn head(column: &Column, unit: &Unit, title: &str) -> String {
    let named = |unit: &str| {
        let stem = unit.strip_suffix('s').unwrap_or(unit);
        column.title.contains(stem) || title.contains(stem)
    };
    if decimals(column, unit).is_some() {
        return format!("{} [s]", column.title);
    }
    match unit_name(unit).filter(|unit| column.kind == CellKind::Figure && !named(unit)) {
        Some(unit) => format!("{} ({unit})", column.title),
        None => column.title.clone(),
    }
}

/// With how many decimals the moments of a column are shown: as many as distinguish them, and no
/// fewer than microseconds need.
fn decimals(column: &Column, unit: &Unit) -> Option<u32> {
    if !column.moment || ![Unit::NANOSECONDS, Unit::PICOSECONDS].contains(unit) {
        return None;
    }
    let numbers = column.cells.iter().filter_map(Cell::number);
    let mut all: Vec<i64> = numbers.map(|at| picoseconds(at, unit)).collect();
    all.sort_unstable();
    all.dedup();
    if all.iter().all(|ps| ps % 1_000_000 == 0) {
        return Some(6);
    }
    let alike = all.windows(2).any(|pair| pair[1].saturating_sub(pair[0]) < 1000);
    Some(if alike { 12 } else { 9 })
}

fn picoseconds(at: Number, unit: &Unit) -> i64 {
    let scale = if *unit == Unit::NANOSECONDS { 1000 } else { 1 };
    match at {
        Number::Integer(n) => n.saturating_mul(scale),
        Number::Real(x) => (x * scale as f64).round() as i64,
    }
}

/// A cell's own words or figure; nothing where there is nothing to show.
pub(in crate::view) fn value(content: &Cell, unit: &Unit) -> Option<String> {
    match content {
        Cell::Empty => None,
        Cell::Text(text) => Some(one_line(text)),
        Cell::Address(address) => Some(address.to_string()),
        Cell::Exact(value) => Some(number(*value, unit)),
        Cell::Figure { value, trust } => Some(cell(*value, trust, unit)),
    }
}
