//! Where a value lies on paper, and which values are marked: by their logarithms where they span
//! more than a factor of twenty.

use strobe_model::measurement::Unit;

use crate::number::grouped;

/// The unit of parts in a million, which people read as percentages.
const MILLIONTHS: &str = "millionths";

/// An axis between two places.
pub(super) struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
    from: f64,
    to: f64,
}

impl Axis {
    /// One that holds all values, between two places of the picture.
    pub fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let ends = values
            .filter(|value| value.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (mut low, mut high) = if ends.0 <= ends.1 { ends } else { (0.0, 1.0) };
        let logarithmic = low > 0.0 && high / low > 20.0;
        if high <= low {
            // One value is in the middle.
            let around = if low == 0.0 { 1.0 } else { low.abs() * 0.1 };
            (low, high) = (low - around, high + around);
        }
        Axis { low, high, logarithmic, from, to }
    }

    /// Where a value lies; one beyond an end lies there.
    pub fn place(&self, value: f64) -> f64 {
        let part = if self.logarithmic {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + (self.to - self.from) * part.clamp(0.0, 1.0)
    }

    /// Round values between the ends.
    pub fn marks(&self) -> Vec<f64> {
        let mut marks = Vec::new();
        if self.logarithmic {
            let (mut power, steps) = (10f64.powf(self.low.log10().floor()), [1.0, 2.0, 5.0]);
            let wide = (self.high / self.low).log10() > 3.0;
            while power <= self.high && marks.len() < 40 {
                let own = steps.iter().take(if wide { 1 } else { 3 }).map(|step| step * power);
                marks.extend(own.filter(|mark| (self.low..=self.high).contains(mark)));
                power *= 10.0;
            }
            return marks;
        }
        let rough = (self.high - self.low) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|s| s * power).into_iter().find(|s| *s >= rough);
        let step = step.unwrap_or(10.0 * power);
        let first = (self.low / step).ceil();
        marks.extend(
            (0..12).map(|n| (first + f64::from(n)) * step).take_while(|mark| *mark <= self.high),
        );
        marks
    }
}

/// A marked value with its unit, if it is one that marks have.
pub(super) fn label(value: f64, unit: &Unit) -> String {
    match &*unit.0 {
        "nanoseconds" => time(value, 1e3),
        "picoseconds" => time(value, 1.0),
        "bytes" => format!("{} bytes", short(value)),
        "hertz" => format!("{} Hz", short(value)),
        "percent" => format!("{} %", short(value)),
        MILLIONTHS => format!("{} %", short(value / 1e4)),
        _ => short(value),
    }
}

/// The name of a unit for a title, where marks do not have it and a number alone is not enough.
pub(super) fn in_title(unit: &Unit) -> String {
    let is_marked = label(1.0, unit) != short(1.0);
    let is_number = [Unit::COUNT, Unit::RATIO].contains(unit);
    if is_marked || is_number { String::new() } else { format!(" ({unit})") }
}

/// A time of so many units, each of so many picoseconds.
fn time(value: f64, of: f64) -> String {
    let value = value * of;
    let (value, unit) = match value.abs() {
        x if x >= 1e12 => (value / 1e12, "s"),
        x if x >= 1e9 => (value / 1e9, "ms"),
        x if x >= 1e6 => (value / 1e6, "us"),
        x if x >= 1e3 || of > 1.0 => (value / 1e3, "ns"),
        _ => (value, "ps"),
    };
    format!("{} {unit}", short(value))
}

/// Three digits, or whole numbers.
fn short(value: f64) -> String {
    if value.fract() == 0.0 && (0.0..1e15).contains(&value) {
        return grouped(value as u64);
    }
    match value.abs() {
        x if x >= 100.0 => format!("{value:.0}"),
        x if x >= 10.0 => format!("{value:.1}"),
        x if x >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_marks_stay_between_the_ends() {
        let cases: [&[f64]; 6] =
            [&[], &[0.0], &[7.0, 7.0], &[0.0, 3.0], &[-4.0, 9.5], &[0.2, 80_000.0]];
        for values in cases {
            let axis = Axis::over(values.iter().copied(), 10.0, 110.0);
            for value in values.iter().copied().chain([-1e9, 0.0, 1e9]) {
                assert!((10.0..=110.0).contains(&axis.place(value)), "{values:?}: {value}");
            }
            let marks = axis.marks();
            assert!(!marks.is_empty() && marks.len() < 45, "{values:?}: {marks:?}");
            assert!(marks.windows(2).all(|pair| pair[0] < pair[1]), "{values:?}: {marks:?}");
        }
        let axis = Axis::over([1.0, 1000.0].into_iter(), 0.0, 300.0);
        assert!((axis.place(10.0) - 100.0).abs() < 1e-9, "by logarithms");
        // Axes may run upwards, where places become less.
        let up = Axis::over([0.0, 10.0].into_iter(), 200.0, 100.0);
        assert_eq!((up.place(0.0), up.place(10.0)), (200.0, 100.0));
    }

    #[test]
    fn labels_have_their_unit() {
        assert_eq!(label(1_500_000.0, &Unit::NANOSECONDS), "1.50 ms");
        assert_eq!(label(2e9, &Unit::NANOSECONDS), "2 s");
        assert_eq!(label(4096.0, &Unit::BYTES), "4,096 bytes");
        assert_eq!(label(0.25, &Unit::RATIO), "0.250");
        assert_eq!(label(0.5, &Unit::NANOSECONDS), "0.500 ns");
        assert_eq!(label(50_000_000.0, &Unit::PICOSECONDS), "50 us");
        assert_eq!(label(250.0, &Unit::PICOSECONDS), "250 ps");
        assert_eq!(label(400_000.0, &Unit::other(MILLIONTHS)), "40 %");
        assert_eq!(in_title(&Unit::CYCLES), " (cycles)");
        for unit in [Unit::COUNT, Unit::PICOSECONDS, Unit::other(MILLIONTHS)] {
            assert_eq!(in_title(&unit), "");
        }
    }
}
