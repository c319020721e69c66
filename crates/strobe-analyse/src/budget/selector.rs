//! Which figure of a measurement a budget is about.

use strobe_model::measurement::ids;
use strobe_model::measurement::{Cell, Content, Measurement, Number, Quantity, Spread, Table};

use super::lookup::{
    STATISTICS, below, cell, clocks, distribution, function, lost_share, rate, section, share,
    slowest, statistic,
};

/// A figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// A headline figure.
    Total(String),
    /// A function's part of the profile's first measure.
    Function {
        /// Its name.
        name: String,
        /// With all that it calls.
        inclusive: bool,
    },
    /// A table's cell; the row by one of its texts.
    Cell {
        /// The section.
        section: String,
        /// The row.
        row: String,
        /// The column.
        column: String,
    },
    /// A symbol's part of a measure of the profile, as its bytes of flash.
    Symbol {
        /// Its name.
        name: String,
        /// The measure.
        measure: String,
    },
    /// A cell of a table, or a figure of a distribution by its name, whichever the section has.
    Any {
        /// The section.
        section: String,
        /// The row, or the distribution.
        row: String,
        /// The column, or `max`, `mean` and so on.
        column: String,
    },
    /// A figure of a distribution.
    Spread {
        /// The section.
        section: String,
        /// The distribution.
        name: String,
        /// Which figure of it.
        of: Statistic,
    },
    /// What a function and all that it calls have of a measure, in the profile of a section;
    /// nothing of a function that ran and is not in that profile.
    Below {
        /// The section.
        section: String,
        /// The measure.
        measure: String,
        /// The function.
        name: String,
    },
    /// How often a second something happens, by a distribution of the times from one to the next.
    /// The greatest is that of the shortest time.
    Rate {
        /// The section.
        section: String,
        /// The distribution.
        name: String,
        /// Which figure of the rate: the least, the mean or the greatest.
        of: Statistic,
    },
    /// Requests of an interrupt that were lost, of all that there were, in percent.
    LostInterrupts(String),
    /// What the recording lacks, of all that there was, in percent.
    Loss,
    /// Idle cycles of all cycles, in percent.
    Idle,
}

/// A figure of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// The smallest value.
    Min,
    /// The mean.
    Mean,
    /// What half of the values do not exceed.
    Median,
    /// What 99 of 100 values do not exceed.
    P99,
    /// The largest value.
    Max,
    /// How many values there are.
    Count,
}

/// A figure that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The figure.
    pub quantity: Quantity,
    /// Clocks by which cycles are times: the slowest that so many can have had on average, and the
    /// fastest.
    pub hertz: Option<(f64, f64)>,
}

/// A figure that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// Nothing of that name is there.
    Name {
        /// The kind of thing.
        kind: NameKind,
        /// The name that was asked for.
        name: String,
        /// Names that are much like it, the nearest first.
        nearest: Vec<String>,
        /// All names, where none is near and there are few.
        all: Vec<String>,
    },
    /// A section has other content.
    Content {
        /// The section.
        section: String,
        /// The content that was asked for.
        wanted: ContentKind,
    },
    /// Several rows end with a name.
    Ambiguous {
        /// The section.
        section: String,
        /// The name that was asked for.
        name: String,
        /// The rows.
        rows: Vec<String>,
    },
    /// The measurement has no profile of functions.
    NoProfile,
    /// The profile has no measure.
    NoMeasure,
}

/// Things that a figure is found by; of a section, if it has an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameKind {
    /// A headline figure.
    Total,
    /// A section.
    Section,
    /// A figure of a distribution.
    Statistic,
    /// A column of that section.
    Column(String),
    /// A row of that section.
    Row(String),
    /// A measure of that section.
    Measure(String),
    /// A symbol.
    Symbol,
    /// A function that ran.
    Function,
}

/// What a section may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentKind {
    /// A table.
    Table,
    /// Distributions.
    Distributions,
    /// A profile.
    Profile,
}

/// Names that are so much alike are near each other.
const NEAR: f64 = 0.6;

/// The number of near names that are kept.
const NEAREST: usize = 3;

/// So few names are listed where none is near.
const FEW: usize = 12;

impl Missing {
    pub(super) fn new(kind: NameKind, name: &str, known: impl Iterator<Item = String>) -> Self {
        let mut scored: Vec<(f64, String)> =
            known.map(|other| (likeness(name, &other), other)).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        scored.dedup_by(|a, b| a.1 == b.1);
        let is_near = scored.iter().any(|(like, _)| *like > NEAR);
        let are_listed = !is_near && kind != NameKind::Section && scored.len() <= FEW;
        let all = scored.iter().filter(|_| are_listed).map(|(_, name)| name.clone()).collect();
        let nearest = scored.into_iter().filter(|(like, _)| *like > NEAR).take(NEAREST);
        let nearest = nearest.map(|(_, name)| name).collect();
        Missing::Name { kind, name: name.to_owned(), nearest, all }
    }

    /// Several rows that a name may mean.
    pub(super) fn ambiguous(table: &Table, rows: &[usize], section: &str, name: &str) -> Self {
        let texts = table.columns.iter().filter_map(|column| {
            let of = |row: &usize| column.cells.get(*row).and_then(Cell::text).map(str::to_owned);
            rows.iter().map(of).collect::<Option<Vec<String>>>()
        });
        let rows = texts.into_iter().next().unwrap_or_default();
        Missing::Ambiguous { section: section.to_owned(), name: name.to_owned(), rows }
    }
}

/// How alike two names are, from 0 to 1. A whole name within the other is near whatever is around.
fn likeness(a: &str, b: &str) -> f64 {
    // The metric is quadratic in the length.
    if a.len() > 500 || b.len() > 500 {
        return 0.0;
    }
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let within = a.len() > 2 && b.len() > 2 && (a.contains(&b) || b.contains(&a));
    strsim::jaro_winkler(&a, &b).max(if within { 0.8 } else { 0.0 })
}

impl Statistic {
    /// By its name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "min" => Statistic::Min,
            "mean" => Statistic::Mean,
            "median" => Statistic::Median,
            "p99" => Statistic::P99,
            "max" => Statistic::Max,
            "count" => Statistic::Count,
            _ => return None,
        })
    }

    pub(super) fn of(self, spread: &Spread) -> Option<Number> {
        match self {
            Statistic::Min => spread.min().map(Number::from),
            Statistic::Mean => spread.mean().map(Number::from),
            Statistic::Median => spread.quantile(0.5).map(Number::from),
            Statistic::P99 => spread.quantile(0.99).map(Number::from),
            Statistic::Max => spread.max().map(Number::from),
            Statistic::Count => Some(spread.count().into()),
        }
    }
}

impl Selector {
    /// Looks the figure up.
    ///
    /// # Errors
    /// When the measurement has nothing of that name.
    pub fn find(&self, measurement: &Measurement) -> Result<Figure, Missing> {
        let mut hertz = clocks(measurement);
        let quantity = match self {
            Selector::Total(id) => measurement.total(id).cloned().ok_or_else(|| {
                Missing::new(
                    NameKind::Total,
                    id,
                    measurement.totals.iter().map(|total| total.id.clone()),
                )
            })?,
            Selector::Function { name, inclusive } => {
                function(measurement, name, None, *inclusive)?
            }
            Selector::Symbol { name, measure } => {
                function(measurement, name, Some(measure), false)?
            }
            Selector::Any { section: id, row, column } => {
                let content = &section(measurement, id)?.content;
                if matches!(content, Content::Distributions(_)) {
                    let of = Statistic::named(column).ok_or_else(|| {
                        Missing::new(
                            NameKind::Statistic,
                            column,
                            STATISTICS.iter().map(|name| (*name).to_owned()),
                        )
                    })?;
                    let (section, name) = (id.clone(), row.clone());
                    return Selector::Spread { section, name, of }.find(measurement);
                }
                cell(measurement, id, row, column)?
            }
            Selector::Cell { section, row, column } => cell(measurement, section, row, column)?,
            Selector::Spread { section, name, of } => {
                let found = distribution(measurement, section, name)?;
                hertz = found.hertz.map(|hz| (hz as f64, hz as f64)).or(hertz);
                statistic(found, *of)
            }
            Selector::Below { section: id, measure, name } => {
                below(measurement, id, measure, name)?
            }
            Selector::Rate { section, name, of } => {
                let found = distribution(measurement, section, name)?;
                let hertz = found.hertz.map(|hz| (hz as f64, hz as f64)).or(hertz);
                // The longest time is the least rate.
                let times = match of {
                    Statistic::Max => Statistic::Min,
                    Statistic::Min => Statistic::Max,
                    other => *other,
                };
                rate(&statistic(found, times), hertz)
            }
            Selector::LostInterrupts(name) => {
                let lost = cell(measurement, ids::section::INTERRUPTS, name, ids::column::LOST)?;
                let taken = cell(measurement, ids::section::INTERRUPTS, name, ids::column::COUNT)?;
                lost_share(&lost, &taken)
            }
            Selector::Loss => share(
                measurement.coverage.lost.as_ref(),
                measurement.coverage.whole.as_ref(),
                "what the recording lacks",
            ),
            Selector::Idle => share(
                measurement.total(ids::total::IDLE),
                measurement.total(ids::total::CYCLES),
                "idle time",
            ),
        };
        let slowest = slowest(measurement, &quantity);
        let hertz =
            hertz.map(|(slow, fast)| (slowest.map_or(slow, |own| own.max(slow).min(fast)), fast));
        Ok(Figure { quantity, hertz })
    }
}
