//! The end of a report: what was not modelled, how far the figures go, what the causes mean.

use std::io::{self, Write};

use strobe_model::{ModelledCause, Record, Trust};

use super::causes;
use super::layout::{heading, item};
use crate::Options;
use crate::figure::Marks;
use crate::number::{counted, grouped};
use crate::paint::Paint;
use crate::table::Table;

/// Unmodelled registers, the reasons behind modelled figures, and the legend of causes.
///
/// # Errors
/// Those of `out`.
pub fn closing(record: &Record, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    unmodelled(record, options, out)?;
    trust(record, options, out)?;
    if options.quiet {
        return Ok(());
    }
    causes::legend(&record.totals.by_cause, &record.subject.core, options, out)
}

/// Registers listed; code that runs wild touches hundreds.
const MOST_REGISTERS: usize = 40;

fn unmodelled(record: &Record, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    if record.unmodelled.is_empty() {
        return Ok(());
    }
    heading(
        "unmodelled registers: they keep what is written and do nothing; code that depends on more may go \
         another way than on the real board",
        options,
        out,
    )?;
    let mut table = Table::new()
        .text("address")
        .number("reads")
        .number("writes")
        .text("peripheral")
        .text("first accessed from");
    for register in record.unmodelled.iter().take(MOST_REGISTERS) {
        let name = register.register.as_ref().or(register.peripheral.as_ref());
        let peripheral = match (name, register.known_device) {
            (Some(name), true) => name.clone(),
            (Some(name), false) => format!("{name}, not on this board"),
            (None, true) => "on this board".to_owned(),
            (None, false) => "nothing there on this board".to_owned(),
        };
        table.row(vec![
            register.address.as_str().into(),
            grouped(register.reads).into(),
            grouped(register.writes).into(),
            peripheral.into(),
            register.first_from.as_str().into(),
        ]);
    }
    table.write(options.style, out)?;
    match record.unmodelled.len().saturating_sub(MOST_REGISTERS) {
        0 => Ok(()),
        more => writeln!(
            out,
            "  and {} (--format json has them all)",
            counted(more as u64, "more register")
        ),
    }
}

fn trust(record: &Record, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let text = match &record.trust {
        Trust::Exact => return Ok(()),
        Trust::Modelled { causes } => return modelled(record, causes, options, out),
        Trust::Sampled { n, period_cycles } => {
            let every = period_cycles.map(|n| format!(", about one in {} cycles", grouped(n)));
            let samples = counted(*n, "sample");
            format!("figures marked ~ are estimates from {samples}{}", every.unwrap_or_default())
        }
        Trust::LowerBound => {
            "figures marked >= count only what was seen; there may be more".to_owned()
        }
    };
    heading("how far to trust the figures", options, out)?;
    item("", &text, Paint::Plain, options, out)
}

fn modelled(
    record: &Record,
    causes: &[ModelledCause],
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rests_on_model = causes.iter().any(|m| m.cycles.low == m.cycles.high);
    let others = if rests_on_model {
        "what is listed without is the model's word"
    } else {
        "all others are exact"
    };
    heading(
        &format!("modelled figures: those marked ~ are likely ones and have bounds; {others}"),
        options,
        out,
    )?;
    let marks = Marks::of(&record.trust);
    let figure =
        |m: &ModelledCause| format!("{}: {} cycles", m.cause.name(), marks.sentence(m.cycles));
    let mut reasons: Vec<&str> = Vec::new();
    for why in causes.iter().map(|m| m.why.as_str()) {
        // Causes that share a reason share its explanation.
        if reasons.contains(&why) {
            continue;
        }
        reasons.push(why);
        for modelled in causes.iter().filter(|m| m.why == why) {
            item("~ ", &figure(modelled), Paint::Plain, options, out)?;
        }
        if !options.quiet {
            item("    ", why, Paint::Plain, options, out)?;
        }
    }
    Ok(())
}
