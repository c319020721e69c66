//! The versioned forms for machines: `strobe-record/1`, `strobe-cycles/1`, `strobe-rig/1` and
//! `strobe-pictures/1`.
//!
//! The schemas are kept in `docs/schema`. A record in JSON has, beside the record itself, `views`:
//! flat tables worked out from it, so that a script need not. They are ignored on reading.

use std::io::{self, Write};

use serde::Serialize;
use strobe_model::{Bounds, By, CauseCycles, CyclesReport, Place, Record, Who};

use crate::picture::{List, Shown};

/// How JSON is laid out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    /// Indented, a value per line: diffs well.
    #[default]
    Pretty,
    /// One line.
    Compact,
}

/// A JSON text that is no record.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not JSON, or not of this schema.
    #[error("not a record: {0}")]
    Syntax(#[from] serde_json::Error),
    /// An index points outside its table.
    #[error("the record's {table} refer to {what} {index}, which is not there")]
    Index {
        /// The table with the index.
        table: &'static str,
        /// What it should point to.
        what: &'static str,
        /// The index.
        index: u32,
    },
}

/// A record as others read it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "strobe-record/1"))]
struct Document<'a> {
    #[serde(flatten)]
    record: &'a Record,
    /// Tables worked out from the rest, for scripts that do not want to; ignored on reading.
    views: Views,
}

/// Tables worked out from a record.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Views {
    /// By function, most busy cycles first.
    functions: Vec<FunctionView>,
}

/// One function with everything it called.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FunctionView {
    /// Its name, made unique by file or address where two functions share one.
    name: String,
    /// Cycles of the function itself by cause.
    cycles: CauseCycles,
    /// Cycles of the function itself without those asleep, with bounds.
    busy: Bounds,
    /// Instructions of the function itself.
    instructions: u64,
    /// Times called; absent where the call tree does not know it.
    calls: Option<u64>,
    /// Cycles of the function and everything it called, without those asleep.
    inclusive: Option<u64>,
}

impl Views {
    fn of(record: &Record) -> Self {
        let rows = record.profile.rows(By::Function).into_iter();
        let functions = rows.map(|row| FunctionView {
            busy: row.busy(),
            cycles: row.cycles,
            instructions: row.instructions,
            calls: row.called.map(|c| c.calls),
            inclusive: row.called.map(|c| c.inclusive),
            name: row.name,
        });
        Views { functions: functions.collect() }
    }
}

/// A record as indented JSON, with a newline at its end.
pub fn record(record: &Record) -> String {
    record_as(record, Form::Pretty)
}

/// A record as JSON with its views, with a newline at its end.
pub fn record_as(record: &Record, form: Form) -> String {
    text(&Document { record, views: Views::of(record) }, form)
}

/// Two records as they are compared, as indented JSON with a newline at its end.
pub fn comparison(a: &Record, b: &Record) -> String {
    #[derive(Serialize)]
    struct Comparison<'a> {
        schema: &'static str,
        a: Document<'a>,
        b: Document<'a>,
    }
    let [a, b] = [a, b].map(|record| Document { record, views: Views::of(record) });
    text(&Comparison { schema: "strobe-comparison/1", a, b }, Form::Pretty)
}

/// What the chips of a rig did, as indented JSON with a newline at its end: (name, record) of each.
pub fn rig(name: &str, chips: &[(&str, &Record)]) -> String {
    #[derive(Serialize)]
    struct Chip<'a> {
        name: &'a str,
        record: Document<'a>,
    }
    #[derive(Serialize)]
    struct Rig<'a> {
        schema: &'static str,
        name: &'a str,
        chips: Vec<Chip<'a>>,
    }
    let chips = chips.iter().map(|&(name, record)| Chip {
        name,
        record: Document { record, views: Views::of(record) },
    });
    text(&Rig { schema: "strobe-rig/1", name, chips: chips.collect() }, Form::Pretty)
}

/// The list of pictures that were shown, as indented JSON with a newline at its end.
pub fn pictures(shown: &[Shown]) -> String {
    text(&List { schema: "strobe-pictures/1", pictures: shown }, Form::Pretty)
}

/// Writes a record.
///
/// # Errors
/// Those of `out`.
pub fn write(record: &Record, form: Form, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(text(&Document { record, views: Views::of(record) }, form).as_bytes())
}

/// The cycles of a function as JSON, with a newline at its end.
pub fn cycles(report: &CyclesReport, form: Form) -> String {
    text(report, form)
}

fn text<T: Serialize>(value: &T, form: Form) -> String {
    let text = match form {
        Form::Pretty => serde_json::to_string_pretty(value),
        Form::Compact => serde_json::to_string(value),
    };
    // Keys are strings and no part refuses to be written, so this cannot fail.
    text.unwrap_or_else(|error| unreachable!("plain values become JSON: {error}")) + "\n"
}

/// Reads a record back, and checks that what it refers to is there.
///
/// # Errors
/// When it is not JSON, not a record of a known schema, unbalanced, or refers to what is not there.
pub fn parse(text: &str) -> Result<Record, Error> {
    let record: Record = serde_json::from_str(text)?;
    check(&record)?;
    Ok(record)
}

fn check(record: &Record) -> Result<(), Error> {
    let profile = &record.profile;
    let inside = |table, what, index: Option<u32>, length: usize| match index {
        Some(index) if index as usize >= length => Err(Error::Index { table, what, index }),
        _ => Ok(()),
    };
    let (functions, files) = (profile.functions.len(), profile.files.len());
    for function in &profile.functions {
        inside("functions", "file", function.file, files)?;
    }
    for sample in &profile.addresses {
        inside("addresses", "function", sample.function, functions)?;
        for frame in &sample.frames {
            inside("frames", "function", Some(frame.function), functions)?;
            inside("frames", "file", frame.file, files)?;
        }
    }
    let scheduling = record.scheduling.iter();
    for timeline in scheduling.clone().filter_map(|s| s.timeline.as_ref()) {
        let threads: usize = scheduling.clone().map(|s| s.threads.len()).sum();
        let worst = timeline.worst.iter().map(|worst| worst.who);
        for who in timeline.segments.iter().map(|s| s.who).chain(worst) {
            if let Who::Thread(thread) = who {
                inside("timeline's segments", "thread", Some(thread), threads)?;
            }
        }
    }
    for part in profile.shares.iter().flat_map(|share| &share.addresses) {
        inside("shares", "address", Some(part.sample), profile.addresses.len())?;
    }
    for (i, node) in profile.tree.iter().enumerate() {
        // Parents come first, which also rules out circles.
        inside("tree nodes", "parent", node.parent, i)?;
        if let Place::Function(function) = node.place {
            inside("tree nodes", "function", Some(function), functions)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod schema;
#[cfg(test)]
mod tests;
