//! A record made from samples of a trace pin: how much came and how much was lost, then where it
//! was, then what else the pin told.
//!
//! Every share has its number of samples and a confidence interval.

mod channels;
mod events;
mod kit;
mod profile;
mod stream;
mod threads;
mod top;

use std::io::{self, Write};

use strobe_analyse::statistics::wilson;
use strobe_model::measurement::Loss;
use strobe_model::{KitWay, Record, Sampling, TimeBase, Traced, TracedWindow, Trust};

use super::layout::{fields, heading, item};
use super::{Rows, Show, tree};
use crate::Options;
use crate::number::{counted, grouped, hertz, share, time};
use crate::paint::Paint;
use crate::words::clean;

pub use top::{Top, top};

/// The whole report.
pub(super) fn report(
    record: &Record,
    traced: &Traced,
    show: &Show,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let subject = &record.subject;
    let name = if subject.file.is_empty() { "trace" } else { &subject.file };
    let on =
        if subject.board.is_empty() { String::new() } else { format!(" on {}", subject.board) };
    writeln!(out, "{}", Paint::Strong.on(&clean(&format!("{name}{on}")), options.style))?;
    fields(&facts(record, traced), options, out)?;
    warnings(record, options, out)?;
    if traced.sampling.taken > 0 {
        match show.rows {
            Rows::By(by) => profile::profile(record, traced, by, show.top, options, out)?,
            Rows::Threads => threads::table(record, traced, options, out)?,
        }
    }
    if let Some(depth) = &show.tree {
        tree(record, depth, options, out)?;
    }
    events::exceptions(traced, options, out)?;
    if show.rows != Rows::Threads {
        events::threads(traced, options, out)?;
    }
    events::counters(traced, options, out)?;
    events::watched(traced, options, out)?;
    if let Some(kit) = &traced.kit {
        kit::tables(kit, &traced.times, options, out)?;
    }
    channels::channels(traced, options, out)?;
    stream::table(traced, options, out)?;
    trust(record, traced, options, out)
}

fn warnings(record: &Record, options: &Options, out: &mut dyn Write) -> io::Result<()> {
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

fn facts(record: &Record, traced: &Traced) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let subject = &record.subject;
    if !subject.sha256.is_empty() {
        facts.push(("firmware", firmware(record)));
    }
    if !subject.detail.is_empty() {
        facts.push(("symbols", subject.detail.clone()));
    }
    let settings = record.instrument.settings.iter();
    let settings = settings.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>();
    let with =
        if settings.is_empty() { String::new() } else { format!("; {}", settings.join(", ")) };
    facts.push((
        "measured by",
        format!("{}, {}{with}", record.instrument.kind, record.instrument.tool),
    ));
    if let Some(recording) = &traced.recording {
        facts.push(("recorded from", recording.source.clone()));
    }
    if let Some(hz) = traced.times.core_hz {
        facts.push(("clock", hertz(hz)));
    }
    facts.push(("time", duration(traced)));
    if let Some(window) = &traced.window {
        facts.push(("window", part(window, &traced.times)));
    }
    let sampling = &traced.sampling;
    if sampling.taken > 0 {
        facts.push(("samples", samples(sampling)));
        facts.push(("lost", lost(record, traced)));
        facts.push(("idle", idle(record, sampling)));
    }
    facts
}

/// What was measured, if not everything.
fn part(window: &TracedWindow, times: &TimeBase) -> String {
    let from = window.from.as_deref().map_or("the beginning".to_owned(), clean);
    let to = window.to.as_deref().map_or("the end".to_owned(), clean);
    let unit = if times.tick_cycles.is_some() { "core cycle" } else { "tick" };
    let length = if times.local > 0 {
        let at_least = if times.unsure > 0 { ">=" } else { "" };
        format!(", {at_least}{}", counted(window.cycles, unit))
    } else {
        String::new()
    };
    format!(
        "from {from} to {to}: {}{length}; {} outside",
        counted(window.parts, "part"),
        counted(window.samples_outside, "sample")
    )
}

fn firmware(record: &Record) -> String {
    let first = |hex: &str| hex.chars().take(12).collect::<String>();
    match &record.subject.build_id {
        Some(id) => format!("build id {}", first(id)),
        None if record.subject.sha256.is_empty() => "none".to_owned(),
        None => format!("SHA-256 {}...", first(&record.subject.sha256)),
    }
}

fn duration(traced: &Traced) -> String {
    let times = &traced.times;
    let own = traced.kit.as_ref().is_some_and(|kit| kit.way != KitWay::Itm);
    let clock = if own { "the records' clock" } else { "local timestamps" };
    let mut known = Vec::new();
    if let Some(cycles) = times.cycles() {
        let at_least = if times.unsure > 0 { ">=" } else { "" };
        let seconds =
            times.nanoseconds(cycles).map(|ns| format!(", {at_least}{}", time(ns.into())));
        known.push(format!(
            "{at_least}{}{} by {clock}",
            counted(cycles, "core cycle"),
            seconds.unwrap_or_default()
        ));
    } else if times.local > 0 {
        known.push(format!("{} of {clock}", counted(times.ticks, "tick")));
    }
    let live = traced.recording.as_ref().filter(|recording| !recording.replayed);
    let host = live.map(|recording| recording.nanoseconds).filter(|ns| *ns > 0);
    known.extend(host.map(|ns| format!("{} by the host's clock", time(ns.into()))));
    if known.is_empty() {
        "not known: there are no timestamps".to_owned()
    } else {
        known.join("; ")
    }
}

fn samples(sampling: &Sampling) -> String {
    let mut parts = vec![format!("{} with an address", grouped(sampling.awake))];
    parts.push(format!("{} asleep", grouped(sampling.asleep)));
    if sampling.prohibited > 0 {
        parts.push(format!("{} where tracing is prohibited", grouped(sampling.prohibited)));
    }
    let period = sampling.period_cycles.map(|n| format!("; one in {} cycles", grouped(n)));
    format!("{} = {}{}", grouped(sampling.taken), parts.join(" + "), period.unwrap_or_default())
}

fn lost(record: &Record, traced: &Traced) -> String {
    let parts = record.balance.parts();
    let overflows = match traced.stream.overflows {
        // Without a stream there are no packets to look for.
        0 if traced.stream.bytes == 0 => String::new(),
        0 => "; no overflow packet".to_owned(),
        n => format!("; {}, each for at least one lost packet", counted(n, "overflow packet")),
    };
    let at_least = match &traced.sampling.lost {
        None => "",
        Some(Loss::Unknown(why)) => return format!("unknown: {}{overflows}", clean(why)),
        Some(Loss::AtLeast(_)) => "at least ",
        Some(Loss::Known(_)) => "",
    };
    let from = traced.sampling.expected.as_ref().map(|expected| &expected.from);
    let from = from.map_or_else(String::new, |from| format!(", counted by {}", clean(from)));
    format!(
        "{at_least}{} of {} samples ({}){from}{overflows}",
        grouped(parts.lost),
        grouped(parts.taken),
        share(parts.lost, parts.taken),
    )
}

fn idle(record: &Record, sampling: &Sampling) -> String {
    let idle = record.balance.parts().idle;
    let by_name = match sampling.idle_by_name {
        0 => String::new(),
        n => format!(", {} of them in functions that count as idle", grouped(n)),
    };
    let (share, interval) = (share(idle, sampling.taken), interval(sampling.taken, idle));
    format!(
        "{} of {} samples: {share} ({interval}){by_name}",
        grouped(idle),
        grouped(sampling.taken)
    )
}

/// The 95 % interval of a share: `46.2-49.0 %`.
fn interval(n: u64, k: u64) -> String {
    let (low, high) = wilson(n, k);
    // Outwards, so that the interval holds what it says.
    let (low, high) = ((low * 1000.0).floor() / 10.0, (high * 1000.0).ceil() / 10.0);
    format!("{low:.1}-{high:.1} %")
}

fn trust(
    record: &Record,
    traced: &Traced,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Trust::Sampled { n, .. } = record.trust else { return Ok(()) };
    if options.quiet || n == 0 {
        return Ok(());
    }
    heading("how far to trust the shares", options, out)?;
    item(
        "",
        "Intervals are Wilson's, 95 %: of samples taken independently, about one share in twenty lies outside. Code that runs in \
         step with the sampling period can be off by more.",
        Paint::Plain,
        options,
        out,
    )?;
    if record.balance.parts().lost > 0 || traced.stream.overflows > 0 {
        let text = "Samples were lost, and not at random: a full FIFO takes the next packet as soon as there is room, at fixed \
                    distances. No interval covers that; use a plan that the link can carry (strobe plan).";
        item("! ", text, Paint::Warn, options, out)?;
    }
    Ok(())
}
