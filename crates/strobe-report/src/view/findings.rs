//! Findings: warnings, notes and advice in a line or two each; faults with all that shows them.

use std::io::{self, Write};

use strobe_model::measurement::{Finding, Severity};

use super::{Page, View};
use crate::Options;
use crate::number::{grouped, time};
use crate::paint::Paint;
use crate::text::layout::{heading, item};
use crate::words::{clean, folded};

/// All but faults.
pub(super) struct Findings;

impl View for Findings {
    fn write(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        let options = page.options;
        for severity in [Severity::Warning, Severity::Note, Severity::Advice] {
            // Why figures are modelled is what the report ends with.
            let all = page.measurement.findings.iter();
            let all = all.filter(|f| f.severity == severity && f.code != "modelled");
            let all: Vec<&Finding> = all.collect();
            if all.is_empty() || options.quiet && severity == Severity::Advice {
                continue;
            }
            let (title, mark, paint) = match severity {
                Severity::Fault | Severity::Warning => ("warnings", "! ", Paint::Warn),
                Severity::Note => ("notes", "- ", Paint::Plain),
                Severity::Advice => ("advice", "> ", Paint::Plain),
            };
            heading(title, options, out)?;
            for finding in all {
                item(mark, &line(finding), paint, options, out)?;
                if let Some(advice) = finding.advice.as_ref().filter(|_| !options.quiet) {
                    item("    ", advice, Paint::Plain, options, out)?;
                }
            }
        }
        Ok(())
    }
}

/// `text, at place (3 times)`.
pub(crate) fn line(finding: &Finding) -> String {
    let times = times(finding);
    let place = finding.place.as_ref().filter(|place| !finding.text.contains(place.as_str()));
    let place = place.map_or_else(String::new, |place| format!(", at {place}"));
    format!("{}{place}{times}", finding.text)
}

/// ` (3 times)` of whatever was found more than once, if it does not begin with how often that was.
pub(crate) fn times(finding: &Finding) -> String {
    let n = grouped(finding.count);
    let rest = finding.text.strip_prefix(n.as_str());
    match finding.count {
        0 | 1 => String::new(),
        _ if rest.is_some_and(|rest| rest.starts_with(' ')) => String::new(),
        _ => format!(" ({n} times)"),
    }
}

/// Faults: what happened, where, and what shows it.
pub(super) struct Faults;

impl View for Faults {
    fn write(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        let options = page.options;
        let faults = page.measurement.findings.iter().filter(|f| f.severity == Severity::Fault);
        for fault in faults {
            writeln!(out)?;
            for line in folded(&clean(&title(fault)), options.style.width.max(20)) {
                writeln!(out, "{}", Paint::Bad.on(&line, options.style))?;
            }
            item("", &fault.text, Paint::Plain, options, out)?;
            if let Some(advice) = &fault.advice {
                item("", advice, Paint::Plain, options, out)?;
            }
            for (title, values) in &fault.evidence {
                heading(title, options, out)?;
                pairs(values, options, out)?;
            }
        }
        Ok(())
    }
}

/// `HardFault at main, main.c:12`.
pub(crate) fn title(fault: &Finding) -> String {
    let place = fault.place.as_ref().map(|place| format!(" at {place}"));
    let mut values = fault.evidence.iter().flat_map(|(_, values)| values);
    let kind = values.find(|(name, _)| name == "kind").map(|(_, kind)| kind);
    format!("{}{}", kind.unwrap_or(&fault.code), place.unwrap_or_default())
}

/// Names and values as they are shown.
pub(crate) fn evidence(values: &[(String, String)]) -> Vec<(String, String)> {
    let values = values.iter().map(|(name, value)| match (name.as_str(), value.parse()) {
        ("nanoseconds", Ok(n)) => ("time".to_owned(), time(n)),
        _ => (clean(name), clean(value)),
    });
    values.collect()
}

/// `NAME  value` in as many columns as fit; one in a line where values are sentences.
fn pairs(pairs: &[(String, String)], options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let pairs = evidence(pairs);
    let longest = |pick: fn(&(String, String)) -> &String| {
        pairs.iter().map(|p| pick(p).chars().count()).max().unwrap_or(0)
    };
    let (name, value) = (longest(|p| &p.0), longest(|p| &p.1));
    let columns = (options.style.width.saturating_sub(2) / (name + value + 4)).min(4);
    // Frames of a backtrace are a list.
    let is_list = pairs.iter().any(|(name, _)| name.starts_with('#'));
    if columns < 2 || is_list {
        return pairs.iter().try_for_each(|(label, value)| {
            item(&format!("{label:name$}  "), value, Paint::Plain, options, out)
        });
    }
    for line in pairs.chunks(columns) {
        let cells = line.iter().map(|(n, v)| format!("{n:name$}  {v:value$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        writeln!(out, "  {}", line.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_often_stands_there_once() {
        let shown = |text: &str, count: u64| {
            line(&Finding { count, ..Finding::new(Severity::Warning, "a", text) })
        };
        assert_eq!(shown("a register was read", 1), "a register was read");
        assert_eq!(shown("a register was read", 2_000), "a register was read (2,000 times)");
        assert_eq!(shown("2,000 requests were lost", 2_000), "2,000 requests were lost");
        assert_eq!(shown("2,000 requests were lost", 2), "2,000 requests were lost (2 times)");
    }
}
