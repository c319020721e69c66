//! Tables of a page: figures with their bounds, words as they are.

use std::fmt::Write as _;

use strobe_analyse::attribution::{Amount, By, rows};
use strobe_model::measurement::{
    Cell, CellKind, Column, Distributions, Profile, Quantity, Table, Trust, Unit,
};

use super::super::flame::escaped;
use crate::view::figure::{cell as figure, range, share, unit_name};

/// A section's table.
pub(super) fn write(table: &Table, out: &mut String) {
    out.push_str("<table>\n<tr>");
    for column in &table.columns {
        head(&title(column), column.kind == CellKind::Figure, out);
    }
    out.push_str("</tr>\n");
    for row in 0..table.len() {
        out.push_str("<tr>");
        for column in &table.columns {
            one(column.cells.get(row).unwrap_or(&Cell::Empty), column, out);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table>\n");
}

fn title(column: &Column) -> String {
    match column.unit.as_ref().and_then(unit_name) {
        Some(unit) if !column.title.contains(unit.as_ref()) => {
            format!("{} ({unit})", column.title)
        }
        _ => column.title.clone(),
    }
}

fn head(title: &str, is_number: bool, out: &mut String) {
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

fn number(text: &str, bounds: &str, out: &mut String) -> std::fmt::Result {
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
    out.push_str("<table>\n<tr>");
    head("of", false, out);
    head("values", true, out);
    head("minimum", true, out);
    PARTS.iter().for_each(|(name, _)| head(name, true, out));
    out.push_str("</tr>\n");
    for one in &all.distributions {
        let spread = &one.spread;
        let _ = write!(out, "<tr><td>{}</td>", escaped(&one.name));
        let count = Quantity::exact(spread.count(), Unit::COUNT);
        let values = PARTS.iter().map(|(_, part)| spread.quantile(*part));
        let _ = number(&figure(count.value(), &Trust::Exact, &Unit::COUNT), "", out);
        for value in std::iter::once(spread.min()).chain(values) {
            let shown = value.map(|value| figure(Some(value.into()), &Trust::Exact, &one.unit));
            let _ = number(&shown.unwrap_or_default(), "", out);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table>\n");
}

/// Functions shown of a profile.
const MOST: usize = 30;

/// A profile by function, by its first measure.
pub(super) fn functions(profile: &Profile, out: &mut String) {
    let Some(measure) = profile.measures.first() else { return };
    let Some(flat) = rows(profile, &measure.id, &By::Function) else { return };
    out.push_str("<table>\n<tr>");
    head(&measure.title, true, out);
    head("share", true, out);
    head("function", false, out);
    out.push_str("</tr>\n");
    let whole = flat.total.all.value;
    for row in flat.rows.iter().take(MOST) {
        let Amount { low, value, high } = row.sums.all.ordered();
        let trust = match low == high {
            true => Trust::Exact,
            false => Trust::Modelled { low: low.into(), high: high.into(), why: None },
        };
        let bounds = trust.bounds().map(|(low, high)| range(low, high, &measure.unit));
        let shown = figure(Some(value.into()), &trust, &measure.unit);
        out.push_str("<tr>");
        let _ = number(&shown, &bounds.unwrap_or_default(), out);
        let _ = number(&share(value, whole), "", out);
        let _ = writeln!(out, "<td class=\"words\">{}</td></tr>", escaped(&row.name));
    }
    out.push_str("</table>\n");
    let rest = flat.rows.len().saturating_sub(MOST);
    if rest > 0 {
        let _ = writeln!(out, "<p>and {rest} more functions</p>");
    }
}
