//! What calls of the kit for the target cost in a run: what the firmware pays for being traced.

use std::io::{self, Write};

use strobe_model::{Place, Record};

use super::layout::heading;
use crate::Options;
use crate::number::{grouped, share};
use crate::table::Table;

/// A row for each function of the kit that was called, if there are any.
///
/// # Errors
/// Those of `out`.
pub(super) fn kit_cost(record: &Record, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let rows = costs(record);
    if rows.is_empty() {
        return Ok(());
    }
    let text = "what the kit for the target cost: cycles of its calls with all that they called, without the caller's part";
    heading(text, options, out)?;
    let mut table = Table::new()
        .number("calls")
        .number("per call")
        .number("cycles")
        .number("share")
        .text("function");
    for (name, calls, cycles) in rows {
        let tenths = cycles.saturating_mul(10) / calls;
        table.row(vec![
            grouped(calls).into(),
            format!("{}.{}", grouped(tenths / 10), tenths % 10).into(),
            grouped(cycles).into(),
            share(cycles, record.totals.cycles.likely).into(),
            name.into(),
        ]);
    }
    table.write(options.style, out)
}

/// Functions of the kit with their calls and cycles, by name.
fn costs(record: &Record) -> Vec<(&str, u64, u64)> {
    let profile = &record.profile;
    let mut rows: Vec<(&str, u64, u64)> = Vec::new();
    for (node, sum) in profile.tree.iter().zip(profile.subtrees()) {
        let Place::Function(index) = node.place else { continue };
        let Some(function) = profile.functions.get(index as usize) else { continue };
        let name = function.name.as_str();
        if !name.starts_with("strobe_trace_") && !name.starts_with("strobe_trace::") {
            continue;
        }
        let cycles = sum.busy.saturating_add(sum.idle);
        match rows.iter_mut().find(|(other, ..)| *other == name) {
            Some((_, calls, all)) => {
                *calls += node.calls;
                *all += cycles;
            }
            None => rows.push((name, node.calls, cycles)),
        }
    }
    rows.retain(|(_, calls, _)| *calls > 0);
    rows.sort_unstable();
    rows
}
