//! What changed: the function that changed most, then other figures.

use strobe_analyse::compare::{
    Became, BecameKind, Change, Changed, Comparison, FunctionChange, FunctionChanges, Longest,
    Nameless, Obstacle, SoftFloat,
};
use strobe_model::measurement::Unit;
use strobe_model::number::{first_of, signed};

use super::super::words::{change, counted, from_to, real};
use super::super::{causes, state};

/// The number of other figures that are named.
const OTHERS: usize = 3;

/// The number of distributions of a section that are named.
const LONGEST: usize = 2;

pub(super) fn answer(comparison: &Comparison) -> String {
    let verdict = &comparison.verdict;
    let others = others(&verdict.others);
    let found = comparison.functions.first();
    let mut parts = match (&verdict.changed, found) {
        (Changed::NoFunctions(None), _)
        | (Changed::Nothing { .. } | Changed::Function { .. }, None) => {
            return others.unwrap_or_else(|| NOTHING.to_owned());
        }
        (Changed::NoFunctions(Some(obstacle)), _) => vec![no_functions(*obstacle).to_owned()],
        (Changed::NoNames(nameless), _) => vec![no_names(*nameless).to_owned()],
        (Changed::Nothing { became }, Some(found)) => nothing(found, became, others.is_some()),
        (Changed::Function { row, more, became, soft_float }, Some(found)) => {
            let mut parts = vec![function(&found.rows[*row], found)];
            parts.extend(too(*more));
            parts.extend(all_became(became, found));
            parts.extend(soft_float.map(|of| all_soft_float(of, &found.unit)));
            parts
        }
    };
    parts.extend(others);
    parts.join("; ")
}

const NOTHING: &str = "nothing that was compared";

fn no_functions(obstacle: Obstacle) -> &'static str {
    match obstacle {
        Obstacle::Shortened => "functions cannot be compared, for results were cut off",
        Obstacle::OnlyTotals => {
            "nothing can be compared but totals: the two have no more in common"
        }
    }
}

fn no_names(nameless: Nameless) -> &'static str {
    match nameless {
        Nameless::A => "functions cannot be compared, for those of a have no names",
        Nameless::B => "functions cannot be compared, for those of b have no names",
        Nameless::Both => "functions cannot be compared, for none have names",
    }
}

/// Where no function takes more or less.
fn nothing(found: &FunctionChanges, became: &[Became], has_others: bool) -> Vec<String> {
    let became = all_became(became, found);
    let text = match &became {
        _ if has_others => "no function",
        Some(_) => "nothing but names and places",
        None if found.is_set() => "nothing beyond what the runs of a side vary",
        None if found.sampled => "nothing beyond chance",
        None => NOTHING,
    };
    std::iter::once(text.to_owned()).chain(became).collect()
}

/// The function that changed most.
fn function(row: &FunctionChange, found: &FunctionChanges) -> String {
    let [a, b] = row.own;
    let unit = &found.unit;
    let state = row.state.as_ref().map(|state| format!(", {}", state::text(state)));
    let state = state.unwrap_or_default();
    if found.sampled {
        let share = |side: usize| row.own[side] as f64 * 100.0 / found.all[side].max(1) as f64;
        return format!(
            "{} has {:.1} % of {} samples instead of {:.1} % of {}{state}",
            row.name,
            share(1),
            signed(found.all[1]),
            share(0),
            signed(found.all[0])
        );
    }
    let why = causes::text(&row.why);
    let why = if why.is_empty() { why } else { format!(" ({why})") };
    let times = match (a, b) {
        (a, b) if a > 0 && b >= 2 * a => format!("{} times the {unit}", real(b as f64 / a as f64)),
        _ => change(a, b, unit),
    };
    format!("{}: {times}, {} -> {}{state}{why}", row.name, signed(a), signed(b))
}

/// How many other functions differ.
fn too(more: usize) -> Option<String> {
    let verb = if more == 1 { "differs" } else { "differ" };
    (more > 0).then(|| format!("{} {verb} too", counted(more, "other function")))
}

/// Functions that are not the same in both; a single one is named.
fn all_became(became: &[Became], found: &FunctionChanges) -> Option<String> {
    let each = became.iter().map(|Became { kind, rows }| match rows.as_slice() {
        [row] => {
            let row = &found.rows[*row];
            let state = row.state.as_ref().map(state::text).unwrap_or_default();
            format!("{} {state}", row.name)
        }
        rows => format!("{} {}", signed(rows.len() as i64), kind_of(*kind)),
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("functions: {}", each.join(", ")))
}

fn kind_of(kind: BecameKind) -> &'static str {
    match kind {
        BecameKind::New => "new",
        BecameKind::Gone => "gone",
        BecameKind::Renamed => "renamed",
        BecameKind::Moved => "moved to other files",
    }
}

fn all_soft_float(SoftFloat { functions, takes, now }: SoftFloat, unit: &Unit) -> String {
    let (n, takes) = (counted(functions, "function"), signed(takes));
    let change = if now { "came in" } else { "is gone" };
    format!("soft-float {change}: {n}, {takes} {unit}")
}

/// Changes of figures that are not functions'.
fn others(all: &[Change]) -> Option<String> {
    let all: Vec<String> = all.iter().map(other).collect();
    (!all.is_empty()).then(|| first_of(all, OTHERS))
}

fn other(change: &Change) -> String {
    match change {
        Change::Cell { section, column, row, sides: [a, b] } => {
            format!("{section}: {column} of {row} {} -> {}", real(*a), real(*b))
        }
        Change::Longest { section, of } => {
            let each = of.iter().map(|Longest { name, sides: [a, b], unit }| {
                format!("{name} {}", from_to(*a, *b, unit))
            });
            let each: Vec<String> = each.collect();
            let named = first_of(each, LONGEST);
            format!("{section}: longest of {named}")
        }
        Change::Share { function, percent: [a, b], units: [unit_a, unit_b] } => {
            format!("shares: {function} has {a:.1} % of {unit_a} (a), {b:.1} % of {unit_b} (b)")
        }
        Change::NoShare => "no function's share differs beyond chance".to_owned(),
        Change::Memory { title, sides: [a, b], unit } => {
            let unit = if *unit == Unit::COUNT { String::new() } else { format!(" {unit}") };
            format!("{title} {} -> {}{unit}", real(*a), real(*b))
        }
    }
}
