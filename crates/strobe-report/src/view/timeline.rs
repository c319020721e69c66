//! A time line: a picture with a row for each track, which part of it is exact, counters, gaps, and
//! the last spans one by one.

mod chart;
mod picture;

use std::io::{self, Write};

use strobe_model::measurement::{
    CellKind, Column, Extent, Number, Section, Table as Columns, Timeline, Unit,
};

use super::figure::number;
use super::table::{beneath, value};
use super::text::notes;
use super::{Page, View};
use crate::number::counted;
use crate::paint::Paint;
use crate::table::{Cell, Table};
use crate::text::layout::{heading, item};
use picture::Picture;

/// Gaps listed one by one.
const MOST_GAPS: usize = 5;

/// Exact parts named and drawn one by one: each takes a look at all that is on the time line.
const MOST_PARTS: usize = 20;

/// The section.
pub(super) struct Line<'a> {
    pub(super) section: &'a Section,
    pub(super) timeline: &'a Timeline,
}

impl View for Line<'_> {
    fn write(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        let (timeline, options) = (self.timeline, page.options);
        let Extent { from, to } = timeline.extent;
        let at = |time: i64| time_text(time, &timeline.unit);
        let title = format!(
            "{}: {}, from {} to {}",
            self.section.title,
            at(to.saturating_sub(from)),
            at(from),
            at(to)
        );
        heading(&title, options, out)?;
        if timeline.tracks.is_empty() {
            item("", "nothing is on it", Paint::Plain, options, out)?;
            return self.gaps(page, out);
        }
        if let Some(text) = self.exactness() {
            item("", &text, Paint::Plain, options, out)?;
        }
        Picture::new(timeline, timeline.extent, options).write(options, out)?;
        chart::write(timeline, options, out)?;
        // What was asked for is too short a part of a long run to be seen in it.
        for part in timeline.exact.iter().filter(|part| self.is_short(part)).take(MOST_PARTS) {
            let text = format!("from {} to {}:", at(part.from), at(part.to));
            writeln!(out)?;
            item("", &text, Paint::Plain, options, out)?;
            Picture::new(timeline, *part, options).write(options, out)?;
        }
        self.gaps(page, out)?;
        self.counters(page, out)?;
        self.spans(page, out)?;
        notes(self.section, page, out)
    }
}

/// A moment or a length in a time line's unit.
fn time_text(time: i64, unit: &Unit) -> String {
    let text = number(Number::from(time), unit);
    match super::figure::unit_name(unit) {
        Some(unit) => format!("{text} {unit}"),
        None => text,
    }
}

impl Line<'_> {
    /// Which part is exact; nothing where all of it is.
    fn exactness(&self) -> Option<String> {
        let Timeline { unit, extent, exact, summary, spans, counters, .. } = self.timeline;
        let covers = |part: &Extent| part.from <= extent.from && part.to >= extent.to;
        if exact.iter().any(covers) {
            return None;
        }
        let is_of_values = spans.begin.is_empty() && !counters.at.is_empty();
        if exact.is_empty() && summary.is_empty() && is_of_values {
            return Some("values may be missing anywhere".to_owned());
        }
        let at = |time: i64| time_text(time, unit);
        let named = exact.iter().take(MOST_PARTS);
        let named = named.map(|part| format!("from {} to {}", at(part.from), at(part.to)));
        let more = exact.len().saturating_sub(MOST_PARTS);
        let more = (more > 0).then(|| format!("in {}", counted(more as u64, "further part")));
        let parts: Vec<String> = named.chain(more).collect();
        let parts = if parts.is_empty() {
            "spans are not kept one by one".to_owned()
        } else {
            format!("every span is kept {}", parts.join(" and "))
        };
        let rest = match summary.first() {
            Some(level) => {
                let width = i64::try_from(level.width).unwrap_or(i64::MAX);
                format!("elsewhere how much each track had of every {}", at(width))
            }
            None => "of the rest nothing is known".to_owned(),
        };
        Some(format!("{parts}; {rest}"))
    }

    /// Whether a part has less than half of the picture of the whole.
    fn is_short(&self, part: &Extent) -> bool {
        let length = |extent: &Extent| u128::from(extent.to.abs_diff(extent.from));
        part.from < part.to && length(part) * 2 < length(&self.timeline.extent)
    }

    fn gaps(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        let gaps = &self.timeline.gaps;
        let at = |time: i64| time_text(time, &self.timeline.unit);
        for i in 0..gaps.from.len().min(MOST_GAPS) {
            let missing = match gaps.events[i] {
                Some(n) => format!("{} missing", counted(n, "event")),
                None => "an unknown number of events missing".to_owned(),
            };
            let (from, to) = (at(gaps.from[i]), at(gaps.to[i]));
            let when = if gaps.from[i] == gaps.to[i] {
                format!("at {from}")
            } else {
                format!("from {from} to {to}")
            };
            let text = format!("gap {when}: {missing}: {}", gaps.why[i]);
            item("! ", &text, Paint::Warn, page.options, out)?;
        }
        match gaps.from.len().saturating_sub(MOST_GAPS) {
            0 => Ok(()),
            more => {
                let text = format!("and {}", counted(more as u64, "further gap"));
                item("! ", &text, Paint::Warn, page.options, out)
            }
        }
    }

    /// Of each counter, how many values there are, and the first, least, greatest and last.
    fn counters(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        if self.timeline.counters.track.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        let mut table = Table::new().narrowing().number("values").number("first").number("min");
        table = table.number("max").number("last").text("unit").text("counter");
        for (track, mine) in self.timeline.tracks.iter().zip(self.timeline.values_by_track()) {
            let (Some(first), Some(last)) = (mine.first(), mine.last()) else { continue };
            let (least, most) =
                mine.iter().fold((first.1, first.1), |(least, most), (_, value)| {
                    (least.min(*value), most.max(*value))
                });
            let unit = track.unit.as_ref().unwrap_or(&Unit::COUNT);
            let figure = |value: i64| Cell::from(number(Number::from(value), unit));
            let mut cells = vec![crate::grouped(mine.len() as u64).into()];
            cells.extend([first.1, least, most, last.1].map(figure));
            cells.push(super::figure::unit_name(unit).unwrap_or_default().into_owned().into());
            cells.push(track.name.as_str().into());
            table.row(cells);
        }
        table.write(page.options.style, out)
    }

    /// The last spans, in the order in which they began.
    fn spans(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        let Timeline { spans, tracks, unit, .. } = self.timeline;
        let mut order: Vec<usize> = (0..spans.begin.len()).collect();
        if order.is_empty() {
            return Ok(());
        }
        order.sort_by_key(|i| (spans.begin[*i], std::cmp::Reverse(spans.duration[*i])));
        let top = page.selection.top;
        let shown = if top == 0 { order.len() } else { top.min(order.len()) };
        let earlier = order.len() - shown;
        writeln!(out)?;
        let details = Details::of(&spans.details);
        let mut table = Table::new().narrowing().number("at").number("for");
        for (rank, column) in (1u8..=DETAILS).zip(&details.secondary_measures) {
            let title = column.title.clone();
            table = match column.kind {
                CellKind::Figure => table.number(title).optional(DETAILS + 1 - rank),
                CellKind::Text | CellKind::Address => {
                    table.text(title).optional(DETAILS + 1 - rank)
                }
            };
        }
        table = table.text("track").text("span");
        if let Some(last) = details.last {
            table = table.text(last.title.clone()).keeping_start();
        }
        if earlier > 0 {
            let text = format!("... {}", counted(earlier as u64, "earlier span"));
            table.across(&text, Paint::Faint);
        }
        let cell = |column: &Column, i: usize| {
            let unit = column.unit.as_ref().unwrap_or(&Unit::COUNT);
            Cell::from(column.cells.get(i).and_then(|cell| value(cell, unit)).unwrap_or_default())
        };
        for i in order.into_iter().skip(earlier) {
            let length = i64::try_from(spans.duration[i]).unwrap_or(i64::MAX);
            let times = [spans.begin[i], length].map(|time| number(Number::from(time), unit));
            let mut cells: Vec<Cell> = times.map(Cell::from).into();
            cells.extend(details.secondary_measures.iter().map(|column| cell(column, i)));
            let track = tracks.get(spans.track[i] as usize).map_or("", |track| &track.name);
            let own = self.timeline.span_name(i);
            cells.push(track.into());
            cells.push(if own == track { "" } else { own }.into());
            cells.extend(details.last.map(|column| cell(column, i)));
            table.row(cells);
        }
        table.write(page.options.style, out)?;
        beneath(&Columns::new(spans.details.clone()), &[], page, out)
    }
}

/// Columns of details shown before those with names.
const DETAILS: u8 = 60;

/// What else is known of spans: the last column in words stands behind the names.
struct Details<'a> {
    secondary_measures: Vec<&'a Column>,
    last: Option<&'a Column>,
}

impl<'a> Details<'a> {
    fn of(columns: &'a [Column]) -> Self {
        let last = columns.iter().rposition(|column| column.kind == CellKind::Text);
        let others = columns.iter().enumerate().filter(|(i, _)| Some(*i) != last);
        let secondary_measures =
            others.map(|(_, column)| column).take(usize::from(DETAILS)).collect();
        Details { secondary_measures, last: last.map(|i| &columns[i]) }
    }
}
