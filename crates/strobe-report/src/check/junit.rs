//! Budgets as test cases: what is not held is a failure, what cannot be judged an error.

use strobe_analyse::budget::{Line, Verdict};

use super::line;
use crate::junit::{self, Case, Outcome, Why};

/// The whole file.
pub fn document(lines: &[Line]) -> String {
    junit::document("strobe check", &lines.iter().map(case).collect::<Vec<_>>())
}

fn case(line: &Line) -> Case {
    let why = || Why {
        kind: line.judged.verdict.name().to_owned(),
        message: line::sentence(line),
        detail: line::functions(line).join("\n"),
    };
    let outcome = match line.judged.verdict {
        Verdict::Held => Outcome::Passed(line::sentence(line)),
        Verdict::Broken | Verdict::Unknown => Outcome::Error(why()),
        Verdict::Exceeded | Verdict::Undecided => Outcome::Failed(why()),
    };
    Case { suite: line.firmware.clone(), name: line.name.clone(), outcome }
}
