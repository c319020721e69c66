//! Notes on the sections of a comparison.

use strobe_analyse::compare::{Note, RATE};

pub(super) fn text(note: &Note) -> String {
    let text = match note {
        Note::Matching => {
            "functions are matched by name and file, then by name, then by how much of their \
             instructions is alike; clones of a function are one with it"
        }
        Note::SampleTest { inflation } => return sample_test(*inflation),
        Note::RunTest { sampled } => return run_test(*sampled),
        Note::Division => {
            "more calls: what they would take if each took what it did in a; the rest of a row is \
             for each call of b. A row's parts add up to its difference; a column for which there \
             is no room has the least in its rows, signs aside"
        }
        Note::MovedLines => {
            "lines are those of b: where a function begins or ends at another line in a, its lines \
             there are counted from that"
        }
        Note::Alignment => {
            "aligned by what the instructions do: = both, a or b only there; addresses may differ"
        }
        Note::ShareTest => {
            return format!(
                "certain: the share of samples against what the other side has, within its \
                 bounds, {}; samples are taken as independent",
                corrected()
            );
        }
        Note::SpreadTest => {
            return format!(
                "certain: Welch's test of two means, {}; figures that are equal in all runs are \
                 compared exactly",
                corrected()
            );
        }
        Note::MiddleRun => "the run shown of each side is the one in the middle by its first total",
    };
    text.to_owned()
}

/// How the chance of false alarms is kept for many rows.
fn corrected() -> String {
    format!(
        "corrected for the number of rows (Benjamini and Hochberg, {:.0} % false alarms)",
        RATE * 100.0
    )
}

fn sample_test(inflation: Option<f64>) -> String {
    let varies = match inflation {
        Some(by) if by > 1.0 => format!("samples vary {by:.1} times as much as independent ones"),
        Some(_) => "samples vary as independent ones do".to_owned(),
        None => "there are too few rows to see how samples vary: taken as independent".to_owned(),
    };
    format!(
        "certain: shares of samples by the test of two proportions, {}; {varies}; needs 2x: a \
         difference as large would show with twice as many samples",
        corrected()
    )
}

fn run_test(sampled: bool) -> String {
    let of = if sampled { "shares of samples in all runs" } else { "all runs" };
    format!(
        "certain: {of}, by Welch's test of two means, {}; the figures are those of the run in the \
         middle",
        corrected()
    )
}
