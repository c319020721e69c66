//! Reads a record and shows it in every way there is. Shared with the fuzz target, which includes
//! this file.

use strobe_model::By;
use strobe_report::text::{Rows, Show, Tree, report};
use strobe_report::{Options, json};

/// Parses the text and, if it is a record, prints it. Must never panic or hang, and what is written
/// must read back the same.
pub(crate) fn exercise(text: &str) {
    let Ok(record) = json::parse(text) else { return };
    for by in [By::Function, By::Line, By::Address] {
        let show =
            Show { rows: Rows::By(by), top: 3, tree: Some(Tree::default()), annotate: Vec::new() };
        let mut out = Vec::new();
        report(&record, &show, &Options::default(), &mut out).expect("memory takes everything");
        assert!(String::from_utf8(out).is_ok(), "a report is text");
    }
    let again = json::parse(&json::record(&record)).expect("what is written can be read");
    assert_eq!(again, record);
}
