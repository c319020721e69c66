//! A budget with its verdict in words.

use strobe_analyse::budget::{Limit, Limits, Line, Scale, Share, Verdict};
use strobe_model::measurement::{Quantity, Trust, Unit};

use super::reason;
use crate::number::grouped;

/// A function's part, with what it was: `1,300 (was 200)`.
#[must_use]
pub fn share(share: &Share) -> String {
    let before = share.before.map(|before| format!(" (was {})", number(before as f64)));
    format!("{}{}", number(share.value as f64), before.unwrap_or_default())
}

/// The functions of a line, as `memcpy 300 (was 200)`.
#[must_use]
pub fn functions(line: &Line) -> Vec<String> {
    line.functions.iter().map(|of| format!("{} {}", of.name, share(of))).collect()
}

/// Firmware and budget.
#[must_use]
pub fn title(line: &Line) -> String {
    format!("{}: {}", line.firmware, line.name)
}

/// The figure of a line; where it has none, an unknown one with the reason.
#[must_use]
pub fn figure(line: &Line) -> Quantity {
    line.judged.value.clone().unwrap_or_else(|| {
        let why = line.judged.reason.as_ref().map(reason::text);
        Quantity::unknown(Unit::COUNT, why.unwrap_or_default())
    })
}

/// The figure in words, as `1,234 cycles`; with its bounds if it has some.
#[must_use]
pub fn value(line: &Line) -> String {
    let quantity = figure(line);
    let Some(value) = quantity.value() else { return "unknown".to_owned() };
    let text = words(value.as_f64(), quantity.unit());
    match quantity.trust() {
        Trust::Modelled { low, high, .. }
        | Trust::Sampled { low, high, .. }
        | Trust::Resolution { low, high }
            if low != high =>
        {
            let ends = [low, high].map(|end| words(end.as_f64(), quantity.unit()));
            format!("~{text} ({})", range(ends))
        }
        Trust::AtLeast => format!(">={text}"),
        Trust::AtMost => format!("<={text}"),
        _ => text,
    }
}

/// Two ends, with their unit once where it is the same.
fn range([low, high]: [String; 2]) -> String {
    let number = match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((number, of_low)), Some((_, of_high))) if of_low == of_high => number,
        _ => &low,
    };
    format!("{number} to {high}")
}

/// By how much the figure differs from what it was, as `+1,234 cycles`; nothing where it does not.
#[must_use]
pub fn change(line: &Line, was: f64) -> Option<String> {
    let quantity = line.judged.value.as_ref()?;
    let by = quantity.value()?.as_f64() - was;
    let sign = if by < 0.0 { '-' } else { '+' };
    (by != 0.0).then(|| format!("{sign}{}", words(by.abs(), quantity.unit())))
}

/// The limits, as `at most 1200 cycles`; a relative one with what it comes to.
#[must_use]
pub fn limits(line: &Line) -> String {
    let Limits { least, most, .. } = &line.limits;
    let unit = figure(line).unit().clone();
    let least = least.as_ref().map(|least| limit("at least", least, line.judged.least, &unit));
    let most = most.as_ref().map(|most| limit("at most", most, line.judged.most, &unit));
    [least, most].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn limit(word: &str, limit: &Limit, at: Option<f64>, unit: &Unit) -> String {
    match at.filter(|_| limit.relative) {
        Some(at) => format!("{word} {limit} ({})", words(at, unit)),
        None => format!("{word} {limit}"),
    }
}

/// How far it is from the limit.
#[must_use]
pub fn margin(line: &Line) -> Option<String> {
    let margin = line.judged.margin?;
    let amount = words(margin.abs(), figure(line).unit());
    Some(if margin < 0.0 { format!("{amount} beyond") } else { format!("{amount} left") })
}

/// The whole line.
#[must_use]
pub fn sentence(line: &Line) -> String {
    let mut text = title(line);
    if line.judged.verdict != Verdict::Broken {
        text = format!("{text}: {}, {}", value(line), limits(line));
    }
    let reason = line.judged.reason.as_ref().map(reason::text);
    for part in [margin(line), reason].into_iter().flatten() {
        text.push_str(&format!(": {part}"));
    }
    text
}

/// A figure in words: numbers in groups, small ones with decimals, times with a prefix.
fn words(value: f64, unit: &Unit) -> String {
    let (scale, factor) = Scale::of(unit);
    let value = value * factor;
    match scale {
        Scale::Time if value.abs() >= 1e9 => format!("{} s", number(value / 1e9)),
        Scale::Time if value.abs() >= 1e6 => format!("{} ms", number(value / 1e6)),
        Scale::Time if value.abs() >= 1e3 => format!("{} us", number(value / 1e3)),
        Scale::Time => format!("{} ns", number(value)),
        Scale::Bytes => format!("{} B", number(value)),
        Scale::Percent => format!("{} %", number(value)),
        Scale::Hertz => format!("{} Hz", number(value)),
        Scale::Plain => number(value),
        Scale::Cycles if value.abs() == 1.0 => format!("{} cycle", number(value)),
        Scale::Cycles => format!("{} cycles", number(value)),
        Scale::Other(name) => format!("{} {name}", number(value)),
    }
}

fn number(value: f64) -> String {
    if !value.is_finite() {
        return "unlimited".to_owned();
    }
    // Of thousands nobody wants the thousandths.
    let decimals: i32 = if value.abs() < 1000.0 { 3 } else { 0 };
    // Halves go up, as in tables.
    let scale = 10f64.powi(decimals);
    let decimals = decimals as usize;
    let text = format!("{:.decimals$}", (value.abs() * scale).round() / scale);
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let grouped = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
    let part = part.trim_end_matches('0');
    let sign = if value < 0.0 { "-" } else { "" };
    let point = if part.is_empty() { "" } else { "." };
    format!("{sign}{grouped}{point}{part}")
}

#[cfg(test)]
mod tests {
    use strobe_analyse::budget::{Figure, judge};
    use strobe_model::measurement::Number;

    use super::*;

    /// No report of a check may print a modelled figure as an exact one.
    #[test]
    fn lines_have_the_bounds_of_their_figures() {
        let line = |quantity: Quantity| {
            let most = Limit::parse("2000 cycles").ok();
            let limits = Limits { most, ..Limits::default() };
            let judged = judge(&Figure { quantity, hertz: None }, &limits, None);
            let (firmware, name) = ("fw".to_owned(), "f".to_owned());
            Line { firmware, name, limits, judged, functions: Vec::new() }
        };
        let with = |number: u64, trust: Trust| {
            value(&line(Quantity::new(Some(number.into()), Unit::CYCLES, trust).unwrap()))
        };
        let (low, high) = (Number::from(900u64), Number::from(1_100u64));
        let modelled = Trust::Modelled { low, high, why: None };
        assert_eq!(with(1_000, modelled), "~1,000 cycles (900 to 1,100 cycles)");
        assert_eq!(with(1_000, Trust::Exact), "1,000 cycles");
        assert_eq!(with(1_000, Trust::AtLeast), ">=1,000 cycles");
        let now = line(Quantity::exact(1_000u64, Unit::CYCLES));
        assert_eq!(change(&now, 3_500.0).as_deref(), Some("-2,500 cycles"));
        assert_eq!(change(&now, 1_000.0), None);
        // As tables round.
        assert_eq!(words(1_062.5, &Unit::NANOSECONDS), "1.063 us");
    }
}
