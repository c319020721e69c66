//! What others read of benchmarks of firmware: test reports, and a summary for a pull request.

use std::fmt::Write;

use crate::junit::{self, Case, Outcome, Why};
use crate::markdown::cell;

/// A benchmark with one input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// Whose it is.
    pub firmware: String,
    /// Its name, with the input.
    pub name: String,
    /// Its figures with their titles, as people read them.
    pub figures: Vec<(String, String)>,
    /// What is to be said of it.
    pub verdict: Verdict,
    /// Why it has failed, or what differs from the baseline, a sentence each.
    pub notes: Vec<String>,
}

/// What is to be said of a benchmark.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verdict {
    /// There is nothing to compare it with.
    #[default]
    Measured,
    /// The baseline has the same figures.
    Same,
    /// Something differs, and nothing is worse.
    Differs,
    /// It takes more than in the baseline.
    More,
    /// The baseline does not have it.
    New,
    /// The baseline has it, and it was not measured.
    Gone,
    /// It did not come to its end.
    Failed,
}

impl Verdict {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Measured => "measured",
            Verdict::Same => "same",
            Verdict::Differs => "differs",
            Verdict::More => "more",
            Verdict::New => "new",
            Verdict::Gone => "gone",
            Verdict::Failed => "failed",
        }
    }

    fn is_bad(self) -> bool {
        matches!(self, Verdict::More | Verdict::Gone | Verdict::Failed)
    }
}

/// JUnit XML: a suite for each firmware, a case for each benchmark and input.
pub fn junit(rows: &[Row]) -> String {
    let case = |row: &Row| {
        let figures = row.figures.iter().map(|(title, figure)| format!("{title} {figure}"));
        let figures = figures.collect::<Vec<_>>().join(", ");
        let why = || Why {
            kind: row.verdict.name().to_owned(),
            message: row.notes.join("; "),
            detail: figures.clone(),
        };
        let outcome = match row.verdict {
            Verdict::More | Verdict::Gone => Outcome::Failed(why()),
            Verdict::Failed => Outcome::Error(why()),
            _ => {
                let lines = std::iter::once(&figures).chain(&row.notes).map(String::as_str);
                Outcome::Passed(lines.collect::<Vec<_>>().join("\n"))
            }
        };
        Case { suite: row.firmware.clone(), name: row.name.clone(), outcome }
    };
    junit::document("strobe bench", &rows.iter().map(case).collect::<Vec<_>>())
}

/// A summary in Markdown: the verdict, then a table with what is worse first.
pub fn markdown(rows: &[Row]) -> String {
    let bad = rows.iter().filter(|row| row.verdict.is_bad()).count();
    let (all, is_compared) = (rows.len(), rows.iter().any(|row| row.verdict != Verdict::Measured));
    let mut text = match (bad, is_compared) {
        (0, false) => format!("### strobe bench: {all} measured\n\n"),
        (0, true) => format!("### strobe bench: none of {all} takes more\n\n"),
        _ => format!("### strobe bench: {bad} of {all} took more, failed or are gone\n\n"),
    };
    let mut titles: Vec<&str> = Vec::new();
    for (title, _) in rows.iter().flat_map(|row| &row.figures) {
        if !titles.contains(&title.as_str()) {
            titles.push(title);
        }
    }
    let head: String = titles.iter().map(|title| format!(" {} |", cell(title))).collect();
    let rule = " ---: |".repeat(titles.len());
    // Writing to a string cannot fail.
    let _ = write!(text, "| | firmware | benchmark |{head}\n| --- | --- | --- |{rule}\n");
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by_key(|row| !row.verdict.is_bad());
    for row in &sorted {
        let verdict = match row.verdict {
            verdict if verdict.is_bad() => format!("**{}**", verdict.name()),
            Verdict::Measured => String::new(),
            verdict => verdict.name().to_owned(),
        };
        let _ = write!(text, "| {verdict} | {} | {} |", cell(&row.firmware), cell(&row.name));
        for title in &titles {
            let figure = row.figures.iter().find(|(own, _)| own == title);
            let _ = write!(text, " {} |", cell(figure.map_or("", |(_, figure)| figure)));
        }
        text.push('\n');
    }
    for row in sorted.iter().filter(|row| !row.notes.is_empty()) {
        let notes: Vec<String> = row.notes.iter().map(|note| cell(note)).collect();
        let _ = write!(text, "\n- {} ({}): ", cell(&row.name), cell(&row.firmware));
        text.push_str(&notes.join("; "));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a<b>&\"'|\u{1b}[31m\n]]>";

    fn rows() -> Vec<Row> {
        let row = |name: &str, verdict, notes: &[&str]| Row {
            firmware: "fw".into(),
            name: name.into(),
            figures: vec![("cycles".into(), "1,162".into())],
            verdict,
            notes: notes.iter().map(|&note| note.to_owned()).collect(),
        };
        vec![
            row("sort/8", Verdict::Same, &[]),
            row(HOSTILE, Verdict::More, &[HOSTILE]),
            Row { figures: Vec::new(), ..row("crc", Verdict::Failed, &["it faulted"]) },
        ]
    }

    #[test]
    fn cases_are_counted_and_escaped() {
        let xml = junit(&rows());
        let document = roxmltree::Document::parse(&xml).unwrap();
        let suite = document.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
        let counts = ["tests", "failures", "errors"].map(|name| suite.attribute(name).unwrap());
        assert_eq!(counts, ["3", "1", "1"]);
        let error = document.descendants().find(|node| node.has_tag_name("error")).unwrap();
        assert_eq!(error.attribute("message"), Some("it faulted"));
        let passed = document.descendants().find(|node| node.has_tag_name("system-out")).unwrap();
        assert_eq!(passed.text(), Some("cycles 1,162"));
    }

    #[test]
    fn a_summary_begins_with_what_is_worse() {
        let text = markdown(&rows());
        assert!(text.starts_with("### strobe bench: 2 of 3 took more, failed or are gone"));
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert!(lines[2].starts_with("| **more** | fw |"), "{text}");
        assert!(lines[3].starts_with("| **failed** | fw | crc |  |"), "{text}");
        assert!(!text.contains("<b>") && !text.contains('\u{1b}'), "{text}");
        let only = markdown(&[Row { name: "a".into(), ..Row::default() }]);
        assert!(only.starts_with("### strobe bench: 1 measured"), "{only}");
    }
}
