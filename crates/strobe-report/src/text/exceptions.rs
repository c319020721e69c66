//! Interrupts and other exceptions: how often, what they cost, how long they waited.

use std::io::{self, Write};

use strobe_model::Record;

use super::layout::heading;
use crate::Options;
use crate::figure::Marks;
use crate::number::share;
use crate::table::Table;

/// The table, if there were any.
pub(super) fn table(record: &Record, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    if record.exceptions.is_empty() {
        return Ok(());
    }
    heading(
        "interrupts: cycles with all calls, shares of all cycles; latency from pending to first instruction",
        options,
        out,
    )?;
    let marks = Marks::of(&record.trust);
    let mark = marks.general;
    // Of a record of one thread only, scheduling still knows all cycles.
    let all = record.scheduling.as_ref().map_or(&record.balance, |s| &s.balance);
    let taken = all.parts().taken;
    let mut table = Table::new()
        .number("count")
        .number("chained")
        .number("cycles")
        .number("share")
        .number("per entry")
        .number("latency min")
        .number("mean")
        .number("max")
        .number("max at")
        .optional(0)
        .text("name and handler")
        .room(48);
    for e in &record.exceptions {
        let mean = e.latency_sum.checked_div(e.count).unwrap_or(0);
        let chained = if e.tail_chained > 0 { marks.count(e.tail_chained) } else { String::new() };
        let name = match &e.handler {
            Some(handler) => format!("{}: {handler}", e.name),
            None => e.name.clone(),
        };
        table.row(vec![
            marks.count(e.count).into(),
            chained.into(),
            mark.figure(e.cycles).into(),
            share(e.cycles, taken).into(),
            mark.figure(e.cycles.checked_div(e.count).unwrap_or(0)).into(),
            mark.figure(e.latency_min).into(),
            mark.figure(mean).into(),
            mark.figure(e.latency_max).into(),
            mark.time(e.latency_max_at.nanoseconds).into(),
            name.into(),
        ]);
    }
    table.write(options.style, out)
}
