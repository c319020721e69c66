//! What is stated beneath a table: what columns had no room for, and what cells could not show.

use std::collections::BTreeMap;
use std::io::{self, Write};

use strobe_model::measurement::{Cell, Number, Table, Trust, Unit};

use super::bounds::{is_alike, is_uneven, of_largest, off, widest};
use super::columns::{CellStyle, FINE, Shape, value};
use super::{Arranged, Rows};
use crate::paint::Paint;
use crate::text::layout::item;
use crate::view::Page;
use crate::view::figure::number;

/// How sections end whose columns add up to a difference.
const PARTS: &str = "-causes";

impl Rows<'_> {
    /// What headings, cells and whole columns had no room for.
    pub(super) fn without_room(
        &self,
        arranged: &Arranged,
        page: &Page,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        units_without_room(arranged, page, out)?;
        self.sums_without_room(arranged, page, out)?;
        bounds_without_room(arranged, page, out)
    }

    /// The sums of the columns for which there is no room, where rows are the sums of columns.
    fn sums_without_room(
        &self,
        arranged: &Arranged,
        page: &Page,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let Some(sums) = self.table.footer.last().filter(|_| self.section.id.ends_with(PARTS))
        else {
            return Ok(());
        };
        let is_zero = |cell: &Cell| cell.number().is_none_or(|number| number.as_f64() == 0.0);
        let sum = |(at, shape): (usize, &Shape)| {
            let is_figure = shape.right && shape.shows == CellStyle::Value;
            let column = shape.column.filter(|_| is_figure && !arranged.shows(at))?;
            let all_zero = column.cells.iter().all(is_zero);
            let sum = value(sums.get(shape.index)?, &shape.unit).filter(|_| !all_zero)?;
            Some(format!("{} {sum}", column.title))
        };
        let sums: Vec<String> = arranged.columns.iter().enumerate().filter_map(sum).collect();
        if sums.is_empty() {
            return Ok(());
        }
        let text = format!("all, of columns without room: {}", listed(&sums));
        item("", &text, Paint::Faint, page.options, out)
    }
}

/// The units that headings had no room for.
fn units_without_room(arranged: &Arranged, page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let is_shown = |title: &&String| {
        let mut columns = arranged.columns.iter().enumerate();
        columns.any(|(i, column)| column.head == **title && arranged.shows(i))
    };
    for (unit, titles) in &arranged.units {
        let titles: Vec<String> = titles.iter().filter(is_shown).cloned().collect();
        if titles.is_empty() {
            continue;
        }
        item("", &format!("{} in {unit}", listed(&titles)), Paint::Faint, page.options, out)?;
    }
    Ok(())
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

/// The widest bounds of the figures that are shown without theirs.
fn bounds_without_room(arranged: &Arranged, page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let columns = &arranged.columns;
    let hidden = columns.iter().enumerate().filter(|(i, _)| !arranged.shows(*i));
    let hidden =
        hidden.filter(|(_, column)| column.shows == CellStyle::Bounds && column.head != FINE);
    for (at, column) in hidden {
        let figure = columns.iter().take(at).rposition(|c| c.shows == CellStyle::Value);
        if figure.is_some_and(|figure| arranged.shows(figure)) {
            bounds_note(column, page, out)?;
        }
    }
    Ok(())
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

/// What cells could not show: why figures are unknown, and how fine those of limited resolution
/// are; of columns in `fine` they show that themselves.
pub(in crate::view) fn beneath(
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
