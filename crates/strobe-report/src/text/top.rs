//! A recording while it grows: where the core was since the last refresh, and in all.

use std::collections::HashMap;
use std::io::{self, Write};

use strobe_analyse::attribution::{self, By, Row, RowPlace};
use strobe_analyse::statistics::wilson;
use strobe_model::measurement::{
    Cell, Content, Finding, Measurement, Profile, Section, Severity, Table as Columns, ids,
};

use crate::Options;
use crate::number::{counted, grouped, share, time};
use crate::paint::Paint;
use crate::table::Table;
use crate::words::clean;

/// What a live view shows beside the measurements.
#[derive(Debug, Clone)]
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

/// Findings that the second line of the view counts: their codes with their names there.
const COUNTED: [(&str, &str); 2] =
    [("overflow", "overflows"), ("undecodable-bytes", "undecodable")];

/// Warnings that are shown: more would push the rows off a screen.
const WARNINGS: usize = 2;

/// Messages of a channel that are shown, the last ones.
const MESSAGES: usize = 8;

/// The measurement so far, and what of it has come since `before`.
///
/// # Errors
/// Those of `out`.
pub fn top(
    now: &Measurement,
    before: Option<&Measurement>,
    view: &Top<'_>,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let title = clean(&format!("{}, {}", view.source, time(view.nanoseconds.into())));
    writeln!(out, "{}", Paint::Strong.on(&title, options.style))?;
    counters(now, before, out)?;
    let samples = now.balances.iter().map(|balance| balance.parts());
    if let Some(parts) = samples.filter(|parts| parts.what == "samples").find(|p| p.taken > 0)
        && parts.lost.known() > 0
    {
        let text = format!("  {} of samples lost", share(parts.lost.known(), parts.taken));
        writeln!(out, "{}", Paint::Bad.on(&text, options.style))?;
    }
    for warning in now.findings.iter().filter(|finding| is_shown(finding)).take(WARNINGS) {
        writeln!(out, "  ! {}", Paint::Warn.on(&clean(&warning.text), options.style))?;
    }
    writeln!(out)?;
    rows(now, before, view, options, out)?;
    messages(now, options, out)
}

/// Warnings that no counter stands for.
fn is_shown(finding: &Finding) -> bool {
    finding.severity == Severity::Warning && COUNTED.iter().all(|(code, _)| *code != finding.code)
}

/// How much has come, and how much of it since the last refresh.
fn counters(
    now: &Measurement,
    before: Option<&Measurement>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let totals = [("bytes", "bytes"), (ids::total::SAMPLES, "samples")];
    let totals = totals.map(|(id, name)| (name, total(now, id), before.map(|m| total(m, id))));
    let found =
        COUNTED.map(|(code, name)| (name, count(now, code), before.map(|m| count(m, code))));
    let all = totals.into_iter().chain(found).map(|(name, all, earlier)| {
        let new = all.saturating_sub(earlier.unwrap_or(0));
        format!("{name} {} (+{})", grouped(all), grouped(new))
    });
    writeln!(out, "  {}", all.collect::<Vec<String>>().join(", "))
}

fn total(measurement: &Measurement, id: &str) -> u64 {
    let value = measurement.total(id).and_then(|quantity| quantity.value());
    value.map_or(0, |value| value.as_u64())
}

fn count(measurement: &Measurement, code: &str) -> u64 {
    measurement.findings.iter().filter(|finding| finding.code == code).map(|f| f.count).sum()
}

/// Each row's samples, by name.
fn samples(measurement: &Measurement, by: &By) -> HashMap<String, u64> {
    let Some(profile) = measurement.profiles().next() else { return HashMap::new() };
    // Without a firmware nothing has a name but addresses.
    let by = if profile.functions.name.is_empty() { &By::Address } else { by };
    let flat = attribution::rows(profile, ids::measure::SAMPLES, by);
    let rows = flat.map(|flat| flat.rows).unwrap_or_default();
    let one = |row: &Row| (name(profile, row), u64::try_from(row.sums.all.value).unwrap_or(0));
    rows.iter().map(one).collect()
}

fn rows(
    now: &Measurement,
    before: Option<&Measurement>,
    view: &Top<'_>,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let old = before.map(|before| samples(before, &view.by)).unwrap_or_default();
    let mut all: Vec<(u64, u64, String)> = samples(now, &view.by)
        .into_iter()
        .map(|(name, n)| (n.saturating_sub(old.get(&name).copied().unwrap_or(0)), n, name))
        .collect();
    all.sort_by(|a, b| (b.0, b.1).cmp(&(a.0, a.1)).then_with(|| a.2.cmp(&b.2)));
    let taken = total(now, ids::total::SAMPLES);
    let new = taken.saturating_sub(before.map_or(0, |m| total(m, ids::total::SAMPLES)));
    let mut table = Table::new()
        .number("now")
        .number("share")
        .number("interval")
        .number("in all")
        .number("share")
        .number("interval")
        .text(noun(&view.by, 1));
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
        let name = format!("{} other {}", grouped(rest.len() as u64), noun(&view.by, rest.len()));
        let cells = [grouped(now), share(now, new), String::new()];
        let cells = cells.into_iter().chain([grouped(in_all), share(in_all, taken), String::new()]);
        table.painted(cells.chain([name]).map(Into::into).collect(), Paint::Faint);
    }
    table.write(options.style, out)
}

/// The messages of channels that have some.
fn messages(now: &Measurement, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    for section in &now.sections {
        let Some(table) = table_of_messages(section) else { continue };
        let title = clean(&format!("{} ({})", section.title, counted(table.len() as u64, "line")));
        writeln!(out, "\n{}", Paint::Strong.on(&title, options.style))?;
        let first = table.len().saturating_sub(MESSAGES);
        (first..table.len()).try_for_each(|at| writeln!(out, "  {}", clean(&line(table, at))))?;
    }
    Ok(())
}

fn table_of_messages(section: &Section) -> Option<&Columns> {
    let Content::Table(table) = &section.content else { return None };
    section
        .id
        .starts_with(ids::prefix::PORT)
        .then_some(table)
        .filter(|table| table.column(ids::column::MESSAGE).is_some())
}

/// A message in one line.
fn line(table: &Columns, at: usize) -> String {
    let text = |id: &str| match table.column(id).and_then(|column| column.cells.get(at)) {
        Some(Cell::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let mut out = String::new();
    if text(ids::column::DOUBT).is_some() {
        out.push_str("[lost?] ");
    }
    if let Some(time) = text(ids::column::TIME) {
        out.push_str(&format!("{time} "));
    }
    if let Some(level) = text(ids::column::LEVEL) {
        out.push_str(&format!("{:<5} ", level.to_uppercase()));
    }
    out.push_str(text(ids::column::MESSAGE).unwrap_or_default());
    if let Some(file) = text(ids::column::FILE) {
        let line =
            table.column(ids::column::LINE).and_then(|column| match column.cells.get(at)? {
                Cell::Exact(line) => Some(line.as_u64()),
                _ => None,
            });
        out.push_str(&format!("  ({file}:{})", line.unwrap_or(0)));
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

fn noun(by: &By, n: usize) -> &'static str {
    match (by, n) {
        (By::Function, 1) => "function",
        (By::Function, _) => "functions",
        (By::Line, 1) => "source line",
        (By::Line, _) => "source lines",
        (By::Address, 1) => "address",
        (By::Address, _) => "addresses",
        (By::File, 1) => "file",
        (By::File, _) => "files",
        (By::Label(_), 1) => "thread or handler",
        (By::Label(_), _) => "threads and handlers",
    }
}

/// A row's name; of an address with its function and line: `0x08000123 main, main.c:12`.
fn name(profile: &Profile, row: &Row) -> String {
    let RowPlace::Address(address) = row.spot else { return row.name.clone() };
    let location = profile.locations.address.iter().position(|at| *at == Some(address));
    let Some(location) = location.map(|at| at as u32) else { return row.name.clone() };
    let mut out = row.name.clone();
    if let Some(function) = profile.function_at(location) {
        out = format!("{out} {}", profile.function_name(Some(function)));
    }
    if let Some(frame) = profile.frames_at(location).next()
        && let (Some(file), Some(line)) = (profile.frames.file[frame], profile.frames.line[frame])
    {
        let file = profile.files.get(file as usize).map_or("(unknown file)", String::as_str);
        out = format!("{out}, {file}:{line}");
    }
    out
}
