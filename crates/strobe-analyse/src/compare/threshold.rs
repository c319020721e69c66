//! Limits of a comparison: by how much the whole, or a function, may grow.

use strobe_model::measurement::ids;
use strobe_model::measurement::{Cell, Content, Finding, Measurement, Number, Severity, Table};

use super::words::real;
use crate::statistics::counts::Shares;

/// A limit: `2%` of the whole, or `send=5%` of what a function has by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The function; the whole if none is named.
    pub function: Option<String>,
    /// By how many percent it may grow.
    pub percent: f64,
}

impl std::str::FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Names have `=` in them, as `operator==`: the last one is meant.
        let (function, percent) = match text.rsplit_once('=') {
            Some((function, percent)) => (Some(function.to_owned()), percent),
            None => (None, text),
        };
        let number = percent.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
        match number.filter(|n| n.is_finite() && *n >= 0.0) {
            Some(percent) if function.as_deref() != Some("") => Ok(Limit { function, percent }),
            _ => Err("write it 2% or FUNCTION=2%".to_owned()),
        }
    }
}

/// What became of a limit.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It holds.
    Holds,
    /// It is exceeded; what and by how much.
    Above(String),
    /// It is exceeded by what may be chance; what and by how much.
    MaybeAbove(String),
    /// There is nothing that it is about.
    Nothing(String),
}

/// Looks at a comparison whether a limit holds.
pub fn outcome(compared: &Measurement, limit: &Limit) -> Outcome {
    let tables =
        compared.sections.iter().filter(|section| section.id.ends_with(ids::suffix::FUNCTIONS));
    let table = tables.filter_map(|section| match &section.content {
        Content::Table(table) => Some(table),
        _ => None,
    });
    let table = table.into_iter().next();
    let Some(table) = table else {
        return Outcome::Nothing("no functions that both sides have are compared".to_owned());
    };
    let found = match &limit.function {
        Some(name) => of_function(compared, table, name),
        None => of_whole(compared, table),
    };
    match found {
        Ok(growth) => growth.judged(limit.percent),
        Err(nothing) => Outcome::Nothing(nothing),
    }
}

/// What a limit is about.
struct Growth {
    what: String,
    /// What each side has: of the measure, or percent of all samples.
    sides: [f64; 2],
    unit: &'static str,
    /// The least that the difference is for certain.
    least: f64,
    /// Whether the two differ by more than chance.
    is_known: bool,
}

impl Growth {
    fn judged(&self, percent: f64) -> Outcome {
        let ([a, b], what, unit) = (self.sides, &self.what, self.unit);
        if b <= a * (1.0 + percent / 100.0) {
            return Outcome::Holds;
        }
        let [of_a, of_b] = self.sides.map(|side| match unit {
            "" => real(side),
            _ => format!("{side:.2}{unit}"),
        });
        let more = match a {
            0.0 => format!("{what}: {of_b} instead of nothing, limit +{percent} %"),
            a => {
                let by = (b - a) * 100.0 / a;
                format!("{what}: {of_a} -> {of_b}, {by:+.1} %, limit +{percent} %")
            }
        };
        match self.is_known && self.least > a * percent / 100.0 {
            true => Outcome::Above(more),
            false => Outcome::MaybeAbove(more),
        }
    }
}

/// Recordings differ in length: of samples, shares are compared.
const OF_SAMPLES: &str = " % of the samples";

fn of_function(compared: &Measurement, table: &Table, name: &str) -> Result<Growth, String> {
    if let Some(finding) = found(compared, "no-symbols") {
        return Err(format!("{name}: {}", finding.text));
    }
    let column = |id: &str| table.column(id).map(|column| column.cells.as_slice());
    let names = column("function").unwrap_or_default();
    let Some(row) = names.iter().position(|cell| cell.text() == Some(name)) else {
        return Err(format!("no function {name} is compared"));
    };
    let cell = |id: &str| column(id).and_then(|cells| cells.get(row));
    let words = |id: &str| cell(id).and_then(Cell::text).unwrap_or("");
    if words("side") == "a" {
        let became = if words("change").is_empty() { "gone" } else { words("change") };
        return Err(format!("{name} is in a alone ({became}): a limit that it has holds nothing"));
    }
    let is_known = !words("verdict").starts_with("undecided");
    let unknown = || format!("{name}: not known of both sides");
    let number = |id: &str| cell(id).and_then(Cell::number).map(Number::as_f64);
    let sides = [number("self-a").ok_or_else(unknown)?, number("self-b").ok_or_else(unknown)?];
    let what = name.to_owned();
    if let Some(share) = cell("share-difference") {
        let all = ["self-a", "self-b"].map(|id| footer(table, "all", id).unwrap_or(0.0).max(1.0));
        let sides = [0, 1].map(|side| sides[side] * 100.0 / all[side]);
        let least = least(Some(share), sides);
        return Ok(Growth { what, sides, unit: OF_SAMPLES, least, is_known });
    }
    let least = least(cell("self-difference"), sides);
    Ok(Growth { what, sides, unit: "", least, is_known })
}

/// All functions together are everything but what is idle.
fn of_whole(compared: &Measurement, table: &Table) -> Result<Growth, String> {
    let sides = ["self-a", "self-b"];
    let idle = sides.map(|id| footer(table, "idle", id).unwrap_or(0.0));
    let unknown = || "all functions: not known of both sides".to_owned();
    let [a, b] = sides.map(|id| footer(table, "all", id).ok_or_else(unknown));
    let all = [a?, b?];
    let busy = [0, 1].map(|side| all[side] - idle[side]);
    let what = "all functions".to_owned();
    let is_sampled = table.column(ids::column::SHARE_DIFFERENCE).is_some();
    if idle == [0.0, 0.0] && (is_sampled || found(compared, "same-length").is_some()) {
        return Err("all functions together: nothing is idle, and both sides have all of the \
                    time that was measured, so that none can have more; give a limit for a \
                    function, or measure the same work (--until PLACE, --from, --to)"
            .to_owned());
    }
    if is_sampled {
        let count = |n: f64| if n > 0.0 { n as u64 } else { 0 };
        let shares = Shares { k: busy.map(count), n: all.map(count) };
        let sides = [0, 1].map(|side| busy[side] * 100.0 / all[side].max(1.0));
        let least = shares.interval(1.0).0 * 100.0;
        return Ok(Growth { what, sides, unit: OF_SAMPLES, least, is_known: true });
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
    Ok(Growth { what, sides: busy, unit: "", least: whole - of_idle, is_known: true })
}

fn found<'m>(compared: &'m Measurement, code: &str) -> Option<&'m Finding> {
    compared.findings.iter().find(|finding| finding.code == code)
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

/// Judges all limits and notes in the comparison what is above one. Returns whether any is, for
/// certain.
///
/// # Errors
/// When there is nothing that a limit is about: one that no longer matches anything never fails.
pub fn judge(compared: &mut Measurement, limits: &[Limit]) -> Result<bool, String> {
    let mut is_above = false;
    for limit in limits {
        let (severity, code, text) = match outcome(compared, limit) {
            Outcome::Holds => continue,
            Outcome::Above(text) => (Severity::Fault, "above-limit", text),
            Outcome::MaybeAbove(text) => {
                (Severity::Warning, "maybe-above-limit", format!("{text}, but that may be chance"))
            }
            Outcome::Nothing(text) => return Err(text),
        };
        is_above |= severity == Severity::Fault;
        // Shown with the warnings: a fault is what ends a run.
        let finding = Finding::new(Severity::Warning, code, text);
        compared.findings.insert(0, finding);
    }
    Ok(is_above)
}
