//! What a stack needs and machine code does not show: calls, allocations and loops that cannot be
//! followed.

use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Address, Cell, Column, Content, Finding, Measurement, Severity, Table,
};
use strobe_model::number::first_of;

use super::{MOST_PLACES, MOST_ROWS, place};
use crate::callgraph::Target;
use crate::stack::{Analysis, worst};

/// What cannot be followed: place, what it is, whether any entry point reaches it.
fn unknowns(analysis: &Analysis<'_>) -> Vec<(u32, u32, String)> {
    let mut out = Vec::new();
    for function in analysis.graph.functions.values() {
        for (at, to) in worst::unknown(&analysis.graph, &analysis.resolved, function.start) {
            let what = match to {
                Target::Unknown => "indirect call".to_owned(),
                Target::Known(to) => format!("call of {to:#010x}, which is no code of the image"),
            };
            out.push((function.start, at, what));
        }
        if !analysis.resolved.dynamic.contains_key(&function.start) {
            let dynamic = function.dynamic.iter();
            out.extend(dynamic.map(|at| (function.start, *at, "dynamic allocation".to_owned())));
        }
        let grows = "the stack grows with each pass".to_owned();
        out.extend(function.unbounded.iter().map(|at| (function.start, *at, grows.clone())));
        if function.is_cut {
            out.push((function.start, function.start, "not followed: too much code".to_owned()));
        }
    }
    out
}

/// Adds the table of them, and a finding on those that an entry point reaches.
pub(super) fn unknown_calls(measurement: &mut Measurement, analysis: &Analysis<'_>) {
    let mut table = Table::new(vec![
        Column::text(ids::column::FUNCTION, "function"),
        Column::address(ids::column::ADDRESS, "address"),
        Column::text(ids::column::WHAT, "what"),
        Column::text("line", "line"),
        Column::text("reached", "reached from"),
    ]);
    let reached: Vec<_> = analysis
        .entries
        .iter()
        .map(|entry| (analysis.name(entry.address), analysis.reached(entry)))
        .collect();
    let unknowns = unknowns(analysis);
    for (function, at, what) in unknowns.iter().take(MOST_ROWS) {
        let from: Vec<&str> = reached
            .iter()
            .filter(|(_, reached)| reached.contains(function))
            .map(|(name, _)| name.as_str())
            .collect();
        let from = match from.as_slice() {
            [] => "nothing that is known".to_owned(),
            [one] => (*one).to_owned(),
            [first, rest @ ..] => format!("{first} and {} more", rest.len()),
        };
        table.row([
            analysis.name(*function).into(),
            Address(u64::from(*at)).into(),
            what.as_str().into(),
            place(analysis, *at).map_or(Cell::Empty, Cell::from),
            from.into(),
        ]);
    }
    if unknowns.is_empty() {
        return;
    }
    let title = format!("unknown edges of the call graph ({})", unknowns.len());
    measurement.push("unknown-calls", title, Content::Table(table));
    let is_reached = |at: &u32| reached.iter().any(|(_, reached)| reached.contains(at));
    let matter: Vec<_> = unknowns.iter().filter(|(function, ..)| is_reached(function)).collect();
    if matter.is_empty() {
        return;
    }
    let places = matter.iter().map(|(_, at, what)| format!("{} ({what})", analysis.name(*at)));
    let text = format!(
        "what these do to the stack is unknown, so worst cases are at least what is shown: {}",
        first_of(places, MOST_PLACES)
    );
    let mut finding = Finding::new(Severity::Warning, "unknown-calls", text);
    finding.count = matter.len() as u64;
    finding.advice =
        Some("list targets and bounds in a file, and give it with --annotations".to_owned());
    measurement.findings.push(finding);
}
