//! A measurement as rows: totals, coverage, functions of profiles, tables, distributions.
//!
//! Left out is what no history is made of: instructions and lines, time lines, texts, what was
//! attached for reading without the ELF file.

use std::collections::BTreeMap;
use strobe_model::measurement::ids;

use strobe_analyse::attribution::{Amount, By, Flat, RowPlace, is_unbounded, rows};
use strobe_analyse::naming::{behind_address, placeless, what};
use strobe_model::measurement::{
    Cell, Column, Content, Distribution, Kind, Measurement, Number, Profile, Quantity, Spread,
    Table, Trust,
};

use crate::row::Figure;

/// Sections that describe code or settings, or compare with something.
const ATTACHED: [&str; 6] = {
    use ids::section::*;
    [SYMBOLS, DISASSEMBLY, SOURCE, REGISTERS, FIELDS, BASELINE]
};

/// Columns that name a row, where the first one with words does not.
const NAMING: [&str; 6] = ["name", "benchmark", "budget", "entry", "cause", "chain"];

/// Rows of a measurement and of its parts, whose sections are named `PART/SECTION`.
pub fn figures(measurement: &Measurement) -> Vec<Figure> {
    let mut all = Vec::new();
    collect("", measurement, &mut all);
    all
}

fn collect(prefix: &str, measurement: &Measurement, all: &mut Vec<Figure>) {
    let section = |name: &str| format!("{prefix}{name}");
    for total in &measurement.totals {
        all.push(of_quantity(&section("totals"), None, &total.id, &total.quantity));
    }
    let duration = &measurement.window.duration;
    all.push(of_quantity(&section("window"), None, "duration", duration));
    let coverage = &measurement.coverage;
    let parts = [
        ("whole", &coverage.whole),
        ("seen", &coverage.seen),
        ("lost", &coverage.lost),
        ("overhead", &coverage.overhead),
    ];
    for (name, quantity) in parts {
        let row = quantity.as_ref().map(|q| of_quantity(&section("coverage"), None, name, q));
        all.extend(row);
    }
    for found in measurement.sections.iter().filter(|s| !ATTACHED.contains(&s.id.as_str())) {
        let section = section(&found.id);
        match &found.content {
            Content::Profile(profile) => of_profile(&section, profile, all),
            Content::Table(table) => of_table(&section, table, all),
            Content::Distributions(found) => {
                found.distributions.iter().for_each(|d| of_distribution(&section, d, all));
            }
            Content::Timeline(_) | Content::Text(_) => {}
        }
    }
    for part in &measurement.parts {
        collect(&format!("{prefix}{}/", part.name), &part.measurement, all);
    }
}

fn of_quantity(section: &str, item: Option<&str>, figure: &str, quantity: &Quantity) -> Figure {
    let unit = &quantity.unit().0;
    of_trust(section, item, figure, unit, quantity.value(), quantity.trust())
}

fn of_trust(
    section: &str,
    item: Option<&str>,
    figure: &str,
    unit: &str,
    value: Option<Number>,
    trust: &Trust,
) -> Figure {
    let (name, n) = match trust {
        Trust::Exact => ("exact", None),
        Trust::Modelled { .. } => ("modelled", None),
        Trust::Sampled { n, .. } => ("sampled", i64::try_from(*n).ok()),
        Trust::Resolution { .. } => ("resolution", None),
        Trust::AtLeast => ("at-least", None),
        Trust::AtMost => ("at-most", None),
        Trust::Unknown { .. } => ("unknown", None),
    };
    let (low, high) = match trust {
        Trust::Modelled { low, high, .. }
        | Trust::Sampled { low, high, .. }
        | Trust::Resolution { low, high } => (Some(low.as_f64()), Some(high.as_f64())),
        Trust::Exact | Trust::AtLeast | Trust::AtMost | Trust::Unknown { .. } => (None, None),
    };
    Figure {
        section: section.to_owned(),
        item: item.map(str::to_owned),
        figure: figure.to_owned(),
        unit: unit.to_owned(),
        value: value.map(Number::as_f64),
        low,
        high,
        trust: name.to_owned(),
        n,
    }
}

/// Each function's own part of every measure, idle time apart; what it calls included, of measures
/// that are no part of another.
fn of_profile(section: &str, profile: &Profile, all: &mut Vec<Figure>) {
    for measure in &profile.measures {
        let Some(flat) = rows(profile, &measure.id, &By::Function) else { continue };
        let whole = u64::try_from(flat.total.all.value).unwrap_or(0);
        let open = is_unbounded(profile, measure);
        for row in &flat.rows {
            let item = match row.spot {
                RowPlace::Nowhere(_) => format!("({})", row.name.trim_matches(['(', ')'])),
                _ => row.name.clone(),
            };
            let figure = |name: String, amount: Amount| {
                let trust = if open && amount.value != 0 {
                    about(amount.value)
                } else {
                    trust(&measure.kind, &flat, amount, whole)
                };
                let value = Some(Number::Integer(amount.value));
                of_trust(section, Some(&item), &name, &measure.unit.0, value, &trust)
            };
            // A part that a function has nothing of is no figure of its own.
            if measure.part.is_none() || row.sums.all != Amount::default() {
                all.push(figure(measure.id.clone(), row.sums.busy()));
            }
            if row.sums.idle != Amount::default() {
                all.push(figure(format!("{}-idle", measure.id), row.sums.idle));
            }
            if let (None, Some(inclusive)) = (&measure.part, row.inclusive) {
                all.push(figure(format!("{}-inclusive", measure.id), inclusive));
            }
        }
    }
}

/// The trust of a figure of a model of which no bounds are known.
fn about(value: i64) -> Trust {
    let value = Number::Integer(value);
    Trust::Modelled { low: value, high: value, why: None }
}

fn trust(kind: &Kind, flat: &Flat, amount: Amount, whole: u64) -> Trust {
    let bounds = || (Number::Integer(amount.low), Number::Integer(amount.high));
    match kind {
        Kind::Sampled { .. } => {
            let (low, high) = flat.interval(amount.value).unwrap_or((0.0, 1.0));
            let scaled = |share: f64| Number::Real(share * whole as f64);
            Trust::Sampled { n: whole, low: scaled(low), high: scaled(high) }
        }
        Kind::AtLeast => Trust::AtLeast,
        Kind::Exact | Kind::Modelled { .. } if amount.is_exact() => Trust::Exact,
        Kind::Exact | Kind::Modelled { .. } => {
            let (low, high) = bounds();
            Trust::Modelled { low, high, why: None }
        }
    }
}

fn of_table(section: &str, table: &Table, all: &mut Vec<Figure>) {
    let items = items(table);
    for (row, item) in items.iter().enumerate() {
        let cells = || table.columns.iter().filter_map(|column| column.cells.get(row));
        for (column, cell) in table.columns.iter().zip(cells()) {
            if !is_history(section, column) {
                continue;
            }
            let unit = column.unit.as_ref().map_or("", |unit| &unit.0);
            let (value, trust) = match cell {
                Cell::Exact(number) => (Some(*number), &Trust::Exact),
                Cell::Figure { value, trust } => (*value, trust),
                Cell::Empty | Cell::Text(_) | Cell::Address(_) => continue,
            };
            all.push(of_trust(section, Some(item), &column.id, unit, value, trust));
        }
    }
}

/// What each row is called. Several of one name are counted: as they stand in the code, if they
/// have a place there, because their order in the table changes with their figures.
fn items(table: &Table) -> Vec<String> {
    let mut order: Vec<usize> = (0..table.len()).collect();
    order.sort_by_key(|row| place(table, *row));
    let mut items = vec![String::new(); table.len()];
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for row in order {
        let name = name(table, row).unwrap_or_else(|| row.to_string());
        let times = seen.entry(name.clone()).or_default();
        *times += 1;
        items[row] = if *times > 1 { format!("{name}#{times}") } else { name };
    }
    items
}

/// The words of a row's place, if they begin with an address in the code.
fn place(table: &Table, row: usize) -> Option<&str> {
    let words = table.column(ids::column::PLACE)?.cells.get(row)?.text()?;
    behind_address(words).map(|_| words)
}

/// What a row is called: by the column that names rows, with the firmware where there are several,
/// and with the function of a place in the code: what loops wait for is no name of theirs.
fn name(table: &Table, row: usize) -> Option<String> {
    let words = |column: &Column| match column.cells.get(row)? {
        Cell::Text(text) if !text.is_empty() => Some(what(text).to_owned()),
        Cell::Address(address) => Some(address.to_string()),
        Cell::Text(_) | Cell::Empty | Cell::Exact(_) | Cell::Figure { .. } => None,
    };
    let of = |id: &&str| table.column(id).and_then(words);
    let first = || table.columns.iter().find_map(words);
    let mut name = NAMING.iter().find_map(of).or_else(first)?;
    if let Some(place) = place(table, row) {
        name = format!("{name}, {}", placeless(place));
    }
    match table.column(ids::column::FIRMWARE).and_then(words) {
        Some(firmware) if firmware != name => Some(format!("{firmware}: {name}")),
        _ => Some(name),
    }
}

/// Whether builds are compared by a column. Moments are no sizes, and differ with everything that
/// came before them; limits are not measured.
fn is_history(section: &str, column: &Column) -> bool {
    let id = column.id.as_str();
    let is_moment = column.moment || ["at", "cycle"].contains(&id);
    let is_moment = is_moment || id.ends_with("-at") || id.ends_with("at-cycle");
    let is_budget = section.rsplit('/').next().is_some_and(|id| id.starts_with("budgets-"));
    !is_moment && (!is_budget || id == "value")
}

/// A figure of a distribution.
type Statistic = fn(&Spread) -> Option<f64>;

fn of_distribution(section: &str, distribution: &Distribution, all: &mut Vec<Figure>) {
    let Distribution { name, unit, spread, low, high, resolution, .. } = distribution;
    let count = Number::from(spread.count());
    all.push(of_trust(section, Some(name), "count", "count", Some(count), &Trust::Exact));
    let figures: [(&str, Statistic); 5] = [
        ("min", |s| s.min().map(|n| n as f64)),
        ("median", |s| s.quantile(0.5).map(|n| n as f64)),
        ("p99", |s| s.quantile(0.99).map(|n| n as f64)),
        ("max", |s| s.max().map(|n| n as f64)),
        ("mean", Spread::mean),
    ];
    for (figure, of) in figures {
        let Some(value) = of(spread) else { continue };
        let number = |value: Option<f64>| value.map(Number::Real);
        let trust = match (low.as_ref().and_then(of), high.as_ref().and_then(of), resolution) {
            (Some(low), Some(high), _) => Trust::Modelled {
                low: Number::Real(low.min(value)),
                high: Number::Real(high.max(value)),
                why: None,
            },
            (_, _, Some(either)) => Trust::Resolution {
                low: Number::Real((value - *either as f64).max(0.0)),
                high: Number::Real(value + *either as f64),
            },
            _ => Trust::Exact,
        };
        all.push(of_trust(section, Some(name), figure, &unit.0, number(Some(value)), &trust));
    }
}
