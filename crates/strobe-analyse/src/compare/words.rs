//! Numbers and names as sentences have them.

use strobe_model::measurement::Unit;

/// `1,234,567`.
pub(super) fn grouped(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if n < 0 { format!("-{out}") } else { out }
}

/// A number with as many decimals as set it apart from its neighbours.
pub(super) fn real(x: f64) -> String {
    match x {
        x if x.fract() == 0.0 || x.abs() >= 1000.0 => grouped(x.round() as i64),
        x if x.abs() >= 10.0 => format!("{x:.1}"),
        x => format!("{x:.2}"),
    }
}

/// `1,000 more cycles (+12.3 % of 8,130)`.
pub(super) fn change(a: i64, b: i64, unit: &Unit) -> String {
    let (more, word) = (b.saturating_sub(a), if b < a { "fewer" } else { "more" });
    let percent = more as f64 * 100.0 / a as f64;
    let share = match a {
        0 => String::new(),
        a if more != 0 && percent.abs() < 0.05 => {
            let sign = if more < 0 { '-' } else { '+' };
            format!(" ({sign}<0.1 % of {})", grouped(a))
        }
        a => format!(" ({percent:+.1} % of {})", grouped(a)),
    };
    format!("{} {word} {unit}{share}", grouped(more.saturating_abs()))
}

/// `1 function`, `2 functions`.
pub(super) fn counted(n: usize, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(n as i64))
}

/// The first names, and how many more there are.
pub(super) fn some<'n>(names: impl Iterator<Item = &'n str>, most: usize) -> String {
    let names: Vec<&str> = names.collect();
    let shown = names.iter().take(most).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
