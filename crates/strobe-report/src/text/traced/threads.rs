//! Samples by who had the core.

use std::io::{self, Write};

use strobe_model::{Record, Traced, Who};

use super::super::layout::{heading, item};
use super::interval;
use crate::Options;
use crate::number::{grouped, share};
use crate::paint::Paint;
use crate::table::Table;

/// Samples of each thread and handler.
pub(super) fn table(
    record: &Record,
    traced: &Traced,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    heading("samples by thread and handler", options, out)?;
    let shares = &record.profile.shares;
    if shares.is_empty() {
        let text = "this recording does not tell them apart: it has neither exception trace nor writes to the pointer to the current \
                    thread (--thread-pointer)";
        return item("", text, Paint::Plain, options, out);
    }
    let awake = traced.sampling.awake;
    let mut table = Table::new().number("samples").number("share").number("interval").text("who");
    let mut rows: Vec<(u64, String)> = shares
        .iter()
        .map(|share| {
            let samples = share.addresses.iter().map(|part| part.count).sum();
            (samples, record.who(share.who))
        })
        .collect();
    rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let known: u64 = rows.iter().map(|(samples, _)| samples).sum();
    for (samples, name) in &rows {
        let cells = [grouped(*samples), share(*samples, awake), interval(awake, *samples)];
        let mut cells: Vec<_> = cells.into_iter().map(Into::into).collect();
        cells.push(name.as_str().into());
        table.row(cells);
    }
    if awake > known {
        let unknown = awake - known;
        let name = "(not known: nothing told since the last loss)";
        let cells = [grouped(unknown), share(unknown, awake), String::new(), name.to_owned()];
        table.painted(cells.into_iter().map(Into::into).collect(), Paint::Warn);
    }
    table.rule();
    let cells = [grouped(awake), share(awake, awake), String::new(), "all awake".to_owned()];
    table.painted(cells.into_iter().map(Into::into).collect(), Paint::Strong);
    table.write(options.style, out)?;
    let has_handlers = shares.iter().any(|share| matches!(share.who, Who::Interrupt(_)));
    if !has_handlers && traced.exceptions.is_empty() {
        let text = "without exception trace, what handlers did counts for the thread that they interrupted";
        item("", text, Paint::Faint, options, out)?;
    }
    Ok(())
}
