//! What ran, for how long, and the sums.

use std::io::{self, Write};

use strobe_model::{ClockSpan, EndReason, Record, Subject};

use super::layout::{fields, heading, item};
use super::{causes, exceptions, series};
use crate::Options;
use crate::figure::{Mark, Marks};
use crate::number::{counted, grouped, hertz, share};
use crate::paint::Paint;
use crate::view::settings::setting;
use crate::words::clean;

/// Clock changes listed one by one; further ones are counted.
const CLOCKS: usize = 4;

/// Target, clock, time, instructions, cycles by cause, idle share, interrupts, marks and warnings.
///
/// # Errors
/// Those of `out`.
pub fn summary(record: &Record, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let subject = &record.subject;
    let name = if subject.file.is_empty() { "firmware" } else { &subject.file };
    let title = clean(&format!("{name} on {} ({})", subject.board, subject.core));
    writeln!(out, "{}", Paint::Strong.on(&title, options.style))?;
    fields(&facts(record), options, out)?;
    causes::table(record, options, out)?;
    exceptions::table(record, options, out)?;
    series::table(record, options, out)?;
    warnings(record, options, out)
}

fn facts(record: &Record) -> Vec<(&'static str, String)> {
    let marks = Marks::of(&record.trust);
    let totals = &record.totals;
    let (idle, taken) = (record.balance.parts().idle, record.balance.parts().taken);
    let mut facts = vec![("firmware", build(&record.subject))];
    if !record.subject.detail.is_empty() {
        facts.push(("symbols", record.subject.detail.clone()));
    }
    facts.extend(stack(record));
    facts.push(("measured by", instrument(record)));
    if let Some(name) = record.instrument.settings.get("thread") {
        let text = "cycles, instructions, profile and calls are its alone";
        facts.push(("only", format!("{name}: {text}")));
    }
    facts.push(("clock", clock(&record.subject.clock)));
    facts.push(("time", measured(record)));
    facts.push(("ended", ended(&record.window.end_reason, &record.subject.core)));
    facts.push(("instructions", marks.count(totals.instructions)));
    facts.push(("cycles", marks.sentence(totals.cycles)));
    let without_idle = if idle > 0 { ", without idle cycles" } else { "" };
    let (busy, instructions) = record.busy();
    let ratio = marks.ratio(busy, instructions);
    facts.push(("cycles/instr.", format!("{ratio}{without_idle}")));
    let mark = marks.general;
    facts.push((
        "idle",
        format!("{} of {} cycles ({})", mark.figure(idle), mark.figure(taken), share(idle, taken)),
    ));
    facts.extend(losses(record));
    facts
}

fn build(subject: &Subject) -> String {
    let sizes = &subject.sizes;
    let memory =
        format!("{} of flash, {} of RAM", counted(sizes.flash, "byte"), counted(sizes.ram, "byte"));
    let first = |hex: &str| hex.chars().take(12).collect::<String>();
    let id = match &subject.build_id {
        Some(id) => format!("build id {}", first(id)),
        None => format!("SHA-256 {}...", first(&subject.sha256)),
    };
    format!("{id}, {memory}")
}

/// How deep the stack got, where all code shares one and it is known to the byte.
fn stack(record: &Record) -> Option<(&'static str, String)> {
    let [thread] = record.scheduling.as_ref()?.threads.as_slice() else { return None };
    if !record.subject.core.starts_with("AVR") {
        return None;
    }
    let (low, top) = &thread.stack;
    let address = |hex: &str| u64::from_str_radix(hex.trim_start_matches("0x"), 16).ok();
    let bytes = address(top)?.checked_sub(address(low)?)?;
    Some(("stack", format!("at most {}, down to {}", counted(bytes, "byte"), clean(low))))
}

fn instrument(record: &Record) -> String {
    let instrument = &record.instrument;
    let settings = instrument.settings.iter();
    let settings: Vec<String> = settings.map(|(name, value)| setting(name, value)).collect();
    let with = if settings.is_empty() { "" } else { "; " };
    format!("{}, {}{with}{}", instrument.kind, instrument.tool, settings.join(", "))
}

fn clock(spans: &[ClockSpan]) -> String {
    let Some((last, earlier)) = spans.split_last() else { return "unknown".to_owned() };
    if earlier.is_empty() {
        return hertz(last.hz);
    }
    let mut parts: Vec<String> = spans
        .windows(2)
        .take(CLOCKS)
        .map(|pair| format!("{} until cycle {}", hertz(pair[0].hz), grouped(pair[1].cycle)))
        .collect();
    if earlier.len() > CLOCKS {
        parts.push(counted((earlier.len() - CLOCKS) as u64, "further change"));
    }
    format!("{}, then {}", parts.join(", "), hertz(last.hz))
}

fn measured(record: &Record) -> String {
    let (window, coverage) = (&record.window, &record.coverage);
    let mark = Mark::of(&record.trust);
    let at = |nanoseconds: u64| mark.time(nanoseconds);
    let length = at(window.nanoseconds);
    if coverage.seen_cycles == coverage.run_cycles && window.entries <= 1 {
        return format!("{length} simulated, the whole run");
    }
    let (seen, run) = (coverage.seen_cycles, coverage.run_cycles);
    let part =
        format!("{} of {} cycles run ({})", mark.figure(seen), mark.figure(run), share(seen, run));
    if window.entries <= 1 && window.begin.cycle == 0 {
        return format!("{length}, {part}");
    }
    let (from, to) = (at(window.begin.nanoseconds), at(window.end.nanoseconds));
    let windows = counted(window.entries, "window");
    format!("{length} in {windows}, {part}; the first begins at {from}, the last ends at {to}")
}

fn ended(reason: &EndReason, core: &str) -> String {
    match reason {
        EndReason::Lockup if core.starts_with("AVR") => {
            "an opcode that is no instruction of this core (see below)".to_owned()
        }
        EndReason::Exit { code } => format!("the firmware exited with code {code}"),
        EndReason::Reached { place } => format!("{place} was reached"),
        EndReason::Limit => "the limit that was asked for".to_owned(),
        EndReason::DefaultLimit => {
            "the firmware did not end by itself; --until says how long it runs".to_owned()
        }
        EndReason::HardFault => "a fault: the core entered HardFault (see below)".to_owned(),
        EndReason::Lockup => {
            "lockup: a fault inside the HardFault or NMI handler (see below)".to_owned()
        }
        EndReason::SleepsForever => "asleep, and nothing is left that could wake it".to_owned(),
        EndReason::Unmodelled => "an unmodelled register was accessed (strict)".to_owned(),
        EndReason::Interrupted => "stopped by the user".to_owned(),
        EndReason::EndOfRecording => "the recording ends here".to_owned(),
        EndReason::OtherChip { chip } => format!("chip {chip} came to its end"),
    }
}

fn losses(record: &Record) -> Vec<(&'static str, String)> {
    let coverage = &record.coverage;
    let mut out = Vec::new();
    match coverage.lost_cycles {
        Some(0) => {}
        Some(n) => {
            let (lost, part) = (grouped(n), share(n, coverage.run_cycles));
            let run = grouped(coverage.run_cycles);
            let text = format!("{lost} of {run} cycles ({part}) are missing from the record");
            out.push(("lost", text));
        }
        None => out.push(("lost", "unknown".to_owned())),
    }
    if coverage.overhead_cycles > 0 {
        let cost = grouped(coverage.overhead_cycles);
        out.push(("overhead", format!("{cost} cycles were spent by the target on being measured")));
    }
    out
}

pub(super) fn warnings(record: &Record, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    if record.warnings.is_empty() {
        return Ok(());
    }
    heading("warnings", options, out)?;
    for warning in &record.warnings {
        let times = if warning.count > 1 {
            format!(" ({} times)", grouped(warning.count))
        } else {
            String::new()
        };
        item("! ", &format!("{}{times}", warning.text), Paint::Warn, options, out)?;
    }
    Ok(())
}
