//! Numbers and names as sentences have them.

use strobe_model::measurement::Unit;
use strobe_model::number::{self, signed};

/// A number with as many decimals as set it apart from its neighbours.
pub(super) fn real(x: f64) -> String {
    match x {
        x if x.fract() == 0.0 || x.abs() >= 1000.0 => signed(x.round() as i64),
        x if x.abs() >= 10.0 => format!("{x:.1}"),
        x => format!("{x:.2}"),
    }
}

/// `1,000 -> 1,200 cycles`; times and parts of a million as people read them.
pub(super) fn from_to(a: f64, b: f64, unit: &Unit) -> String {
    match unit.0.as_ref() {
        "nanoseconds" => format!("{} -> {}", time(a), time(b)),
        "picoseconds" => format!("{} -> {}", time(a / 1e3), time(b / 1e3)),
        "millionths" => format!("{:.1} -> {:.1} %", a / 1e4, b / 1e4),
        "count" => format!("{} -> {}", real(a), real(b)),
        _ => format!("{} -> {} {unit}", real(a), real(b)),
    }
}

/// `15.38 us`, of nanoseconds.
fn time(ns: f64) -> String {
    let (scaled, unit) = match ns.abs() {
        x if x >= 1e9 => (ns / 1e9, "s"),
        x if x >= 1e6 => (ns / 1e6, "ms"),
        x if x >= 1e3 => (ns / 1e3, "us"),
        _ => (ns, "ns"),
    };
    let decimals = match scaled.abs() {
        x if x < 10.0 => 3,
        x if x < 100.0 => 2,
        _ => 1,
    };
    format!("{scaled:.decimals$} {unit}")
}

/// `1,000 more cycles (+12.3 % of 8,130)`.
pub(super) fn change(a: i64, b: i64, unit: &Unit) -> String {
    let (more, word) = (b.saturating_sub(a), if b < a { "fewer" } else { "more" });
    let percent = more as f64 * 100.0 / a as f64;
    let share = match a {
        0 => String::new(),
        a if more != 0 && percent.abs() < 0.05 => {
            let sign = if more < 0 { '-' } else { '+' };
            format!(" ({sign}<0.1 % of {})", signed(a))
        }
        a => format!(" ({percent:+.1} % of {})", signed(a)),
    };
    let unit = unit.0.as_ref();
    let unit = if [1, -1].contains(&more) { unit.strip_suffix('s').unwrap_or(unit) } else { unit };
    format!("{} {word} {unit}{share}", signed(more.saturating_abs()))
}

/// `1 function`, `2 functions`.
pub(super) fn counted(n: usize, what: &str) -> String {
    number::counted(n as u64, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_parts_are_as_people_read_them() {
        let of = |a, b, unit: &'static str| from_to(a, b, &Unit(unit.into()));
        assert_eq!(of(5_500_000.0, 15_375_000.0, "picoseconds"), "5.500 us -> 15.38 us");
        assert_eq!(of(837_001_000.0, 51_191_062.0, "nanoseconds"), "837.0 ms -> 51.19 ms");
        assert_eq!(of(254_512.0, 429_631.0, "millionths"), "25.5 -> 43.0 %");
        assert_eq!(of(4_738.0, 3_186.0, "count"), "4,738 -> 3,186");
        assert_eq!(of(20.0, 400.0, "cycles"), "20 -> 400 cycles");
    }

    #[test]
    fn tiny_share_is_not_zero() {
        let unit = Unit::CYCLES;
        assert_eq!(change(819_057, 819_061, &unit), "4 more cycles (+<0.1 % of 819,057)");
        assert_eq!(change(480_001, 480_000, &unit), "1 fewer cycle (-<0.1 % of 480,001)");
        assert_eq!(change(100, 150, &unit), "50 more cycles (+50.0 % of 100)");
    }
}
