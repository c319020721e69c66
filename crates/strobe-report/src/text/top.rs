//! A recording while it grows: where it was of late, and where in all.

use std::collections::HashMap;
use std::io::{self, Write};

use strobe_analyse::statistics::wilson;
use strobe_model::{By, Message, Profile, Record, Row, Spot, Traced};

use crate::Options;
use crate::number::{counted, grouped, share, time};
use crate::paint::Paint;
use crate::table::Table;
use crate::words::clean;

/// What a live view shows beside the records.
#[derive(Debug, Clone, Copy)]
pub struct Top<'a> {
    /// Where the bytes come from.
    pub source: &'a str,
    /// Since when, in nanoseconds.
    pub nanoseconds: u64,
    /// What rows stand for.
    pub by: By,
    /// Rows; 0 for all.
    pub rows: usize,
}

/// The record so far, and what of it has come since `before`.
///
/// # Errors
/// Those of `out`.
pub fn top(
    record: &Record,
    before: Option<&Record>,
    view: Top<'_>,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let empty = Traced::default();
    let traced = record.traced.as_deref().unwrap_or(&empty);
    let earlier = before.and_then(|before| before.traced.as_deref()).unwrap_or(&empty);
    let title = clean(&format!("{}, {}", view.source, time(view.nanoseconds.into())));
    writeln!(out, "{}", Paint::Strong.on(&title, options.style))?;
    let now = |count: fn(&Traced) -> u64| {
        let (all, new) = (count(traced), count(traced) - count(earlier).min(count(traced)));
        format!("{} (+{})", grouped(all), grouped(new))
    };
    writeln!(
        out,
        "  bytes {}, samples {}, overflows {}, undecodable {}",
        now(|t| t.stream.bytes),
        now(|t| t.sampling.taken),
        now(|t| t.stream.overflows),
        now(|t| t.stream.undecodable_bytes)
    )?;
    let parts = record.balance.parts();
    if parts.lost.known() > 0 {
        let text = format!("  {} of samples lost", share(parts.lost.known(), parts.taken));
        writeln!(out, "{}", Paint::Bad.on(&text, options.style))?;
    }
    for warning in record.warnings.iter().take(2) {
        writeln!(out, "  ! {}", Paint::Warn.on(&clean(&warning.text), options.style))?;
    }
    writeln!(out)?;
    rows(record, before, (traced, earlier), view, options, out)?;
    messages(traced, options, out)
}

/// Messages of a channel that are shown, the last ones.
const MESSAGES: usize = 8;

fn messages(traced: &Traced, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    for channel in &traced.channels {
        let Some(decoded) = &channel.decoded else { continue };
        let count = counted(decoded.messages, "message");
        let text = format!("port {}: {count}, {} malformed", channel.port, decoded.malformed);
        writeln!(out, "\n{}", Paint::Strong.on(&text, options.style))?;
        let last = &decoded.last[decoded.last.len().saturating_sub(MESSAGES)..];
        last.iter().try_for_each(|message| writeln!(out, "  {}", clean(&line(message))))?;
    }
    Ok(())
}

fn rows(
    record: &Record,
    before: Option<&Record>,
    (traced, earlier): (&Traced, &Traced),
    view: Top<'_>,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let by = if record.profile.functions.is_empty() { By::Address } else { view.by };
    let name = |record: &Record, row: &Row| match row.spot {
        Spot::Address(address) => address_name(&record.profile, address, &row.name),
        _ => row.name.clone(),
    };
    let old: HashMap<String, u64> = before
        .iter()
        .flat_map(|before| before.profile.rows(by).into_iter().map(|row| (name(before, &row), row)))
        .map(|(name, row)| (name, row.instructions))
        .collect();
    let mut all: Vec<(u64, u64, String)> = record
        .profile
        .rows(by)
        .iter()
        .map(|row| (row.instructions, name(record, row)))
        .map(|(n, name)| (n - old.get(&name).copied().unwrap_or(0).min(n), n, name))
        .collect();
    let asleep = traced.sampling.asleep;
    if asleep > 0 {
        all.push((asleep - earlier.sampling.asleep.min(asleep), asleep, "(asleep)".to_owned()));
    }
    all.sort_by(|a, b| (b.0, b.1).cmp(&(a.0, a.1)).then_with(|| a.2.cmp(&b.2)));
    let taken = traced.sampling.taken;
    let new = taken - earlier.sampling.taken.min(taken);
    let mut table = Table::new()
        .number("now")
        .number("share")
        .number("interval")
        .number("in all")
        .number("share")
        .number("interval")
        .text(noun(by, 1));
    let shown = if view.rows == 0 { all.len() } else { view.rows.min(all.len()) };
    for (now, in_all, name) in &all[..shown] {
        table.row(vec![
            grouped(*now).into(),
            share(*now, new).into(),
            interval(new, *now).into(),
            grouped(*in_all).into(),
            share(*in_all, taken).into(),
            interval(taken, *in_all).into(),
            name.as_str().into(),
        ]);
    }
    if let Some(rest) = all.get(shown..).filter(|rest| !rest.is_empty()) {
        let (now, in_all) = rest.iter().fold((0, 0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
        let name = format!("{} other {}", grouped(rest.len() as u64), noun(by, rest.len()));
        let cells = [grouped(now), share(now, new), String::new()];
        let cells = cells.into_iter().chain([grouped(in_all), share(in_all, taken), String::new()]);
        table.painted(cells.chain([name]).map(Into::into).collect(), Paint::Faint);
    }
    table.write(options.style, out)
}

/// A message in one line.
fn line(message: &Message) -> String {
    let mut out = String::new();
    if message.doubtful {
        out.push_str("[lost?] ");
    }
    if let Some(time) = &message.time {
        out.push_str(&format!("{time} "));
    }
    if let Some(level) = &message.level {
        out.push_str(&format!("{:<5} ", level.to_uppercase()));
    }
    out.push_str(&message.text);
    if let Some((file, line)) = &message.place {
        out.push_str(&format!("  ({file}:{line})"));
    }
    out
}

/// The 95 % interval of a share: `46.2-49.0 %`.
fn interval(n: u64, k: u64) -> String {
    let (low, high) = wilson(n, k);
    // Outwards, so that the interval covers what it states.
    let (low, high) = ((low * 1000.0).floor() / 10.0, (high * 1000.0).ceil() / 10.0);
    format!("{low:.1}-{high:.1} %")
}

fn noun(by: By, n: usize) -> &'static str {
    match (by, n) {
        (By::Function, 1) => "function",
        (By::Function, _) => "functions",
        (By::Line, 1) => "source line",
        (By::Line, _) => "source lines",
        (By::Address, 1) => "address",
        (By::Address, _) => "addresses",
        (By::File, 1) => "file",
        (By::File, _) => "files",
    }
}

/// `0x08000123 main, main.c:12`.
fn address_name(profile: &Profile, address: u32, name: &str) -> String {
    let found = profile.addresses.binary_search_by_key(&address, |s| s.address);
    let Ok(at) = found else { return name.to_owned() };
    let sample = &profile.addresses[at];
    let mut out = name.to_owned();
    if sample.function.is_some() {
        out = format!("{out} {}", profile.function_name(sample.function));
    }
    if let Some(frame) = sample.frames.first()
        && let (Some(file), Some(line)) = (frame.file, frame.line)
    {
        out = format!("{out}, {}:{line}", profile.file_name(file));
    }
    out
}
