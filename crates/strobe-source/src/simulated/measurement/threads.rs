//! Tables of threads: whose the cycles were, their stacks, the worst cases.

use std::cmp::Reverse;
use strobe_model::measurement::ids;

use crate::simulated::run_record::{Extreme, RunRecord, Scheduling, StackMark, ThreadStatistics};
use strobe_model::measurement::{
    Address, Cell, Column, Content, Fact, Quantity, Section, Table, Trust, Unit,
};

use super::{Model, address, duration_at, section};

/// The operating system, and how deep the stack got where all code shares one and it is known to
/// the byte.
pub(super) fn facts(record: &RunRecord) -> Vec<Fact> {
    let Some(scheduling) = &record.scheduling else { return Vec::new() };
    let mut out = Vec::new();
    if let Some(system) = scheduling.rtos.as_ref().filter(|system| system.understood) {
        out.push(Fact::text("operating system", &system.name));
    }
    if let ([thread], true) =
        (&scheduling.threads[..], record.machine.conventions().stack_is_followed)
        && let Some(bytes) = stack_bytes(thread)
    {
        out.push(Fact::figure("stack", Quantity::exact(bytes, Unit::BYTES)));
    }
    out
}

fn stack_bytes(thread: &ThreadStatistics) -> Option<u64> {
    let (low, top) = (address(&thread.stack.0)?, address(&thread.stack.1)?);
    top.0.checked_sub(low.0)
}

/// A row of the table of threads and interrupts.
struct Row<'a> {
    kind: &'a str,
    name: &'a str,
    busy: u64,
    idle: u64,
    runs: u64,
    gave_up: u64,
    preempted: u64,
    longest: Option<&'a Extreme>,
    priority: Option<i64>,
    wakes_unknown: u64,
}

fn rows<'a>(record: &'a RunRecord, scheduling: &'a Scheduling) -> Vec<Row<'a>> {
    let threads = scheduling.threads.iter().map(|t| Row {
        kind: "thread",
        name: &t.name,
        busy: t.busy(),
        idle: t.idle,
        runs: t.runs,
        gave_up: t.gave_up,
        preempted: t.preempted,
        longest: t.longest_run.as_ref(),
        priority: t.priority,
        wakes_unknown: t.wakes_unknown,
    });
    let interrupts = record.exceptions.iter().map(|e| Row {
        kind: "handler",
        name: &e.name,
        busy: e.busy(),
        idle: e.idle,
        runs: e.count,
        gave_up: 0,
        preempted: 0,
        longest: e.longest_run.as_ref(),
        priority: None,
        wakes_unknown: 0,
    });
    let mut rows: Vec<Row> = threads.chain(interrupts).collect();
    rows.sort_by(|a, b| b.busy.cmp(&a.busy).then_with(|| a.name.cmp(b.name)));
    rows
}

/// Whose the cycles were. The footer has what they add up to.
pub(super) fn threads(record: &RunRecord, model: &Model) -> Option<Section> {
    let scheduling = record.scheduling.as_ref()?;
    let parts = scheduling.balance.parts();
    let count = |id: &str, title: &str| Column::figure(id, title, Unit::COUNT);
    let mut table = Table::new(vec![
        Column::figure("busy", "busy", Unit::CYCLES).of(parts.taken),
        Column::figure("idle", "idle", Unit::CYCLES).worth(0),
        count("runs", "runs"),
        count("gave-up", "gave up").worth(2),
        count("preempted", "preempted").worth(3),
        Column::figure("longest-run", "longest run", Unit::CYCLES),
        count("wakes-unknown", "woken, moment unknown").worth(1),
        count("priority", "prio."),
        Column::text(ids::column::KIND, ""),
        Column::text("name", "name"),
    ]);
    let some = |n: u64| Cell::from((n > 0).then(|| model.times(n)));
    for row in rows(record, scheduling) {
        table.row([
            model.cell(row.busy),
            if row.idle > 0 { model.cell(row.idle) } else { Cell::Empty },
            some(row.runs),
            some(row.gave_up),
            some(row.preempted),
            row.longest.map(|longest| model.cell(longest.cycles)).into(),
            some(row.wakes_unknown),
            row.priority.into(),
            row.kind.into(),
            row.name.into(),
        ]);
    }
    let busy = parts.taken.saturating_sub(parts.idle).saturating_sub(parts.lost.known());
    for (n, name) in [(busy, "busy"), (parts.idle, "idle"), (parts.taken, "all cycles")] {
        let mut cells = vec![model.cell(n)];
        cells.resize(table.columns.len() - 1, Cell::Empty);
        cells.push(name.into());
        table.footer.push(cells);
    }
    let system = scheduling.rtos.as_ref().filter(|system| system.understood);
    let system = system.map_or_else(String::new, |system| format!("; {}", system.name));
    let title =
        format!("threads and interrupts: busy cycles of their own, shares of all cycles{system}");
    Some(section(ids::section::THREADS, title, Content::Table(table)))
}

/// Wake-ups in short, of a record that does not have their distributions.
pub(super) fn wake_up_times(record: &RunRecord, model: &Model) -> Option<Section> {
    let threads = &record.scheduling.as_ref()?.threads;
    let short = |thread: &&ThreadStatistics| {
        thread.wake.count > 0 && thread.wake.spread.count() != thread.wake.count
    };
    let cycles = |id: &str| Column::figure(id, id, Unit::CYCLES);
    let mut table = Table::new(vec![
        Column::figure("count", "woken up", Unit::COUNT),
        cycles("min"),
        cycles("mean"),
        cycles("max"),
        Column::text("thread", "thread"),
    ]);
    for thread in threads.iter().filter(short) {
        let wake = &thread.wake;
        let max = wake.max.as_ref().map(|max| model.cell(max.cycles));
        table.row([
            model.times(wake.count),
            model.cell(wake.min),
            model.mean(wake.sum, wake.count),
            max.into(),
            thread.name.as_str().into(),
        ]);
    }
    let title = "wake-up to run: cycles from what woke a thread up to its first instruction";
    (!table.is_empty()).then(|| section(ids::section::WAKE_UP_TIMES, title, Content::Table(table)))
}

/// The stack that came nearest to its end or, where no end is known, the deepest.
pub(super) fn deepest(record: &RunRecord) -> Option<(&str, &StackMark)> {
    let threads = record.scheduling.as_ref()?.threads.iter();
    let marks = threads.filter_map(|t| Some((t.name.as_str(), t.deepest.as_ref()?)));
    marks.min_by_key(|(_, mark)| (mark.margin().unwrap_or(u64::MAX), Reverse(mark.bytes)))
}

/// A figure that follows from where a stack ends: at most so much if other stacks are in the same
/// variable.
fn of_size(mark: &StackMark, bytes: Option<u64>) -> Cell {
    match bytes {
        // Nothing can be less.
        Some(bytes) if mark.shares && bytes > 0 => {
            Cell::Figure { value: Some(bytes.into()), trust: Trust::AtMost }
        }
        bytes => bytes.into(),
    }
}

/// The part of each thread's stack that was in use.
pub(super) fn stacks(record: &RunRecord, model: &Model) -> Option<Section> {
    let threads = &record.scheduling.as_ref()?.threads;
    let mut table = Table::new(vec![
        Column::text("thread", "thread"),
        Column::address("low", "lowest").worth(2),
        Column::address(ids::column::TOP, "top").worth(2),
        Column::figure("size", "size", Unit::BYTES),
        Column::figure("used", "used", Unit::BYTES),
        Column::figure("margin", "margin", Unit::BYTES),
        Column::figure(ids::column::PAINTED, "used by its paint", Unit::BYTES).worth(2),
        Column::moment("at", "deepest at", Unit::NANOSECONDS).worth(3),
        Column::text("deepest", "deepest in").worth(4),
        Column::address("structure", "structure").worth(1),
        Column::figure("number", "number", Unit::COUNT).worth(0),
    ]);
    let known_to_the_byte = record.machine.conventions().stack_is_followed && threads.len() == 1;
    for thread in threads {
        let mark = thread.deepest.as_ref();
        let used = stack_bytes(thread).map(|bytes| match known_to_the_byte {
            _ if mark.is_some() => mark.map(|mark| mark.bytes).into(),
            true => Cell::from(bytes),
            // Looked at where the flow of control changes only.
            false => Cell::Figure { value: Some(bytes.into()), trust: Trust::AtLeast },
        });
        table.row([
            thread.name.as_str().into(),
            mark.map(|mark| Address(mark.low.into())).or(address(&thread.stack.0)).into(),
            address(&thread.stack.1).into(),
            mark.map_or(Cell::Empty, |mark| of_size(mark, mark.size())),
            used.into(),
            mark.map_or(Cell::Empty, |mark| of_size(mark, mark.margin())),
            mark.and_then(|mark| mark.painted).into(),
            mark.map(|mark| model.cell(mark.at.nanoseconds)).into(),
            mark.map(|mark| mark.chain.as_str()).into(),
            thread.structure.as_deref().and_then(address).into(),
            thread.id.into(),
        ]);
    }
    let scheduling = record.scheduling.as_ref();
    if let Some(mark) = scheduling.and_then(|scheduling| scheduling.handlers.as_ref()) {
        table.row([
            "interrupts".into(),
            Address(mark.low.into()).into(),
            Address(u64::from(mark.low) + mark.bytes).into(),
            mark.size().into(),
            mark.bytes.into(),
            mark.margin().into(),
            mark.painted.into(),
            model.cell(mark.at.nanoseconds),
            mark.chain.as_str().into(),
            Cell::Empty,
            Cell::Empty,
        ]);
    }
    // Few systems paint their stacks.
    table
        .columns
        .retain(|c| c.id != ids::column::PAINTED || c.cells.iter().any(|c| *c != Cell::Empty));
    let title = "stacks: the part of each that was in use";
    (!table.is_empty()).then(|| section(ids::section::STACKS, title, Content::Table(table)))
}

/// A worst case, in words, with where it was.
struct Worst {
    time: Extreme,
    what: String,
    /// What the place is to it.
    place: &'static str,
}

fn worst(record: &RunRecord) -> Vec<Worst> {
    let worst = |time: &Option<Extreme>, what: String, place: &'static str| {
        time.clone().map(|time| Worst { time, what, place })
    };
    let threads = record.scheduling.as_ref().map(|s| s.threads.as_slice()).unwrap_or_default();
    let of_threads = threads.iter().flat_map(|thread| {
        let name = &thread.name;
        // Where nobody else ran, the longest run is the whole one.
        let alone = [thread.runs, thread.gave_up, thread.preempted] == [0; 3];
        let run = worst(&thread.longest_run, format!("longest run of thread {name}"), "stopped in");
        let late = format!("latest run of thread {name} after wake-up");
        [run.filter(|_| !alone), worst(&thread.wake.max, late, "took over from")]
    });
    let of_interrupts = record.exceptions.iter().flat_map(|e| {
        let (run, late) =
            (format!("longest run of {}", e.name), format!("longest latency of {}", e.name));
        [worst(&e.longest_run, run, "interrupted"), worst(&e.latency_worst, late, "interrupted")]
    });
    of_threads.chain(of_interrupts).flatten().collect()
}

/// When each of them ended, and where.
pub(super) fn worst_cases(record: &RunRecord, model: &Model) -> Option<Section> {
    let mut table = Table::new(vec![
        Column::figure(ids::column::CYCLES, "cycles", Unit::CYCLES),
        Column::figure("time", "as time", Unit::NANOSECONDS),
        Column::figure("at", "at", Unit::NANOSECONDS),
        Column::figure("cycle", "cycle", Unit::CYCLES).worth(0),
        Column::address(ids::column::ADDRESS, "address").worth(1),
        Column::text(ids::column::WHAT, "what"),
    ]);
    for Worst { time, what, place } in worst(record) {
        let function = time.function.as_deref().unwrap_or(&time.address);
        table.row([
            model.cell(time.cycles),
            duration_at(record, time.cycles, time.at).map(|time| model.cell(time)).into(),
            model.cell(time.at.nanoseconds),
            model.cell(time.at.cycle),
            address(&time.address).into(),
            format!("{what}, {place} {function}").into(),
        ]);
    }
    let title = "worst cases: when they ended, and where";
    (!table.is_empty()).then(|| section(ids::section::WORST_CASES, title, Content::Table(table)))
}
