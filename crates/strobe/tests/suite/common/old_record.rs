//! Reads a record of before there were measurements and shows it in every way there is. Shared with
//! the fuzz target, which includes this file.

use strobe_analyse::attribution::By;
use strobe_model::Record;
use strobe_report::Options;
use strobe_report::file::{self, Form};
use strobe_report::text::{Selection, Tree, measurement};

/// Reads the text and, if it is a record, prints its measurement. Must never panic or hang, and
/// what is written must read back the same.
pub(crate) fn exercise(text: &str) {
    let Ok(Form::Record(text)) = file::read(text.as_bytes()) else { return };
    let Ok(record) = serde_json::from_str::<Record>(&text) else { return };
    let made = match record.traced {
        None => strobe_source::simulated::measurement(&record),
        Some(_) => strobe_source::traced::measurement(&record),
    };
    // What does not hold together is refused.
    if made.check().is_err() {
        return;
    }
    for by in [By::Function, By::Line, By::Address] {
        let tree = Some(Tree::default());
        let selection = Selection { by, top: 3, tree, ..Selection::default() };
        let mut out = Vec::new();
        measurement(&made, &selection, &Options::default(), &mut out)
            .expect("memory takes everything");
        assert!(String::from_utf8(out).is_ok(), "a report is text");
    }
    match file::read(file::json(&made).as_bytes()) {
        Ok(Form::Measurement(again)) => assert_eq!(*again, made),
        other => panic!("what is written can be read: {other:?}"),
    }
}
