//! Limits of a comparison: by how much the whole, or a function, may grow.

use strobe_model::measurement::{Cell, Content, Finding, Measurement, Severity, Table};

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
    let tables = compared.sections.iter().filter(|section| section.id.ends_with("-functions"));
    let table = tables.filter_map(|section| match &section.content {
        Content::Table(table) => Some(table),
        _ => None,
    });
    let table = table.into_iter().next();
    let Some(table) = table else {
        return Outcome::Nothing("no functions that both sides have are compared".to_owned());
    };
    match &limit.function {
        Some(name) => of_function(table, name, limit),
        None => of_whole(table, limit),
    }
}

fn of_function(table: &Table, name: &str, limit: &Limit) -> Outcome {
    let column = |id: &str| table.column(id).map(|column| column.cells.as_slice());
    let names = column("function").unwrap_or_default();
    let Some(row) = names.iter().position(|cell| cell.text() == Some(name)) else {
        return Outcome::Nothing(format!("no function {name} is compared"));
    };
    let cell = |id: &str| column(id).and_then(|cells| cells.get(row));
    let sides = [cell("self-a"), cell("self-b")];
    let certain = cell("verdict").and_then(Cell::text).is_none_or(|w| !w.starts_with("undecided"));
    judged(name, sides, certain, limit.percent)
}

fn of_whole(table: &Table, limit: &Limit) -> Outcome {
    let at = |id: &str| table.columns.iter().position(|column| column.id == id);
    let all = table.footer.iter().find(|row| row.first().and_then(Cell::text) == Some("all"));
    let cell = |id: &str| all?.get(at(id)?);
    let certain = cell("self-difference").is_some_and(|difference| match difference {
        Cell::Figure { trust, .. } => trust.bounds().is_some_and(|(low, _)| low.as_f64() > 0.0),
        _ => true,
    });
    judged("all functions", [cell("self-a"), cell("self-b")], certain, limit.percent)
}

fn judged(what: &str, sides: [Option<&Cell>; 2], certain: bool, percent: f64) -> Outcome {
    let [Some(a), Some(b)] = sides.map(|cell| cell.and_then(Cell::number)) else {
        return Outcome::Nothing(format!("{what}: not known of both sides"));
    };
    let (a, b) = (a.as_f64(), b.as_f64());
    if b <= a * (1.0 + percent / 100.0) {
        return Outcome::Holds;
    }
    let more = match a {
        0.0 => format!("{what}: {b} instead of nothing, limit +{percent} %"),
        a => format!("{what}: {a} -> {b}, {:+.1} %, limit +{percent} %", (b - a) * 100.0 / a),
    };
    if certain { Outcome::Above(more) } else { Outcome::MaybeAbove(more) }
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
