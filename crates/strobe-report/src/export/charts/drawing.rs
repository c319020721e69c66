//! The picture that charts are drawn into, from top to bottom.

use std::fmt::Write as _;

use strobe_model::measurement::{Content, Section, Unit};

use super::super::flame::escaped;
use super::axis::{self, Axis};
use super::curve::{Curve, Series};

/// Everything is in pixels of a picture this wide.
pub(super) const WIDTH: f64 = 960.0;
/// Left and right of what is drawn: room for names and for figures.
pub(super) const LEFT: f64 = 210.0;
pub(super) const RIGHT: f64 = 30.0;
pub(super) const ROW: f64 = 34.0;
pub(super) const CURVE: f64 = 260.0;
/// Series with a colour of their own; later ones begin anew.
pub(super) const COLOURS: [&str; 8] =
    ["#3366aa", "#cc5533", "#2a8f5c", "#8a4fa3", "#b58900", "#1f8fa3", "#a33c5f", "#606060"];

/// A section's title without what its figures mean: names of what is drawn follow, and must be on
/// the picture.
fn heading(section: &Section) -> &str {
    section.title.split_once(':').map_or(section.title.as_str(), |(heading, _)| heading)
}

/// What has been drawn.
pub(super) struct Drawing {
    pub text: String,
    /// Where the next chart begins.
    pub bottom: f64,
    pub charts: u64,
}

impl Drawing {
    /// An empty picture, whose first chart begins there.
    pub fn from(bottom: f64) -> Drawing {
        Drawing { text: String::new(), bottom, charts: 0 }
    }

    pub fn section(&mut self, section: &Section) {
        match &section.content {
            Content::Table(table) => {
                if let Some(curve) = Curve::of(table) {
                    self.curve(&section.title, &curve);
                }
            }
            Content::Distributions(all) => self.distributions(heading(section), all),
            Content::Timeline(line) => self.timeline(heading(section), line),
            _ => {}
        }
    }

    pub fn title(&mut self, title: &str) {
        self.charts += 1;
        let y = self.bottom + 22.0;
        let title = escaped(title);
        let _ = writeln!(self.text, "<text class=\"title\" x=\"10\" y=\"{y:.0}\">{title}</text>");
        self.bottom += 34.0;
    }

    /// Names of series in their colours, under what is drawn.
    pub fn legend<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
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

    pub fn frame(&mut self, height: f64) {
        let _ = writeln!(
            self.text,
            "<rect class=\"frame\" x=\"{LEFT}\" y=\"{:.0}\" width=\"{:.0}\" \
             height=\"{height:.0}\"/>",
            self.bottom,
            WIDTH - LEFT - RIGHT
        );
    }

    /// Figures below a horizontal axis, at its marks.
    pub fn marks_below(&mut self, axis: &Axis, unit: &Unit) {
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

    /// Lines across, at the marks of a vertical axis, with their figures.
    pub fn grid(&mut self, up: &Axis, unit: &Unit) {
        for mark in up.marks() {
            let (y, label) = (up.place(mark), axis::label(mark, unit));
            let _ = writeln!(
                self.text,
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.0}\" y2=\"{y:.1}\"/>\
                 <text class=\"name\" x=\"{:.0}\" y=\"{:.1}\">{label}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0
            );
        }
    }

    fn curve(&mut self, title: &str, curve: &Curve) {
        self.title(title);
        let points = || curve.series.iter().flat_map(|series| &series.points);
        let (top, floor) = (self.bottom + 8.0, self.bottom + CURVE - 8.0);
        let across = Axis::over(points().map(|p| p.0), LEFT + 12.0, WIDTH - RIGHT - 12.0);
        let up = Axis::over(points().flat_map(|p| [p.1, p.2, p.3]), floor, top);
        self.frame(CURVE);
        self.grid(&up, &curve.unit);
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

    /// The whole picture, as a file of its own.
    pub fn finish(self, title: &str) -> String {
        let (height, title) = (self.bottom + 16.0, escaped(title));
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" width=\"{WIDTH:.0}\" \
             height=\"{height:.0}\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text class=\"whole\" x=\"10\" y=\"28\">{title}</text>\n{}</svg>\n",
            self.text
        )
    }

    /// The picture as a part of a page that has [`STYLE`].
    pub fn inline(self) -> String {
        let height = self.bottom + 16.0;
        format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" role=\"img\">\n{}</svg>\n",
            self.text
        )
    }
}

/// How charts look; on a page, nothing else has their class.
pub(in crate::export) const STYLE: &str = "\
.chart text{font:12px 'DejaVu Sans',Verdana,sans-serif;fill:#111}\
.chart .whole{font-size:17px;font-weight:bold}.chart .title{font-size:14px;font-weight:bold}\
.chart .name{text-anchor:end}.chart .figure{text-anchor:middle;fill:#444}\
.chart .frame{fill:none;stroke:#999}.chart .grid{stroke:#ddd}.chart .mark{stroke:#999}\
.chart .interval{stroke-width:1.5}.chart .median{stroke:#000;stroke-width:2}\
.chart polyline{fill:none;stroke-width:1.5}";
