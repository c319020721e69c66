//! The `:graph` report of SBCL's statistical profiler (`sb-sprof`), in any of its modes.
//!
//! In mode `:alloc` a sample is an allocation region, and nearly all of them are charged to the
//! allocator (`ALLOC-TRAMP`), which nobody wants to know: its samples go to those who called it, as
//! the graph has them.

use std::collections::BTreeMap;
use strobe_model::measurement::ids;

use strobe_model::measurement::{Column, Content, Kind, Section, Table, Unit};

use super::{Error, by_function};
use crate::measurement::section;

/// How a report begins, after empty lines.
const BEGIN: &str = "Number of samples:";
/// What is between the blocks of the graph.
const RULE: &str = "-----";
/// Functions that only allocate for others (SBCL 2.0 to 2.5), without their package.
const ALLOCATORS: [&str; 4] =
    ["ALLOC-TRAMP", "LIST-ALLOC-TRAMP", "ALLOC-TRAMP-R11", "foreign function alloc"];

/// Whether it is such a report.
pub(super) fn is_report(text: &str) -> bool {
    text.lines().take(200).any(|line| line.starts_with(BEGIN))
}

/// A function of the graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Function {
    own: u64,
    whole: u64,
    callers: Vec<(String, u64)>,
}

/// What a report has.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    samples: u64,
    /// What a sample stands for, in the report's words: `1 regions (approximately 32 kB)`.
    interval: Option<String>,
    functions: BTreeMap<String, Function>,
}

/// A line of a block: one pair of figures for callers and callees, two for the function itself.
enum Line {
    Edge { count: u64, name: String },
    Own { own: u64, whole: u64, name: String },
}

fn line(text: &str) -> Option<Line> {
    fn pair(text: &str) -> Option<(u64, &str)> {
        let (count, rest) = text.trim_start().split_once(char::is_whitespace)?;
        let (share, rest) = rest.trim_start().split_once(char::is_whitespace)?;
        let (whole, tenths) = share.split_once('.')?;
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        (is_digits(whole) && is_digits(tenths)).then_some(())?;
        Some((count.parse().ok()?, rest))
    }
    let (own, rest) = pair(text)?;
    let name = |rest: &str| {
        let rest = rest.trim();
        // Behind the name is its number in brackets.
        rest.rsplit_once(" [").map_or(rest, |(name, _)| name).to_owned()
    };
    Some(match pair(rest) {
        Some((whole, rest)) => Line::Own { own, whole, name: name(rest) },
        None => Line::Edge { count: own, name: name(rest) },
    })
}

impl Report {
    /// Reads one.
    pub fn parse(text: &str) -> Result<Report, Error> {
        let mut report = Report::default();
        let (mut callers, mut in_graph, mut has_own) = (Vec::new(), false, false);
        for (n, text) in text.lines().enumerate() {
            let wrong = |why: &str| Error::Line(n + 1, why.to_owned());
            if let Some(samples) = text.strip_prefix(BEGIN) {
                report.samples =
                    samples.trim().parse().map_err(|_| wrong("no number of samples"))?;
            } else if text.starts_with("Alloc interval:") || text.starts_with("Sample interval:") {
                report.interval = text.split_once(':').map(|(_, what)| what.trim().to_owned());
            } else if text.starts_with(RULE) {
                (callers, in_graph, has_own) = (Vec::new(), true, false);
            } else if in_graph && text.trim_start().starts_with("Self ") {
                // The flat report follows: it has nothing that the graph has not.
                break;
            } else if in_graph && !text.trim().is_empty() {
                match line(text) {
                    Some(Line::Edge { .. }) if has_own => {}
                    Some(Line::Edge { count, name }) => callers.push((name, count)),
                    Some(Line::Own { own, whole, name }) => {
                        let callers = std::mem::take(&mut callers);
                        report.functions.insert(name, Function { own, whole, callers });
                        has_own = true;
                    }
                    // Such as the sum of what has no function: it is what is left of all samples.
                    None => {}
                }
            }
        }
        if report.functions.is_empty() {
            return Err(Error::Lacks(
                "a report of sb-sprof without a graph: ask for :graph".into(),
            ));
        }
        Ok(report)
    }

    /// Each function's own samples, those of allocators with who called them; what is left.
    fn own(&self) -> (BTreeMap<&str, u64>, u64) {
        let mut own: BTreeMap<&str, u64> =
            self.functions.iter().map(|(name, f)| (name.as_str(), f.own)).collect();
        for (name, function) in &self.functions {
            let plain = name.rsplit(':').next().unwrap_or(name);
            let called = function.callers.iter().fold(0u64, |sum, c| sum.saturating_add(c.1));
            // Where the graph has not all of them, nobody knows whose they are.
            if !ALLOCATORS.contains(&plain) || called != function.own {
                continue;
            }
            own.insert(name, 0);
            for (caller, count) in &function.callers {
                let of = own.entry(caller).or_default();
                *of = of.saturating_add(*count);
            }
        }
        let sum = own.values().fold(0u64, |sum, n| sum.saturating_add(*n));
        (own, self.samples.saturating_sub(sum))
    }

    /// A profile, and for each function what leads to it.
    pub fn sections(&self, variant: &str) -> Vec<Section> {
        let (own, elsewhere) = self.own();
        let inclusive = |name: &str, own: u64| {
            self.functions.get(name).map_or(own, |function| function.whole.max(own))
        };
        let mut rows: Vec<(&str, u64)> = own.into_iter().collect();
        rows.sort_by_key(|(name, own)| {
            (std::cmp::Reverse(*own), std::cmp::Reverse(inclusive(name, *own)), *name)
        });
        let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let some = rows.iter().filter(|(_, own)| *own > 0);
        let (names, counts) = some.map(|(name, own)| ((*name).to_owned(), whole(*own))).unzip();
        let kind = Kind::Sampled { period: None, period_unit: None };
        let profile = by_function(names, counts, whole(elsewhere), ("samples", "samples", kind));
        let mut table = Table::new(vec![
            Column::figure("own", "samples", Unit::SAMPLES).of(self.samples),
            Column::figure("whole", "with callees", Unit::SAMPLES).of(self.samples),
            Column::text(ids::column::FUNCTION, "function"),
        ]);
        for (name, own) in rows {
            table.row([own.into(), inclusive(name, own).into(), name.into()]);
        }
        let each = self.interval.as_ref();
        let each = each.map_or_else(String::new, |each| format!("A sample for each {each}. "));
        let note = format!(
            "{each}By sb-sprof. Samples of the allocator itself are with the functions that called \
             it."
        );
        let title = format!("profile of {variant}");
        let content = Content::Profile(Box::new(profile));
        vec![
            section(&format!("profile-{variant}"), &title, &[&note], content),
            section(
                &format!("called-{variant}"),
                &format!("{title}, with what each function calls"),
                &[],
                Content::Table(table),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As SBCL 2.2.9 writes it, shortened.
    const REPORT: &str = "
Number of samples:     100
Unique traces:         5
Alloc interval:        1 regions (approximately 32 kB)

                               Callers
                 Total.     Function
 Count     %  Count     %      Callees
------------------------------------------------------------------------
    90  90.0                   SB-KERNEL:%CONCATENATE-TO-STRING [40]
     8   8.0                   (LAMBDA (A \"B [1]\") :IN X) [30]
    98  98.0     98  98.0   ALLOC-TRAMP [1]
------------------------------------------------------------------------
    90  90.0                   REDUCE [34]
     0   0.0     90  90.0   SB-KERNEL:%CONCATENATE-TO-STRING [40]
    90  90.0                   ALLOC-TRAMP [1]
------------------------------------------------------------------------
     1   1.0     91  91.0   REDUCE [34]
    90  90.0                   SB-KERNEL:%CONCATENATE-TO-STRING [40]
------------------------------------------------------------------------
           Self        Total        Cumul
  Count     %  Count     %  Count     % Calls  Function
      1    98  98.0     98  98.0     98  98.0         -  ALLOC-TRAMP
";

    fn own(report: &Report) -> Vec<(&str, u64)> {
        let own = report.own().0;
        own.into_iter().filter(|(_, own)| *own > 0).collect()
    }

    #[test]
    fn the_allocators_samples_are_with_who_called_it() {
        let report = Report::parse(REPORT).expect("a report");
        assert_eq!(report.interval.as_deref(), Some("1 regions (approximately 32 kB)"));
        let wanted = [
            ("(LAMBDA (A \"B [1]\") :IN X)", 8),
            ("REDUCE", 1),
            ("SB-KERNEL:%CONCATENATE-TO-STRING", 90),
        ];
        assert_eq!(own(&report), wanted);
        assert_eq!(report.own().1, 1, "what has no function");
        assert_eq!(report.functions["REDUCE"].whole, 91);
    }

    #[test]
    fn samples_balance_and_sections_hold_together() {
        let whole = super::super::measurement(REPORT, "join", "strobe").expect("a report");
        whole.check().expect("it holds together");
        for section in Report::parse(REPORT).expect("a report").sections("reduce") {
            if let Content::Profile(profile) = &section.content {
                let values = profile.leaves.of("samples").expect("samples");
                assert_eq!(values.sum(), 100);
            }
        }
    }

    /// An allocator whose callers are not all in the graph keeps what it has.
    #[test]
    fn nothing_is_charged_to_somebody_on_a_guess() {
        let cut = REPORT
            .replace("     8   8.0                   (LAMBDA (A \"B [1]\") :IN X) [30]\n", "");
        let report = Report::parse(&cut).expect("a report");
        assert_eq!(own(&report), [("ALLOC-TRAMP", 98), ("REDUCE", 1)]);
    }

    #[test]
    fn reports_without_a_graph_and_broken_ones_are_errors() {
        let (head, _) = REPORT.split_once("-----").expect("a head");
        assert!(Report::parse(head).is_err_and(|e| e.to_string().contains("ask for :graph")));
        let wrong = REPORT.replace("samples:     100", "samples:     many");
        assert!(Report::parse(&wrong).is_err_and(|e| e.to_string().starts_with("line 2")));
        // Cut off anywhere it is an error or a shorter report, and never a panic.
        for end in (0..REPORT.len()).filter(|end| REPORT.is_char_boundary(*end)) {
            if let Ok(report) = Report::parse(&REPORT[..end]) {
                report.sections("cut");
            }
        }
    }
}
