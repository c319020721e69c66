//! The verdict: the answers of a comparison, one sentence each.

mod changed;
mod confidence;
mod much;

use strobe_analyse::compare::{Comparison, FunctionChanges, Unlike};
use strobe_model::measurement::{Column, Content, Section, Severity, Table, ids};

/// The section of the answers.
pub(super) fn section(comparison: &Comparison) -> Section {
    let mut table = Table::new(vec![Column::text("question", ""), Column::text("answer", "")]);
    table.row(["changed".into(), changed::answer(comparison).into()]);
    table.row(["how much".into(), much::answer(comparison).into()]);
    table.row(["certain".into(), confidence::answer(comparison).into()]);
    if let Some(unlike) = unlike(&comparison.unlike) {
        table.row(["not alike".into(), unlike.into()]);
    }
    Section {
        id: ids::section::VERDICT.to_owned(),
        title: "verdict".to_owned(),
        notes: Vec::new(),
        content: Content::Table(table),
    }
}

/// The name of a row.
fn name(found: &FunctionChanges, row: usize) -> &str {
    found.rows.get(row).map_or("", |row| &row.name)
}

/// What the warnings are about, in one statement.
fn unlike(all: &[Unlike]) -> Option<String> {
    let warnings = all.iter().filter(|unlike| unlike.severity() == Severity::Warning);
    let subjects: Vec<&str> = warnings.filter_map(subject).collect();
    (!subjects.is_empty()).then(|| format!("{}; see the warnings", subjects.join(", ")))
}

/// What a warning is about, if it makes the sides hard to compare.
fn subject(unlike: &Unlike) -> Option<&'static str> {
    Some(match unlike {
        Unlike::End(_) | Unlike::RunEnds(_) => "ended for different reasons",
        Unlike::Stopped(_) | Unlike::RecordingLength { .. } => "stopped after different times",
        Unlike::Instrument(_) => "instrument",
        Unlike::Board(_) => "board",
        Unlike::Core(_) => "core",
        Unlike::Clock(_) => "core clock",
        Unlike::Windows(_) => "number of windows",
        Unlike::Inputs(_) => "inputs",
        Unlike::Compiler(_) => "compiler",
        Unlike::Tool(_) => "version of strobe",
        Unlike::Amount { .. } => "amount of work",
        Unlike::OtherPrograms { .. } => "two different programs",
        Unlike::Shortened { .. } => "results cut off on a side",
        Unlike::NoSymbols(_) => "no symbols on a side",
        _ => return None,
    })
}
