//! How much the whole changed, and which parts have most of that.

use strobe_analyse::compare::{
    Amount, Comparison, FunctionChanges, SameTime, TotalChange, Whole, WholePart,
};
use strobe_model::number::signed;

use super::super::words::{change, counted, from_to, real};
use super::name;

pub(super) fn answer(comparison: &Comparison) -> String {
    match (&comparison.verdict.amount, comparison.functions.first()) {
        (Amount::Total(Some(TotalChange { title, sides: [a, b], unit })), _) => {
            format!("{title}: {}", from_to(*a, *b, unit))
        }
        (Amount::Samples { known }, Some(found)) => samples(found, *known),
        (Amount::Whole(whole), Some(found)) => sums(found, whole),
        _ => "no total that both have differs".to_owned(),
    }
}

fn samples(found: &FunctionChanges, known: usize) -> String {
    let [a, b] = found.all.map(signed);
    format!(
        "{a} samples (a), {b} (b): shares are compared; {} of {} differ",
        signed(known as i64),
        counted(found.rows.len(), "function")
    )
}

fn sums(found: &FunctionChanges, whole: &Whole) -> String {
    let ([a, b], unit) = (found.all, &found.unit);
    let mut text = match whole.same_time {
        Some(same_time) => {
            let all = match same_time {
                SameTime::Apart => format!("{} and {}", signed(a), signed(b)),
                SameTime::Alike => signed(a.max(b)),
            };
            format!("both were stopped after the same time, {all} {unit}")
        }
        None if b.saturating_sub(a) == 0 => format!("the same in all: {} {unit}", signed(a)),
        None => format!("{} in all, {} -> {}", change(a, b, unit), signed(a), signed(b)),
    };
    for (at, (part, n)) in whole.parts.iter().enumerate() {
        let name = match part {
            WholePart::Function(row) => name(found, *row),
            WholePart::Idle => "idle",
        };
        text += &match at {
            0 => format!("; {name} has {} of it", with_sign(*n)),
            _ => format!(", {name} {}", with_sign(*n)),
        };
    }
    if let Some(ratio) = whole.time_ratio {
        text += &format!("; {} times the time", real(ratio));
    }
    text
}

/// With its sign, that of more as well.
fn with_sign(n: i64) -> String {
    if n > 0 { format!("+{}", signed(n)) } else { signed(n) }
}
