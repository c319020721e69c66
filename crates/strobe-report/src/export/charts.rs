//! Charts as one SVG without scripts: curves with their intervals, distributions side by side, and
//! values in the order in which they came.
//!
//! What is drawn follows from what a section is: a table whose first column grows and whose figures
//! have intervals is a curve, distributions of one kind share an axis.

use std::fmt::Write as _;

use strobe_model::measurement::{
    Cell, Content, Distribution, Distributions, Measurement, Number, Section, Table, Trust, Unit,
};

use self::axis::Axis;
use super::flame::escaped;
use super::{About, Choice, Export, ExportError, Output, Takes};

mod axis;

/// The format.
pub(super) struct Charts;

/// Everything is in pixels of a picture this wide.
const WIDTH: f64 = 960.0;
/// Left and right of what is drawn: room for names and for figures.
const LEFT: f64 = 210.0;
const RIGHT: f64 = 30.0;
const ROW: f64 = 34.0;
const CURVE: f64 = 260.0;
/// Values from which on their order is drawn.
const ORDERED: usize = 20;
/// Points of one series that are drawn in their order; of more, the largest of each step.
const POINTS: usize = 600;
/// Series with a colour of their own; later ones begin anew.
const COLOURS: [&str; 8] =
    ["#3366aa", "#cc5533", "#2a8f5c", "#8a4fa3", "#b58900", "#1f8fa3", "#a33c5f", "#606060"];

impl Export for Charts {
    fn about(&self) -> About {
        About {
            name: "charts",
            aliases: &["picture"],
            extension: Some("svg"),
            takes: Takes::Figures,
            help: "curves with intervals and distributions, as an SVG picture",
        }
    }

    fn write(
        &self,
        measurement: &Measurement,
        choice: &Choice,
        out: &mut dyn Output,
    ) -> Result<(), ExportError> {
        if let Some(id) = choice.section.as_deref().filter(|id| measurement.section(id).is_none()) {
            return Err(ExportError::no_section(id, measurement));
        }
        let wanted = |s: &&Section| choice.section.as_deref().is_none_or(|wanted| wanted == s.id);
        let mut drawing = Drawing { text: String::new(), bottom: 44.0, charts: 0 };
        measurement.sections.iter().filter(wanted).for_each(|section| drawing.section(section));
        if drawing.charts == 0 {
            return Err(ExportError::nothing_to_take(self.about(), measurement, choice));
        }
        out.file("")?.write_all(drawing.finish(&measurement.subject.name).as_bytes())?;
        Ok(())
    }
}

/// Whether a section can be drawn.
pub(super) fn draws(content: &Content) -> bool {
    match content {
        Content::Distributions(all) => all.distributions.iter().any(|d| d.spread.count() > 0),
        Content::Table(table) => Curve::of(table).is_some(),
        _ => false,
    }
}

/// A series of a curve: where, how much, from where to where it may be.
struct Series<'a> {
    name: &'a str,
    points: Vec<(f64, f64, f64, f64)>,
}

struct Curve<'a> {
    across: &'a str,
    unit: Unit,
    series: Vec<Series<'a>>,
}

impl<'a> Curve<'a> {
    /// The curve that a table is; `None` for other tables.
    fn of(table: &'a Table) -> Option<Curve<'a>> {
        let (first, rest) = table.columns.split_first()?;
        let at: Vec<f64> = first.cells.iter().map_while(|c| Some(c.number()?.as_f64())).collect();
        let grows = at.windows(2).all(|pair| pair[0] < pair[1]);
        if at.len() < 2 || at.len() < table.len() || !grows {
            return None;
        }
        let has_interval = |cell: &Cell| {
            matches!(cell, Cell::Figure { trust: Trust::Sampled { .. }, value: Some(_) })
        };
        if !rest.iter().flat_map(|column| &column.cells).any(has_interval) {
            return None;
        }
        let mut series = Vec::new();
        for column in rest {
            let point = |(at, cell): (&f64, &Cell)| {
                let value = cell.number()?.as_f64();
                let (low, high) = bounds(cell).unwrap_or((value, value));
                Some((*at, value, low, high))
            };
            let points: Vec<_> = at.iter().zip(&column.cells).filter_map(point).collect();
            if !points.is_empty() {
                series.push(Series { name: &column.title, points });
            }
        }
        let unit = rest.first()?.unit.clone().unwrap_or(Unit::COUNT);
        Some(Curve { across: &first.title, unit, series })
    }
}

fn bounds(cell: &Cell) -> Option<(f64, f64)> {
    let of = |low: &Number, high: &Number| Some((low.as_f64(), high.as_f64()));
    match cell {
        Cell::Figure {
            trust:
                Trust::Sampled { low, high, .. }
                | Trust::Modelled { low, high, .. }
                | Trust::Resolution { low, high },
            ..
        } => of(low, high),
        _ => None,
    }
}

struct Drawing {
    text: String,
    /// Where the next chart begins.
    bottom: f64,
    charts: u64,
}

impl Drawing {
    fn section(&mut self, section: &Section) {
        match &section.content {
            Content::Table(table) => {
                if let Some(curve) = Curve::of(table) {
                    self.curve(&section.title, &curve);
                }
            }
            Content::Distributions(all) => self.distributions(&section.title, all),
            _ => {}
        }
    }

    fn title(&mut self, title: &str) {
        self.charts += 1;
        let y = self.bottom + 22.0;
        let title = escaped(title);
        let _ = writeln!(self.text, "<text class=\"title\" x=\"10\" y=\"{y:.0}\">{title}</text>");
        self.bottom += 34.0;
    }

    /// Names of series in their colours, under what is drawn.
    fn legend<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        for (n, name) in names.enumerate() {
            let colour = COLOURS[n % COLOURS.len()];
            let (y, name) = (self.bottom + 12.0, escaped(name));
            let _ = writeln!(
                self.text,
                "<rect x=\"{LEFT}\" y=\"{:.0}\" width=\"12\" height=\"4\" fill=\"{colour}\"/>\
                 <text x=\"{:.0}\" y=\"{y:.0}\">{name}</text>",
                y - 6.0,
                LEFT + 18.0
            );
            self.bottom += 16.0;
        }
        self.bottom += 10.0;
    }

    fn frame(&mut self, height: f64) {
        let _ = writeln!(
            self.text,
            "<rect class=\"frame\" x=\"{LEFT}\" y=\"{:.0}\" width=\"{:.0}\" \
             height=\"{height:.0}\"/>",
            self.bottom,
            WIDTH - LEFT - RIGHT
        );
    }

    /// Figures below a horizontal axis, at its marks.
    fn marks_below(&mut self, axis: &Axis, unit: &Unit) {
        for mark in axis.marks() {
            let (x, y) = (axis.place(mark), self.bottom);
            let label = axis::label(mark, unit);
            let _ = writeln!(
                self.text,
                "<line class=\"mark\" x1=\"{x:.1}\" y1=\"{y:.0}\" x2=\"{x:.1}\" y2=\"{:.0}\"/>\
                 <text class=\"figure\" x=\"{x:.1}\" y=\"{:.0}\">{label}</text>",
                y + 4.0,
                y + 17.0
            );
        }
        self.bottom += 24.0;
    }

    fn curve(&mut self, title: &str, curve: &Curve) {
        self.title(title);
        let points = || curve.series.iter().flat_map(|series| &series.points);
        let (top, floor) = (self.bottom + 8.0, self.bottom + CURVE - 8.0);
        let across = Axis::over(points().map(|p| p.0), LEFT + 12.0, WIDTH - RIGHT - 12.0);
        let up = Axis::over(points().flat_map(|p| [p.1, p.2, p.3]), floor, top);
        self.frame(CURVE);
        for mark in up.marks() {
            let y = up.place(mark);
            let label = axis::label(mark, &curve.unit);
            let _ = writeln!(
                self.text,
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.0}\" y2=\"{y:.1}\"/>\
                 <text class=\"name\" x=\"{:.0}\" y=\"{:.1}\">{label}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0
            );
        }
        for (n, series) in curve.series.iter().enumerate() {
            self.one_curve(series, COLOURS[n % COLOURS.len()], &across, &up);
        }
        self.bottom += CURVE;
        self.marks_below(&across, &Unit::COUNT);
        let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
        let (y, across) = (self.bottom + 6.0, escaped(curve.across));
        let _ = writeln!(
            self.text,
            "<text class=\"figure\" x=\"{middle:.0}\" y=\"{y:.0}\">{across}</text>"
        );
        self.bottom += 12.0;
        self.legend(curve.series.iter().map(|series| series.name));
    }

    fn one_curve(&mut self, series: &Series, colour: &str, across: &Axis, up: &Axis) {
        let place = |p: &(f64, f64, f64, f64)| (across.place(p.0), up.place(p.1));
        let line: Vec<String> = series
            .points
            .iter()
            .map(|point| {
                let (x, y) = place(point);
                format!("{x:.1},{y:.1}")
            })
            .collect();
        let line = line.join(" ");
        let _ = writeln!(self.text, "<polyline points=\"{line}\" stroke=\"{colour}\"/>");
        for point in &series.points {
            let (x, y) = place(point);
            let (low, high) = (up.place(point.2), up.place(point.3));
            let _ = writeln!(
                self.text,
                "<line class=\"interval\" x1=\"{x:.1}\" y1=\"{low:.1}\" x2=\"{x:.1}\" \
                 y2=\"{high:.1}\" stroke=\"{colour}\"/><circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" \
                 fill=\"{colour}\"/>"
            );
        }
    }

    fn distributions(&mut self, title: &str, all: &Distributions) {
        let mut rest: Vec<&Distribution> =
            all.distributions.iter().filter(|d| d.spread.count() > 0).collect();
        while let Some(first) = rest.first().copied() {
            let (own, others): (Vec<&Distribution>, _) =
                rest.into_iter().partition(|d| kind(d) == kind(first));
            rest = others;
            self.title(&format!("{title}: {}", kind(first).0));
            self.side_by_side(&own);
            let ordered: Vec<&Distribution> =
                own.into_iter().filter(|d| d.values.len() >= ORDERED).collect();
            if !ordered.is_empty() {
                self.title(&format!("{title}: {}, in their order", kind(first).0));
                self.in_order(&ordered);
            }
        }
    }

    fn side_by_side(&mut self, all: &[&Distribution]) {
        let ends = all.iter().flat_map(|d| [d.spread.min(), d.spread.quantile(0.99)]).flatten();
        let axis = Axis::over(ends.map(|end| end as f64), LEFT + 6.0, WIDTH - RIGHT - 6.0);
        self.frame(ROW * all.len() as f64);
        for (n, distribution) in all.iter().enumerate() {
            let colour = COLOURS[n % COLOURS.len()];
            self.one_row(distribution, colour, &axis);
            self.bottom += ROW;
        }
        let unit = all.first().map_or(Unit::COUNT, |d| d.unit.clone());
        self.marks_below(&axis, &unit);
        self.bottom += 8.0;
    }

    /// Columns as high as the values in them are many, and the median.
    fn one_row(&mut self, distribution: &Distribution, colour: &str, axis: &Axis) {
        const STEP: f64 = 6.0;
        let (base, spread) = (self.bottom + ROW - 3.0, &distribution.spread);
        let mut columns = std::collections::BTreeMap::<u32, u64>::new();
        for (value, times) in spread.buckets() {
            let x = axis.place(value as f64).min(WIDTH - RIGHT - 6.0);
            *columns.entry(((x - LEFT) / STEP) as u32).or_default() += times;
        }
        let most = columns.values().copied().max().unwrap_or(1).max(1) as f64;
        let name = escaped(kind(distribution).1);
        let _ = writeln!(
            self.text,
            "<text class=\"name\" x=\"{:.0}\" y=\"{:.0}\">{name}</text>",
            LEFT - 6.0,
            self.bottom + ROW / 2.0 + 4.0
        );
        for (column, times) in columns {
            let height = (ROW - 8.0) * times as f64 / most;
            let _ = writeln!(
                self.text,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\" \
                 fill=\"{colour}\"/>",
                LEFT + f64::from(column) * STEP,
                base - height,
                STEP - 1.0
            );
        }
        if let Some(median) = spread.quantile(0.5) {
            let x = axis.place(median as f64);
            let label = axis::label(median as f64, &distribution.unit);
            let _ = writeln!(
                self.text,
                "<line class=\"median\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{base:.1}\">\
                 <title>median {label} of {}</title></line>",
                self.bottom + 2.0,
                spread.count()
            );
        }
    }

    fn in_order(&mut self, all: &[&Distribution]) {
        let values = || all.iter().flat_map(|d| &d.values).map(|value| *value as f64);
        let up = Axis::over(values(), self.bottom + CURVE - 8.0, self.bottom + 8.0);
        self.frame(CURVE);
        for mark in up.marks() {
            let y = up.place(mark);
            let label = all.first().map_or_else(String::new, |d| axis::label(mark, &d.unit));
            let _ = writeln!(
                self.text,
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.0}\" y2=\"{y:.1}\"/>\
                 <text class=\"name\" x=\"{:.0}\" y=\"{:.1}\">{label}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0
            );
        }
        for (n, distribution) in all.iter().enumerate() {
            let steps = distribution.values.len().div_ceil(POINTS).max(1);
            let chunks = distribution.values.chunks(steps);
            let (count, wide) = (chunks.len().max(2) - 1, WIDTH - LEFT - RIGHT - 12.0);
            let point = |(n, chunk): (usize, &[u64])| {
                let most = chunk.iter().copied().max().unwrap_or(0) as f64;
                let x = LEFT + 6.0 + wide * n as f64 / count as f64;
                format!("{x:.1},{:.1}", up.place(most))
            };
            let line: Vec<String> = chunks.enumerate().map(point).collect();
            let (line, colour) = (line.join(" "), COLOURS[n % COLOURS.len()]);
            let _ = writeln!(self.text, "<polyline points=\"{line}\" stroke=\"{colour}\"/>");
        }
        self.bottom += CURVE;
        self.legend(all.iter().map(|d| kind(d).1));
    }

    fn finish(self, title: &str) -> String {
        let (height, title) = (self.bottom + 16.0, escaped(title));
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {WIDTH:.0} {height:.0}\">\n<title>{title}</title>\n\
             <style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text class=\"whole\" x=\"10\" y=\"28\">{title}</text>\n{}</svg>\n",
            self.text
        )
    }
}

/// What a distribution is of, and whose: `wall nginx`.
fn kind(distribution: &Distribution) -> (&str, &str) {
    distribution.name.split_once(' ').unwrap_or((&distribution.name, ""))
}

const STYLE: &str = "text{font:12px 'DejaVu Sans',Verdana,sans-serif;fill:#111}\
.whole{font-size:17px;font-weight:bold}.title{font-size:14px;font-weight:bold}\
.name{text-anchor:end}.figure{text-anchor:middle;fill:#444}\
.frame{fill:none;stroke:#999}.grid{stroke:#ddd}.mark{stroke:#999}.interval{stroke-width:1.5}\
.median{stroke:#000;stroke-width:2}polyline{fill:none;stroke-width:1.5}";

#[cfg(test)]
mod tests;
