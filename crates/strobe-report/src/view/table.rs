//! A section's table: figures first and the name last, as everywhere in these reports; shares and
//! bounds beside their figures, and beneath what cells could not show.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;

use strobe_model::measurement::{Cell, CellKind, Column, Number, Section, Table, Trust, Unit};

use super::annotate::line_text;
use super::figure::{cell, number, range, spread, unit_name};
use super::text::notes;
use super::{Page, View};
use crate::number::{counted, moment, share};
use crate::paint::Paint;
use crate::table::{Cell as Shown, MATTERS, Table as Layout};
use crate::text::layout::{heading, item};
use crate::words::one_line;

/// Rows shown of a longer table, unless all are asked for.
const MOST_ROWS: usize = 40;

/// Rows shown of a comparison's table in which nothing differs.
const MOST_EQUAL: usize = 10;

/// Over what figures of limited resolution are off by.
const FINE: &str = "+/-";

/// How sections with the messages of a port begin.
const LOG: &str = "port-";

/// The section of loops that wait, the longest first.
const WAITS: &str = "waiting";

/// Of loops that wait those with less than one of so many parts of the whole are left out.
const SMALL: f64 = 1000.0;

/// How sections end whose columns add up to a difference.
const PARTS: &str = "-causes";

/// Bounds that are no wider, in parts of their figure, are alike enough for one line to state the
/// widest of a column.
const ALIKE: f64 = 0.1;

/// Prose whose words are no longer than this is wrapped, names are shortened.
const LONGEST_WORD: usize = 24;

/// So many words are a sentence and no name, whatever language names are from.
const SENTENCE: usize = 7;

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
        let mut columns = columns(self.table, &self.section.title, false);
        let width = page.options.style.width;
        // Of what grows at its end, the end is shown.
        let is_log = self.section.id.starts_with(LOG);
        let range = if is_log { rows - shown..rows } else { 0..shown };
        let mut layout = self.layout(&columns, range.clone());
        let mut units = BTreeMap::new();
        if !layout.has_room(width) {
            columns = self::columns(self.table, &self.section.title, true);
            units = without_units(&mut columns);
            layout = self.layout(&columns, range);
        }
        layout.write(page.options.style, out)?;
        if shown < rows {
            let which = if is_log { "earlier row" } else { "more row" };
            let more = counted((rows - shown) as u64, which) + &self.left_out(shown);
            item("", &format!("and {more}; --top 0 shows all"), Paint::Faint, page.options, out)?;
        }
        let is_shown = |title: &String| {
            columns.iter().enumerate().any(|(i, c)| c.head == *title && layout.shows(i, width))
        };
        for (unit, mut titles) in units {
            titles.retain(is_shown);
            if titles.is_empty() {
                continue;
            }
            item("", &format!("{} in {unit}", listed(&titles)), Paint::Faint, page.options, out)?;
        }
        self.sums_without_room(&columns, &layout, page, out)?;
        let hidden = columns.iter().enumerate().filter(|(i, _)| !layout.shows(*i, width));
        let hidden =
            hidden.filter(|(_, column)| column.shows == Shows::Bounds && column.head != FINE);
        for (at, column) in hidden {
            let figure = columns.iter().take(at).rposition(|c| c.shows == Shows::Value);
            if figure.is_some_and(|figure| layout.shows(figure, width)) {
                bounds_note(column, page, out)?;
            }
        }
        let fine = columns.iter().enumerate().filter(|(_, column)| column.head == FINE);
        let fine = fine.filter(|(i, _)| layout.shows(*i, width)).map(|(_, column)| column.index);
        beneath(self.table, &fine.collect::<Vec<_>>(), page, out)?;
        notes(self.section, page, out)
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

    /// The sums of the columns for which there is no room, where rows are the sums of columns.
    fn sums_without_room(
        &self,
        columns: &[Shape],
        layout: &Layout,
        page: &Page,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let Some(sums) = self.table.footer.last().filter(|_| self.section.id.ends_with(PARTS))
        else {
            return Ok(());
        };
        let width = page.options.style.width;
        let is_zero = |cell: &Cell| cell.number().is_none_or(|number| number.as_f64() == 0.0);
        let sum = |(at, shape): (usize, &Shape)| {
            let is_figure = shape.right && shape.shows == Shows::Value;
            let column = shape.column.filter(|_| is_figure && !layout.shows(at, width))?;
            let all_zero = column.cells.iter().all(is_zero);
            let sum = value(sums.get(shape.index)?, &shape.unit).filter(|_| !all_zero)?;
            Some(format!("{} {sum}", column.title))
        };
        let sums: Vec<String> = columns.iter().enumerate().filter_map(sum).collect();
        if sums.is_empty() {
            return Ok(());
        }
        let text = format!("all, of columns without room: {}", listed(&sums));
        item("", &text, Paint::Faint, page.options, out)
    }

    /// Of a side's figure in a comparison, the number of the other side's column, the lesser of the
    /// two.
    fn pair(&self, shape: &Shape) -> Option<usize> {
        let column = shape.column.filter(|_| shape.shows == Shows::Value)?;
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

fn is_difference(column: &Column) -> bool {
    column.id.ends_with("-difference")
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
        && !table.column("side").is_some_and(is_one_sided)
}

/// Takes units out of headings: the columns of each.
fn without_units(columns: &mut [Shape]) -> BTreeMap<String, Vec<String>> {
    let mut units: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for shape in columns {
        let Some(column) = shape.column.filter(|c| shape.head != c.title) else { continue };
        if let (Shows::Value, false, Some(unit)) =
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

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [first @ .., second, last] => {
            [first, &[format!("{second} and {last}")]].concat().join(", ")
        }
        _ => names.concat(),
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
    /// Decimals of moments.
    decimals: Option<u32>,
}

impl Shape<'_> {
    fn cell(&self, row: usize) -> &Cell {
        self.column.and_then(|column| column.cells.get(row)).unwrap_or(&Cell::Empty)
    }

    fn text(&self, cell: &Cell) -> String {
        let text = match self.shows {
            Shows::Value => match self.decimals.zip(cell.number()) {
                Some((decimals, at)) => Some(moment(picoseconds(at, &self.unit), decimals)),
                None => value(cell, &self.unit),
            },
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
fn columns<'a>(table: &'a Table, title: &str, tight: bool) -> Vec<Shape<'a>> {
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
    let is_short = |i: &usize| longest(i).0.is_none_or(|n| n < LONGEST_WORD);
    let tight = tight && table.columns.iter().any(is_difference);
    let last = order.last().copied().filter(is_text).filter(|i| !(tight && is_short(i)));
    let name = last.or_else(widest);
    order.retain(|i| Some(*i) != name);
    let mut shapes: Vec<Shape<'a>> = Vec::new();
    for index in order.into_iter().chain(name) {
        let is_first = shapes.iter().all(|shape| shape.shows != Shows::Bounds);
        shapes.extend(shapes_of(index, &table.columns[index], title, is_first));
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
            decimals: None,
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
        decimals: decimals(column, &unit).filter(|_| shows == Shows::Value),
    };
    let mut shapes = vec![shape(head(column, &unit, title), Shows::Value, worth(2))];
    if right && column.whole.is_some() {
        shapes.push(shape("share".to_owned(), Shows::Share, worth(0)));
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
        shapes.push(shape(head.to_owned(), Shows::Bounds, worth(1).or(Some(alone))));
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

fn is_sampled(cell: &Cell) -> bool {
    matches!(cell, Cell::Figure { trust: Trust::Sampled { .. }, .. })
}

/// A cell's own words or figure; nothing where there is nothing to show.
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
        Trust::Resolution { low, high } => Some(number(off(*value, *low, *high), unit)),
        _ => None,
    }
}

/// By how much a figure of limited resolution may be off.
fn off(value: Number, low: Number, high: Number) -> Number {
    match (value, low, high) {
        (Number::Integer(value), Number::Integer(low), Number::Integer(high)) => {
            Number::Integer(value.saturating_sub(low).max(high.saturating_sub(value)))
        }
        _ => {
            let value = value.as_f64();
            Number::Real((value - low.as_f64()).max(high.as_f64() - value))
        }
    }
}

/// Whether cells of limited resolution are off by different amounts, so that each needs its own.
fn is_uneven(column: &Column, unit: &Unit) -> bool {
    let each = column.cells.iter().filter(|cell| is_fine(cell)).map(|cell| bounds(cell, unit));
    let each: Vec<Option<String>> = each.collect();
    each.windows(2).any(|pair| pair[0] != pair[1])
}

fn is_fine(cell: &Cell) -> bool {
    matches!(cell, Cell::Figure { trust: Trust::Resolution { .. }, .. })
}

/// The widest bounds of a column for which there was no room; where they may be those of a small
/// figure alone, those of the largest as well.
fn bounds_note(shape: &Shape, page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let Some(column) = shape.column else { return Ok(()) };
    let Some(widest) = widest(&column.cells, &shape.unit) else { return Ok(()) };
    let mut text = format!("{}: bounds of at most {widest}", column.title);
    let largest = of_largest(&column.cells, &shape.unit);
    let largest = largest.filter(|bounds| *bounds != widest && !is_alike(&column.cells));
    if let Some(bounds) = largest {
        text.push_str(&format!("; of the largest figure {bounds}"));
    }
    item("~ ", &text, Paint::Faint, page.options, out)
}

/// A figure and its bounds.
fn ends(cell: &Cell) -> Option<(f64, f64, f64)> {
    let Cell::Figure { value: Some(value), trust } = cell else { return None };
    let (low, high) = trust.bounds()?;
    Some((value.as_f64(), low.as_f64(), high.as_f64()))
}

/// The bounds of the figure that is furthest from 0, if it has some.
fn of_largest(cells: &[Cell], unit: &Unit) -> Option<String> {
    let size = |cell: &&Cell| cell.number().map_or(0.0, |number| number.as_f64().abs());
    let largest = cells.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
    largest.and_then(|cell| bounds(cell, unit))
}

/// Whether all bounds are so close to their figures that the widest describe the others.
fn is_alike(cells: &[Cell]) -> bool {
    let is_close = |(value, low, high): (f64, f64, f64)| {
        let most = ALIKE * value.abs();
        value - low <= most && high - value <= most
    };
    cells.iter().filter_map(ends).all(is_close)
}

/// The widest bounds, of those that are parts of their figure and of those that are not, because
/// 0 is within them.
fn widest(cells: &[Cell], unit: &Unit) -> Option<String> {
    let has_zero = |(value, low, high): (f64, f64, f64)| value == 0.0 || (low < 0.0 && high > 0.0);
    let of = |with_zero: bool| {
        let width = |cell: &&Cell| {
            let (value, low, high) = ends(cell).unwrap_or_default();
            (high - low) / if with_zero { 1.0 } else { value.abs() }
        };
        let cells =
            cells.iter().filter(|cell| ends(cell).is_some_and(|e| has_zero(e) == with_zero));
        let widest = cells.max_by(|a, b| width(a).total_cmp(&width(b)));
        widest.and_then(|cell| bounds(cell, unit))
    };
    match (of(false), of(true)) {
        (Some(part), Some(whole)) => Some(format!("{part}, or {whole} where 0 is within")),
        (part, whole) => part.or(whole),
    }
}

/// What cells could not show: why figures are unknown, and how fine those of limited resolution
/// are; of columns in `fine` they show that themselves.
pub(super) fn beneath(
    table: &Table,
    fine: &[usize],
    page: &Page,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut unknown: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let footer = |i: usize| table.footer.iter().filter_map(move |row| row.get(i));
    for (i, column) in table.columns.iter().enumerate() {
        let mut largest = 0.0f64;
        for cell in column.cells.iter().chain(footer(i)) {
            let Cell::Figure { value, trust } = cell else { continue };
            if let Trust::Unknown { why } = trust {
                let titles = unknown.entry(why).or_default();
                if !titles.contains(&column.title.as_str()) {
                    titles.push(&column.title);
                }
            }
            if let (Trust::Resolution { low, high }, Some(value)) = (trust, value) {
                largest = largest.max(off(*value, *low, *high).as_f64());
            }
        }
        if largest > 0.0 && !fine.contains(&i) {
            let unit = column.unit.as_ref().unwrap_or(&Unit::COUNT);
            let largest = number(Number::Real(largest), unit);
            let most = if is_uneven(column, unit) { "at most " } else { "" };
            let text = format!("{}: +/- {most}{largest}, by the resolution", column.title);
            item("", &text, Paint::Faint, page.options, out)?;
        }
    }
    for (why, titles) in unknown {
        let why = if why.is_empty() { "no reason given" } else { why };
        let text = format!("unknown {}: {why}", titles.join(", "));
        item("? ", &text, Paint::Warn, page.options, out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A difference of nothing does not hide how wide the others are.
    #[test]
    fn the_widest_bounds_are_those_of_parts_and_of_what_may_be_nothing() {
        let cell = |value: i64, low: i64, high: i64| Cell::Figure {
            value: Some(value.into()),
            trust: Trust::Modelled { low: low.into(), high: high.into(), why: None },
        };
        let (part, whole) = (cell(1_000, 900, 1_300), cell(0, -2, 1));
        let widest = |cells: &[&Cell]| {
            let cells: Vec<Cell> = cells.iter().map(|cell| (*cell).clone()).collect();
            widest(&cells, &Unit::CYCLES).unwrap_or_default()
        };
        assert_eq!(widest(&[&part, &cell(10, 10, 11)]), "-10/+30 %");
        assert_eq!(widest(&[&part, &whole]), "-10/+30 %, or -2 to 1 where 0 is within");
        assert_eq!(widest(&[&whole, &cell(5, -40, 9)]), "-40 to 9");
        assert_eq!(widest(&[&Cell::from(3u64)]), "");
    }

    /// One row of a few cycles does not hide how close the bounds of the others are.
    #[test]
    fn bounds_that_differ_much_are_not_one() {
        let cell = |value: i64, low: i64, high: i64| Cell::Figure {
            value: Some(value.into()),
            trust: Trust::Modelled { low: low.into(), high: high.into(), why: None },
        };
        let (all, close) = (cell(4_000, 3_996, 4_008), cell(-200, -210, -185));
        let few = cell(15, 15, 30);
        assert!(is_alike(&[all.clone(), close.clone(), Cell::from(3u64), Cell::Empty]));
        let unlike = [few, close, all];
        assert!(!is_alike(&unlike));
        assert_eq!(of_largest(&unlike, &Unit::CYCLES).as_deref(), Some("-0.1/+0.2 %"));
        assert_eq!(of_largest(&[Cell::from(9u64)], &Unit::CYCLES), None);
    }

    /// What is hidden of a sum is stated.
    #[test]
    fn columns_without_room_have_their_sums_beneath() {
        let figure =
            |id: &str, title: &str, worth: u8| Column::figure(id, title, Unit::CYCLES).worth(worth);
        let mut table = Table::new(vec![
            Column::text("function", "function"),
            figure("more-calls", "more calls in cycles", 1),
            figure("execute", "execute", 2),
            figure("rest", "rest of the difference", 0),
            Column::text("why", "why"),
        ]);
        let why = "more instructions for each call than there were before";
        table.row(["f".into(), 1_200i64.into(), (-9i64).into(), 0i64.into(), why.into()]);
        let sums: [Cell; 5] =
            ["all".into(), 1_200i64.into(), (-9i64).into(), 0i64.into(), Cell::Empty];
        table.footer.push(sums.to_vec());
        let shown = |id: &str| {
            let mut run = crate::samples::measurements::simulated();
            run.push(id, "why", strobe_model::measurement::Content::Table(table.clone()));
            let style = crate::Style { colour: false, width: 64 };
            let (mut out, options) = (Vec::new(), crate::Options { style, quiet: false });
            let selection = super::super::Selection::default();
            super::super::measurement(&run, &selection, &options, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let line = "  all, of columns without room: more calls in cycles 1,200\n";
        assert!(shown("profile-causes").contains(line), "{}", shown("profile-causes"));
        assert!(!shown("profile-others").contains("without room"));
    }

    /// Short waits have their sum, and a row each where all rows are asked for.
    #[test]
    fn short_waits_are_left_out_and_counted() {
        let mut table = Table::new(vec![
            Column::figure("cycles", "cycles", Unit::CYCLES).of(1_000_000u64),
            Column::text("place", "place"),
        ]);
        let bounds = Trust::Modelled { low: 400u64.into(), high: 600u64.into(), why: None };
        let about = Cell::Figure { value: Some(500u64.into()), trust: bounds };
        table.row([600_000u64.into(), "main".into()]);
        table.row([999u64.into(), "pll_ready".into()]);
        table.row([about, "uart_put".into()]);
        let shown = |id: &str, top: usize| {
            let mut run = crate::samples::measurements::simulated();
            run.push(id, "loops", strobe_model::measurement::Content::Table(table.clone()));
            let style = crate::Style { colour: false, width: 80 };
            let (mut out, options) = (Vec::new(), crate::Options { style, quiet: false });
            let selection = super::super::Selection { top, ..Default::default() };
            super::super::measurement(&run, &selection, &options, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let (few, all) = (shown(WAITS, 20), shown(WAITS, 0));
        let line = "  and 2 more rows with ~1,499 cycles in all; --top 0 shows all\n";
        assert!(few.contains(line) && !few.contains("uart_put"), "{few}");
        assert!(!all.contains("more rows with") && all.contains("uart_put"), "{all}");
        assert!(shown("others", 20).contains("uart_put"), "only waits are left out");
    }
}
