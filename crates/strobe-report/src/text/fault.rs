//! The fault report: what happened, where, and the state of the core.

use std::io::{self, Write};

use strobe_model::{Fault, Record};

use super::layout::{fields, heading, item};
use crate::Options;
use crate::number::{grouped, time};
use crate::paint::Paint;
use crate::words::clean;

/// What happened with the status registers, registers with their values, the stacked frame and the
/// backtrace; nothing if there was no fault.
///
/// # Errors
/// Those of `out`.
pub fn fault(record: &Record, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let Some(fault) = &record.fault else { return Ok(()) };
    let title = format!(
        "{} at {}, cycle {} ({})",
        clean(&fault.kind),
        clean(&fault.pc),
        grouped(fault.at.cycle),
        time(u128::from(fault.at.nanoseconds))
    );
    writeln!(out, "\n{}", Paint::Bad.on(&title, options.style))?;
    item("", &fault.text, Paint::Plain, options, out)?;
    let status: Vec<(&str, String)> =
        fault.status.iter().map(|(name, words)| (name.as_str(), words.clone())).collect();
    fields(&status, options, out)?;
    heading("backtrace", options, out)?;
    backtrace(fault, out)?;
    heading("registers", options, out)?;
    pairs(&fault.registers, options, out)?;
    if !fault.frame.is_empty() {
        heading(
            "stacked frame: registers as they were when the exception was taken",
            options,
            out,
        )?;
        pairs(&fault.frame, options, out)?;
    }
    Ok(())
}

fn backtrace(fault: &Fault, out: &mut dyn Write) -> io::Result<()> {
    if fault.backtrace.is_empty() {
        return writeln!(out, "  none could be had");
    }
    let width = (fault.backtrace.len() - 1).to_string().len();
    for (i, frame) in fault.backtrace.iter().enumerate() {
        writeln!(out, "  #{i:<width$}  {}", clean(frame))?;
    }
    Ok(())
}

/// `NAME value` in as many columns as fit.
fn pairs(pairs: &[(String, String)], options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let longest = |pick: fn(&(String, String)) -> &String| {
        pairs.iter().map(|p| pick(p).chars().count()).max().unwrap_or(0)
    };
    let (name, value) = (longest(|p| &p.0), longest(|p| &p.1));
    let columns = (options.style.width.saturating_sub(2) / (name + value + 4)).clamp(1, 4);
    for line in pairs.chunks(columns) {
        let cells = line.iter().map(|(n, v)| format!("{:name$}  {:value$}", clean(n), clean(v)));
        let line = cells.collect::<Vec<_>>().join("  ");
        writeln!(out, "  {}", line.trim_end())?;
    }
    Ok(())
}
