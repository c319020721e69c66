//! What a trace pin tells beside samples: exceptions, threads, counters, variables.

use std::io::{self, Write};

use strobe_model::{TimeBase, Traced};

use super::super::layout::heading;
use crate::Options;
use crate::number::{counted, grouped, ratio, share};
use crate::table::Table;

/// Unit of times: core cycles if they are known.
pub(super) fn unit(times: &TimeBase) -> &'static str {
    if times.tick_cycles.is_some() { "cycles" } else { "ticks" }
}

/// Handlers by number.
pub(super) fn exceptions(
    traced: &Traced,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    if traced.exceptions.is_empty() {
        return Ok(());
    }
    let unit = unit(&traced.times);
    let text = format!(
        "exceptions: {unit} of their own, without handlers that interrupted them, where entry and end are known to the tick; `at most` is \
         over those as well that timestamps give bounds for"
    );
    heading(&text, options, out)?;
    let mut table = Table::new()
        .number("entered")
        .number("left")
        .optional(1)
        .number("unmatched")
        .number("exact")
        .optional(1)
        .number("mean")
        .number("min")
        .number("max")
        .number("vague")
        .optional(0)
        .number("at most")
        .number("nested")
        .optional(0)
        .number("samples")
        .text("exception");
    let (shown, more) = traced.exceptions.split_at(traced.exceptions.len().min(MOST));
    for e in shown {
        let time = |n: u64| if e.timed > 0 { grouped(n) } else { "-".to_owned() };
        table.row(vec![
            grouped(e.entered).into(),
            grouped(e.left).into(),
            grouped(e.unmatched).into(),
            grouped(e.timed).into(),
            time(e.own.checked_div(e.timed).unwrap_or(0)).into(),
            time(e.shortest).into(),
            time(e.longest).into(),
            grouped(e.vague).into(),
            if e.timed + e.vague > 0 { grouped(e.at_most) } else { "-".to_owned() }.into(),
            grouped(e.depth.into()).into(),
            grouped(e.samples).into(),
            e.name.as_str().into(),
        ]);
    }
    table.write(options.style, out)?;
    and_more(more.len(), "exception", out)
}

/// Rows that are shown of what only noise has more of.
pub(super) const MOST: usize = 40;

pub(super) fn and_more(more: usize, what: &str, out: &mut dyn Write) -> io::Result<()> {
    if more == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "  and {} (--format json has them all)",
        counted(more as u64, &format!("more {what}"))
    )
}

/// Threads by the writes to their pointer.
pub(super) fn threads(traced: &Traced, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let told: Vec<_> = traced.threads.iter().filter(|thread| thread.runs > 0).collect();
    if told.is_empty() {
        return Ok(());
    }
    let unit = unit(&traced.times);
    heading(&format!("threads: {unit} from switch to switch, handlers included"), options, out)?;
    let all: u64 = told.iter().map(|thread| thread.cycles).sum();
    let mut table =
        Table::new().number("runs").number(unit).number("share").number("samples").text("thread");
    let (shown, more) = told.split_at(told.len().min(MOST));
    for thread in shown {
        table.row(vec![
            grouped(thread.runs).into(),
            grouped(thread.cycles).into(),
            share(thread.cycles, all).into(),
            grouped(thread.samples).into(),
            thread.name.as_str().into(),
        ]);
    }
    table.write(options.style, out)?;
    and_more(more.len(), "thread", out)
}

/// Event counters and their rates.
pub(super) fn counters(traced: &Traced, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    if traced.counters.is_empty() {
        return Ok(());
    }
    heading("event counters: each packet says that one has counted 256 more", options, out)?;
    let cycles = traced.times.cycles().filter(|_| traced.times.is_thorough());
    let mut table = Table::new()
        .number("packets")
        .number("counted")
        .number("of all cycles")
        .text("counter")
        .text("what");
    for counter in &traced.counters {
        let counted = counter.wraps.saturating_mul(256);
        let rate = cycles.map_or_else(|| "-".to_owned(), |cycles| share(counted, cycles));
        table.row(vec![
            grouped(counter.wraps).into(),
            grouped(counted).into(),
            rate.into(),
            counter.name.as_str().into(),
            counter.what.as_str().into(),
        ]);
    }
    table.write(options.style, out)
}

/// Variables that comparators watched.
pub(super) fn watched(traced: &Traced, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    if traced.watched.is_empty() {
        return Ok(());
    }
    heading("watched variables", options, out)?;
    let mut table = Table::new()
        .number("reads")
        .number("writes")
        .number("matches")
        .number("first")
        .number("min")
        .number("max")
        .number("last")
        .text("variable")
        .text("mostly from");
    for watched in &traced.watched {
        let value = |n: Option<u32>| n.map_or_else(|| "-".to_owned(), |n| grouped(n.into()));
        let any = !watched.values.is_empty();
        let last = watched.values.last().filter(|_| watched.more == 0).map(|(_, value)| *value);
        let from = watched.from.first().map(|(name, n)| format!("{name} ({})", grouped(*n)));
        table.row(vec![
            grouped(watched.reads).into(),
            grouped(watched.writes).into(),
            grouped(watched.matches).into(),
            value(watched.values.first().map(|(_, value)| *value)).into(),
            value(any.then_some(watched.min)).into(),
            value(any.then_some(watched.max)).into(),
            value(last).into(),
            watched.name.as_str().into(),
            from.unwrap_or_default().as_str().into(),
        ]);
    }
    table.write(options.style, out)
}

/// Lines of a channel's text that are shown, the last ones.
pub(super) const LINES: usize = 12;

/// A rate per second: `1,234.50/s`.
pub(super) fn per_second(n: u64, times: &TimeBase) -> Option<String> {
    let cycles = times.cycles().filter(|cycles| *cycles > 0 && times.is_thorough())?;
    let hz = u128::from(times.core_hz?);
    let hundredths = u128::from(n) * hz * 100 / u128::from(cycles);
    Some(format!("{}/s", ratio(u64::try_from(hundredths).ok()?, 100)))
}
