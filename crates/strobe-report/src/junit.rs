//! JUnit XML, as GitLab, Jenkins and most others read it: a suite for each firmware, a case for
//! each thing that is judged.

use std::fmt::Write;

use crate::visible::is_obeyed;

/// A case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Whose it is; cases of one suite follow each other.
    pub suite: String,
    /// Its name.
    pub name: String,
    /// What came out.
    pub outcome: Outcome,
}

/// What came out of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is as it should be, in words.
    Passed(String),
    /// It is not.
    Failed(Why),
    /// It could not be judged.
    Error(Why),
}

/// Why it is not as it should be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Why {
    /// The kind of failure, for programs.
    pub kind: String,
    /// A sentence.
    pub message: String,
    /// Lines behind it.
    pub detail: String,
}

/// The whole file.
pub fn document(title: &str, cases: &[Case]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(xml, "<testsuites name=\"{}\" {}>", escaped(title), counted(cases));
    for suite in cases.chunk_by(|a, b| a.suite == b.suite) {
        let name = escaped(suite.first().map_or("", |case| &case.suite));
        let _ = writeln!(xml, "  <testsuite name=\"{name}\" {}>", counted(suite));
        suite.iter().for_each(|case| one(case, &mut xml));
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// How many there are, as attributes.
fn counted(cases: &[Case]) -> String {
    let count = |is: fn(&Outcome) -> bool| cases.iter().filter(|case| is(&case.outcome)).count();
    let failures = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    let errors = count(|outcome| matches!(outcome, Outcome::Error(_)));
    format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", cases.len())
}

fn one(case: &Case, xml: &mut String) {
    let (name, class) = (escaped(&case.name), escaped(&case.suite));
    let _ = writeln!(xml, "    <testcase name=\"{name}\" classname=\"{class}\">");
    let (tag, why) = match &case.outcome {
        Outcome::Passed(words) => {
            let _ = writeln!(xml, "      <system-out>{}</system-out>", escaped(words));
            xml.push_str("    </testcase>\n");
            return;
        }
        Outcome::Failed(why) => ("failure", why),
        Outcome::Error(why) => ("error", why),
    };
    let (kind, message) = (escaped(&why.kind), escaped(&why.message));
    let detail = escaped(&why.detail);
    let _ = writeln!(xml, "      <{tag} type=\"{kind}\" message=\"{message}\">{detail}</{tag}>");
    xml.push_str("    </testcase>\n");
}

/// Text for XML 1.0, section 2.2: characters that it cannot hold become U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => out.push(c),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if is_obeyed(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
