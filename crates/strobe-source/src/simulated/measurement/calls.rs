//! Distributions of single calls and windows, with their worst cases.

use crate::simulated::run_record::{FunctionCalls, RunRecord};
use strobe_model::measurement::ids;
use strobe_model::measurement::ids::suffix::WITH_CALLEES;
use strobe_model::measurement::{
    Column, Content, Distribution, Distributions, Finding, Section, Severity, Spread, Table, Unit,
};

use super::spreads::hertz_since;
use super::{Model, section};
use strobe_model::number::{counted, grouped};

/// Cycles per call, by function.
pub(super) fn spreads(record: &RunRecord, model: &Model) -> Option<Section> {
    if record.calls.is_empty() {
        return None;
    }
    let hertz = hertz_since(record, record.window.begin.cycle);
    let one = |name: String, spread: &Spread| Distribution {
        hertz,
        why: model.why.clone(),
        ..Distribution::exact(name, Unit::CYCLES, spread.clone())
    };
    let each = record.calls.iter().flat_map(|calls| {
        let FunctionCalls { name, .. } = calls;
        [
            one(format!("{name} {WITH_CALLEES}"), &calls.with_callees),
            one(format!("{name} alone"), &calls.alone),
            one(format!("{name} entry to return"), &calls.elapsed),
        ]
    });
    let content = Content::Distributions(Distributions { distributions: each.collect() });
    let title = "calls: cycles of each call with and without its callees, sleep included, handlers \
                 and other threads left out; entry to return counts them too";
    let mut section = section(ids::section::CALLS, title, content);
    section.notes = record.calls.iter().flat_map(notes).collect();
    Some(section)
}

fn notes(calls: &FunctionCalls) -> Vec<String> {
    let FunctionCalls { name, nested, tails, parts, part_cycles, .. } = calls;
    let mut out = Vec::new();
    if *nested > 0 {
        let (calls, are) = (counted(*nested, "call"), if *nested == 1 { "is" } else { "are" });
        out.push(format!(
            "{name}: {calls} came from within a call of {name} and {are} part of the outermost."
        ));
    }
    if *tails > 0 {
        let calls = counted(*tails, "call");
        out.push(format!(
            "{name}: {calls} ended in a jump to another function (a tail call). What that one \
             takes until it returns is among the callees; in the call tree it stands beside {name}."
        ));
    }
    if *parts > 0 {
        let (calls, cycles) = (counted(*parts, "call"), counted(*part_cycles, "cycle"));
        let (were, are) = if *parts == 1 { ("was", "it is") } else { ("were", "they are") };
        out.push(format!(
            "{name}: {calls} {were} under way when measuring began or ended, with {cycles}; {are} \
             in no figure here."
        ));
    }
    if calls.with_callees.count() == 0 && *parts == 0 {
        out.push(format!("{name}: not called while measuring."));
    }
    out
}

/// When the worst call of each function was, and who called it.
pub(super) fn worst(record: &RunRecord, model: &Model) -> Option<Section> {
    let cycles = |id: &str, title: &str| Column::figure(id, title, Unit::CYCLES);
    let mut table = Table::new(vec![
        cycles("with-callees", "with callees"),
        cycles("alone", "alone"),
        cycles("elapsed", "entry to return"),
        Column::figure("at-cycle", "at cycle", Unit::COUNT),
        Column::figure("at", "at", Unit::NANOSECONDS),
        Column::text("name", "name"),
        Column::text("caller", "called from"),
    ]);
    for calls in &record.calls {
        let Some(worst) = &calls.worst else { continue };
        table.row([
            model.cell(worst.with_callees),
            model.cell(worst.alone),
            model.cell(worst.elapsed),
            model.cell(worst.at.cycle),
            model.cell(worst.at.nanoseconds),
            calls.name.as_str().into(),
            worst.caller.as_str().into(),
        ]);
    }
    let title = "worst calls: the most cycles with callees, the first of equal ones";
    (!table.is_empty()).then(|| section("calls-worst", title, Content::Table(table)))
}

/// Cycles per window.
pub(super) fn windows(record: &RunRecord, model: &Model) -> Option<Section> {
    let windows = record.windows.as_ref()?;
    if windows.cycles.count() == 0 && windows.part.is_none() {
        return None;
    }
    let asked = |name: &str| record.instrument.settings.get(name).map(String::as_str);
    let name = match (asked("from"), asked("to")) {
        (Some(from), Some(to)) => format!("{from} to {to}"),
        (from, _) => format!("from {}", from.unwrap_or("reset")),
    };
    let mut one = Distribution::exact(name, Unit::CYCLES, windows.cycles.clone());
    one.hertz = hertz_since(record, record.window.begin.cycle);
    one.why = model.why_of_waits();
    let content = Content::Distributions(Distributions { distributions: vec![one] });
    let mut section =
        section(ids::section::WINDOWS, "windows: cycles of each, from beginning to end", content);
    section.notes.extend(windows.longest.map(|at| {
        let (whole, rest) = (grouped(at.nanoseconds / 1000), at.nanoseconds % 1000);
        let cycle = grouped(at.cycle);
        format!("The longest began at cycle {cycle}, {whole}.{rest:03} us after reset.")
    }));
    section.notes.extend(windows.part.map(|cycles| {
        let cycles = counted(cycles, "cycle");
        format!("One was open at the end of the run, {cycles} long; it is in no figure here.")
    }));
    Some(section)
}

/// Windows that were asked to begin while one was open.
pub(super) fn finding(record: &RunRecord) -> Option<Finding> {
    let windows = record.windows.as_ref().filter(|windows| windows.reopened > 0)?;
    let asked = |name: &str| record.instrument.settings.get(name).map_or("", String::as_str);
    let (from, to) = (asked("from"), asked("to"));
    let again = match windows.closed_again {
        0 => String::new(),
        n => format!(", and {to} {} while none was open", counted(n, "time")),
    };
    let text = format!(
        "{from} was reached {} while a window was open{again}: windows do not nest. Each ends at \
         the first {to} after it began, which may belong to an inner call; `--calls` measures \
         calls from entry to return.",
        counted(windows.reopened, "time")
    );
    Some(Finding {
        count: windows.reopened,
        ..Finding::new(Severity::Warning, "nested-windows", text)
    })
}
