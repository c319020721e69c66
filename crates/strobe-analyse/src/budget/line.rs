//! One budget with its verdict: what every report of a check prints a line of.

use strobe_model::measurement::{Trust, Unit};
use strobe_model::number::grouped;

use super::{Judged, Limits, Scale, Share, Verdict};

/// A budget with its verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The firmware's name.
    pub firmware: String,
    /// The budget's name.
    pub name: String,
    /// Its limits as they are written.
    pub limits: Limits,
    /// The verdict.
    pub judged: Judged,
    /// The functions behind a figure that is not held: those that changed since the baseline, else
    /// the largest.
    pub functions: Vec<Share>,
}

impl Share {
    /// Its part in words, with what it was: `1,300 (was 200)`.
    pub fn words(&self) -> String {
        let before = self.before.map(|before| format!(" (was {})", number(before as f64)));
        format!("{}{}", number(self.value as f64), before.unwrap_or_default())
    }
}

impl Line {
    /// Whether it is held.
    pub fn is_held(&self) -> bool {
        self.judged.verdict == Verdict::Held
    }

    /// Firmware and budget.
    pub fn title(&self) -> String {
        format!("{}: {}", self.firmware, self.name)
    }

    /// The figure in words, as `1,234 cycles`; with its bounds if it has some.
    pub fn value(&self) -> String {
        let quantity = &self.judged.value;
        let Some(value) = quantity.value() else { return "unknown".to_owned() };
        let text = words(value.as_f64(), quantity.unit());
        match quantity.trust() {
            Trust::Modelled { low, high, .. }
            | Trust::Sampled { low, high, .. }
            | Trust::Resolution { low, high }
                if low != high =>
            {
                let [low, high] = [low, high].map(|end| words(end.as_f64(), quantity.unit()));
                // The unit once, where it is the same.
                let unit = |text: &str| text.rsplit_once(' ').map(|(_, unit)| unit.to_owned());
                let low = match unit(&low).filter(|of_low| unit(&high).as_ref() == Some(of_low)) {
                    Some(unit) => low[..low.len() - unit.len() - 1].to_owned(),
                    None => low,
                };
                format!("~{text} ({low} to {high})")
            }
            Trust::AtLeast => format!(">={text}"),
            Trust::AtMost => format!("<={text}"),
            _ => text,
        }
    }

    /// By how much the figure differs from what it was, as `+1,234 cycles`; nothing where it does
    /// not.
    pub fn change(&self, was: f64) -> Option<String> {
        let by = self.judged.value.value()?.as_f64() - was;
        let sign = if by < 0.0 { '-' } else { '+' };
        (by != 0.0).then(|| format!("{sign}{}", words(by.abs(), self.judged.value.unit())))
    }

    /// The limits in words, as `at most 1200 cycles`; a relative one with what it comes to.
    pub fn limit(&self) -> String {
        let Limits { least, most, .. } = &self.limits;
        let unit = self.judged.value.unit();
        let one = |word: &str, limit: &super::Limit, at: Option<f64>| match at
            .filter(|_| limit.relative)
        {
            Some(at) => format!("{word} {limit} ({})", words(at, unit)),
            None => format!("{word} {limit}"),
        };
        let least = least.as_ref().map(|limit| one("at least", limit, self.judged.least));
        let most = most.as_ref().map(|limit| one("at most", limit, self.judged.most));
        [least, most].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// How far it is from the limit, in words.
    pub fn margin(&self) -> Option<String> {
        let margin = self.judged.margin?;
        let amount = words(margin.abs(), self.judged.value.unit());
        Some(if margin < 0.0 { format!("{amount} beyond") } else { format!("{amount} left") })
    }

    /// The whole line in words, with its functions.
    pub fn sentence(&self) -> String {
        let mut text = format!("{}: {}, {}", self.title(), self.value(), self.limit());
        if self.judged.verdict == Verdict::Broken {
            text = self.title();
        }
        if let Some(margin) = self.margin() {
            text.push_str(&format!(": {margin}"));
        }
        if let Some(reason) = &self.judged.reason {
            text.push_str(&format!(": {reason}"));
        }
        text
    }

    /// The functions in words, as `memcpy 300 (was 200)`.
    pub fn responsible(&self) -> Vec<String> {
        self.functions.iter().map(|share| format!("{} {}", share.name, share.words())).collect()
    }
}

/// A figure in words: numbers in groups, small ones with decimals, times with a prefix.
pub(super) fn words(value: f64, unit: &Unit) -> String {
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
