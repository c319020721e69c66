//! A plan for a trace pin: what is needed, what there is, what fits, and the registers.

use std::io::{self, Write};

use strobe_model::{Bounds, PlanPart, PlanReport, RegisterWrite, Verdict};

use super::capture::notes;
use super::layout::{fields, heading, item};
use crate::Options;
use crate::number::{counted, grouped, hertz, percent};
use crate::paint::Paint;
use crate::table::{Cell, Table};

/// A plan. With `registers` each is listed with its fields.
///
/// # Errors
/// Those of `out`.
pub fn plan(
    plan: &PlanReport,
    registers: bool,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    title(plan, options, out)?;
    budget(plan, options, out)?;
    verdict(plan, options, out)?;
    if !plan.proposals.is_empty() {
        heading("nearest plans that fit", options, out)?;
        for proposal in &plan.proposals {
            let (most, there) = (grouped(proposal.required.high), grouped(proposal.available));
            let text = format!("{}: needs {most} of {there} bytes/s at most", proposal.change);
            item("- ", &text, Paint::Plain, options, out)?;
        }
    }
    if registers {
        registers_listed(plan, options, out)?;
    }
    notes(&plan.notes, options, out)
}

fn title(plan: &PlanReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let settings = &plan.settings;
    let baud = grouped(settings.line.baud().into());
    let core = hertz(settings.core_hz.get());
    let title = format!("trace plan: core at {core}, pin at {baud} baud, target {}", plan.target);
    writeln!(out, "{}", Paint::Strong.on(&title, options.style))?;
    let line = &plan.line;
    let off = format!(
        "{} / {} = {:.0} baud, {} off; the last bit of a byte is {} of a bit off, and half a bit is too much",
        hertz(settings.line.trace_hz()),
        line.divider,
        line.actual_baud,
        signed(line.error_ppm, 2),
        signed(line.last_bit_off_ppm, 1),
    );
    let mut lines = vec![("divider", off)];
    if let Some(samples) = &plan.samples {
        let asked = samples.asked_cycles.map_or_else(String::new, |asked| {
            format!(" ({} asked for; the nearest there is)", grouped(asked.into()))
        });
        let text = format!(
            "one every {} cycles{asked}: {:.1} each second, of which {} come through",
            grouped(samples.period_cycles.into()),
            samples.taken_per_second,
            range(samples.received_per_second, grouped),
        );
        lines.push(("samples", text));
    }
    fields(&lines, options, out)
}

/// Millionths as a percentage with a sign.
fn signed(ppm: i64, decimals: usize) -> String {
    format!("{:+.decimals$} %", ppm as f64 / 1e4)
}

/// One figure, or the likely one with its bounds.
fn range(bounds: Bounds, show: impl Fn(u64) -> String) -> String {
    if bounds.is_exact() {
        return show(bounds.likely);
    }
    format!("~{} ({} to {})", show(bounds.likely), show(bounds.low), show(bounds.high))
}

fn budget(plan: &PlanReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    heading("bytes per second", options, out)?;
    let mut table = Table::new()
        .number("at least")
        .number("likely")
        .number("at most")
        .text("")
        .text("")
        .wrapping();
    for PlanPart { name, bytes, how, .. } in &plan.parts {
        table.row(cells(*bytes, name, how));
    }
    table.rule();
    table.row(cells(plan.required, "required", ""));
    table.row(cells(Bounds::exact(plan.available), "available", "ten bits for a byte"));
    table.write(options.style, out)
}

fn cells(bytes: Bounds, name: &str, how: &str) -> Vec<Cell> {
    let figure = |n: u64| Cell::from(grouped(n));
    let Bounds { low, likely, high } = bytes;
    vec![figure(low), figure(likely), figure(high), name.into(), how.into()]
}

fn verdict(plan: &PlanReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    let (text, paint) = match plan.verdict {
        Verdict::Fits => {
            ("fits: only bursts that fill the FIFO can lose anything".to_owned(), Paint::Plain)
        }
        Verdict::Tight => {
            let most = percent(plan.loss_ppm.high);
            (format!("tight: by the upper bounds up to {most} would be lost"), Paint::Warn)
        }
        Verdict::Loses => {
            let Bounds { low, likely, high } = plan.loss_ppm;
            let whole = |ppm: u64| format!("{:.0}", ppm as f64 / 1e4);
            let text = format!(
                "LOSES about {} % of all packets ({} to {} %), all the time",
                whole(likely),
                whole(low),
                whole(high)
            );
            (text, Paint::Warn)
        }
    };
    item("", &paint.on(&text, options.style), Paint::Plain, options, out)
}

fn registers_listed(plan: &PlanReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let writes = counted(plan.registers.len() as u64, "write");
    heading(&format!("registers: {writes}, in this order"), options, out)?;
    let mut table = Table::new().text("address").text("value").text("register").text("").wrapping();
    for write in &plan.registers {
        let RegisterWrite { register, address, value, mask, .. } = write;
        let kept = if write.keeps_others() {
            format!("only bits {mask:#010x}; the others are kept")
        } else {
            String::new()
        };
        let value = format!("{value:#010x}");
        table.row(vec![
            format!("{address:#010x}").into(),
            value.into(),
            register.as_str().into(),
            kept.into(),
        ]);
        for field in &write.fields {
            let (high, low) = field.bits;
            let bits = if high == low { format!("[{low}]") } else { format!("[{high}:{low}]") };
            let text = format!("{}{bits} = {:#x}: {}", field.field, field.value, field.meaning);
            table.row(vec!["".into(), "".into(), "".into(), text.into()]);
        }
    }
    table.write(options.style, out)
}
