//! Threads and interrupts: whose the cycles were, how late who came to run, and the worst cases.

use std::io::{self, Write};

use strobe_model::{Extreme, Record, Scheduling};

use super::layout::{heading, item};
use crate::Options;
use crate::figure::{Mark, Marks};
use crate::number::{cycles_to_time, grouped, share};
use crate::paint::Paint;
use crate::table::{Cell, Table};

/// The table in a summary: only where there is more than one thread.
pub(super) fn summary(record: &Record, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    match &record.scheduling {
        Some(scheduling) if scheduling.threads.len() > 1 || scheduling.rtos.is_some() => {
            times(record, scheduling, options, out)
        }
        _ => Ok(()),
    }
}

/// The profile by thread and interrupt, with latencies and worst cases.
///
/// # Errors
/// Those of `out`.
pub fn threads(record: &Record, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let Some(scheduling) = &record.scheduling else {
        heading("threads and interrupts: this instrument does not tell them apart", options, out)?;
        return Ok(());
    };
    times(record, scheduling, options, out)?;
    wakes(record, scheduling, options, out)?;
    worst(record, scheduling, options, out)
}

/// One row of the table of times.
struct Row<'a> {
    name: String,
    busy: u64,
    runs: u64,
    gave_up: u64,
    preempted: u64,
    longest: Option<&'a Extreme>,
    priority: Option<i64>,
}

fn rows<'a>(record: &'a Record, scheduling: &'a Scheduling) -> Vec<Row<'a>> {
    let threads = scheduling.threads.iter().map(|t| Row {
        name: format!("thread {}", t.name),
        busy: t.busy(),
        runs: t.runs,
        gave_up: t.gave_up,
        preempted: t.preempted,
        longest: t.longest_run.as_ref(),
        priority: t.priority,
    });
    let interrupts = record.exceptions.iter().map(|e| Row {
        name: format!("interrupt {}", e.name),
        busy: e.busy(),
        runs: e.count,
        gave_up: 0,
        preempted: 0,
        longest: e.longest_run.as_ref(),
        priority: None,
    });
    let mut rows: Vec<Row> = threads.chain(interrupts).collect();
    rows.sort_by(|a, b| b.busy.cmp(&a.busy).then_with(|| a.name.cmp(&b.name)));
    rows
}

fn times(
    record: &Record,
    scheduling: &Scheduling,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let parts = scheduling.balance.parts();
    let marks = Marks::of(&record.trust);
    let mark = marks.general;
    let system = match &scheduling.rtos {
        Some(rtos) if rtos.understood => format!("; {}", rtos.name),
        _ => String::new(),
    };
    heading(
        &format!(
            "threads and interrupts: busy cycles of their own, shares of all {} cycles{system}",
            mark.figure(parts.taken)
        ),
        options,
        out,
    )?;
    let mut table = Table::new()
        .number("busy")
        .number("share")
        .number("runs")
        .number("gave up")
        .optional(0)
        .number("preempted")
        .optional(1)
        .number("longest run")
        .number("prio.")
        .text("name")
        .room(28);
    let rows = rows(record, scheduling);
    let some = |n: u64| if n > 0 { marks.count(n) } else { String::new() };
    for row in &rows {
        let longest = row.longest.map_or_else(String::new, |l| mark.figure(l.cycles));
        let cells: [String; 8] = [
            mark.figure(row.busy),
            share(row.busy, parts.taken),
            some(row.runs),
            some(row.gave_up),
            some(row.preempted),
            longest,
            row.priority.map_or_else(String::new, |p| p.to_string()),
            row.name.clone(),
        ];
        table.row(cells.map(Cell::from).into());
    }
    table.rule();
    let busy = parts.taken.saturating_sub(parts.idle).saturating_sub(parts.lost);
    let sums = [
        (busy, "busy", Paint::Strong),
        (parts.idle, "idle", Paint::Idle),
        (parts.taken, "all cycles", Paint::Strong),
    ];
    for (n, name, paint) in sums {
        let mut cells: Vec<Cell> = vec![mark.figure(n).into(), share(n, parts.taken).into()];
        cells.extend([""; 5].map(Cell::from));
        cells.push(name.into());
        table.painted(cells, paint);
    }
    table.write(options.style, out)?;
    notes(scheduling, options, out)
}

/// What could not be told.
fn notes(scheduling: &Scheduling, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    for (why, n) in &scheduling.balance.parts().unattributed {
        item("! ", &format!("{} cycles: {why}", grouped(*n)), Paint::Warn, options, out)?;
    }
    for note in scheduling.rtos.iter().flat_map(|rtos| &rtos.notes) {
        item("! ", note, Paint::Warn, options, out)?;
    }
    Ok(())
}

fn wakes(
    record: &Record,
    scheduling: &Scheduling,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let threads = &scheduling.threads;
    if threads.iter().all(|t| t.wake.count + t.wakes_unknown == 0) {
        return Ok(());
    }
    heading(
        "wake-up to run: cycles from what woke a thread up to its first instruction",
        options,
        out,
    )?;
    let marks = Marks::of(&record.trust);
    let mark = marks.general;
    let mut table = Table::new()
        .number("woken up")
        .number("min")
        .number("mean")
        .number("max")
        .number("as time")
        .number("max at")
        .optional(0)
        .number("moment unknown")
        .text("thread");
    for thread in threads.iter().filter(|t| t.wake.count + t.wakes_unknown > 0) {
        let wake = &thread.wake;
        let figure = |n: u64| if wake.count > 0 { mark.figure(n) } else { "-".to_owned() };
        let max = wake.max.as_ref();
        let unknown = thread.wakes_unknown;
        let cells: [String; 8] = [
            marks.count(wake.count),
            figure(wake.min),
            figure(wake.sum.checked_div(wake.count).unwrap_or(0)),
            figure(max.map_or(0, |max| max.cycles)),
            max.map_or_else(String::new, |max| duration(record, max, mark)),
            max.map_or_else(String::new, |max| mark.time(max.at.nanoseconds)),
            if unknown > 0 { marks.count(unknown) } else { String::new() },
            thread.name.clone(),
        ];
        table.row(cells.map(Cell::from).into());
    }
    table.write(options.style, out)
}

/// How long an extreme was, by the clock when it ended.
fn duration(record: &Record, extreme: &Extreme, mark: Mark) -> String {
    let spans = record.subject.clock.iter();
    let clock = spans.rev().find(|span| span.cycle <= extreme.at.cycle);
    let time = clock.and_then(|span| cycles_to_time(extreme.cycles, span.hz));
    time.map_or_else(String::new, |time| format!("{}{time}", mark.sign()))
}

fn worst(
    record: &Record,
    scheduling: &Scheduling,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let place = |extreme: &Extreme| match &extreme.function {
        Some(function) => format!("{function} ({})", extreme.address),
        None => extreme.address.clone(),
    };
    let mut lines: Vec<(&Extreme, String)> = Vec::new();
    for thread in &scheduling.threads {
        let name = &thread.name;
        // Where nobody else ran, the longest run is the whole one.
        let alone = thread.runs + thread.gave_up + thread.preempted == 0;
        if let Some(run) = thread.longest_run.as_ref().filter(|_| !alone) {
            lines.push((run, format!("longest run of thread {name}, stopped in {}", place(run))));
        }
        if let Some(wake) = &thread.wake.max {
            let text = format!(
                "latest run of thread {name} after wake-up, took over from {}",
                place(wake)
            );
            lines.push((wake, text));
        }
    }
    for e in &record.exceptions {
        if let Some(run) = &e.longest_run {
            lines.push((run, format!("longest run of {}, interrupted {}", e.name, place(run))));
        }
        if let Some(latency) = &e.latency_worst {
            let text = format!("longest latency of {}, interrupted {}", e.name, place(latency));
            lines.push((latency, text));
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    heading("worst cases: when they ended, and where", options, out)?;
    let mark = Marks::of(&record.trust).general;
    let mut table = Table::new()
        .number("cycles")
        .number("as time")
        .number("at")
        .number("cycle")
        .optional(0)
        .text("what")
        .wrapping();
    for (extreme, what) in lines {
        let cells: [String; 5] = [
            mark.figure(extreme.cycles),
            duration(record, extreme, mark),
            mark.time(extreme.at.nanoseconds),
            mark.figure(extreme.at.cycle),
            what,
        ];
        table.row(cells.map(Cell::from).into());
    }
    table.write(options.style, out)
}
