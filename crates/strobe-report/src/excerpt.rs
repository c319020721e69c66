//! Tables worked out from a measurement for whoever reads it as JSON, and shorter measurements.
//!
//! A measurement's file has, beside the measurement, `views`: its profiles by function, so that a
//! script need not add samples up. They are ignored on reading.

use serde::Serialize;
use strobe_analyse::attribution::{Amount, By, Flat, Row, Sums, is_unbounded, rows};
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Finding, Measure, Measurement, Number, Profile, Quantity, Severity,
    Table, Trust, Unit,
};

/// Tables worked out from the rest.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Views {
    /// Each profile by function, with its first measure.
    pub(crate) functions: Vec<Functions>,
}

/// A profile by function.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Functions {
    /// The profile's section.
    pub(crate) section: String,
    /// The measure that `self` and `inclusive` are of.
    pub(crate) measure: String,
    /// A row for each function, most first.
    pub(crate) table: Table,
}

impl Views {
    pub(crate) fn of(measurement: &Measurement) -> Self {
        let sections = measurement.sections.iter();
        let one = |(id, profile): (&String, &Profile)| {
            let measure = profile.measures.first()?;
            let table = functions(profile, measure, None)?;
            Some(Functions { section: id.clone(), measure: measure.id.clone(), table })
        };
        let profiles = sections.filter_map(|section| match &section.content {
            Content::Profile(profile) => Some((&section.id, &**profile)),
            _ => None,
        });
        Views { functions: profiles.filter_map(one).collect() }
    }
}

/// What of a measurement is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// Only these sections; all of them if there are none.
    pub sections: Vec<String>,
    /// So many rows of each table at most, profiles by function instead of samples, and of time
    /// lines the coarsest summary.
    pub top: Option<usize>,
}

impl Excerpt {
    /// Whether everything is wanted.
    pub fn is_all(&self) -> bool {
        self.sections.is_empty() && self.top.is_none()
    }

    /// The sections that the measurement does not have.
    pub fn missing<'a>(&'a self, measurement: &Measurement) -> Vec<&'a str> {
        let has = |id: &str| {
            measurement.section(id).is_some()
                || measurement.parts.iter().any(|part| part.measurement.section(id).is_some())
        };
        self.sections.iter().map(String::as_str).filter(|id| !has(id)).collect()
    }

    /// The measurement without what is not wanted. It holds together as the whole one did.
    #[must_use]
    pub fn of(&self, measurement: &Measurement) -> Measurement {
        let mut short = measurement.clone();
        if !self.sections.is_empty() {
            short.sections.retain(|section| self.sections.contains(&section.id));
        }
        if let Some(top) = self.top {
            shorten(&mut short, top);
        }
        for part in &mut short.parts {
            part.measurement = self.of(&part.measurement);
        }
        short
    }
}

fn shorten(measurement: &mut Measurement, top: usize) {
    let mut was_cut = false;
    for section in &mut measurement.sections {
        match &mut section.content {
            Content::Profile(profile) => {
                let measure = profile.measures.first();
                let table = measure.and_then(|measure| functions(profile, measure, Some(top)));
                section.content = Content::Table(table.unwrap_or_default());
                was_cut = true;
            }
            Content::Table(table) => was_cut |= cut(table, top),
            Content::Distributions(all) => {
                all.distributions.iter_mut().for_each(|one| one.values.clear());
            }
            Content::Timeline(timeline) => {
                let coarsest = timeline.summary.pop();
                timeline.summary = coarsest.into_iter().collect();
                timeline.exact.clear();
                timeline.spans = Default::default();
                timeline.moments = Default::default();
                timeline.counters = Default::default();
                was_cut = true;
            }
            Content::Text(text) => {
                let more = text.lines.len().saturating_sub(top);
                let gone: usize = text.lines.drain(..more).map(|line| line.len() + 1).sum();
                text.skipped_bytes = text.skipped_bytes.saturating_add(gone as u64);
                was_cut |= more > 0;
            }
        }
    }
    if was_cut {
        let text = format!("shortened: {top} rows of each table at most, profiles by function");
        measurement.findings.push(Finding::new(Severity::Note, "shortened", text));
    }
}

/// The first rows; whether there were more.
fn cut(table: &mut Table, top: usize) -> bool {
    let more = table.len() > top;
    table.columns.iter_mut().for_each(|column| column.cells.truncate(top));
    more
}

/// A profile by function: what each has by itself and with what it called, with every other
/// measure. The last row under the table is the sum; one above it is that of the rows that are left
/// out.
fn functions(profile: &Profile, measure: &Measure, top: Option<usize>) -> Option<Table> {
    let flat = rows(profile, &measure.id, &By::Function)?;
    let mut columns = vec![
        Column::text(ids::column::FUNCTION, "function"),
        Column::figure("self", "self", measure.unit.clone()),
        Column::figure("inclusive", "inclusive", measure.unit.clone()),
    ];
    let others: Vec<usize> = (0..profile.measures.len())
        .filter(|at| profile.measures[*at].id != measure.id)
        .filter(|at| {
            flat.total.others.get(*at).copied().flatten().is_some_and(|sum| sum.value != 0)
        })
        .collect();
    for at in &others {
        let other = &profile.measures[*at];
        columns.push(Column::figure(&other.id, &other.title, other.unit.clone()));
    }
    columns[1].whole = Some(flat.total.all.value.into());
    let keep = top.unwrap_or(usize::MAX).min(flat.rows.len());
    let shown = Shown { profile, measure, flat: &flat, others };
    for row in &flat.rows[..keep] {
        let cells = shown.line(&row.name, &row.sums, row.inclusive);
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.cells.push(cell));
    }
    let mut table = Table { columns, footer: Vec::new() };
    let rest = &flat.rows[keep..];
    if !rest.is_empty() {
        let others = format!("({} others)", rest.len());
        table.footer.push(shown.line(&others, &sum(rest), None));
    }
    table.footer.push(shown.line("(all)", &flat.total, None));
    Some(table)
}

fn sum(rows: &[Row]) -> Sums {
    let mut sum = Sums::default();
    rows.iter().for_each(|row| sum.add(&row.sums));
    sum
}

/// The measures that rows show.
struct Shown<'a> {
    profile: &'a Profile,
    measure: &'a Measure,
    flat: &'a Flat,
    others: Vec<usize>,
}

impl Shown<'_> {
    fn line(&self, name: &str, sums: &Sums, inclusive: Option<Amount>) -> Vec<Cell> {
        let mut cells = vec![
            name.into(),
            self.figure(sums.all),
            inclusive.map_or(Cell::Empty, |amount| self.figure(amount)),
        ];
        for at in &self.others {
            let amount = sums.others.get(*at).copied().flatten();
            let is_open = is_unbounded(self.profile, &self.profile.measures[*at]);
            cells.push(amount.map_or(Cell::Empty, |amount| modelled(amount, is_open)));
        }
        cells
    }

    /// A value with its bounds, or, of samples, with the interval in which the true number lies.
    fn figure(&self, amount: Amount) -> Cell {
        if let Some((low, high)) = self.flat.interval(amount.value) {
            let all = self.flat.total.all.value;
            let n = u64::try_from(all).unwrap_or(0);
            let (low, high) =
                ((low * all as f64).floor() as i64, (high * all as f64).ceil() as i64);
            let trust = Trust::Sampled {
                n,
                low: Number::Integer(low.min(amount.value)),
                high: Number::Integer(high.max(amount.value)),
            };
            return Quantity::new(Some(amount.value.into()), Unit::COUNT, trust)
                .map_or_else(|_| amount.value.into(), Cell::from);
        }
        modelled(amount, is_unbounded(self.profile, self.measure))
    }
}

/// A value with its bounds, if they do not meet; without, if they are not known.
fn modelled(amount: Amount, is_unbounded: bool) -> Cell {
    if amount.is_exact() && (!is_unbounded || amount.value == 0) {
        return amount.value.into();
    }
    let Amount { low, value, high } = amount.ordered();
    let trust = Trust::Modelled { low: low.into(), high: high.into(), why: None };
    Cell::Figure { value: Some(value.into()), trust }
}
