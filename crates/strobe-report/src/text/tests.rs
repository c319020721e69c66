//! What a person sees, for each kind of record.

use super::*;
use crate::{Style, samples};

fn options(width: usize) -> Options {
    Options { style: Style { colour: false, width }, quiet: false }
}

fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn whole(record: &Record, by: By, options: Options) -> String {
    let show = Show { rows: Rows::By(by), tree: Some(Tree::default()), ..Show::default() };
    text(|out| report(record, &show, &options, out))
}

/// The samples of trace pins.
fn traced() -> Vec<(&'static str, Record)> {
    samples::records().into_iter().filter(|(_, record)| record.traced.is_some()).collect()
}

#[test]
fn whole_reports() {
    for (name, record) in traced() {
        insta::assert_snapshot!(name, whole(&record, By::Function, options(100)));
    }
}

#[test]
fn a_cut_tree_still_adds_up() {
    let tree_options = Tree { depth: 1, min_percent: 3.0 };
    insta::assert_snapshot!(text(|out| tree(&samples::exact(), &tree_options, &options(100), out)));
}

#[test]
fn no_line_is_wider_than_the_terminal_where_names_can_give_way() {
    for width in [80, 100] {
        for (name, record) in &traced() {
            for by in [By::Function, By::Line, By::Address] {
                for line in whole(record, by, options(width)).lines() {
                    assert!(line.chars().count() <= width, "{name} at {width}: {line}");
                }
            }
        }
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    for (name, record) in traced() {
        let plain = whole(&record, By::Function, options(100));
        let style = Style { colour: true, width: 100 };
        let coloured = whole(&record, By::Function, Options { style, quiet: false });
        assert!(coloured.contains('\x1b') && !plain.contains('\x1b'), "{name}");
        assert_eq!(without_escapes(&coloured), plain, "{name}");
    }
}

fn without_escapes(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + part.split_once('m').unwrap_or_default().1)
}

#[test]
fn recordings_side_by_side() {
    insta::assert_snapshot!(text(|out| against(&samples::against(), &options(110), out)));
}

#[test]
fn pins_of_a_simulation() {
    insta::assert_snapshot!(text(|out| pins(&samples::simulated_pins(), &options(110), out)));
}

#[test]
fn pins_of_a_capture() {
    insta::assert_snapshot!(text(|out| pins(&samples::pins(), &options(100), out)));
}

#[test]
fn plans_for_a_trace_pin() {
    insta::assert_snapshot!(text(|out| plan(&samples::plan(), true, &options(100), out)));
}

#[test]
fn buses_of_a_capture() {
    let show = BusShow::default();
    insta::assert_snapshot!(text(|out| bus(&samples::uart(), &show, &options(100), out)));
    insta::assert_snapshot!(text(|out| bus(&samples::i2c(), &show, &options(100), out)));
    let errors = BusShow { errors_only: true };
    let short = text(|out| bus(&samples::uart(), &errors, &options(100), out));
    assert!(short.contains("stop bit is low") && !short.contains("words\n"), "{short}");
}

#[test]
fn traces_of_events() {
    let report = samples::events();
    let show = |top| EventsShow { top };
    insta::assert_snapshot!(text(|out| events(&report, &show(20), &options(100), out)));
    let narrow = text(|out| events(&report, &show(1), &options(60), out));
    assert!(!narrow.contains('\u{7}'), "a terminal must not obey what a trace says");
    assert!(narrow.contains("and 1 more kind; --top 0 shows all"), "{narrow}");
    let empty = text(|out| events(&samples::no_events(), &show(0), &options(100), out));
    assert!(empty.starts_with("trace: CTF 1.8, 0 events\n"), "{empty}");
    let mut far = samples::events();
    (far.trace.first_ns, far.trace.last_ns) = (Some(i64::MIN), Some(i64::MAX));
    assert!(!text(|out| events(&far, &show(0), &options(100), out)).is_empty());
}

#[test]
fn archives() {
    let report = samples::allocations();
    insta::assert_snapshot!(text(|out| allocations(&report, 20, &options(100), out)));
    insta::assert_snapshot!(text(|out| published(&samples::published(), 1, &options(100), out)));
    let short = text(|out| allocations(&report, 1, &options(60), out));
    assert!(short.contains("and 2 more callers"), "{short}");
}
