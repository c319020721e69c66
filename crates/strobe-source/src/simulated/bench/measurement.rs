//! Benchmarks of a firmware as a measurement: a row for each function and input.

use crate::simulated::run_record::RunRecord;
use strobe_devices::board::Board;
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Ended, Fact, Finding, Instrument, Measurement, Number, Quantity,
    Severity, Subject, Table, Trust, Unit, Window,
};
use strobe_symbols::Firmware;

use super::{Call, Row, growth};
use crate::simulated::measurement as of_run;

/// All there is to make a measurement of.
pub(super) struct Found<'a> {
    pub firmware: &'a Firmware,
    /// The firmware's file, for people.
    pub file: &'a str,
    pub board: &'a Board,
    /// The first board's run.
    pub record: Option<&'a RunRecord>,
    pub rows: &'a [Row],
    /// Modelled waits may be in the calls.
    pub is_modelled: bool,
    /// The firmware has allocators that are known.
    pub watches_heap: bool,
    /// Somebody stopped it.
    pub stopped: bool,
}

pub(super) fn measurement(found: &Found) -> Measurement {
    let run = found.record.map(of_run::measurement);
    let subject = match &run {
        Some(run) => Subject { name: found.file.to_owned(), ..run.subject.clone() },
        None => Subject {
            kind: "firmware".to_owned(),
            name: found.file.to_owned(),
            board: Some(found.board.name().to_owned()),
            core: Some(found.board.core_name().to_owned()),
            ..Subject::default()
        },
    };
    let tool = run.as_ref().map(|run| run.instrument.tool.clone()).unwrap_or_default();
    let instrument = Instrument {
        kind: "benchmarks on a simulated board".to_owned(),
        tool,
        ..Instrument::default()
    };
    let failed = found.rows.iter().filter(|row| row.failed.is_some()).count();
    let (kind, text) = match found.stopped {
        true => ("interrupted", "stopped by the user"),
        false if failed > 0 => ("end", "some benchmarks could not be called to their end"),
        false => ("end", "all benchmarks were called"),
    };
    let ended = Ended { kind: kind.to_owned(), text: text.to_owned(), code: None };
    let why = "each input of a benchmark has a board of its own";
    let mut out = Measurement::new(subject, instrument, Window::untimed(why, ended));
    out.subject.facts.retain(|fact: &Fact| fact.name != "threads");
    out.push_total("benchmarks", "benchmarks", Quantity::exact(names(found.rows), Unit::COUNT));
    out.push_total("rows", "rows", Quantity::exact(found.rows.len(), Unit::COUNT));
    out.push_total("failed", "failed", Quantity::exact(failed, Unit::COUNT));
    let section = out.push(ids::section::BENCHMARKS, TITLE, Content::Table(table(found)));
    section.notes.extend(notes(found));
    out.sections.extend(growth::section(found.rows));
    findings(found, &mut out);
    if let Some(run) = run {
        let about_start_up = ["modelled", "advice", "never-reached"];
        let of_run = run.findings.into_iter();
        out.findings.extend(of_run.filter(|f| {
            f.severity == Severity::Warning && !about_start_up.contains(&f.code.as_str())
        }));
    }
    out
}

const TITLE: &str =
    "benchmarks by name and input: a call from its first instruction up to its return";

fn names(rows: &[Row]) -> usize {
    rows.chunk_by(|a, b| a.name == b.name).count()
}

fn notes(found: &Found) -> Vec<String> {
    let mut out = Vec::new();
    if found.rows.iter().any(|row| row.calls.len() > 1) {
        out.push(
            "With several calls on one board, each figure is the first call's; least and most \
             cycles are of all of them."
                .to_owned(),
        );
    }
    if !found.watches_heap && found.rows.iter().any(|row| !row.calls.is_empty()) {
        let text = "The firmware has no memory allocator that strobe knows, so nothing is known of \
                    allocations (strobe heap).";
        out.push(text.to_owned());
    }
    out.extend(of_run::on_chips(found.board.core_name(), found.board.name()));
    out
}

fn findings(found: &Found, out: &mut Measurement) {
    for damage in &found.firmware.benchmarks().damage {
        out.findings.push(Finding::new(Severity::Warning, "descriptors", damage.clone()));
    }
    for row in found.rows {
        if let Some(why) = &row.failed {
            let text = format!("{}: {why}", label(row));
            out.findings.push(Finding::new(Severity::Fault, "benchmark-failed", text));
        }
        let interrupts: u64 = row.calls.iter().map(|call| call.interrupts).sum();
        if interrupts > 0 {
            let text = format!(
                "{}: {interrupts} interrupts came in between, and their cycles are in its figures; \
                 start-up has left them enabled",
                label(row)
            );
            out.findings.push(Finding::new(Severity::Warning, "interrupted", text));
        }
    }
}

fn label(row: &Row) -> String {
    super::label(&row.name, row.input)
}

fn table(found: &Found) -> Table {
    let rows = found.rows;
    let repeated = rows.iter().any(|row| row.calls.len() > 1);
    let mut columns = vec![
        Column::text(ids::column::BENCHMARK, "benchmark"),
        Column::figure(ids::column::INPUT, "input", Unit::COUNT),
        Column::figure(ids::column::CYCLES, "cycles", Unit::CYCLES),
    ];
    if repeated {
        columns.push(Column::figure("least", "least", Unit::CYCLES));
        columns.push(Column::figure("most", "most", Unit::CYCLES));
        columns.push(Column::figure("calls", "calls", Unit::COUNT));
    }
    columns.push(Column::figure("instructions", "instr.", Unit::INSTRUCTIONS));
    columns.push(Column::figure(ids::column::STACK, "stack", Unit::BYTES));
    if found.watches_heap {
        columns.push(Column::figure("blocks", "blocks", Unit::COUNT));
        columns.push(Column::figure("allocated", "allocated", Unit::BYTES));
    }
    for row in rows {
        let mut cells: Vec<Cell> = vec![label(row).into(), row.input.into()];
        let first = row.calls.first();
        cells.push(first.map_or_else(|| unknown(row), |call| cycles(found, call)));
        if repeated {
            let all = || row.calls.iter().filter(|_| row.calls.len() > 1);
            let by = |call: &&Call| call.cycles;
            cells.push(all().min_by_key(by).map(|call| cycles(found, call)).into());
            cells.push(all().max_by_key(by).map(|call| cycles(found, call)).into());
            cells.push(row.calls.len().into());
        }
        cells.push(first.map(|call| call.instructions).into());
        cells.push(first.and_then(|call| call.stack).into());
        if found.watches_heap {
            let allocated = first.and_then(|call| call.allocated);
            cells.push(allocated.map(|(blocks, _)| blocks).into());
            cells.push(allocated.map(|(_, bytes)| bytes).into());
        }
        for (column, cell) in columns.iter_mut().zip(cells) {
            column.cells.push(cell);
        }
    }
    Table::new(columns)
}

/// The cycles of a call; their bounds are those of further runs.
fn cycles(found: &Found, call: &Call) -> Cell {
    let value = Number::from(call.cycles);
    if found.is_modelled {
        let trust = Trust::Modelled { low: value, high: value, why: None };
        return Cell::Figure { value: Some(value), trust };
    }
    Cell::Exact(value)
}

fn unknown(row: &Row) -> Cell {
    let why = row.failed.as_deref().unwrap_or("it was not called");
    Quantity::unknown(Unit::CYCLES, why).into()
}
