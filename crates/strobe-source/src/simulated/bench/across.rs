//! Benchmarks of several firmwares side by side, as one source built for several cores.

use std::collections::BTreeSet;
use strobe_model::measurement::ids;

use strobe_model::measurement::{
    Cell, Column, Content, Ended, Fact, Finding, Instrument, Measurement, NamedPart, Subject,
    Table, Unit, Window,
};

use crate::simulated::measurement::on_chips;

/// What is put side by side: the column of the benchmarks, what it is called, its unit.
const FIGURES: [(&str, &str, Unit); 3] = [
    ("cycles", "cycles", Unit::CYCLES),
    ("instructions", "instructions", Unit::INSTRUCTIONS),
    ("stack", "bytes of stack", Unit::BYTES),
];

/// One measurement of several, each under a name of its own; each is a part.
pub fn across(parts: Vec<(String, Measurement)>) -> Measurement {
    let names: Vec<&str> = parts.iter().map(|(name, _)| name.as_str()).collect();
    let core = |(name, m): &(String, Measurement)| {
        let core = m.subject.core.as_deref().unwrap_or("unknown core");
        Fact::text(name, format!("{core}, board {}", m.subject.board.as_deref().unwrap_or("?")))
    };
    let subject = Subject {
        kind: "firmware".to_owned(),
        name: names.join(", "),
        facts: parts.iter().map(core).collect(),
        ..Subject::default()
    };
    let instrument: Instrument =
        parts.first().map(|(_, m)| m.instrument.clone()).unwrap_or_default();
    let stopped = parts.iter().map(|(_, m)| &m.window.ended).find(|e| e.kind != "end");
    let ended = stopped.or(parts.first().map(|(_, m)| &m.window.ended));
    let ended: Ended = ended.cloned().unwrap_or_default();
    let why = "each input of a benchmark has a board of its own";
    let mut out = Measurement::new(subject, instrument, Window::untimed(why, ended));
    for (id, title, unit) in FIGURES {
        let title = format!("{title} of each");
        let section = out.push(id, title, Content::Table(table(&parts, id, &unit)));
        if id == "cycles" {
            section.notes.push(
                "An empty cell is a benchmark, or an input, that this firmware does not have. \
                 Clocks differ: cycles are no times."
                    .to_owned(),
            );
            let on = |(_, m): &(String, Measurement)| {
                on_chips(m.subject.core.as_deref()?, m.subject.board.as_deref()?)
            };
            let notes: BTreeSet<String> = parts.iter().filter_map(on).collect();
            section.notes.extend(notes);
        }
    }
    for (name, m) in &parts {
        for finding in &m.findings {
            let text = format!("{name}: {}", finding.text);
            out.findings.push(Finding { text, ..finding.clone() });
        }
    }
    out.parts =
        parts.into_iter().map(|(name, measurement)| NamedPart { name, measurement }).collect();
    out
}

/// The benchmark, its input, and the name of both.
type Key = (String, Option<u64>, String);

fn keys(m: &Measurement) -> Vec<Key> {
    let Some(table) = m.table(ids::section::BENCHMARKS) else { return Vec::new() };
    let (Some(names), Some(inputs)) =
        (table.column(ids::column::BENCHMARK), table.column(ids::column::INPUT))
    else {
        return Vec::new();
    };
    let key = |(name, input): (&Cell, &Cell)| {
        let (name, input) = (name.text().unwrap_or_default(), input.number().map(|n| n.as_u64()));
        let bare = name.rsplit_once('/').filter(|_| input.is_some()).map_or(name, |(bare, _)| bare);
        (bare.to_owned(), input, name.to_owned())
    };
    names.cells.iter().zip(&inputs.cells).map(key).collect()
}

fn table(parts: &[(String, Measurement)], figure: &str, unit: &Unit) -> Table {
    let rows: BTreeSet<Key> = parts.iter().flat_map(|(_, m)| keys(m)).collect();
    let mut columns = vec![
        Column::text(ids::column::BENCHMARK, "benchmark"),
        Column::figure(ids::column::INPUT, "input", Unit::COUNT),
    ];
    for (_, input, name) in &rows {
        columns[0].cells.push(name.as_str().into());
        columns[1].cells.push((*input).into());
    }
    for (part, m) in parts {
        let own = keys(m);
        let cells = m.table(ids::section::BENCHMARKS).and_then(|table| table.column(figure));
        let cell = |key: &Key| {
            let at = own.iter().position(|other| other == key)?;
            cells?.cells.get(at).cloned()
        };
        let mut column = Column::figure(part, part, unit.clone());
        column.cells = rows.iter().map(|key| cell(key).unwrap_or(Cell::Empty)).collect();
        columns.push(column);
    }
    Table::new(columns)
}
