//! An explained function as a measurement: its instructions, blocks and loops with their cycles,
//! and what a run saw of them.

use crate::cycles::report::{CycleRange, CyclesReport, InstructionCycles, RunCycles};
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Address, Cell, ClockSpan, Column, Content, Coverage, Ended, Fact, Finding, Measurement,
    ON_A_CHIP, Quantity, Severity, Subject, Table, Trust, Unit, Window,
};

use super::seen;
use crate::measuring::{count, instrument, notes};
use crate::simulated;

/// Why figures have bounds that neither data nor path explains.
pub(super) const WHY: &str = "no manual documents the state that decides";

const RANGES: &str = "between min and max data and path decide, or a model; likely is the model's \
                      average, of the cheapest case and (likely most) of the dearest one";

/// What a function's instructions cost.
pub fn measurement(report: &CyclesReport) -> Measurement {
    let window = Window::untimed("no time passes in an explanation", Ended::default());
    let mut measurement = Measurement::new(subject(report), instrument("cycle tables"), window);
    for (n, condition) in (1..).zip(&report.conditions) {
        let name = if n == 1 { "condition".to_owned() } else { format!("condition {n}") };
        measurement.instrument.settings.insert(name, condition.clone());
    }
    totals(&mut measurement, report);
    if let Some(profile) = seen::profile(report) {
        let content = Content::Profile(Box::new(profile));
        measurement.push(ids::section::PROFILE, "the run, by instruction", content);
    }
    let timing = simulated::timing_of_rows(&report.core, &report.board);
    let section =
        measurement.push("instructions", "instructions", Content::Table(instructions(report)));
    section.notes.push(RANGES.to_owned());
    section.notes.extend(timing.clone());
    measurement.push(
        ids::section::CAUSES,
        "what their cycles are made of",
        Content::Table(causes(report)),
    );
    measurement.push("blocks", "blocks", Content::Table(blocks(report)));
    if !report.loops.is_empty() {
        let section = measurement.push("loops", "loops", Content::Table(loops(report)));
        section.notes.extend(timing);
    }
    notes(&mut measurement, Severity::Note, "cycles", &report.notes);
    measurement
}

fn subject(report: &CyclesReport) -> Subject {
    Subject {
        kind: "firmware".to_owned(),
        name: report.function.clone(),
        board: Some(report.board.clone()),
        core: Some(report.core.clone()),
        clock: report.clock_hz.map(|hz| ClockSpan { cycle: 0, hz }).into_iter().collect(),
        facts: [
            Fact::text("function", &report.function),
            Fact::text("address", Address(report.address.into()).to_string()),
            Fact::figure("code", Quantity::exact(report.size_bytes, Unit::BYTES)),
        ]
        .into_iter()
        .chain(simulated::core_timing(&report.core, &report.board))
        .collect(),
        ..Subject::default()
    }
}

fn totals(measurement: &mut Measurement, report: &CyclesReport) {
    let totals = &report.totals;
    let instructions = Quantity::exact(totals.instructions, Unit::COUNT);
    measurement.push_total("code-instructions", "instructions", instructions);
    match totals.once_through {
        Some(range) => {
            let least = Quantity::exact(range.min, Unit::CYCLES);
            measurement.push_total("once-through-min", "entry to exit, at least", least);
            let most = Quantity::exact(range.max, Unit::CYCLES);
            measurement.push_total("once-through-max", "entry to exit, at most", most);
            if let Some(likely) = figure(range, range.likely) {
                measurement.push_total("once-through-likely", "entry to exit, likely", likely);
            }
            if let Some(likely) = figure(range, range.likely_most) {
                let title = "entry to exit, likely on the dearest path";
                measurement.push_total("once-through-likely-most", title, likely);
            }
            let text =
                "from entry to exit each loop is passed once, and called functions are left out";
            measurement.findings.push(Finding::new(Severity::Note, "once-through", text));
        }
        None => {
            let text = "the function never returns";
            measurement.findings.push(Finding::new(Severity::Note, "never-returns", text));
        }
    }
    let Some(run) = totals.run else { return };
    measurement.push_total("calls", "calls", Quantity::exact(run.count, Unit::COUNT));
    let cycles = seen::cycles(&run);
    measurement.push_total(ids::total::CYCLES, "cycles of the run", cycles.clone());
    let busy = seen::busy(&run);
    if let Some(chip) = simulated::cycles_on_a_chip(&report.core, &report.board, &run, busy) {
        measurement.push_total(ON_A_CHIP, "cycles on a chip", chip);
    }
    measurement.coverage = Coverage { seen: Some(cycles), ..Coverage::default() };
}

/// A model's average within a range.
fn figure(range: CycleRange, likely: Option<f64>) -> Option<Quantity> {
    let likely = likely?;
    let (low, high) = (range.min as f64, range.max as f64);
    let why = Some(WHY.to_owned());
    let trust = Trust::Modelled { low: low.min(likely).into(), high: high.max(likely).into(), why };
    Quantity::new(Some(likely.into()), Unit::CYCLES, trust).ok()
}

/// The columns of a range, whose ids begin with a name.
fn columns(prefix: &str) -> [Column; 4] {
    let titles = ["min", "max", "likely", "likely most"];
    let ids = ["min", "max", "likely", "likely-most"];
    std::array::from_fn(|n| {
        let id = format!("{prefix}-{}", ids[n]);
        let column = Column::figure(&id, titles[n], Unit::CYCLES);
        if n == 3 { column.worth(0) } else { column }
    })
}

fn cells(range: CycleRange) -> [Cell; 4] {
    let likely = |likely| figure(range, likely).map_or(Cell::Empty, Cell::from);
    [range.min.into(), range.max.into(), likely(range.likely), likely(range.likely_most)]
}

/// What a run saw: how often, how often the flow changed, cycles.
fn run_columns(what: &str) -> [Column; 3] {
    let cycles = Column::figure("run-cycles", "cycles in all", Unit::CYCLES);
    [count("runs", what), count("taken", "taken").worth(0), cycles]
}

fn run_cells(run: Option<&RunCycles>) -> [Cell; 3] {
    let Some(run) = run else { return [const { Cell::Empty }; 3] };
    [run.count.into(), run.jumped.into(), seen::cycles(run).into()]
}

fn address(address: u32) -> Cell {
    Address(address.into()).into()
}

fn instructions(report: &CyclesReport) -> Table {
    let mut columns = vec![
        Column::address(ids::column::ADDRESS, "address"),
        Column::text(ids::column::BYTES, "bytes").worth(0),
        Column::text("instruction", "instruction"),
    ];
    columns.push(Column::text(ids::column::CYCLES, "cycles"));
    // The same for programs.
    columns.extend(self::columns("cycles").map(|column| column.worth(0)));
    columns.extend(run_columns("executed"));
    columns.extend([
        Column::text("note", "note").worth(1),
        Column::text("made-of", "made of"),
        Column::text("file", "file").worth(0),
        count("line", "line").worth(0),
        Column::text("inlined", "inlined").worth(0),
        Column::text("source", "source").worth(0),
    ]);
    let mut table = Table::new(columns);
    for instruction in &report.instructions {
        let source = instruction.source.as_ref();
        let [min, max, likely, most] = cells(instruction.cycles);
        let [runs, taken, cycles] = run_cells(instruction.run.as_ref());
        table.row([
            address(instruction.address),
            instruction.bytes.as_str().into(),
            instruction.text.as_str().into(),
            instruction.cycles.to_string().into(),
            min,
            max,
            likely,
            most,
            runs,
            taken,
            cycles,
            instruction.note.clone().into(),
            made_of(instruction).into(),
            source.map(|source| source.file.clone()).into(),
            source.map(|source| source.line).into(),
            source.and_then(|source| source.inlined.clone()).into(),
            source.and_then(|source| source.text.clone()).into(),
        ]);
    }
    table
}

/// `1 execute (+ 2 pipeline refill + ~1.5 (1-3) fetch wait if taken)`.
fn made_of(instruction: &InstructionCycles) -> String {
    let groups = instruction.causes.chunk_by(|a, b| a.when == b.when).map(|group| {
        let amounts = group.iter().map(|part| format!("{} {}", part.cycles, part.cause.name()));
        let amounts = amounts.collect::<Vec<_>>().join(" + ");
        match group.first().and_then(|part| part.when.as_deref()) {
            Some(when) => format!("(+ {amounts} {when})"),
            None => amounts,
        }
    });
    let parts = groups.collect::<Vec<_>>().join(" ");
    match &instruction.note {
        Some(note) => format!("{parts}; {note}"),
        None => parts,
    }
}

fn causes(report: &CyclesReport) -> Table {
    let mut columns = vec![
        Column::address(ids::column::ADDRESS, "address"),
        Column::text(ids::column::CAUSE, "cause"),
        Column::text("when", "when"),
    ];
    columns.extend(self::columns("cycles"));
    let mut table = Table::new(columns);
    for instruction in &report.instructions {
        for part in &instruction.causes {
            let [min, max, likely, most] = cells(part.cycles);
            table.row([
                address(instruction.address),
                part.cause.name().into(),
                part.when.clone().into(),
                min,
                max,
                likely,
                most,
            ]);
        }
    }
    table
}

fn blocks(report: &CyclesReport) -> Table {
    let mut columns = vec![Column::address("first", "first"), Column::address("last", "last")];
    columns.extend(self::columns("cycles"));
    columns.extend(run_columns("ran"));
    let mut table = Table::new(columns);
    for block in &report.blocks {
        let [min, max, likely, most] = cells(block.cycles);
        let [runs, taken, cycles] = run_cells(block.run.as_ref());
        let (first, last) = (address(block.first), address(block.last));
        table.row([first, last, min, max, likely, most, runs, taken, cycles]);
    }
    table
}

fn loops(report: &CyclesReport) -> Table {
    let mut columns = vec![
        Column::address("header", "loop"),
        Column::address("back-edge", "back from"),
        count("depth", "depth"),
    ];
    columns.extend(self::columns("iteration"));
    columns.extend(run_columns("iterations"));
    let mut table = Table::new(columns);
    for l in &report.loops {
        let [min, max, likely, most] = cells(l.per_iteration);
        let [runs, taken, cycles] = run_cells(l.run.as_ref());
        table.row([
            address(l.header),
            address(l.back_edge),
            l.depth.into(),
            min,
            max,
            likely,
            most,
            runs,
            taken,
            cycles,
        ]);
    }
    table
}
