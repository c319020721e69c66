//! The timeline: a line for each thread and interrupt that ran, and the switches one by one.

use std::io::{self, Write};

use strobe_model::{Moment, Record, Segment, Start, Timeline, Who, WorstLatency};

use super::layout::{heading, item};
use crate::Options;
use crate::figure::Marks;
use crate::number::{counted, time};
use crate::paint::Paint;
use crate::table::{Cell, Table};
use crate::words::{clean, shortened};

/// Widest name of a line.
const MAX_NAME: usize = 24;

/// Columns between two times on the axis, at least.
const AXIS: usize = 16;

/// The chart and the last (or, around the worst latency, the nearest) switches, at most `top`; 0
/// for all. Nothing is printed where no timeline was kept.
///
/// # Errors
/// Those of `out`.
pub fn timeline(
    record: &Record,
    top: usize,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(timeline) = record.scheduling.as_ref().and_then(|s| s.timeline.as_ref()) else {
        return Ok(());
    };
    title(record, timeline, options, out)?;
    if timeline.segments.is_empty() {
        return item("", "nobody ran in it", Paint::Plain, options, out);
    }
    if timeline.dropped > 0 {
        let text =
            format!("{} of this time could not be kept", counted(timeline.dropped, "earlier row"));
        item("! ", &text, Paint::Warn, options, out)?;
    }
    Chart::new(record, timeline, options).write(options, out)?;
    switches(record, timeline, top, options, out)
}

fn title(
    record: &Record,
    timeline: &Timeline,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mark = Marks::of(&record.trust).general;
    let (begin, end) = (timeline.begin.nanoseconds, timeline.end.nanoseconds);
    let length = mark.time(end.saturating_sub(begin));
    let what = match &timeline.worst {
        Some(worst) => format!(
            "{length} around the worst latency of {} ({} cycles)",
            record.who(worst.who),
            mark.figure(worst.latency.cycles)
        ),
        None => format!("the last {length}"),
    };
    let text = format!("timeline: {what}, from {} to {}", mark.time(begin), mark.time(end));
    heading(&text, options, out)
}

/// One line of the chart: how much of each column is its own, in nanoseconds.
struct Lane {
    name: String,
    columns: Vec<u64>,
    paint: Paint,
}

struct Chart {
    begin: u64,
    end: u64,
    lanes: Vec<Lane>,
    waits: Option<(String, u64, u64)>,
}

impl Chart {
    fn new(record: &Record, timeline: &Timeline, options: &Options) -> Self {
        let mut all: Vec<Who> = timeline.segments.iter().map(|s| s.who).collect();
        // Interrupts first.
        all.sort_by_key(|who| (matches!(who, Who::Thread(_)), *who));
        all.dedup();
        let names: Vec<String> = all.iter().map(|who| clean(&record.who(*who))).collect();
        let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(8);
        let width = options.style.width.saturating_sub(widest.min(MAX_NAME) + 6).max(20);
        let lane = |name: String, paint| Lane { name, columns: vec![0; width], paint };
        let mut lanes: Vec<Lane> = names.into_iter().map(|n| lane(n, Paint::Plain)).collect();
        lanes.push(lane("(asleep)".to_owned(), Paint::Idle));
        let (begin, end) = (timeline.begin.nanoseconds, timeline.end.nanoseconds);
        let mut chart = Chart { begin, end: end.max(begin + 1), lanes, waits: None };
        for segment in &timeline.segments {
            let at = all.iter().position(|who| *who == segment.who).unwrap_or(0);
            let asleep_from = asleep_from(segment);
            chart.fill(at, segment.begin.nanoseconds, asleep_from);
            chart.fill(all.len(), asleep_from, segment.end.nanoseconds);
        }
        chart.waits = timeline.worst.as_ref().map(|worst| {
            let until = worst.latency.at;
            let from = before(record, until, worst.latency.cycles);
            (format!("{} waits", clean(&record.who(worst.who))), from, until.nanoseconds)
        });
        chart
    }

    /// Nanoseconds at which a column begins.
    fn edge(&self, column: usize) -> u64 {
        let width = self.lanes.first().map_or(1, |lane| lane.columns.len());
        let span = u128::from(self.end - self.begin) * column as u128 / width as u128;
        self.begin.saturating_add(u64::try_from(span).unwrap_or(u64::MAX))
    }

    fn fill(&mut self, lane: usize, from: u64, to: u64) {
        for column in 0..self.lanes[lane].columns.len() {
            let (left, right) = (self.edge(column), self.edge(column + 1));
            let part = to.min(right).saturating_sub(from.max(left));
            let sum = &mut self.lanes[lane].columns[column];
            *sum = sum.saturating_add(part);
        }
    }

    fn write(&self, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let widest = self.lanes.iter().map(|lane| lane.name.chars().count()).max().unwrap_or(0);
        let widest = widest.min(MAX_NAME);
        let mut line = |name: &str, text: &str, paint: Paint| {
            let name = shortened(name, widest);
            let text = paint.on(text.trim_end(), options.style);
            writeln!(out, "{}", format!("  {name:widest$}  {text}").trim_end())
        };
        for lane in &self.lanes {
            let shade = |(column, part): (usize, &u64)| {
                shade(*part, self.edge(column + 1) - self.edge(column))
            };
            let text: String = lane.columns.iter().enumerate().map(shade).collect();
            line(&lane.name, &text, lane.paint)?;
        }
        if let Some((name, from, to)) = &self.waits {
            let width = self.lanes.first().map_or(0, |lane| lane.columns.len());
            let inside = |column: usize| self.edge(column + 1) > *from && self.edge(column) < *to;
            let text: String =
                (0..width).map(|column| if inside(column) { '~' } else { ' ' }).collect();
            line(name, &text, Paint::Warn)?;
        }
        line("", &self.axis(), Paint::Faint)
    }

    /// Round times under the columns at which they are, from the start of the chart on.
    fn axis(&self) -> String {
        let width = self.lanes.first().map_or(0, |lane| lane.columns.len());
        let span = u128::from(self.end - self.begin);
        let step = round(span * AXIS as u128 / width.max(1) as u128);
        let mut axis = String::new();
        for at in (0..=span / step).map(|n| n * step) {
            let column = usize::try_from(at * width as u128 / span).unwrap_or(usize::MAX);
            let text = format!("|+{}", time(at));
            if axis.len() <= column && column.saturating_add(text.len()) <= width {
                axis = format!("{axis:column$}{text}");
            }
        }
        axis
    }
}

/// The next 1, 2 or 5 with zeros behind it.
fn round(n: u128) -> u128 {
    let mut power = 1u128;
    while power * 10 <= n {
        power *= 10;
    }
    [1, 2, 5].into_iter().map(|digit| digit * power).find(|round| *round >= n).unwrap_or(power * 10)
}

/// How dark a column is.
fn shade(part: u64, whole: u64) -> char {
    match u128::from(part) * 4 / u128::from(whole.max(1)) {
        0 if part == 0 => ' ',
        0 => '.',
        1 => ':',
        2 => '+',
        _ => '#',
    }
}

/// Nanoseconds at which a segment's sleep begins: it comes last.
fn asleep_from(segment: &Segment) -> u64 {
    let cycles = segment.end.cycle.saturating_sub(segment.begin.cycle).max(1);
    let (begin, end) = (segment.begin.nanoseconds, segment.end.nanoseconds);
    let idle = u128::from(end.saturating_sub(begin)) * u128::from(segment.idle.min(cycles));
    end.saturating_sub(u64::try_from(idle / u128::from(cycles)).unwrap_or(u64::MAX))
}

/// Nanoseconds of so many cycles before a moment, by the clock there.
fn before(record: &Record, moment: Moment, cycles: u64) -> u64 {
    let clock = record.subject.clock.iter().rev().find(|span| span.cycle <= moment.cycle);
    let hz = clock.map_or(1, |span| span.hz.max(1));
    let length = u128::from(cycles) * 1_000_000_000 / u128::from(hz);
    moment.nanoseconds.saturating_sub(u64::try_from(length).unwrap_or(u64::MAX))
}

fn switches(
    record: &Record,
    timeline: &Timeline,
    top: usize,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let all = &timeline.segments;
    let shown = shown(timeline, if top == 0 { all.len() } else { top.min(all.len()) });
    let mark = Marks::of(&record.trust).general;
    writeln!(out)?;
    let mut table = Table::new()
        .number("at")
        .number("for")
        .number("cycles")
        .number("asleep")
        .text("who")
        .text("how it came to run")
        .keeping_start();
    let others = |n: usize, word: &str| format!("... {} {word}", counted(n as u64, "row"));
    if shown.start > 0 {
        table.across(&others(shown.start, "earlier"), Paint::Faint);
    }
    for at in shown.clone() {
        let segment = &all[at];
        let (begin, end) = (segment.begin, segment.end);
        let asleep = if segment.idle > 0 { mark.figure(segment.idle) } else { String::new() };
        let cells: [String; 6] = [
            mark.time(begin.nanoseconds),
            mark.time(end.nanoseconds.saturating_sub(begin.nanoseconds)),
            mark.figure(end.cycle.saturating_sub(begin.cycle)),
            asleep,
            record.who(segment.who),
            how(record, all, at),
        ];
        let worst = timeline.worst.as_ref().is_some_and(|worst| is_end(worst, segment));
        let paint = if worst { Paint::Hot } else { Paint::Plain };
        table.painted(cells.map(Cell::from).into(), paint);
    }
    if shown.end < all.len() {
        table.across(&others(all.len() - shown.end, "later"), Paint::Faint);
    }
    table.write(options.style, out)
}

/// Whether this is the run that the latency delayed. An interrupt's latency includes the way in,
/// which is part of its run.
fn is_end(worst: &WorstLatency, segment: &Segment) -> bool {
    let (begin, end) = (segment.begin.cycle, segment.end.cycle);
    worst.who == segment.who && (begin..end).contains(&worst.latency.at.cycle)
}

/// Which rows to show: the last ones, or those around the end of the worst latency.
fn shown(timeline: &Timeline, n: usize) -> std::ops::Range<usize> {
    let all = &timeline.segments;
    let Some(worst) = &timeline.worst else { return all.len() - n..all.len() };
    let at = all.iter().position(|segment| is_end(worst, segment)).unwrap_or(0) + 1;
    let begin = at.saturating_sub(n * 3 / 4).min(all.len() - n);
    begin..begin + n
}

fn how(record: &Record, all: &[Segment], at: usize) -> String {
    let mark = Marks::of(&record.trust).general;
    match all[at].start {
        Start::Window => "measuring begins".to_owned(),
        Start::Reset => "reset".to_owned(),
        Start::Resumed => "goes on".to_owned(),
        Start::Entered { latency, chained } => {
            let chained = if chained { ", tail-chained" } else { "" };
            format!("latency {}{chained}", mark.figure(latency))
        }
        Start::Switched { by_itself, waited } => {
            let thread = |s: &&Segment| matches!(s.who, Who::Thread(_));
            let other = all[..at].iter().rev().find(thread);
            let other = other.map_or_else(|| "the one before".to_owned(), |s| record.who(s.who));
            let waited = waited.map_or_else(String::new, |cycles| {
                format!("woken {} cycles ago; ", mark.figure(cycles))
            });
            let how =
                if by_itself { format!("{other} gave up") } else { format!("preempts {other}") };
            format!("{waited}{how}")
        }
    }
}
