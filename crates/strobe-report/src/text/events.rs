//! A trace of events: what it is, its events by kind, and what those of known meaning say.

mod activity;
mod memory;

use std::io::{self, Write};

use strobe_model::{EventsReport, MarkedWindow, StreamSummary};

use super::capture::notes;
use super::layout::{fields, heading, item};
use crate::Options;
use crate::number::{counted, grouped, moment, share, time};
use crate::paint::Paint;
use crate::table::Table;
use crate::words::clean;

/// Losses and undecodable places that are listed.
const LISTED: usize = 10;

/// What is shown of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventsShow {
    /// Rows of each table; 0 for all.
    pub top: usize,
}

/// A trace of events.
///
/// # Errors
/// Those of `out`.
pub fn events(
    report: &EventsReport,
    show: &EventsShow,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    title(report, options, out)?;
    kinds(report, show, options, out)?;
    activity::threads(report, show, options, out)?;
    activity::interrupts(report, options, out)?;
    activity::transfers(report, options, out)?;
    activity::timers(report, show, options, out)?;
    activity::functions(report, show, options, out)?;
    memory::stacks(report, show, options, out)?;
    memory::heap(report, show, options, out)?;
    missing(report, options, out)?;
    notes(&report.notes, options, out)
}

/// `rows` of them, or all for 0, and how many are left out.
fn topmost<T>(rows: &[T], top: usize) -> (&[T], usize) {
    let shown = if top == 0 { rows.len() } else { top.min(rows.len()) };
    (&rows[..shown], rows.len() - shown)
}

/// That rows were left out.
fn more(left: usize, what: &str, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    if left == 0 {
        return Ok(());
    }
    let text = format!("and {}; --top 0 shows all", counted(left as u64, &format!("more {what}")));
    item("", &text, Paint::Faint, options, out)
}

/// A moment since the trace's first event, in seconds.
fn since(report: &EventsReport, at: i64) -> String {
    let first = report.trace.first_ns.unwrap_or(0);
    let picoseconds = at.saturating_sub(first).saturating_mul(1000);
    if picoseconds == i64::MAX || picoseconds == i64::MIN {
        return "-".to_owned();
    }
    format!("{} s", moment(picoseconds, 6))
}

fn title(report: &EventsReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let trace = &report.trace;
    let events: u64 = trace.streams.iter().map(|stream| stream.events).sum();
    let mut title =
        format!("{}: {}, {}", clean(&trace.file), trace.format, counted(events, "event"));
    if let (Some(first), Some(last)) = (trace.first_ns, trace.last_ns) {
        let span = u128::from(last.abs_diff(first));
        title += &format!(" in {}", time(span));
    }
    writeln!(out, "{}", Paint::Strong.on(&title, options.style))?;
    let mut lines: Vec<(&str, String)> = Vec::new();
    if let Some(clock) = &trace.clock {
        let precision = match clock.precision_ns {
            0 => String::new(),
            ns => format!(", right to {} as the trace says", time(ns.into())),
        };
        let hz = grouped(clock.hz);
        lines.push(("clock", format!("{} of {hz} Hz{precision}", clean(&clock.name))));
    }
    if let Some(first) = trace.first_ns {
        let at = moment(first.saturating_mul(1000), 9);
        let at = if first.checked_mul(1000).is_some() { at } else { format!("{first} ns, not") };
        lines.push(("begins", format!("at {at} s of that clock; times below count from there")));
    }
    if let Some(window) = &report.window {
        lines.push(("measured", measured(report, window)));
    }
    let environment = trace.environment.iter().map(|(name, value)| format!("{name} {value}"));
    let environment = environment.collect::<Vec<_>>().join(", ");
    if !environment.is_empty() {
        lines.push(("environment", environment));
    }
    for stream in &trace.streams {
        lines.push(("stream", balance(stream)));
    }
    fields(&lines, options, out)
}

/// What marks enclose.
fn measured(report: &EventsReport, window: &MarkedWindow) -> String {
    let total = time(window.total_ns.into());
    let parts = if window.parts == 1 {
        format!(
            "{total}, from {} to {}",
            since(report, window.from_ns),
            since(report, window.to_ns)
        )
    } else {
        format!("{total} in {}", counted(window.parts, "part"))
    };
    let mut text = format!(
        "{parts}: {} and {}",
        counted(window.starts, "start mark"),
        counted(window.stops, "stop mark")
    );
    if window.repeated > 0 {
        text += &format!(", {} of them repeated", grouped(window.repeated));
    }
    if window.open {
        text += "; the last part has no end mark and ends with the trace";
    }
    text
}

/// What became of a stream's bytes.
fn balance(stream: &StreamSummary) -> String {
    let mut text = format!(
        "{}: {} = {} of {}",
        clean(&stream.file),
        counted(stream.bytes, "byte"),
        grouped(stream.packet_bytes),
        counted(stream.packets, "packet")
    );
    if stream.mark_bytes > 0 {
        text += &format!(" + {} of the tracer's mark", grouped(stream.mark_bytes));
    }
    text + &format!(" + {} not understood", grouped(stream.undecodable_bytes))
}

fn kinds(
    report: &EventsReport,
    show: &EventsShow,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    heading("events", options, out)?;
    let total: u64 = report.kinds.iter().map(|kind| kind.count).sum();
    let mut table = Table::new().number("events").number("share").number("first").number("last");
    table = table.number("per second").optional(1).text("event").text("taken for");
    let (shown, left) = topmost(&report.kinds, show.top);
    for kind in shown {
        let at = |at: Option<i64>| at.map_or("-".to_owned(), |at| since(report, at));
        let span = kind.last_ns.zip(kind.first_ns).map(|(last, first)| last.abs_diff(first));
        let rate = match span {
            // So many intervals, one fewer than there are events.
            Some(span @ 1..) if kind.count > 1 => {
                format!("{:.1}", (kind.count - 1) as f64 * 1e9 / span as f64)
            }
            _ => "-".to_owned(),
        };
        table.row(vec![
            grouped(kind.count).into(),
            share(kind.count, total).into(),
            at(kind.first_ns).into(),
            at(kind.last_ns).into(),
            rate.into(),
            kind.name.as_str().into(),
            kind.meaning.as_deref().unwrap_or("-").into(),
        ]);
    }
    if left == 0 {
        table.rule();
        let mut sum = vec![grouped(total).into()];
        sum.extend(["100.0 %", "", "", "", "all", ""].map(crate::table::Cell::from));
        table.painted(sum, Paint::Strong);
    }
    table.write(options.style, out)?;
    more(left, "kind", options, out)?;
    if let Some(pauses) = &report.pauses {
        let text = format!(
            "the tracer did something else {} ({} begun, {} ended), for {} together",
            counted(pauses.pairs, "time"),
            grouped(pauses.starts),
            grouped(pauses.stops),
            time(pauses.total_ns.into())
        );
        item("", &text, Paint::Plain, options, out)?;
    }
    Ok(())
}

/// What was lost, and what was not understood.
fn missing(report: &EventsReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    if !report.losses.is_empty() {
        let events: u64 = report.losses.iter().map(|loss| loss.events).fold(0, u64::saturating_add);
        let packets: u64 =
            report.losses.iter().map(|loss| loss.packets).fold(0, u64::saturating_add);
        let text = format!(
            "lost: {} and {} that the tracer left out",
            counted(events, "event"),
            counted(packets, "packet")
        );
        heading(&text, options, out)?;
        let mut table =
            Table::new().number("events").number("packets").number("after").number("until");
        table = table.text("stream");
        let (shown, left) = topmost(&report.losses, LISTED);
        for loss in shown {
            let at = |at: Option<i64>| at.map_or("-".to_owned(), |at| since(report, at));
            table.row(vec![
                grouped(loss.events).into(),
                grouped(loss.packets).into(),
                at(loss.from_ns).into(),
                at(loss.to_ns).into(),
                loss.stream.as_str().into(),
            ]);
        }
        table.write(options.style, out)?;
        unlisted(left, options, out)?;
    }
    if report.undecodable.is_empty() {
        return Ok(());
    }
    heading("not understood", options, out)?;
    let mut table = Table::new().number("bytes").number("from byte").text("stream").text("why");
    table = table.wrapping();
    let (shown, left) = topmost(&report.undecodable, LISTED);
    for bad in shown {
        table.row(vec![
            grouped(bad.bytes).into(),
            grouped(bad.at).into(),
            bad.stream.as_str().into(),
            bad.why.as_str().into(),
        ]);
    }
    table.write(options.style, out)?;
    unlisted(left, options, out)
}

fn unlisted(left: usize, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    if left == 0 {
        return Ok(());
    }
    let text = format!("and {}; the JSON form has them", counted(left as u64, "more place"));
    item("", &text, Paint::Faint, options, out)
}
