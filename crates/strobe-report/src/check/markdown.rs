//! A summary in Markdown, for a pull request: the verdict, then what is not held with its
//! functions, then all.

use std::fmt::Write;

use strobe_analyse::budget::Line;

use super::line;
use crate::markdown::cell;

/// The whole text.
pub fn summary(lines: &[Line]) -> String {
    let held = lines.iter().filter(|line| line.is_held()).count();
    let all = lines.len();
    let mut text = if held == all {
        format!("### strobe check: all {all} budgets held\n\n")
    } else {
        format!("### strobe check: {} of {all} budgets not held\n\n", all - held)
    };
    text.push_str("| | firmware | budget | value | limit | margin |\n");
    text.push_str("| --- | --- | --- | ---: | ---: | ---: |\n");
    let mut sorted: Vec<&Line> = lines.iter().collect();
    sorted.sort_by_key(|line| line.is_held());
    for line in &sorted {
        let verdict = line.judged.verdict.name();
        let verdict = if line.is_held() { verdict.to_owned() } else { format!("**{verdict}**") };
        let cells = [&line.firmware, &line.name, &line::value(line), &line::limits(line)]
            .map(|text| cell(text));
        let margin = cell(&line::margin(line).unwrap_or_default());
        let _ = writeln!(text, "| {verdict} | {} | {margin} |", cells.join(" | "));
    }
    for line in sorted.iter().filter(|line| !line.is_held()) {
        let _ = write!(text, "\n- {}", cell(&line::sentence(line)));
        for function in line::functions(line) {
            let _ = write!(text, "\n  - {}", cell(&function));
        }
    }
    text.push('\n');
    text
}
