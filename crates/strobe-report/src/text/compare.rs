//! Two runs side by side: what each took, of which causes, and the instructions that took it.

use std::io::{self, Write};

use strobe_model::{Bounds, Cause, Record};

use super::annotate::AnnotateRow;
use super::causes::{bounds_of, letter, strip};
use super::layout::heading;
use super::summary::warnings;
use crate::Options;
use crate::figure::Marks;
use crate::number::{grouped, hertz, ratio, share, time};
use crate::paint::Paint;
use crate::table::{Cell, Table};
use crate::words::clean;

/// One of the two.
pub struct Side<'a> {
    /// What was measured.
    pub record: &'a Record,
    /// The instructions that ran in its windows.
    pub rows: Vec<AnnotateRow>,
}

/// Two runs in columns, per window if there were several, and the instructions of each that took
/// the most cycles, with what the user should know of it.
///
/// # Errors
/// Those of `out`.
pub fn compare(
    sides: &[Side; 2],
    top: usize,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (name, side) in ["A", "B"].into_iter().zip(sides) {
        let subject = &side.record.subject;
        let title =
            clean(&format!("{name}  {} on {} ({})", subject.file, subject.board, subject.core));
        writeln!(out, "{}", Paint::Strong.on(&title, options.style))?;
    }
    totals(sides, options, out)?;
    for (name, side) in ["A", "B"].into_iter().zip(sides) {
        instructions(name, side, top, options, out)?;
        warnings(side.record, options, out)?;
    }
    Ok(())
}

/// A number of cycles in each window.
fn each(record: &Record, n: u64) -> String {
    let windows = record.window.entries.max(1);
    if n.is_multiple_of(windows) { grouped(n / windows) } else { ratio(n, windows) }
}

fn each_bounded(record: &Record, bounds: Bounds) -> String {
    let windows = record.window.entries.max(1);
    let likely = each(record, bounds.likely);
    if bounds.is_exact() {
        return likely;
    }
    let (low, high) = (bounds.low / windows, bounds.high.div_ceil(windows));
    format!("~{likely} ({}-{})", grouped(low), grouped(high))
}

fn totals(sides: &[Side; 2], options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let records = sides.each_ref().map(|side| side.record);
    let several = records.iter().any(|record| record.window.entries > 1);
    heading(if several { "each window, on average" } else { "side by side" }, options, out)?;
    let mut table = Table::new().text("").number("A").number("B").number("B / A").text("");
    let mut row = |name: &str, values: [String; 2], quotient: String, paint| {
        let [a, b] = values.map(Cell::from);
        table.painted(vec![name.into(), a, b, quotient.into(), "".into()], paint);
    };
    row("clock", records.map(clock), String::new(), Paint::Plain);
    if several {
        let windows = records.map(|r| grouped(r.window.entries));
        row("windows", windows, String::new(), Paint::Plain);
    }
    let nanoseconds =
        records.map(|r| u128::from(r.window.nanoseconds) / u128::from(r.window.entries.max(1)));
    let of_times = quotient(nanoseconds.map(|n| (n as u64, 1)));
    let cycles = records.map(|r| r.totals.cycles);
    let sign = |i: usize| Marks::of(&records[i].trust).bounded(cycles[i]).sign();
    let times = [0, 1].map(|i| format!("{}{}", sign(i), time(nanoseconds[i])));
    row("time", times, of_times, Paint::Strong);
    let per_window = |n: [u64; 2]| [0, 1].map(|i| (n[i], records[i].window.entries.max(1)));
    let of_cycles = quotient(per_window(cycles.map(|c| c.likely)));
    let values = [0, 1].map(|i| each_bounded(records[i], cycles[i]));
    row("cycles", values, of_cycles, Paint::Strong);
    let instructions = records.map(|r| r.totals.instructions);
    let of_instructions = quotient(per_window(instructions));
    row(
        "instructions",
        [0, 1].map(|i| each(records[i], instructions[i])),
        of_instructions,
        Paint::Plain,
    );
    let per_instruction = records.map(|record| {
        let (busy, instructions) = record.busy();
        Marks::of(&record.trust).ratio(busy, instructions)
    });
    row("cycles/instr.", per_instruction, String::new(), Paint::Plain);
    let bytes = sides.each_ref().map(|side| side.rows.iter().map(AnnotateRow::size).sum());
    row("bytes of code run", bytes.map(grouped), quotient(bytes.map(|n| (n, 1))), Paint::Plain);
    for cause in Cause::ALL {
        let taken = records.map(|r| r.totals.by_cause[cause]);
        if taken != [0, 0] {
            let name = format!("  {}  {}", letter(cause), cause.name());
            let values = [0, 1].map(|i| {
                let bounds = bounds_of(records[i], cause, taken[i]);
                let sign = Marks::of(&records[i].trust).bounded(bounds).sign();
                format!("{sign}{}", each(records[i], taken[i]))
            });
            row(&name, values, quotient(per_window(taken)), Paint::Plain);
        }
    }
    table.write(options.style, out)
}

/// How many times the first the second is, each being a number divided by another.
fn quotient([(a, a_by), (b, b_by)]: [(u64, u64); 2]) -> String {
    if a == 0 || b == 0 {
        return String::new();
    }
    format!("{:.2}", b as f64 / b_by as f64 * a_by as f64 / a as f64)
}

/// The clock in the windows, or all that there were.
fn clock(record: &Record) -> String {
    let begin = record.window.begin.cycle;
    let clocks = &record.subject.clock;
    let first = clocks.iter().rposition(|span| span.cycle <= begin).unwrap_or(0);
    let names = clocks[first..].iter().map(|span| hertz(span.hz));
    names.collect::<Vec<_>>().join(", ")
}

/// The instructions that took the most, in the order of their addresses.
fn instructions(
    name: &str,
    side: &Side,
    top: usize,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let record = side.record;
    let mut rows: Vec<&AnnotateRow> = side.rows.iter().filter(|row| row.count > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.bounds.likely));
    let left_out = if top == 0 { &[] } else { rows.get(top..).unwrap_or(&[]) };
    let left: u64 = left_out.iter().map(|row| row.bounds.likely).sum();
    let shown = rows.len() - left_out.len();
    let mut shown = rows[..shown].to_vec();
    shown.sort_by_key(|row| row.address);
    heading(&format!("{name}: the instructions that took them"), options, out)?;
    let mut table = Table::new()
        .number("cycles")
        .number("share")
        .number("times")
        .number("each")
        .text("causes")
        .text("address")
        .text("instruction")
        .keeping_start();
    let total = record.totals.cycles.likely;
    for row in shown {
        let marks = Marks::of(&record.trust);
        table.row(vec![
            format!("{}{}", marks.bounded(row.bounds).sign(), each(record, row.bounds.likely))
                .into(),
            share(row.bounds.likely, total).into(),
            each(record, row.count).into(),
            ratio(row.bounds.likely, row.count).into(),
            strip(&row.cycles).into(),
            format!("{:#010x}", row.address).into(),
            row.text.clone().into(),
        ]);
    }
    if left > 0 {
        let mut cells = vec![each(record, left).into(), share(left, total).into()];
        cells.extend(["", "", "", ""].map(Cell::from));
        cells.push(format!("{} further instructions", left_out.len()).into());
        table.painted(cells, Paint::Idle);
    }
    table.write(options.style, out)
}
