//! Samples by function, line, file or address.

use std::io::{self, Write};

use strobe_model::measurement::Loss;
use strobe_model::{By, Cause, Record, Row, Spot, Traced};

use super::super::layout::{heading, item};
use super::super::profile::{address_name, noun};
use super::interval;
use crate::Options;
use crate::number::{grouped, share};
use crate::paint::Paint;
use crate::table::{Cell, Table};

/// The `top` rows with most samples (0: all), what is left over, sleep, and the totals.
pub(super) fn profile(
    record: &Record,
    traced: &Traced,
    asked: By,
    top: usize,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let by = if record.profile.functions.is_empty() { By::Address } else { asked };
    let why = if by == asked { "" } else { " (there are no symbols)" };
    let taken = traced.sampling.taken;
    let text = format!(
        "profile by {}{why}: shares are of all {} samples, with 95 % confidence",
        noun(by, 1),
        grouped(taken)
    );
    heading(&text, options, out)?;
    let mut rows = record.profile.rows(by);
    rows.sort_by_key(|row| std::cmp::Reverse(row.instructions));
    let (top, rest) = rows.split_at(if top == 0 { rows.len() } else { top.min(rows.len()) });
    let mut table =
        Table::new().number("samples").number("share").number("interval").text(noun(by, 1));
    let view = View { record, taken };
    top.iter().for_each(|row| view.row(row, &mut table));
    if !rest.is_empty() {
        let samples = rest.iter().map(|row| row.instructions).sum();
        let name = format!("{} other {}", grouped(rest.len() as u64), noun(by, rest.len()));
        table.painted(view.cells(samples, &name), Paint::Faint);
    }
    let parts = record.balance.parts();
    let unplaced = |why: &str| parts.unattributed.iter().find(|(reason, _)| reason == why);
    let others = [
        ("(asleep)", traced.sampling.asleep, Paint::Idle),
        ("(tracing prohibited)", traced.sampling.prohibited, Paint::Warn),
        (
            "(addresses that there was no room to tell apart)",
            unplaced("at too many addresses to tell apart").map_or(0, |(_, n)| *n),
            Paint::Warn,
        ),
    ];
    for (name, samples, paint) in others.into_iter().filter(|(_, samples, _)| *samples > 0) {
        table.painted(view.cells(samples, name), paint);
    }
    table.rule();
    let all =
        vec![grouped(taken).into(), share(taken, taken).into(), "".into(), "all samples".into()];
    table.painted(all, Paint::Strong);
    table.write(options.style, out)?;
    let mut sum = vec![format!("{} attributed", grouped(parts.attributed))];
    sum.extend(parts.unattributed.iter().map(|(why, n)| format!("{} {why}", grouped(*n))));
    sum.push(format!("{} idle", grouped(parts.idle)));
    let (due, lost) = match &traced.sampling.lost {
        Some(Loss::Unknown(_)) => ("taken", "; lost: unknown".to_owned()),
        _ => ("due", format!(" + {} lost", grouped(parts.lost))),
    };
    let text = format!("{} samples {due} = {}{lost}", grouped(parts.taken), sum.join(" + "));
    item("balance: ", &text, Paint::Faint, options, out)
}

struct View<'a> {
    record: &'a Record,
    taken: u64,
}

impl View<'_> {
    fn row(&self, row: &Row, table: &mut Table) {
        let name = match row.spot {
            Spot::Address(address) => address_name(&self.record.profile, address, &row.name),
            _ => row.name.clone(),
        };
        let is_idle = row.cycles[Cause::Asleep] == row.instructions;
        let paint = match row.spot {
            Spot::Function(None) => Paint::Warn,
            _ if is_idle => Paint::Idle,
            _ if row.instructions * 5 >= self.taken => Paint::Hot,
            _ => Paint::Plain,
        };
        let name = if is_idle { format!("{name} (counts as idle)") } else { name };
        table.painted(self.cells(row.instructions, &name), paint);
    }

    fn cells(&self, samples: u64, name: &str) -> Vec<Cell> {
        vec![
            grouped(samples).into(),
            share(samples, self.taken).into(),
            interval(self.taken, samples).into(),
            name.into(),
        ]
    }
}
