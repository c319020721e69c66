//! The picture of a time line: how much of each column a track has, as shades of characters.

use std::io::{self, Write};

use strobe_model::measurement::{Extent, Level, Timeline, TrackKind};

use super::time_text;
use crate::Options;
use crate::paint::Paint;
use crate::words::{apart, clean};

/// Widest name of a row.
const MAX_NAME: usize = 24;

/// Columns between two times on the axis, at least.
const AXIS: usize = 16;

/// A row: how much of each column is its own, or whether anything is there.
struct Row {
    name: String,
    columns: Vec<u64>,
    /// A moment is there, which takes no time.
    marks: Vec<bool>,
    paint: Paint,
}

/// The picture.
pub(super) struct Picture<'a> {
    timeline: &'a Timeline,
    extent: Extent,
    width: usize,
    rows: Vec<Row>,
}

impl<'a> Picture<'a> {
    /// The picture of a part of a time line, or of all of it.
    pub(super) fn new(timeline: &'a Timeline, part: Extent, options: &Options) -> Self {
        let Extent { from, to } = part;
        let from = from.min(i64::MAX - 1);
        let extent = Extent { from, to: to.max(from + 1) };
        let names = timeline.tracks.iter().map(|track| clean(&track.name).chars().count());
        let widest = names.max().unwrap_or(0).clamp(8, MAX_NAME);
        let width = options.style.width.saturating_sub(widest + 6).max(20);
        let row = |name: &str, paint| Row {
            name: clean(name),
            columns: vec![0; width],
            marks: vec![false; width],
            paint,
        };
        let rows = timeline.tracks.iter().map(|track| row(&track.name, Paint::Plain));
        let mut picture = Picture { timeline, extent, width, rows: rows.collect() };
        picture.spans();
        picture.summaries();
        picture.moments();
        let mut gaps = row("(gaps)", Paint::Warn);
        picture.gaps(&mut gaps);
        // Handlers first, as their priorities are; rows without anything on them are left out.
        let mut order: Vec<usize> = (0..picture.rows.len()).collect();
        order.sort_by_key(|i| (timeline.tracks[*i].kind != TrackKind::Exception, *i));
        let mut rows: Vec<Option<Row>> =
            std::mem::take(&mut picture.rows).into_iter().map(Some).collect();
        let rows = order.into_iter().filter_map(|i| rows[i].take()).chain([gaps]);
        picture.rows = rows.filter(Row::has_anything).collect();
        picture
    }

    /// Where a column begins.
    fn edge(&self, column: usize) -> i64 {
        let Extent { from, to } = self.extent;
        let span = i128::from(to) - i128::from(from);
        let at = i128::from(from) + span * column as i128 / self.width as i128;
        i64::try_from(at).unwrap_or(i64::MAX)
    }

    /// The columns that a stretch touches.
    fn columns(&self, from: i64, to: i64) -> std::ops::Range<usize> {
        let Extent { from: begin, to: end } = self.extent;
        let span = (i128::from(end) - i128::from(begin)).max(1);
        let column = |time: i64| {
            let time = i128::from(time.clamp(begin, end)) - i128::from(begin);
            usize::try_from(time * self.width as i128 / span).unwrap_or(0)
        };
        column(from)..(column(to) + 1).min(self.width)
    }

    /// Adds `part` of what lies between two moments to their columns, in proportion.
    fn fill(&mut self, track: usize, from: i64, to: i64, part: u64) {
        // Differences of times and lengths fit into 64 bits, their products into 128.
        let length = |from: i64, to: i64| u128::from(to.abs_diff(from)) * u128::from(to > from);
        let whole = length(from, to).max(1);
        for column in self.columns(from, to) {
            let (left, right) = (self.edge(column), self.edge(column + 1));
            let inside = length(from.max(left), to.min(right));
            let share = u64::try_from(inside * u128::from(part) / whole).unwrap_or(u64::MAX);
            if let Some(row) = self.rows.get_mut(track) {
                row.columns[column] = row.columns[column].saturating_add(share);
            }
        }
    }

    fn spans(&mut self) {
        let spans = &self.timeline.spans;
        for i in 0..spans.begin.len() {
            let begin = spans.begin[i];
            let end = begin.saturating_add(i64::try_from(spans.duration[i]).unwrap_or(i64::MAX));
            self.fill(spans.track[i] as usize, begin, end, spans.duration[i]);
            if spans.duration[i] == 0 {
                self.mark(spans.track[i] as usize, begin);
            }
        }
    }

    /// What only the summary knows: stretches no part of which is exact.
    fn summaries(&mut self) {
        let Some(level) = self.level() else { return };
        let exact = Parts::new(&self.timeline.exact);
        for track in &level.tracks {
            for (stretch, time) in track.stretch.iter().zip(&track.time) {
                let Some((from, to)) = stretch_extent(level, *stretch) else { continue };
                if !exact.overlap(from, to) {
                    self.fill(track.track as usize, from, to, *time);
                }
            }
        }
    }

    /// The coarsest summary that is not coarser than a column; else the finest.
    fn level(&self) -> Option<&'a Level> {
        let levels = &self.timeline.summary;
        let column = u64::try_from(self.edge(1).saturating_sub(self.edge(0))).unwrap_or(0).max(1);
        let fits = levels.iter().filter(|level| level.width <= column);
        fits.max_by_key(|level| level.width).or_else(|| levels.iter().min_by_key(|l| l.width))
    }

    fn moments(&mut self) {
        let moments = &self.timeline.moments;
        for (track, at) in moments.track.iter().zip(&moments.at) {
            self.mark(*track as usize, *at);
        }
    }

    fn mark(&mut self, track: usize, at: i64) {
        if !(self.extent.from..=self.extent.to).contains(&at) {
            return;
        }
        let column = self.columns(at, at).start.min(self.width - 1);
        if let Some(row) = self.rows.get_mut(track) {
            row.marks[column] = true;
        }
    }

    fn gaps(&self, row: &mut Row) {
        let gaps = &self.timeline.gaps;
        let Extent { from: begin, to: end } = self.extent;
        let inside =
            gaps.from.iter().zip(&gaps.to).filter(|(from, to)| **from <= end && **to >= begin);
        for (from, to) in inside {
            for column in self.columns(*from, *to) {
                row.marks[column] = true;
            }
        }
    }

    pub(super) fn write(&self, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = self.rows.iter().map(|row| row.name.as_str()).collect();
        let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(MAX_NAME);
        let names = apart(&names, widest);
        let mut line = |name: &str, text: &str, paint: Paint| {
            let text = paint.on(text.trim_end(), options.style);
            writeln!(out, "{}", format!("  {name:widest$}  {text}").trim_end())
        };
        for (row, name) in self.rows.iter().zip(&names) {
            let shade = |column: usize| {
                let whole = self.edge(column + 1).saturating_sub(self.edge(column));
                row.shade(column, u64::try_from(whole).unwrap_or(0))
            };
            let text: String = (0..self.width).map(shade).collect();
            line(name, &text, row.paint)?;
        }
        line("", &self.axis(), Paint::Faint)
    }

    /// Round times under the columns at which they are, from the start of the picture on.
    fn axis(&self) -> String {
        let span = i128::from(self.extent.to) - i128::from(self.extent.from);
        let step = round(span * AXIS as i128 / self.width as i128);
        let mut axis = String::new();
        for at in (0..=span / step).map(|n| n * step) {
            let column = usize::try_from(at * self.width as i128 / span).unwrap_or(usize::MAX);
            let time = i64::try_from(at).unwrap_or(i64::MAX);
            let text = format!("|+{}", time_text(time, &self.timeline.unit));
            if axis.len() <= column && column.saturating_add(text.len()) <= self.width {
                axis = format!("{axis:column$}{text}");
            }
        }
        axis
    }
}

impl Row {
    fn has_anything(&self) -> bool {
        self.columns.iter().any(|part| *part > 0) || self.marks.iter().any(|mark| *mark)
    }

    /// How dark a column is.
    fn shade(&self, column: usize, whole: u64) -> char {
        let part = self.columns[column];
        match u128::from(part) * 4 / u128::from(whole.max(1)) {
            0 if part == 0 && self.marks[column] => '|',
            0 if part == 0 => ' ',
            0 => '.',
            1 => ':',
            2 => '+',
            _ => '#',
        }
    }
}

/// Parts of a time line in the order of their beginnings, each with the last end up to it.
struct Parts(Vec<Extent>);

impl Parts {
    fn new(parts: &[Extent]) -> Self {
        let mut parts = parts.to_vec();
        parts.sort_by_key(|part| part.from);
        let mut last = i64::MIN;
        for part in &mut parts {
            last = last.max(part.to);
            part.to = last;
        }
        Parts(parts)
    }

    /// Whether any of them has something between two moments.
    fn overlap(&self, from: i64, to: i64) -> bool {
        let before = self.0.partition_point(|part| part.from < to);
        self.0[..before].last().is_some_and(|part| part.to > from)
    }
}

/// From where to where a stretch of a summary goes.
fn stretch_extent(level: &Level, stretch: u32) -> Option<(i64, i64)> {
    let width = i64::try_from(level.width).ok()?;
    let from = level.begin.checked_add(width.checked_mul(i64::from(stretch))?)?;
    Some((from, from.checked_add(width)?))
}

/// The next 1, 2 or 5 with zeros behind it.
fn round(n: i128) -> i128 {
    let mut power = 1i128;
    while power * 10 <= n {
        power *= 10;
    }
    [1, 2, 5].into_iter().map(|digit| digit * power).find(|round| *round >= n).unwrap_or(power * 10)
}
