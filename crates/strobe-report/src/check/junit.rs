//! JUnit XML, as GitLab, Jenkins and most others read it: a suite for each firmware, a case for
//! each budget. What is not held is a failure, what cannot be judged an error.

use std::fmt::Write;

use strobe_analyse::budget::{Line, Verdict};

/// The whole file.
pub fn document(lines: &[Line]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counted = attributes(lines);
    // Writing to a string cannot fail.
    let _ = writeln!(xml, "<testsuites name=\"strobe check\" {counted}>");
    for suite in lines.chunk_by(|a, b| a.firmware == b.firmware) {
        let name = escaped(suite.first().map_or("", |line| &line.firmware));
        let _ = writeln!(xml, "  <testsuite name=\"{name}\" {}>", attributes(suite));
        suite.iter().for_each(|line| case(line, &mut xml));
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// How many there are, as attributes.
fn attributes(lines: &[Line]) -> String {
    let count = |is: fn(&Line) -> bool| lines.iter().filter(|line| is(line)).count();
    let failures = count(|line| !line.is_held() && !is_error(line));
    let errors = count(is_error);
    format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", lines.len())
}

fn is_error(line: &Line) -> bool {
    matches!(line.judged.verdict, Verdict::Broken | Verdict::Unknown)
}

fn case(line: &Line, xml: &mut String) {
    let (name, class) = (escaped(&line.name), escaped(&line.firmware));
    let _ = writeln!(xml, "    <testcase name=\"{name}\" classname=\"{class}\">");
    let verdict = line.judged.verdict.name();
    let sentence = escaped(&line.sentence());
    if line.is_held() {
        let _ = writeln!(xml, "      <system-out>{sentence}</system-out>");
    } else {
        let tag = if is_error(line) { "error" } else { "failure" };
        let functions = escaped(&line.responsible().join("\n"));
        let _ = writeln!(
            xml,
            "      <{tag} type=\"{verdict}\" message=\"{sentence}\">{functions}</{tag}>"
        );
    }
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
            c => out.push(c),
        }
    }
    out
}
