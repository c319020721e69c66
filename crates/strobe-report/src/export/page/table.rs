//! Tables of a page: figures with their bounds, words as they are.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use strobe_model::measurement::{
    Cell, CellKind, Column, Distribution, Distributions, Quantity, Spread, Table, Trust, Unit,
};

use super::super::flame::escaped;
use crate::view::figure::{cell as figure, range, unit_name};

/// What a table begins and ends with: one that is wider than the page scrolls by itself.
pub(super) const BEGIN: &str = "<div class=\"wide\"><table>\n";
pub(super) const END: &str = "</table></div>\n";

/// A section's table.
pub(super) fn write(table: &Table, out: &mut String) {
    let columns = shown(table);
    out.push_str(BEGIN);
    out.push_str("<tr>");
    for column in columns.iter().map(|at| &table.columns[*at]) {
        head(&title(column), column.kind == CellKind::Figure, out);
    }
    out.push_str("</tr>\n");
    for row in 0..table.len() {
        out.push_str("<tr>");
        cells(table, &columns, |at| table.columns[at].cells.get(row), out);
    }
    for sums in &table.footer {
        out.push_str("<tr class=\"sum\">");
        cells(table, &columns, |at| sums.get(at), out);
    }
    out.push_str(END);
}

/// Columns in their order on a page, without those that are empty. Where figures are first, what
/// names the rows goes before them: on a narrow page the last ones are beyond its edge.
fn shown(table: &Table) -> Vec<usize> {
    let is_empty = |at: usize| {
        let sums = table.footer.iter().filter_map(|sums| sums.get(at));
        table.columns[at].cells.iter().chain(sums).all(|cell| *cell == Cell::Empty)
    };
    let mut shown: Vec<usize> = (0..table.columns.len()).filter(|at| !is_empty(*at)).collect();
    let is_figure = |at: &usize| table.columns[*at].kind == CellKind::Figure;
    if shown.first().is_some_and(is_figure)
        && let Some(place) = shown.iter().position(|at| names_rows(&table.columns[*at]))
    {
        shown[..=place].rotate_right(1);
    }
    shown
}

/// Whether a column has other words in each row.
fn names_rows(column: &Column) -> bool {
    let words: Option<BTreeSet<&str>> = column.cells.iter().map(Cell::text).collect();
    !column.title.is_empty() && words.is_some_and(|words| words.len() == column.cells.len())
}

fn cells<'a>(
    table: &Table,
    columns: &[usize],
    of: impl Fn(usize) -> Option<&'a Cell>,
    out: &mut String,
) {
    for at in columns {
        one(of(*at).unwrap_or(&Cell::Empty), &table.columns[*at], out);
    }
    out.push_str("</tr>\n");
}

fn title(column: &Column) -> String {
    match column.unit.as_ref().and_then(unit_name) {
        Some(unit) if !column.title.contains(unit.as_ref()) => {
            format!("{} ({unit})", column.title)
        }
        _ => column.title.clone(),
    }
}

/// A heading.
pub(super) fn head(title: &str, is_number: bool, out: &mut String) {
    let class = if is_number { " class=\"number\"" } else { "" };
    let _ = write!(out, "<th{class}>{}</th>", escaped(title));
}

fn one(cell: &Cell, column: &Column, out: &mut String) {
    let unit = column.unit.as_ref().unwrap_or(&Unit::COUNT);
    let _ = match cell {
        Cell::Empty => write!(out, "<td></td>"),
        Cell::Text(text) => write!(out, "<td class=\"words\">{}</td>", escaped(text)),
        Cell::Address(address) => write!(out, "<td>{}</td>", escaped(&address.to_string())),
        Cell::Exact(value) => number(&figure(Some(*value), &Trust::Exact, unit), "", out),
        Cell::Figure { value: None, trust: Trust::Unknown { why } } => {
            let why = escaped(why);
            write!(out, "<td class=\"unknown\" title=\"{why}\">unknown</td>")
        }
        Cell::Figure { value, trust } => {
            let bounds = trust.bounds().map(|(low, high)| range(low, high, unit));
            number(&figure(*value, trust, unit), &bounds.unwrap_or_default(), out)
        }
    };
}

/// A figure with its bounds.
pub(super) fn number(text: &str, bounds: &str, out: &mut String) -> std::fmt::Result {
    let (text, bounds) = (escaped(text), escaped(bounds));
    match bounds.as_str() {
        "" => write!(out, "<td class=\"number\">{text}</td>"),
        bounds => {
            write!(out, "<td class=\"number\">{text} <span class=\"bounds\">{bounds}</span></td>")
        }
    }
}

/// What stands in the table of a distribution.
const PARTS: [(&str, f64); 4] = [("median", 0.5), ("p90", 0.9), ("p99", 0.99), ("maximum", 1.0)];

/// Distributions as figures.
pub(super) fn spreads(all: &Distributions, out: &mut String) {
    out.push_str(BEGIN);
    out.push_str("<tr>");
    head("of", false, out);
    head("values", true, out);
    head("minimum", true, out);
    PARTS.iter().for_each(|(name, _)| head(name, true, out));
    out.push_str("</tr>\n");
    for one in &all.distributions {
        let spread = &one.spread;
        let _ = write!(out, "<tr><td>{}</td>", escaped(&one.name));
        let count = Quantity::exact(spread.count(), Unit::COUNT);
        let _ = number(&figure(count.value(), &Trust::Exact, &Unit::COUNT), "", out);
        // A part of 0 is the minimum.
        for part in std::iter::once(0.0).chain(PARTS.iter().map(|(_, part)| *part)) {
            let Some(value) = at(spread, part) else {
                out.push_str("<td></td>");
                continue;
            };
            let trust = trust(one, value, part);
            let bounds = trust.bounds().map(|(low, high)| range(low, high, &one.unit));
            let shown = figure(Some(value.into()), &trust, &one.unit);
            let _ = number(&shown, &bounds.unwrap_or_default(), out);
        }
        out.push_str("</tr>\n");
    }
    out.push_str(END);
}

fn at(spread: &Spread, part: f64) -> Option<u64> {
    if part == 0.0 { spread.min() } else { spread.quantile(part) }
}

/// How far a value of a distribution can be trusted.
fn trust(of: &Distribution, value: u64, part: f64) -> Trust {
    let bound = |spread: &Option<Spread>| at(spread.as_ref()?, part);
    match (bound(&of.low), bound(&of.high), of.resolution) {
        (Some(low), Some(high), _) if low < high => {
            let (low, high) = (low.min(value).into(), high.max(value).into());
            Trust::Modelled { low, high, why: None }
        }
        (_, _, Some(off)) if off > 0 => Trust::Resolution {
            low: value.saturating_sub(off).into(),
            high: value.saturating_add(off).into(),
        },
        _ => Trust::Exact,
    }
}
