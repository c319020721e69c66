//! Distributions side by side on one axis, and their values in the order in which they came.

use std::fmt::Write as _;

use strobe_model::measurement::{Distribution, Distributions, Unit};

use super::super::flame::escaped;
use super::axis::{self, Axis};
use super::drawing::{COLOURS, CURVE, Drawing, LEFT, RIGHT, ROW, WIDTH};
use super::grouped;

/// Values from which on their order is drawn.
const ORDERED: usize = 20;
/// Points of one series that are drawn in their order; of more, the largest of each step.
const POINTS: usize = 600;

impl Drawing {
    /// Distributions, those of one kind together.
    pub fn distributions(&mut self, title: &str, all: &Distributions) {
        let drawn = all.distributions.iter().filter(|d| d.spread.count() > 0);
        for group in grouped(drawn, |d: &&Distribution| (d.name.as_str(), &d.unit)) {
            let unit = group.own.first().map_or_else(String::new, |(_, d)| axis::in_title(&d.unit));
            self.title(&format!("{title}: {}{unit}", group.name));
            self.side_by_side(&group.own);
            let ordered: Vec<(&str, &Distribution)> =
                group.own.into_iter().filter(|(_, d)| d.values.len() >= ORDERED).collect();
            if !ordered.is_empty() {
                self.title(&format!("{title}: {}, in their order{unit}", group.name));
                self.in_order(&ordered);
            }
        }
    }

    fn side_by_side(&mut self, all: &[(&str, &Distribution)]) {
        let ends =
            all.iter().flat_map(|(_, d)| [d.spread.min(), d.spread.quantile(0.99)]).flatten();
        let axis = Axis::over(ends.map(|end| end as f64), LEFT + 6.0, WIDTH - RIGHT - 6.0);
        self.frame(ROW * all.len() as f64);
        for (n, (name, distribution)) in all.iter().enumerate() {
            let colour = COLOURS[n % COLOURS.len()];
            self.one_row(name, distribution, colour, &axis);
            self.bottom += ROW;
        }
        let unit = all.first().map_or(Unit::COUNT, |(_, d)| d.unit.clone());
        self.marks_below(&axis, &unit);
        self.bottom += 8.0;
    }

    /// Columns as high as the values in them are many, and the median.
    fn one_row(&mut self, name: &str, distribution: &Distribution, colour: &str, axis: &Axis) {
        const STEP: f64 = 6.0;
        let (base, spread) = (self.bottom + ROW - 3.0, &distribution.spread);
        let mut columns = std::collections::BTreeMap::<u32, u64>::new();
        for (value, times) in spread.buckets() {
            let x = axis.place(value as f64).min(WIDTH - RIGHT - 6.0);
            *columns.entry(((x - LEFT) / STEP) as u32).or_default() += times;
        }
        let most = columns.values().copied().max().unwrap_or(1).max(1) as f64;
        let name = escaped(name);
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

    fn in_order(&mut self, all: &[(&str, &Distribution)]) {
        let values = || all.iter().flat_map(|(_, d)| &d.values).map(|value| *value as f64);
        let up = Axis::over(values(), self.bottom + CURVE - 8.0, self.bottom + 8.0);
        self.frame(CURVE);
        self.grid(&up, &all.first().map_or(Unit::COUNT, |(_, d)| d.unit.clone()));
        for (n, (_, distribution)) in all.iter().enumerate() {
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
        // One that is alone has its name in the title.
        match all {
            [("", _)] => self.bottom += 10.0,
            _ => self.legend(all.iter().map(|(name, _)| *name)),
        }
    }
}
