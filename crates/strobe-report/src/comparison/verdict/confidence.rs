//! How certain the changes of functions are.

use strobe_analyse::compare::{Basis, Comparison, Confidence, FunctionChanges};
use strobe_model::number::signed;

use super::super::words::{counted, real};
use super::name;

pub(super) fn answer(comparison: &Comparison) -> String {
    let known = comparison.functions.first().zip(comparison.verdict.confidence.as_ref());
    let Some((found, confidence)) = known else {
        return "figures of both are compared with the bounds that they have".to_owned();
    };
    let text = of_rows(found, confidence);
    if found.is_set() {
        let [a, b] = found.runs.map(|n| counted(n, "run"));
        return format!("{a} (a), {b} (b): {text}");
    }
    text
}

fn of_rows(found: &FunctionChanges, confidence: &Confidence) -> String {
    if found.sampled {
        return of_samples(found, confidence);
    }
    if found.nameless().is_some() {
        return "sums only, with the bounds that they have".to_owned();
    }
    match (confidence.known, confidence.undecided) {
        (_, 0) if found.is_set() => "yes: by how the runs vary".to_owned(),
        (_, 0) => format!("yes: {}", basis(confidence.basis)),
        (0, _) if found.is_set() => {
            "no function differs beyond what the runs of a side vary".to_owned()
        }
        (0, 1) if !confidence.differs => {
            "no function differs; what one takes is known within bounds only".to_owned()
        }
        (0, n) if !confidence.differs => format!(
            "no function differs; what {} take is known within bounds only",
            signed(n as i64)
        ),
        (0, n) => {
            format!("undecided: {} within what is not known of both", counted(n, "difference"))
        }
        (known, undecided) => format!(
            "{} of {} for certain; {} undecided ({} first)",
            signed(known as i64),
            counted(found.rows.len(), "function"),
            signed(undecided as i64),
            confidence.first.map_or("", |row| name(found, row))
        ),
    }
}

fn of_samples(found: &FunctionChanges, confidence: &Confidence) -> String {
    let needs = confidence.needs.map(|(row, times)| {
        format!("; {} needs {} times as many samples", name(found, row), real(times))
    });
    format!(
        "{} of {} differ beyond chance; {} undecided{}",
        confidence.known,
        counted(found.rows.len(), "function"),
        signed(confidence.undecided as i64),
        needs.unwrap_or_default()
    )
}

fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Counted => "counted",
        Basis::SharedModel => "counted, by one timing model whose error both share",
        Basis::OtherModels => "counted, and more than what the timing models may be off",
    }
}
