//! Which figure of a measurement a budget is about, and looking it up.

use strobe_model::measurement::{
    Cell, Content, Distribution, Kind, Measurement, Number, Profile, Quantity, Section, Spread,
    Table, Trust, Unit,
};

use crate::attribution::{Amount, By, rows};

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
    /// Clocks, the slowest and the fastest, by which cycles are times.
    pub hertz: Option<(f64, f64)>,
}

/// A figure that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What is not there, in words.
    pub text: String,
    /// Names that are much like the one that was asked for, the nearest first.
    pub nearest: Vec<String>,
}

impl Missing {
    fn new(what: &str, name: &str, known: impl Iterator<Item = String>) -> Self {
        let mut scored: Vec<(f64, String)> =
            known.map(|other| (likeness(name, &other), other)).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        scored.dedup_by(|a, b| a.1 == b.1);
        let nearest = scored.into_iter().filter(|(like, _)| *like > 0.6).take(3);
        let text = format!("no {what} `{name}` in the measurement");
        Missing { text, nearest: nearest.map(|(_, name)| name).collect() }
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

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.text)?;
        match self.nearest.as_slice() {
            [] => Ok(()),
            names => write!(f, "; nearest: {}", names.join(", ")),
        }
    }
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

    fn of(self, spread: &Spread) -> Option<Number> {
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
                Missing::new("total", id, measurement.totals.iter().map(|total| total.id.clone()))
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
                            "figure of a distribution",
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
            Selector::LostInterrupts(name) => {
                let lost = cell(measurement, "interrupts", name, "lost")?;
                let taken = cell(measurement, "interrupts", name, "count")?;
                lost_share(&lost, &taken)
            }
            Selector::Loss => share(
                measurement.coverage.lost.as_ref(),
                measurement.coverage.whole.as_ref(),
                "what the recording lacks",
            ),
            Selector::Idle => {
                share(measurement.total("idle"), measurement.total("cycles"), "idle time")
            }
        };
        Ok(Figure { quantity, hertz })
    }
}

/// The clocks of the measured time.
fn clocks(measurement: &Measurement) -> Option<(f64, f64)> {
    let spans = &measurement.subject.clock;
    let (begin, end) = (measurement.window.begin.cycle, measurement.window.end.cycle);
    let within = spans.iter().enumerate().filter(|(i, span)| {
        let next = spans.get(i + 1).map_or(u64::MAX, |next| next.cycle);
        next > begin.unwrap_or(0) && span.cycle < end.unwrap_or(u64::MAX).max(1)
    });
    let hz: Vec<f64> = within.map(|(_, span)| f64::from(span.hz)).filter(|hz| *hz > 0.0).collect();
    let low = hz.iter().copied().reduce(f64::min)?;
    Some((low, hz.iter().copied().reduce(f64::max)?))
}

fn section<'a>(measurement: &'a Measurement, id: &str) -> Result<&'a Section, Missing> {
    measurement.section(id).ok_or_else(|| {
        Missing::new("section", id, measurement.sections.iter().map(|section| section.id.clone()))
    })
}

fn table<'a>(measurement: &'a Measurement, id: &str) -> Result<&'a Table, Missing> {
    match &section(measurement, id)?.content {
        Content::Table(table) => Ok(table),
        _ => Err(Missing { text: format!("section `{id}` is no table"), nearest: Vec::new() }),
    }
}

fn cell(measurement: &Measurement, id: &str, row: &str, column: &str) -> Result<Quantity, Missing> {
    let table = table(measurement, id)?;
    let chosen = table.column(column).ok_or_else(|| {
        let names = table.columns.iter().map(|column| column.id.clone());
        Missing::new(&format!("column of {id}"), column, names)
    })?;
    let at = find_row(table, row).ok_or_else(|| {
        let names = table
            .columns
            .iter()
            .filter_map(|column| column.cells.iter().find_map(Cell::text).map(|_| column));
        let texts = names.flat_map(|column| column.cells.iter().filter_map(Cell::text));
        Missing::new(&format!("row of {id}"), row, texts.map(str::to_owned))
    })?;
    let unit = chosen.unit.clone().unwrap_or(Unit::COUNT);
    Ok(match chosen.cells.get(at) {
        Some(Cell::Exact(number)) => Quantity::exact(*number, unit),
        Some(Cell::Figure { value, trust }) => {
            let unknown = |e| Quantity::unknown(unit.clone(), format!("{e}"));
            Quantity::new(*value, unit.clone(), trust.clone()).unwrap_or_else(unknown)
        }
        _ => Quantity::unknown(unit, format!("{id} has no {column} of {row}")),
    })
}

/// The row with that text: first by a whole cell, then as the number in a name, `IRQ16 (TIM3)`.
fn find_row(table: &Table, name: &str) -> Option<usize> {
    let by = |is: &dyn Fn(&str) -> bool| {
        (0..table.len()).find(|row| {
            table.columns.iter().filter_map(|column| column.cells.get(*row)?.text()).any(is)
        })
    };
    by(&|text| text == name).or_else(|| by(&|text| is_called(text, name)))
}

/// `IRQ16 (TIM3)` is called `IRQ16` and `TIM3` as well; a word before both is the same in both.
fn is_called(text: &str, name: &str) -> bool {
    if let (Some(text), Some(name)) = (text.strip_prefix("handler "), name.strip_prefix("handler "))
    {
        return is_called(text, name);
    }
    let Some((number, alias)) = text.split_once(" (") else { return text == name };
    text == name || number == name || alias.strip_suffix(')') == Some(name)
}

fn distribution<'a>(
    measurement: &'a Measurement,
    id: &str,
    name: &str,
) -> Result<&'a Distribution, Missing> {
    let Content::Distributions(all) = &section(measurement, id)?.content else {
        let text = format!("section `{id}` has no distributions");
        return Err(Missing { text, nearest: Vec::new() });
    };
    let all = &all.distributions;
    let exact = all.iter().find(|one| one.name == name);
    exact.or_else(|| all.iter().find(|one| is_called(&one.name, name))).ok_or_else(|| {
        Missing::new(&format!("row of {id}"), name, all.iter().map(|one| one.name.clone()))
    })
}

fn statistic(found: &Distribution, of: Statistic) -> Quantity {
    if of == Statistic::Count {
        return Quantity::exact(found.spread.count(), Unit::COUNT);
    }
    let unit = found.unit.clone();
    let Some(value) = of.of(&found.spread) else {
        return Quantity::unknown(unit, format!("{} never happened", found.name));
    };
    let bound = |spread: &Option<Spread>| spread.as_ref().and_then(|spread| of.of(spread));
    let (low, high) = (bound(&found.low), bound(&found.high));
    let trust = match (low, high, found.resolution) {
        (None, None, None) if !found.spread.is_coarse() || of == Statistic::Max => Trust::Exact,
        (None, None, None) => {
            // Buckets are narrower than 0.8 % of their values, and give the smallest of them.
            let high = if matches!(of, Statistic::P99 | Statistic::Median) { 1.008 } else { 1.0 };
            Trust::Resolution { low: value, high: (value.as_f64() * high).into() }
        }
        (None, None, Some(ticks)) => Trust::Resolution {
            low: (value.as_f64() - ticks as f64).into(),
            high: (value.as_f64() + ticks as f64).into(),
        },
        (low, high, _) => {
            let low = low.filter(|low| *low <= value).unwrap_or(value);
            let high = high.filter(|high| *high >= value).unwrap_or(value);
            Trust::Modelled { low, high, why: found.why.clone() }
        }
    };
    let wrong = |e| Quantity::unknown(unit.clone(), format!("{e}"));
    Quantity::new(Some(value), unit.clone(), trust).unwrap_or_else(wrong)
}

fn profile(measurement: &Measurement) -> Result<&Profile, Missing> {
    measurement.profiles().next().ok_or_else(|| Missing {
        text: "the measurement has no profile of functions".to_owned(),
        nearest: Vec::new(),
    })
}

/// The names of statistics.
const STATISTICS: [&str; 6] = ["min", "mean", "median", "p99", "max", "count"];

/// A function's part of a measure, the first by default.
fn function(
    measurement: &Measurement,
    name: &str,
    of: Option<&str>,
    inclusive: bool,
) -> Result<Quantity, Missing> {
    let profile = profile(measurement)?;
    let none = || Missing { text: "the profile counts nothing".to_owned(), nearest: Vec::new() };
    let named = of.map_or(profile.measures.first(), |id| profile.measure(id));
    let measure = named.ok_or_else(none)?;
    let flat = rows(profile, &measure.id, &By::Function).ok_or_else(none)?;
    let found = flat.rows.iter().find(|row| row.name == name).ok_or_else(|| {
        Missing::new(
            if of.is_some() { "symbol" } else { "function that ran" },
            name,
            flat.rows.iter().map(|row| row.name.clone()),
        )
    })?;
    let unit = measure.unit.clone();
    let amount = match (inclusive, found.inclusive) {
        (false, _) => found.sums.busy(),
        (true, Some(amount)) => amount,
        (true, None) => {
            let why = "no call chains: what it calls is not known";
            return Ok(Quantity::unknown(unit, why));
        }
    };
    if let Some((low, high)) = flat.interval(amount.value) {
        let (all, n) = (flat.total.all.value as f64, flat.total.all.value.unsigned_abs());
        let trust = Trust::Sampled { n, low: (low * all).into(), high: (high * all).into() };
        let wrong = |e| Quantity::unknown(unit.clone(), format!("{e}"));
        return Ok(
            Quantity::new(Some(amount.value.into()), unit.clone(), trust).unwrap_or_else(wrong)
        );
    }
    Ok(amount_of(amount, unit, &measure.kind))
}

fn amount_of(amount: Amount, unit: Unit, kind: &Kind) -> Quantity {
    let Amount { low, value, high } = amount.ordered();
    let trust = match kind {
        Kind::AtLeast => Trust::AtLeast,
        _ if amount.is_exact() => Trust::Exact,
        Kind::Modelled { why } => {
            Trust::Modelled { low: low.into(), high: high.into(), why: Some(why.clone()) }
        }
        _ => Trust::Modelled { low: low.into(), high: high.into(), why: None },
    };
    let wrong = |e| Quantity::unknown(unit.clone(), format!("{e}"));
    Quantity::new(Some(value.into()), unit.clone(), trust).unwrap_or_else(wrong)
}

fn lost_share(lost: &Quantity, taken: &Quantity) -> Quantity {
    match (lost.value(), taken.value()) {
        (Some(lost), Some(taken)) if lost.as_f64() + taken.as_f64() > 0.0 => {
            let (lost, taken) = (lost.as_f64(), taken.as_f64());
            Quantity::exact(100.0 * lost / (lost + taken), Unit::PERCENT)
        }
        _ => Quantity::unknown(Unit::PERCENT, "it is not known how many requests were lost"),
    }
}

/// A part of a whole in percent, with the bounds of both.
fn share(part: Option<&Quantity>, whole: Option<&Quantity>, what: &str) -> Quantity {
    let unknown = |why: &str| Quantity::unknown(Unit::PERCENT, format!("{what}: {why}"));
    let (Some(part), Some(whole)) = (part, whole) else {
        return unknown("not known to this instrument");
    };
    for quantity in [part, whole] {
        if let Trust::Unknown { why } = quantity.trust() {
            return unknown(why);
        }
    }
    let (Some(p), Some(w)) = (part.value(), whole.value()) else { return unknown("no value") };
    if w.as_f64() <= 0.0 || part.unit() != whole.unit() {
        return unknown("there is nothing that it is a part of");
    }
    let percent = |p: Number, w: Number| (100.0 * p.as_f64() / w.as_f64()).clamp(0.0, 100.0);
    let value = percent(p, w);
    let (p_low, p_high) = part.trust().bounds().unwrap_or((p, p));
    let (w_low, w_high) = whole.trust().bounds().unwrap_or((w, w));
    let low = percent(p_low, w_high).min(value);
    let high = if w_low.as_f64() > 0.0 { percent(p_high, w_low).max(value) } else { 100.0 };
    let trust = match part.trust() {
        Trust::AtLeast => Trust::AtLeast,
        Trust::AtMost => Trust::AtMost,
        _ if low == high => Trust::Exact,
        _ => Trust::Modelled { low: low.into(), high: high.into(), why: None },
    };
    Quantity::new(Some(value.into()), Unit::PERCENT, trust).unwrap_or_else(|_| unknown("no value"))
}
