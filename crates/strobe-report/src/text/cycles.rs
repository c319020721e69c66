//! One function explained: each instruction with its cycles and what they are made of.

use std::io::{self, Write};

use strobe_model::{
    Cause, CauseCycles, CausedCycles, CycleRange, CyclesReport, InstructionCycles, Trust,
};

use super::annotate::{line_text, sources};
use super::causes;
use super::layout::{heading, item};
use crate::Options;
use crate::figure::{Marks, range};
use crate::number::{counted, grouped, hertz};
use crate::paint::Paint;
use crate::table::Table;
use crate::words::{clean, one_line};

/// How to read a figure such as `~2-4.5 (2-6)`.
const MODELLED: &str = "A figure marked ~ is the likely one, with the least and the most in brackets. Where data or \
                        path decide as well, the likely one is a range, too.";

/// Instructions block by block, then loops, the function as a whole, and notes.
///
/// # Errors
/// Those of `out`.
pub fn cycles(report: &CyclesReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let title = format!(
        "{} at {:#010x}, {}, on {} ({}){}",
        clean(&report.function),
        report.address,
        counted(u64::from(report.size_bytes), "byte"),
        clean(&report.board),
        clean(&report.core),
        report.clock_hz.map(|hz| format!(" at {}", hertz(hz))).unwrap_or_default()
    );
    writeln!(out, "{}", Paint::Strong.on(&title, options.style))?;
    for condition in &report.conditions {
        item("", condition, Paint::Plain, options, out)?;
    }
    sources(report.instructions.iter().map(|i| i.source.as_ref()), options, out)?;
    if !report.instructions.is_empty() {
        writeln!(out)?;
    }
    listing(report, options, out)?;
    loops(report, options, out)?;
    whole(report, options, out)?;
    let modelled = report.instructions.iter().any(|i| i.cycles.likely.is_some());
    let notes = modelled.then_some(MODELLED).into_iter();
    let notes: Vec<&str> = notes.chain(report.notes.iter().map(String::as_str)).collect();
    if !notes.is_empty() {
        heading("notes", options, out)?;
        for note in notes {
            item("- ", note, Paint::Plain, options, out)?;
        }
    }
    if options.quiet {
        return Ok(());
    }
    let mut present = CauseCycles::ZERO;
    for part in report.instructions.iter().flat_map(|i| &i.causes).filter(|p| p.cycles.max > 0) {
        present[part.cause] = 1;
    }
    causes::legend(&present, &report.core, options, out)
}

fn marks() -> Marks {
    // A run's figures carry their own bounds.
    Marks::of(&Trust::Modelled { causes: Vec::new() })
}

fn listing(report: &CyclesReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new()
        .number("cycles")
        .number("count")
        .number("in all")
        .text("address")
        .text("bytes")
        .optional(0)
        .text("instruction")
        .text("made of")
        .wrapping();
    let mut last = None;
    for (i, instruction) in report.instructions.iter().enumerate() {
        if let Some(block) = report.blocks.iter().find(|b| b.first == instruction.address) {
            if i > 0 {
                table.across("", Paint::Plain);
            }
            let ran = block.run.map(|run| {
                let all = marks().figure(run.cycles);
                format!(", ran {}, {all} in all", counted(run.count, "time"))
            });
            let text = format!(
                "block {:08x}-{:08x}: {} cycles{}",
                block.first,
                block.last,
                range(block.cycles),
                ran.unwrap_or_default()
            );
            table.across(&text, Paint::Strong);
            last = None;
        }
        let place = instruction.source.as_ref().map(|s| (&s.file, s.line, &s.inlined));
        if place != last
            && let Some(source) = &instruction.source
        {
            table.across(&line_text(source), Paint::Faint);
        }
        last = place;
        row(instruction, &mut table);
    }
    table.write(options.style, out)
}

fn row(instruction: &InstructionCycles, table: &mut Table) {
    let (count, all) = match &instruction.run {
        Some(run) => (grouped(run.count), marks().figure(run.cycles)),
        None => (String::new(), String::new()),
    };
    let mut made_of = made_of(&instruction.causes);
    if let Some(note) = &instruction.note {
        made_of = format!("{made_of}; {note}");
    }
    table.row(vec![
        paths(instruction).into(),
        count.into(),
        all.into(),
        format!("{:08x}", instruction.address).into(),
        instruction.bytes.as_str().into(),
        one_line(&instruction.text).into(),
        made_of.into(),
    ]);
}

/// Cycles of an instruction with one condition: `1 / ~4.5 (4-6)`, without it and with it.
fn paths(instruction: &InstructionCycles) -> String {
    let causes = &instruction.causes;
    let mut conditions = causes.iter().filter_map(|c| c.when.as_deref());
    let Some(first) = conditions.next() else { return range(instruction.cycles) };
    if !conditions.all(|other| other == first) {
        return range(instruction.cycles);
    }
    let always = causes.iter().filter(|c| c.when.is_none());
    format!("{} / {}", range(sum(always)), range(sum(causes.iter())))
}

fn sum<'a>(parts: impl Iterator<Item = &'a CausedCycles>) -> CycleRange {
    parts.fold(CycleRange::exact(0), |sum, part| sum.plus(part.cycles))
}

/// `1 execute (+ 2 pipeline refill + ~1.5 (1-3) fetch wait if taken)`.
fn made_of(parts: &[CausedCycles]) -> String {
    let groups = parts.chunk_by(|a, b| a.when == b.when).map(|group| {
        let amounts = group.iter().map(|p| format!("{} {}", range(p.cycles), p.cause.name()));
        let amounts = amounts.collect::<Vec<_>>().join(" + ");
        match group.first().and_then(|p| p.when.as_deref()) {
            Some(when) => format!("(+ {amounts} {when})"),
            None => amounts,
        }
    });
    groups.collect::<Vec<_>>().join(" ")
}

fn loops(report: &CyclesReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    if report.loops.is_empty() {
        return Ok(());
    }
    heading("loops", options, out)?;
    let mut table =
        Table::new().number("cycles/iteration").number("iterations").number("in all").text("loop");
    for l in &report.loops {
        let (count, all) = match &l.run {
            Some(run) => (grouped(run.count), marks().figure(run.cycles)),
            None => (String::new(), String::new()),
        };
        let indent = " ".repeat(2 * l.depth.min(20) as usize);
        let name = format!("{indent}{:08x}, back from {:08x}", l.header, l.back_edge);
        table.row(vec![range(l.per_iteration).into(), count.into(), all.into(), name.into()]);
    }
    table.write(options.style, out)
}

fn whole(report: &CyclesReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    heading("the whole function", options, out)?;
    let totals = &report.totals;
    let mut lines = vec![counted(totals.instructions, "instruction")];
    lines.push(match totals.once_through {
        Some(cycles) => format!(
            "{} cycles from entry to exit when each loop is passed once, without called functions",
            range(cycles)
        ),
        None => "it never returns".to_owned(),
    });
    if let Some(run) = &totals.run {
        let cycles = marks().sentence(run.cycles.less(run.by_cause[Cause::Asleep]));
        lines.push(format!("the run called it {}: {cycles} cycles", counted(run.count, "time")));
        lines.push(causes::listed(&run.by_cause));
    }
    for line in lines.iter().filter(|line| !line.is_empty()) {
        item("", line, Paint::Plain, options, out)?;
    }
    Ok(())
}
