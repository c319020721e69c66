//! What was found, the gravest first, with what shows it and what to do about it.

use std::fmt::Write as _;

use strobe_model::measurement::{Finding, Severity};

use super::super::flame::escaped;
use super::described;
use crate::view::findings::{evidence, line, times, title};

/// All findings of a measurement; nothing where there are none.
pub(super) fn write(findings: &[Finding], out: &mut String) {
    if findings.is_empty() {
        return;
    }
    let mut findings: Vec<&Finding> = findings.iter().collect();
    findings.sort_by_key(|finding| finding.severity);
    out.push_str("<ul class=\"findings\">\n");
    findings.into_iter().for_each(|finding| one(finding, out));
    out.push_str("</ul>\n");
}

fn one(finding: &Finding, out: &mut String) {
    let kind = match finding.severity {
        Severity::Fault => "fault",
        Severity::Warning => "warning",
        Severity::Note => "note",
        Severity::Advice => "advice",
    };
    let _ = write!(out, "<li class=\"{kind}\">");
    match finding.severity {
        Severity::Fault => {
            let (title, text) = (escaped(&title(finding)), escaped(&finding.text));
            let _ = write!(out, "<b>{title}</b>: {text}{}", times(finding));
        }
        _ => out.push_str(&escaped(&line(finding))),
    }
    if let Some(advice) = &finding.advice {
        let _ = write!(out, "<p>{}</p>", escaped(advice));
    }
    for (title, values) in &finding.evidence {
        let _ = writeln!(out, "<details><summary>{}</summary>", escaped(title));
        described(&evidence(values), out);
        out.push_str("</details>");
    }
    out.push_str("</li>\n");
}
