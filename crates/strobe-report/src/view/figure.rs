//! Figures by unit and trust: one that is modelled, sampled or incomplete never looks like an exact
//! one, and one that is unknown never looks like a number.

use std::borrow::Cow;

use strobe_analyse::attribution::Amount;
use strobe_model::measurement::{Number, Quantity, Trust, Unit};
use strobe_model::number::signed;

use crate::number::{grouped, hertz, picoseconds, time};

/// A number in its unit's customary form, without the unit's name unless it is a prefix's: `2,172`,
/// `45.19 us`, `1.73`, `38.2 %`.
pub(super) fn number(value: Number, unit: &Unit) -> String {
    let (sign, value) = match value {
        Number::Integer(n) if n < 0 => ("-", Number::from(n.unsigned_abs())),
        Number::Real(x) if x < 0.0 => ("-", Number::Real(-x)),
        value => ("", value),
    };
    let text = match (unit, value) {
        (unit, Number::Integer(n)) if *unit == Unit::NANOSECONDS => time(n.unsigned_abs().into()),
        (unit, value) if *unit == Unit::NANOSECONDS => picoseconds(whole(value.as_f64() * 1e3)),
        (unit, value) if *unit == Unit::PICOSECONDS => picoseconds(value.as_u64()),
        (unit, value) if *unit == Unit::HERTZ => frequency(value),
        (unit, value) if *unit == Unit::RATIO => decimals(value, 2),
        (unit, value) if *unit == Unit::PERCENT => percent(value.as_f64()),
        (unit, value) if unit.0 == MILLIONTHS => millionths(value.as_f64()),
        (_, value) => plain(value),
    };
    format!("{sign}{text}")
}

/// The unit of parts in a million, which people read as percentages.
const MILLIONTHS: &str = "millionths";

/// Millionths as a percentage; of less than one percent no digit is lost.
fn millionths(ppm: f64) -> String {
    match ppm {
        0.0 => "0.0 %".to_owned(),
        ppm if ppm < 10_000.0 => {
            let digits = format!("{:.4}", ppm / 1e4);
            format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
        }
        ppm => percent(ppm / 1e4),
    }
}

fn whole(x: f64) -> u64 {
    x.round().max(0.0) as u64
}

/// Digits in groups; of what is not whole, no more decimals than it deserves.
pub(super) fn plain(value: Number) -> String {
    match value {
        Number::Integer(n) => signed(n),
        Number::Real(x) if x == x.trunc() || x.abs() >= 1000.0 => decimals(value, 0),
        Number::Real(x) if x.abs() >= 10.0 => decimals(value, 1),
        Number::Real(_) => decimals(value, 2),
    }
}

fn decimals(value: Number, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.as_f64());
    let (digits, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let digits = digits.parse().map_or_else(|_| digits.to_owned(), grouped);
    if fraction.is_empty() { digits } else { format!("{digits}.{fraction}") }
}

fn percent(x: f64) -> String {
    match format!("{x:.1}") {
        text if text == "0.0" && x > 0.0 => "<0.1 %".to_owned(),
        text if text == "100.0" && x < 100.0 => ">99.9 %".to_owned(),
        text => format!("{text} %"),
    }
}

fn frequency(value: Number) -> String {
    match value {
        Number::Integer(n) if u32::try_from(n).is_ok() => hertz(u32::try_from(n).unwrap_or(0)),
        value => {
            let x = value.as_f64();
            let units = [(1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz")];
            let (unit, name) =
                units.into_iter().find(|(unit, _)| x >= *unit).unwrap_or((1.0, "Hz"));
            format!("{} {name}", plain(Number::Real(x / unit)))
        }
    }
}

/// What stands before a figure.
pub(super) fn sign(trust: &Trust) -> &'static str {
    match trust {
        Trust::Modelled { .. } | Trust::Sampled { .. } => "~",
        Trust::AtLeast => ">=",
        Trust::AtMost => "<=",
        Trust::Exact | Trust::Resolution { .. } | Trust::Unknown { .. } => "",
    }
}

/// A figure in a table: `~2,172`, `>=5`, `unknown`.
pub(crate) fn cell(value: Option<Number>, trust: &Trust, unit: &Unit) -> String {
    match value {
        Some(value) => format!("{}{}", sign(trust), number(value, unit)),
        None => "unknown".to_owned(),
    }
}

/// A figure in a sentence, with its bounds: `~2,172 (2,045-2,554, -5.9/+18 %)`, `at least 5`,
/// `unknown: no timestamps`.
pub(super) fn sentence(quantity: &Quantity) -> String {
    let unit = quantity.unit();
    let Some(value) = quantity.value() else {
        return match quantity.trust() {
            Trust::Unknown { why } if !why.is_empty() => format!("unknown: {why}"),
            _ => "unknown".to_owned(),
        };
    };
    let figure = number(value, unit);
    let is_share = |low: f64, high: f64| *unit == Unit::PERCENT && low >= 0.0 && high <= 100.0;
    let bounds = quantity.trust().bounds().map(|(low, high)| {
        let (least, most) = (low.as_f64(), high.as_f64());
        match quantity.trust() {
            // As shares stand in a profile.
            Trust::Sampled { .. } if is_share(least, most) => {
                interval((least / 100.0, most / 100.0))
            }
            _ => range(low, high, unit),
        }
    });
    match (quantity.trust(), bounds) {
        (Trust::AtLeast, _) => format!("at least {figure}"),
        (Trust::AtMost, _) => format!("at most {figure}"),
        // A model has a part in it, and nobody knows how much of one.
        (Trust::Modelled { low, high, .. }, _) if low == high => format!("~{figure}"),
        (Trust::Modelled { low, high, .. }, Some(bounds)) => {
            let relative = match spread(value, *low, *high) {
                Some(spread) if *unit != Unit::RATIO => format!(", {spread}"),
                _ => String::new(),
            };
            format!("~{figure} ({bounds}{relative})")
        }
        (Trust::Sampled { n, .. }, Some(bounds)) => {
            format!("~{figure} ({bounds}, from {} samples)", grouped(*n))
        }
        (Trust::Resolution { .. }, Some(bounds)) => format!("{figure} ({bounds})"),
        _ => figure,
    }
}

/// From a figure to another one, the unit once: `497.5-505.0 us`.
pub(crate) fn range(low: Number, high: Number, unit: &Unit) -> String {
    let (low, high) = (number(low, unit), number(high, unit));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((digits, prefix)), Some((_, same))) if prefix == same => between(digits, &high),
        _ => between(&low, &high),
    }
}

/// From where to where: `2-5`, `-5 to 2`.
fn between(low: &str, high: &str) -> String {
    let to = if low.starts_with('-') { " to " } else { "-" };
    format!("{low}{to}{high}")
}

/// As [`sentence`], with the unit's name where the figure does not have it.
pub(crate) fn with_unit(quantity: &Quantity) -> String {
    let text = sentence(quantity);
    match (unit_name(quantity.unit()), quantity.value()) {
        (Some(unit), Some(value)) => {
            let one = value.as_f64() == 1.0 && quantity.trust().bounds().is_none();
            let unit = if one { unit.strip_suffix('s').unwrap_or(&unit) } else { &unit };
            format!("{text} {unit}")
        }
        _ => text,
    }
}

/// What to call a unit behind a number; nothing where the number has it already or there is none.
pub(crate) fn unit_name(unit: &Unit) -> Option<Cow<'_, str>> {
    let silent = [
        Unit::COUNT,
        Unit::RATIO,
        Unit::PERCENT,
        Unit::HERTZ,
        Unit::NANOSECONDS,
        Unit::PICOSECONDS,
    ];
    (!silent.contains(unit) && unit.0 != MILLIONTHS).then_some(Cow::Borrowed(unit.0.as_ref()))
}

/// Bounds relative to the value, rounded outwards: `-5.9/+18 %`; where they are on both sides of
/// zero, from where to where, since no percentage means anything then. `None` where they meet.
pub(super) fn spread(value: Number, low: Number, high: Number) -> Option<String> {
    let (likely, low, high) = (value.as_f64(), low.as_f64(), high.as_f64());
    if low == high {
        return None;
    }
    if likely == 0.0 || (low < 0.0 && high > 0.0) {
        let to = if low < 0.0 { " to " } else { "-" };
        let end = |x: f64| number(Number::Real(x), &Unit::COUNT);
        return Some(format!("{}{to}{}", end(low), end(high)));
    }
    let relative = |difference: f64| outwards(difference.abs() / likely.abs());
    Some(format!("-{}/+{} %", relative(likely - low), relative(high - likely)))
}

fn outwards(part: f64) -> String {
    // What floating point adds to a whole number of permilles is no reason to round up.
    match (part * 1000.0 - 1e-9).ceil().max(0.0) as u64 {
        0 => "0".to_owned(),
        permille @ 1..100 => format!("{}.{}", permille / 10, permille % 10),
        _ => grouped((part * 100.0 - 1e-9).ceil() as u64),
    }
}

/// How often something happened, marked where models have a part in it.
pub(super) fn times(amount: Amount) -> String {
    let sign = if amount.is_exact() { "" } else { "~" };
    format!("{sign}{}", plain(amount.value.into()))
}

/// The spread of an amount; nothing for one that is exact.
pub(super) fn amount_spread(amount: Amount) -> String {
    let Amount { low, value, high } = amount.ordered();
    spread(value.into(), low.into(), high.into()).unwrap_or_default()
}

/// A part of a whole: `52.6 %`; `-` of nothing.
pub(crate) fn share(part: i64, whole: i64) -> String {
    let count = |n: i64| u64::try_from(n).unwrap_or(0);
    crate::number::share(count(part), count(whole))
}

/// Where a share lies, from 0 to 1, rounded outwards: `46.2-49.0 %`.
pub(crate) fn interval((low, high): (f64, f64)) -> String {
    // What floating point adds to a whole number of permilles is no reason to round.
    let low = (low * 1000.0 + 1e-9).floor() / 10.0;
    let high = (high * 1000.0 - 1e-9).ceil() / 10.0;
    format!("{low:.1}-{high:.1} %")
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_model::Bounds;

    #[test]
    fn a_share_has_one_interval_in_sentences_and_tables() {
        let trust = Trust::Sampled { n: 811, low: 44.544.into(), high: 51.405.into() };
        let share = Quantity::new(Some(47.965.into()), Unit::PERCENT, trust).unwrap();
        assert_eq!(sentence(&share), "~48.0 % (44.5-51.5 %, from 811 samples)");
        assert_eq!(interval((0.44544, 0.51405)), "44.5-51.5 %");
    }

    #[test]
    fn numbers_look_as_their_units_do() {
        let cases: [(Number, Unit, &str); 14] = [
            (45_187u64.into(), Unit::NANOSECONDS, "45.19 us"),
            (3187.5.into(), Unit::NANOSECONDS, "3.188 us"),
            ((-1500i64).into(), Unit::NANOSECONDS, "-1.500 us"),
            (41_667u64.into(), Unit::PICOSECONDS, "41.67 ns"),
            (48_000_000u64.into(), Unit::HERTZ, "48 MHz"),
            (1922.6.into(), Unit::HERTZ, "1.92 kHz"),
            (1.734.into(), Unit::RATIO, "1.73"),
            (38.17.into(), Unit::PERCENT, "38.2 %"),
            (0.001.into(), Unit::PERCENT, "<0.1 %"),
            (99.99.into(), Unit::PERCENT, ">99.9 %"),
            (1_234_567u64.into(), Unit::BYTES, "1,234,567"),
            (22.4375.into(), Unit::CYCLES, "22.4"),
            (1234.5.into(), Unit::CYCLES, "1,234"),
            (2.5.into(), Unit::other("furlongs"), "2.50"),
        ];
        for (value, unit, text) in cases {
            assert_eq!(number(value, &unit), text, "{value:?} {unit}");
        }
    }

    #[test]
    fn trust_shows() {
        let bounds = Bounds { low: 2045, likely: 2172, high: 2554 };
        let modelled = Quantity::modelled(bounds, Unit::CYCLES, None);
        assert_eq!(with_unit(&modelled), "~2,172 (2,045-2,554, -5.9/+18 %) cycles");
        let (low, high) = (7u64.into(), 7u64.into());
        let about = Trust::Modelled { low, high, why: None };
        let about = Quantity::new(Some(7u64.into()), Unit::CYCLES, about).unwrap();
        assert_eq!(sentence(&about), "~7");
        let trust = Trust::Sampled { n: 90, low: 31.0.into(), high: 42.5.into() };
        let sampled = Quantity::new(Some(36.2.into()), Unit::PERCENT, trust).unwrap();
        assert_eq!(sentence(&sampled), "~36.2 % (31.0-42.5 %, from 90 samples)");
        assert_eq!(with_unit(&Quantity::at_least(1u64, Unit::BYTES)), "at least 1 byte");
        let unknown = Quantity::unknown(Unit::BYTES, "no timestamps");
        assert_eq!(with_unit(&unknown), "unknown: no timestamps");
        assert_eq!(cell(unknown.value(), unknown.trust(), unknown.unit()), "unknown");
    }

    #[test]
    fn spreads_round_outwards() {
        let spread = |low: i64, likely: i64, high: i64| {
            spread(likely.into(), low.into(), high.into()).unwrap_or_default()
        };
        assert_eq!(spread(999_999, 1_000_000, 1_000_000), "-0.1/+0 %");
        assert_eq!(spread(180, 200, 240), "-10/+20 %");
        assert_eq!(spread(0, 0, 5), "0-5");
        assert_eq!(spread(-1200, 0, 1200), "-1,200 to 1,200");
        assert_eq!(spread(-2000, -96, 1500), "-2,000 to 1,500");
        assert_eq!(spread(-200, -100, -50), "-100/+50 %");
        assert_eq!(spread(7, 7, 7), "");
    }
}
