//! What the timing model of a core may be off: the band that a measurement states once and that
//! holds for each of its cycles.
//!
//! Two measurements by one model share what it is off, and their difference is without it. Where
//! the models are different ones, the band of each is a part of what is not known of a figure.

use strobe_model::measurement::ids;
use strobe_model::measurement::{
    CORE_TIMING, Cell, CellKind, Content, Distribution, Kind, Measure, Measurement, Number,
    ON_A_CHIP, Quantity, Spread, Table, Trust, Unit, Window,
};

use crate::envelope::is_moment;

/// What is not work has a time of its own.
const IDLE: [&str; 2] = ["idle", "asleep"];

/// Headline figures that have no such error, or have it already.
const APART: [&str; 3] = ["idle", "waiting", ON_A_CHIP];

/// By which parts of a figure a chip may take less and more than the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Band {
    less: f64,
    more: f64,
    why: String,
}

/// That of a measurement's cycles; none where the core follows its manual or was measured.
pub(crate) fn band(of: &Measurement) -> Option<Band> {
    let fact = of.subject.facts.iter().find(|fact| fact.name == CORE_TIMING);
    let stated = fact.and_then(|fact| fact.figure.as_ref()).map(|figure| (figure, 0.0));
    // Earlier versions state it of the whole run alone, sleep included.
    let whole = || {
        let idle = of.total(ids::total::IDLE).and_then(Quantity::value).map_or(0.0, Number::as_f64);
        Some((of.total(ON_A_CHIP)?, idle))
    };
    let (figure, idle) = stated.or_else(whole)?;
    let (low, high) = figure.trust().bounds()?;
    let value = figure.value()?.as_f64();
    let work = value - idle;
    let why = match figure.trust() {
        Trust::Modelled { why: Some(why), .. } => why.clone(),
        _ => "the timing of the core is inferred".to_owned(),
    };
    let (less, more) = ((value - low.as_f64()) / work, (high.as_f64() - value) / work);
    (work > 0.0).then_some(Band { less: less.clamp(0.0, 1.0), more: more.max(0.0), why })
}

impl Band {
    /// A figure with its ends, of which so much is work.
    pub(crate) fn around(&self, value: Number, (low, high): (f64, f64), work: f64) -> Trust {
        let (low, high) = (low - self.less * work.min(low), high + self.more * work);
        let end = |end: f64, whole: f64| match value {
            Number::Integer(_) => Number::from(whole as i64),
            Number::Real(_) => Number::from(end),
        };
        let (low, high) = (end(low, low.floor()), end(high, high.ceil()));
        Trust::Modelled { low, high, why: Some(self.why.clone()) }
    }

    /// The ends of a sum, of which so much is work. They are those of the whole sum: what one place
    /// has less in a model, another one has more, so that a band of each place would be too wide.
    pub(crate) fn ends(&self, (low, high): (i64, i64), work: i64) -> (i64, i64) {
        let work = work.max(0) as f64;
        let least = low as f64 - self.less * work.min(low as f64);
        let most = high as f64 + self.more * work;
        ((least.floor() as i64).min(low), (most.ceil() as i64).max(high))
    }

    /// How a measure is known that the band holds for.
    pub(crate) fn kind(&self, own: &Kind) -> Kind {
        match own {
            Kind::Exact => Kind::Modelled { why: self.why.clone() },
            own => own.clone(),
        }
    }

    /// How far a figure can be trusted if all of it is work.
    fn of(&self, value: Option<Number>, trust: &Trust) -> Option<Trust> {
        let value = value.filter(|value| value.as_f64() > 0.0)?;
        let is_model = matches!(trust, Trust::Exact | Trust::Modelled { .. });
        let (low, high) = trust.bounds().unwrap_or((value, value));
        let (low, high) = (low.as_f64(), high.as_f64());
        is_model.then(|| self.around(value, (low, high), high))
    }

    fn quantity(&self, quantity: &mut Quantity) {
        let Some(trust) = self.of(quantity.value(), quantity.trust()) else { return };
        let banded = Quantity::new(quantity.value(), quantity.unit().clone(), trust);
        banded.into_iter().for_each(|banded| *quantity = banded);
    }

    fn cell(&self, cell: &mut Cell) {
        let trust = match cell {
            Cell::Exact(value) => self.of(Some(*value), &Trust::Exact),
            Cell::Figure { value, trust } => self.of(*value, trust),
            Cell::Empty | Cell::Text(_) | Cell::Address(_) => None,
        };
        if let Some(trust) = trust {
            *cell = Cell::Figure { value: cell.number(), trust };
        }
    }

    fn table(&self, table: &mut Table) {
        let asleep: Vec<bool> = match table.column(ids::column::MEASURE) {
            Some(of) => of.cells.iter().map(|cell| cell.text().is_some_and(is_idle)).collect(),
            None => Vec::new(),
        };
        let is_timed: Vec<bool> = table
            .columns
            .iter()
            .map(|column| {
                let is_figure = column.kind == CellKind::Figure && !is_moment(column);
                is_figure && !is_idle(&column.id) && column.unit.as_ref().is_some_and(is_time)
            })
            .collect();
        let columns = table.columns.iter_mut().zip(&is_timed).filter(|(_, timed)| **timed);
        for (column, _) in columns {
            for (row, cell) in column.cells.iter_mut().enumerate() {
                if !asleep.get(row).copied().unwrap_or(false) {
                    self.cell(cell);
                }
            }
        }
        for row in &mut table.footer {
            let cells = row.iter_mut().zip(&is_timed).filter(|(_, timed)| **timed);
            cells.for_each(|(cell, _)| self.cell(cell));
        }
    }

    fn distribution(&self, own: &mut Distribution) {
        if !is_time(&own.unit) || own.resolution.is_some() {
            return;
        }
        let scaled = |spread: &Spread, by: f64, whole: fn(f64) -> f64| {
            let mut out = Spread::default();
            for (value, times) in spread.buckets() {
                out.add_times(whole(value as f64 * by) as u64, times);
            }
            out
        };
        let low = scaled(own.low.as_ref().unwrap_or(&own.spread), 1.0 - self.less, f64::floor);
        let high = scaled(own.high.as_ref().unwrap_or(&own.spread), 1.0 + self.more, f64::ceil);
        (own.low, own.high) = (Some(low), Some(high));
        own.why.get_or_insert_with(|| self.why.clone());
    }
}

/// Whether a band holds for a measure of a profile.
pub(crate) fn is_work(measure: &Measure) -> bool {
    measure.unit == Unit::CYCLES && !measure.part.as_ref().is_some_and(|part| part.idle)
}

/// The ends of all of a measure, where a headline figure has the same.
pub(crate) fn ends_of_total(of: &Measurement, measure: &Measure, value: i64) -> Option<(i64, i64)> {
    let total = of.total(&measure.id).filter(|total| *total.unit() == measure.unit)?;
    let own = total.value().filter(|own| *own == Number::from(value))?;
    let (low, high) = total.trust().bounds().unwrap_or((own, own));
    Some((low.as_f64() as i64, high.as_f64() as i64))
}

/// Whether something stopped a run at a time or after cycles, which it takes whatever its code
/// takes.
fn is_stopped(window: &Window) -> bool {
    let is_limit = ["limit", "default-limit"].contains(&window.ended.kind.as_str());
    is_limit && window.entries.is_none()
}

/// A measurement with the band in each figure that it holds for. Profiles have it when their places
/// have been added up.
pub(crate) fn widened(measurement: &Measurement, band: &Band) -> Measurement {
    let mut out = measurement.clone();
    let on_a_chip = measurement.total(ON_A_CHIP).cloned();
    for total in &mut out.totals {
        match (total.id.as_str(), &on_a_chip) {
            (id, _) if APART.contains(&id) => {}
            // Of the whole it is known what of it is work.
            ("cycles", Some(chip)) => total.quantity = chip.clone(),
            ("cycles-per-instruction", _) => band.quantity(&mut total.quantity),
            _ if *total.quantity.unit() == Unit::CYCLES => band.quantity(&mut total.quantity),
            _ => {}
        }
    }
    let is_known = |chip: &Quantity| *chip.trust() == Trust::Exact;
    if !on_a_chip.as_ref().is_some_and(is_known) && !is_stopped(&out.window) {
        band.quantity(&mut out.window.duration);
    }
    for section in &mut out.sections {
        match &mut section.content {
            Content::Table(table) => band.table(table),
            Content::Distributions(all) => {
                all.distributions.iter_mut().for_each(|one| band.distribution(one));
            }
            Content::Profile(_) | Content::Timeline(_) | Content::Text(_) => {}
        }
    }
    out
}

fn is_idle(name: &str) -> bool {
    IDLE.contains(&name)
}

fn is_time(unit: &Unit) -> bool {
    [Unit::CYCLES, Unit::NANOSECONDS, Unit::PICOSECONDS].contains(unit)
}
