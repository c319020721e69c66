//! Tables of a page: figures with their bounds, words as they are.

use std::fmt::Write as _;

use strobe_analyse::attribution::{Amount, By, Flat, Sums, rows};
use strobe_model::measurement::{
    Cell, CellKind, Column, Distribution, Distributions, Measure, Profile, Quantity, Spread, Table,
    Trust, Unit,
};

use super::super::flame::escaped;
use crate::view::figure::{cell as figure, interval, range, share, unit_name};

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
    out.push_str("</table>\n");
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

/// Functions shown of a profile.
const MOST: usize = 30;

/// A profile by function, by its first measure, as reports have it: what is idle is apart, with
/// shares of the rest; samples have shares of all, with the interval of each.
pub(super) fn functions(profile: &Profile, out: &mut String) {
    let Some(measure) = profile.measures.first() else { return };
    let Some(flat) = rows(profile, &measure.id, &By::Function) else { return };
    let shown = Functions { measure, sampled: flat.sampled, flat: &flat };
    out.push_str("<table>\n<tr>");
    head(&shown.title(), true, out);
    head("share", true, out);
    head("function", false, out);
    out.push_str("</tr>\n");
    let (rows, others) = flat.rows.split_at(flat.rows.len().min(MOST));
    for row in rows {
        shown.row(shown.own(&row.sums), true, &row.name, out);
    }
    if !others.is_empty() {
        let mut sum = Sums::default();
        others.iter().for_each(|row| sum.add(&row.sums));
        let n = others.len();
        let name = if n == 1 { "other function" } else { "other functions" };
        shown.row(shown.own(&sum), true, &format!("{n} {name}"), out);
    }
    let idle = flat.total.idle;
    if !flat.sampled && idle.value > 0 {
        shown.row(flat.total.busy(), true, "(all that is not idle)", out);
        shown.row(idle, false, "(idle)", out);
    }
    out.push_str("</table>\n");
}

/// How a profile's functions are shown.
struct Functions<'a> {
    measure: &'a Measure,
    flat: &'a Flat,
    sampled: bool,
}

impl Functions<'_> {
    fn title(&self) -> String {
        match self.measure.unit.0 == self.measure.title {
            true => self.measure.title.clone(),
            false => match unit_name(&self.measure.unit) {
                Some(unit) => format!("{} ({unit})", self.measure.title),
                None => self.measure.title.clone(),
            },
        }
    }

    fn own(&self, sums: &Sums) -> Amount {
        if self.sampled { sums.all } else { sums.busy() }
    }

    fn row(&self, amount: Amount, has_share: bool, name: &str, out: &mut String) {
        let Amount { low, value, high } = amount.ordered();
        let trust = match low == high {
            true => Trust::Exact,
            false => Trust::Modelled { low: low.into(), high: high.into(), why: None },
        };
        let unit = &self.measure.unit;
        let bounds = trust.bounds().map(|(low, high)| range(low, high, unit));
        out.push_str("<tr>");
        let shown = figure(Some(value.into()), &trust, unit);
        let _ = number(&shown, &bounds.unwrap_or_default(), out);
        let whole = self.own(&self.flat.total).value;
        let (part, between) = match (has_share, self.flat.interval(value)) {
            (false, _) => (String::new(), String::new()),
            (true, Some(shares)) if value != whole => (share(value, whole), interval(shares)),
            (true, _) => (share(value, whole), String::new()),
        };
        let _ = number(&part, &between, out);
        let _ = writeln!(out, "<td class=\"words\">{}</td></tr>", escaped(name));
    }
}
