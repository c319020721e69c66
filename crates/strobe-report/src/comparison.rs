//! A comparison in words: the measurement that views show and files keep, made of the figures and
//! findings of [`strobe_analyse::compare`]. There is one place for each kind of sentence.

mod causes;
mod certainty;
mod findings;
mod limits;
mod notes;
mod state;
mod verdict;
mod words;

use strobe_analyse::compare::{Comparison, StatedColumn, Statement};
use strobe_model::measurement::{Cell, Content, Measurement, Window};

pub use limits::unjudged;

/// Compares `b` with `a`: differences are what `b` has more.
#[must_use]
pub fn compare(a: &Measurement, b: &Measurement) -> Measurement {
    measurement(strobe_analyse::compare::compare(a, b))
}

/// The measurement of a comparison, with its sentences.
#[must_use]
pub fn measurement(comparison: Comparison) -> Measurement {
    let verdict = verdict::section(&comparison);
    let Comparison { measurement: mut out, names, unlike, notes, columns, .. } = comparison;
    let [a, b] = names;
    out.subject.name = format!("{a} and {b}");
    out.window = Window::untimed("each side has a window of its own", out.window.ended);
    for (id, note) in notes {
        if let Some(section) = out.sections.iter_mut().find(|section| section.id == id) {
            section.notes.push(notes::text(&note));
        }
    }
    columns.into_iter().for_each(|column| fill(&mut out, column));
    out.findings.extend(unlike.iter().map(findings::finding));
    out.sections.insert(0, verdict);
    out
}

/// Fills the cells of a column with what is stated of their rows.
fn fill(measurement: &mut Measurement, stated: StatedColumn) {
    let StatedColumn { section, column, cells } = stated;
    let mut sections = measurement.sections.iter_mut();
    let content = sections.find(|other| other.id == section).map(|section| &mut section.content);
    let Some(Content::Table(table)) = content else { return };
    if let Some(column) = table.columns.iter_mut().find(|other| other.id == column) {
        column.cells = cells.iter().map(cell).collect();
    }
}

fn cell(statement: &Statement) -> Cell {
    match statement {
        Statement::Certainty(certainty) => certainty::text(certainty).into(),
        Statement::State(state) => state.as_ref().map(state::text).into(),
        Statement::Causes(all) => Some(causes::text(all)).filter(|why| !why.is_empty()).into(),
    }
}

#[cfg(test)]
mod cases;
