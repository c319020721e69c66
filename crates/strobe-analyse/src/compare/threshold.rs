//! Limits of a comparison: by how much the whole, or a function, may grow.

use strobe_model::measurement::ids;
use strobe_model::measurement::{Cell, Content, Number, Table};

use super::certain::Certainty;
use super::comparison::Comparison;
use super::found::{FunctionChanges, Nameless};
use super::state::State;
use super::unlike::Unlike;
use crate::statistics::counts::Shares;

/// A limit: `2%` of the whole, or `send=5%` of what a function has by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The function; the whole if none is named.
    pub function: Option<String>,
    /// By how many percent it may grow.
    pub percent: f64,
}

/// A limit that is written in another way than `2%` or `FUNCTION=2%`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("write it 2% or FUNCTION=2%")]
pub struct InvalidLimit;

impl std::str::FromStr for Limit {
    type Err = InvalidLimit;

    fn from_str(text: &str) -> Result<Self, InvalidLimit> {
        // Names have `=` in them, as `operator==`: the last one is meant.
        let (function, percent) = match text.rsplit_once('=') {
            Some((function, percent)) => (Some(function.to_owned()), percent),
            None => (None, text),
        };
        let number = percent.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
        match number.filter(|n| n.is_finite() && *n >= 0.0) {
            Some(percent) if function.as_deref() != Some("") => Ok(Limit { function, percent }),
            _ => Err(InvalidLimit),
        }
    }
}

/// Whether a limit holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It holds.
    Holds,
    /// It is exceeded.
    Above(Excess),
    /// It is exceeded, perhaps by chance.
    MaybeAbove(Excess),
}

/// By how much a limit is exceeded.
#[derive(Debug, Clone, PartialEq)]
pub struct Excess {
    /// The function; all of them if none is named.
    pub function: Option<String>,
    /// The figure of each side, or its share in percent of all samples.
    pub sides: [f64; 2],
    /// Whether these are shares.
    pub shares: bool,
    /// By how many percent it may grow.
    pub percent: f64,
}

/// Why a limit cannot be judged.
#[derive(Debug, Clone, PartialEq)]
pub enum Unjudged {
    /// No functions that both sides have are compared.
    NoFunctions,
    /// Functions have no names.
    NoSymbols {
        /// The function of the limit.
        function: String,
        /// The sides whose functions have no names.
        sides: Nameless,
    },
    /// No function of that name is compared.
    NoSuchFunction(String),
    /// The function is in A alone.
    OnlyInA {
        /// That function.
        function: String,
        /// How it is gone.
        state: Option<State>,
    },
    /// The figure is not known of both sides: of a function, or of all.
    UnknownFigure(Option<String>),
    /// Nothing is idle, so that functions take all of the time that was measured on both sides.
    NothingIdle,
}

/// Looks at a comparison whether a limit holds.
///
/// # Errors
/// When there is nothing that it could hold for.
pub fn outcome(compared: &Comparison, limit: &Limit) -> Result<Outcome, Unjudged> {
    let tables = compared
        .measurement
        .sections
        .iter()
        .filter(|section| section.id.ends_with(ids::suffix::FUNCTIONS));
    let table = tables.filter_map(|section| match &section.content {
        Content::Table(table) => Some(table),
        _ => None,
    });
    let table = table.into_iter().next();
    let (Some(table), Some(found)) = (table, compared.functions.first()) else {
        return Err(Unjudged::NoFunctions);
    };
    let growth = match &limit.function {
        Some(name) => of_function(compared, found, table, name)?,
        None => of_whole(compared, table)?,
    };
    Ok(growth.judged(limit))
}

/// How much a function, or all of them, grew.
struct Growth {
    /// The figure of each side, or its share in percent of all samples.
    sides: [f64; 2],
    shares: bool,
    /// The least that the difference is for certain.
    least: f64,
    /// Whether the two differ by more than chance.
    is_known: bool,
}

impl Growth {
    fn judged(&self, limit: &Limit) -> Outcome {
        let (Limit { function, percent }, [a, b]) = (limit, self.sides);
        if b <= a * (1.0 + percent / 100.0) {
            return Outcome::Holds;
        }
        let Growth { sides, shares, .. } = *self;
        let excess = Excess { function: function.clone(), sides, shares, percent: *percent };
        if self.is_known && self.least > a * percent / 100.0 {
            Outcome::Above(excess)
        } else {
            Outcome::MaybeAbove(excess)
        }
    }
}

fn of_function(
    compared: &Comparison,
    found: &FunctionChanges,
    table: &Table,
    name: &str,
) -> Result<Growth, Unjudged> {
    let function = name.to_owned();
    let nameless = compared.unlike.iter().find_map(|unlike| match unlike {
        Unlike::NoSymbols(sides) => Some(*sides),
        _ => None,
    });
    if let Some(sides) = nameless {
        return Err(Unjudged::NoSymbols { function, sides });
    }
    let Some(at) = found.rows.iter().position(|row| row.name == name) else {
        return Err(Unjudged::NoSuchFunction(function));
    };
    let row = &found.rows[at];
    if row.matched.b.is_none() {
        return Err(Unjudged::OnlyInA { function, state: row.state.clone() });
    }
    let cell = |id: &str| table.column(id).and_then(|column| column.cells.get(at));
    let number = |id: &str| {
        let number = cell(id).and_then(Cell::number).map(Number::as_f64);
        number.ok_or_else(|| Unjudged::UnknownFigure(Some(function.clone())))
    };
    let is_known = !matches!(row.certain, Certainty::Undecided(_));
    let sides = [number("self-a")?, number("self-b")?];
    // Recordings differ in length: of samples, shares are compared.
    if let Some(share) = cell(ids::column::SHARE_DIFFERENCE) {
        let all = ["self-a", "self-b"].map(|id| footer(table, "all", id).unwrap_or(0.0).max(1.0));
        let sides = [0, 1].map(|side| sides[side] * 100.0 / all[side]);
        let least = least(Some(share), sides);
        return Ok(Growth { sides, shares: true, least, is_known });
    }
    let least = least(cell(ids::column::SELF_DIFFERENCE), sides);
    Ok(Growth { sides, shares: false, least, is_known })
}

/// All functions together are everything but what is idle.
fn of_whole(compared: &Comparison, table: &Table) -> Result<Growth, Unjudged> {
    let sides = ["self-a", "self-b"];
    let idle = sides.map(|id| footer(table, "idle", id).unwrap_or(0.0));
    let [a, b] = sides.map(|id| footer(table, "all", id).ok_or(Unjudged::UnknownFigure(None)));
    let all = [a?, b?];
    let busy = [0, 1].map(|side| all[side] - idle[side]);
    let is_sampled = table.column(ids::column::SHARE_DIFFERENCE).is_some();
    let has_same_length = compared.unlike.iter().any(|u| matches!(u, Unlike::SameLength(_)));
    if idle == [0.0, 0.0] && (is_sampled || has_same_length) {
        return Err(Unjudged::NothingIdle);
    }
    if is_sampled {
        let count = |n: f64| if n > 0.0 { n as u64 } else { 0 };
        let shares = Shares { k: busy.map(count), n: all.map(count) };
        let sides = [0, 1].map(|side| busy[side] * 100.0 / all[side].max(1.0));
        let least = shares.interval(1.0).0 * 100.0;
        return Ok(Growth { sides, shares: true, least, is_known: true });
    }
    let in_footer = |name: &str| {
        let at =
            table.columns.iter().position(|column| column.id == ids::column::SELF_DIFFERENCE)?;
        let row = table.footer.iter().find(|row| row.first().and_then(Cell::text) == Some(name));
        row?.get(at)
    };
    // What is idle is off by as much as what is not, the other way around, unless both are.
    let whole = least(in_footer("all"), all);
    let of_idle = in_footer("idle").map_or(0.0, |cell| most(cell, idle));
    Ok(Growth { sides: busy, shares: false, least: whole - of_idle, is_known: true })
}

/// A figure of the table's footer.
fn footer(table: &Table, name: &str, column: &str) -> Option<f64> {
    let at = table.columns.iter().position(|c| c.id == column)?;
    let row = table.footer.iter().find(|row| row.first().and_then(Cell::text) == Some(name))?;
    Some(row.get(at)?.number()?.as_f64())
}

/// The least that a difference may be.
fn least(difference: Option<&Cell>, [a, b]: [f64; 2]) -> f64 {
    match difference {
        Some(Cell::Figure { trust, .. }) => trust.bounds().map_or(0.0, |(low, _)| low.as_f64()),
        _ => b - a,
    }
}

/// The most.
fn most(difference: &Cell, [a, b]: [f64; 2]) -> f64 {
    match difference {
        Cell::Figure { trust, .. } => {
            trust.bounds().map_or(f64::INFINITY, |(_, high)| high.as_f64())
        }
        _ => b - a,
    }
}

/// Judges all limits and puts those that are exceeded in front of what the comparison found.
/// Returns whether any is exceeded for certain.
///
/// # Errors
/// When a limit cannot be judged: one that no longer matches anything never fails.
pub fn judge(compared: &mut Comparison, limits: &[Limit]) -> Result<bool, Unjudged> {
    let mut is_above = false;
    for limit in limits {
        let (excess, certain) = match outcome(compared, limit)? {
            Outcome::Holds => continue,
            Outcome::Above(excess) => (excess, true),
            Outcome::MaybeAbove(excess) => (excess, false),
        };
        is_above |= certain;
        compared.unlike.insert(0, Unlike::AboveLimit { excess, certain });
    }
    Ok(is_above)
}
