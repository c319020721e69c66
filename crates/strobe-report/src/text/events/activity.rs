//! Who ran and what happened meanwhile: threads, interrupts, transfers, timers, calls.

use std::io::{self, Write};

use strobe_model::{Distribution, EventsReport, ThreadSeen, ThreadsSeen};

use super::super::capture::cells;
use super::super::layout::{heading, item};
use super::{EventsShow, more, topmost};
use crate::Options;
use crate::number::{counted, grouped, share, time};
use crate::paint::Paint;
use crate::table::{Cell, Table};

/// A thread as people call it.
pub(super) fn thread_name(id: i64, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{name} ({id})"),
        None => format!("thread {id}"),
    }
}

pub(super) fn threads(
    report: &EventsReport,
    show: &EventsShow,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(threads) = &report.threads else { return Ok(()) };
    let of = if report.window.is_some() { "the measured time" } else { "the trace" };
    heading(&format!("threads: {} is {}", of, time(threads.total_ns.into())), options, out)?;
    let mut table = Table::new().number("runs").number("time").number("share").text("thread");
    let ran: Vec<&ThreadSeen> =
        threads.threads.iter().filter(|t| t.runs + t.unannounced_runs > 0).collect();
    let (shown, left) = topmost(&ran, show.top);
    for thread in shown {
        let ns = thread.running_ns.saturating_add(thread.unannounced_ns);
        let mut name = thread_name(thread.id, thread.name.as_deref());
        if thread.unannounced_runs > 0 {
            name += &format!(
                ", {} in {} it was not seen to start",
                time(thread.unannounced_ns.into()),
                counted(thread.unannounced_runs, "run")
            );
        }
        table.row(vec![
            grouped(thread.runs + thread.unannounced_runs).into(),
            time(ns.into()).into(),
            share(ns, threads.total_ns).into(),
            name.into(),
        ]);
    }
    let rest: u64 = ran[shown.len()..].iter().map(|t| t.running_ns + t.unannounced_ns).sum();
    sums(&mut table, threads, left, rest);
    table.write(options.style, out)?;
    // Tracers that tell of both in one event have none.
    if let Some(gaps) = threads.gaps.as_ref().filter(|gaps| gaps.max > 0) {
        let text = format!(
            "from one thread's stop to the next one's start: mean {}, {} to {}, 99 % within {} ({})",
            time(gaps.mean.into()),
            time(gaps.min.into()),
            time(gaps.max.into()),
            time(gaps.p99.into()),
            counted(gaps.count, "time")
        );
        item("", &text, Paint::Plain, options, out)?;
    }
    Ok(())
}

fn sums(table: &mut Table, threads: &ThreadsSeen, left: usize, rest: u64) {
    let mut line = |ns: u64, what: String, paint: Paint| {
        let cells = vec![
            "".into(),
            time(ns.into()).into(),
            share(ns, threads.total_ns).into(),
            what.into(),
        ];
        table.painted(cells, paint);
    };
    if left > 0 {
        line(rest, counted(left as u64, "other thread"), Paint::Plain);
    }
    line(threads.switching_ns, "between threads".to_owned(), Paint::Faint);
    line(threads.unknown_ns, "not known who ran".to_owned(), Paint::Faint);
    table.rule();
    let total =
        vec!["".into(), time(threads.total_ns.into()).into(), "100.0 %".into(), "all".into()];
    table.painted(total, Paint::Strong);
}

/// A table of distributions, with columns in front and the name behind.
fn spreads(in_front: &[&'static str], last: &'static str) -> Table {
    let mut table = Table::new();
    for head in in_front {
        table = table.number(*head);
    }
    table = table.number("n").number("min").number("mean").number("median").number("p90");
    table = table.optional(1).number("p99").number("max").number("dev.").optional(0);
    table.text(last)
}

fn spread(durations: Option<&Distribution>) -> Vec<Cell> {
    cells(durations, |ns| time(ns.into()))
}

pub(super) fn interrupts(
    report: &EventsReport,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    if report.interrupts.is_empty() {
        return Ok(());
    }
    heading("interrupts: from entry to exit, what interrupted them included", options, out)?;
    let mut table = spreads(&["entered"], "interrupt");
    for interrupt in &report.interrupts {
        let mut line: Vec<Cell> = vec![grouped(interrupt.entered).into()];
        line.extend(spread(interrupt.durations.as_ref()));
        line.push(interrupt.number.to_string().into());
        table.row(line);
    }
    table.write(options.style, out)?;
    let enters: u64 = report.interrupts.iter().map(|i| i.unmatched_enters).sum();
    let exits: u64 = report.interrupts.iter().map(|i| i.unmatched_exits).sum();
    let nesting = report.nesting;
    let text = format!("at most {nesting} inside one another");
    item("", &text, Paint::Plain, options, out)?;
    if enters + exits > 0 {
        let text = format!(
            "entries without an exit: {}, exits without an entry: {}; the trace lacks events",
            grouped(enters),
            grouped(exits)
        );
        item("! ", &text, Paint::Warn, options, out)?;
    }
    Ok(())
}

pub(super) fn transfers(
    report: &EventsReport,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    if report.transfers.is_empty() {
        return Ok(());
    }
    heading("transfers: from beginning to end", options, out)?;
    let mut table = spreads(&["begun", "ended", "bytes"], "interface");
    for transfer in &report.transfers {
        let mut line: Vec<Cell> =
            [transfer.starts, transfer.ends, transfer.bytes].map(|n| grouped(n).into()).into();
        line.extend(spread(transfer.durations.as_ref()));
        line.push(format!("{} {}", transfer.interface, transfer.direction).into());
        table.row(line);
    }
    table.write(options.style, out)?;
    let starts: u64 = report.transfers.iter().map(|t| t.unmatched_starts).sum();
    let ends: u64 = report.transfers.iter().map(|t| t.unmatched_ends).sum();
    if starts + ends > 0 {
        let text = format!(
            "without an end, or begun again before it: {}, without a beginning: {}; they are not in the times",
            grouped(starts),
            grouped(ends)
        );
        item("! ", &text, Paint::Warn, options, out)?;
    }
    Ok(())
}

pub(super) fn timers(
    report: &EventsReport,
    show: &EventsShow,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    if report.timers.is_empty() {
        return Ok(());
    }
    heading("timers", options, out)?;
    let mut table = spreads(&["started", "stopped"], "timer");
    let (shown, left) = topmost(&report.timers, show.top);
    for timer in shown {
        let mut line: Vec<Cell> = [timer.starts, timer.stops].map(|n| grouped(n).into()).into();
        line.extend(spread(timer.durations.as_ref()));
        line.push(timer.name.as_str().into());
        table.row(line);
    }
    table.write(options.style, out)?;
    more(left, "timer", options, out)
}

pub(super) fn functions(
    report: &EventsReport,
    show: &EventsShow,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(functions) = &report.functions else { return Ok(()) };
    heading(
        "functions: as instrumented code told; times include what they called, and the telling",
        options,
        out,
    )?;
    let mut table = Table::new().number("entered").number("share").number("left").number("matched");
    table = table.number("total").number("mean").number("max").text("function").room(30);
    let (shown, left) = topmost(&functions.functions, show.top);
    for function in shown {
        let mean = function.total_ns.checked_div(function.calls);
        let timed = |ns: u64| if function.calls == 0 { "-".to_owned() } else { time(ns.into()) };
        table.row(vec![
            grouped(function.enters).into(),
            share(function.enters, functions.enters).into(),
            grouped(function.exits).into(),
            grouped(function.calls).into(),
            timed(function.total_ns).into(),
            timed(mean.unwrap_or(0)).into(),
            timed(function.max_ns).into(),
            function.name.clone().unwrap_or_else(|| format!("{:#010x}", function.address)).into(),
        ]);
    }
    table.write(options.style, out)?;
    more(left, "function", options, out)?;
    let text = format!(
        "functions entered: {}; entries {}, exits {}; calls of which both are there {}, entries without an exit {}, exits without an entry {}",
        grouped(functions.entered_functions),
        grouped(functions.enters),
        grouped(functions.exits),
        grouped(functions.calls),
        grouped(functions.unmatched_enters),
        grouped(functions.unmatched_exits)
    );
    item("", &text, Paint::Plain, options, out)
}
