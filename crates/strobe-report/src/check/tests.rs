//! The reports are what their readers parse, whatever names and texts hold.

use strobe_analyse::budget::{Figure, Judged, Limit, Limits, Line, Reason, Share, judge};
use strobe_model::measurement::{Quantity, Unit};

use super::{github, junit, markdown};

const HOSTILE: &str = "a<b>&\"'|\u{1b}[31m\n::error::%0A]]>";

fn lines() -> Vec<Line> {
    let limits = |most: &str| Limits { most: Limit::parse(most).ok(), ..Limits::default() };
    let line = |name: &str, cycles: u64| {
        let quantity = Quantity::exact(cycles, Unit::CYCLES);
        let judged = judge(&Figure { quantity, hertz: None }, &limits("1200 cycles"), None);
        let functions = if cycles > 1200 {
            vec![Share { name: HOSTILE.into(), value: 900, before: Some(600) }]
        } else {
            Vec::new()
        };
        Line {
            firmware: "fw".into(),
            name: name.into(),
            limits: limits("1200 cycles"),
            judged,
            functions,
        }
    };
    let broken = Line {
        judged: Judged::broken(Reason::Unmeasured(HOSTILE.to_owned())),
        functions: Vec::new(),
        ..line("gone", 1)
    };
    vec![line("crc", 1180), line(HOSTILE, 1300), broken]
}

#[test]
fn junit_is_well_formed_and_counts() {
    let xml = junit::document(&lines());
    let document = roxmltree::Document::parse(&xml).unwrap();
    let suite = document.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
    let counts = ["tests", "failures", "errors"].map(|name| suite.attribute(name).unwrap());
    assert_eq!(counts, ["3", "1", "1"]);
    let failure = document.descendants().find(|node| node.has_tag_name("failure")).unwrap();
    assert!(failure.attribute("message").unwrap().contains("100 cycles beyond"), "{xml}");
    assert!(failure.text().unwrap().contains("900 (was 600)"), "{xml}");
}

#[test]
fn an_annotation_is_one_line_for_each_failure() {
    let text = github::annotations(&lines(), "a:b,c.toml");
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.lines().all(|line| line.starts_with("::error file=a%3Ab%2Cc.toml,title=budget ")));
    assert!(text.contains("%250A"), "{text}");
}

#[test]
fn a_summary_has_a_row_for_each_budget() {
    let text = markdown::summary(&lines());
    assert!(text.starts_with("### strobe check: 2 of 3 budgets not held"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("| ")).count(), 5, "{text}");
    assert!(!text.contains("<b>") && !text.contains('\u{1b}'), "{text}");
}
