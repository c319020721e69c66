//! What a person sees of measurements, and what holds of every report.

use std::io;

use strobe_analyse::attribution::By;
use strobe_model::measurement::{Content, Measurement, Quantity, Unit};

use super::annotate::annotate;
use super::*;
use crate::samples::measurements;
use crate::{Options, Style};

fn options(width: usize) -> Options {
    Options { style: Style { colour: false, width }, quiet: false }
}

fn text(write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn whole(measurement: &Measurement, selection: &Selection, options: Options) -> String {
    text(|out| super::measurement(measurement, selection, &options, out))
}

fn with_tree() -> Selection {
    Selection { tree: Some(Tree::default()), ..Selection::default() }
}

#[test]
fn samples_hold_together() {
    for (name, measurement) in measurements::all() {
        assert_eq!(measurement.check(), Ok(()), "{name}");
    }
}

#[test]
fn whole_measurements() {
    for (name, measurement) in measurements::all() {
        insta::assert_snapshot!(name, whole(&measurement, &with_tree(), options(100)));
    }
}

/// Two further runs know of each chain what it is there; callers have the sums.
#[test]
fn call_tree_rows_have_bounds_known_from_chains() {
    let mut measurement = measurements::simulated();
    let profile = measurement.sections.iter_mut().find_map(|section| match &mut section.content {
        Content::Profile(profile) => Some(profile),
        _ => None,
    });
    let chains = &mut profile.expect("a profile").chains;
    let cycles = chains.values.iter_mut().find(|values| values.measure == "cycles").unwrap();
    let ends = |of_360: i64| {
        let values = cycles.values.iter();
        values.map(|&value| if value == 360 { of_360 } else { value }).collect()
    };
    (cycles.low, cycles.high) = (ends(340), ends(403));
    assert_eq!(measurement.check(), Ok(()));
    let shown = whole(&measurement, &with_tree(), options(100));
    let (_, tree) = shown.split_once("\ncall tree").unwrap();
    let bounds = |name: &str| {
        let mut lines = tree.lines().filter(|line| line.trim_end().ends_with(name));
        lines.next().map(|line| line.contains("-5.6/+12 %")).expect(name)
    };
    assert!(bounds("handler SysTick") && bounds("  SysTick_Handler"), "{tree}");
    assert!(!bounds("thread worker") && tree.contains("-2.0/+4.3 %"), "{tree}");
}

#[test]
fn a_narrow_terminal_and_few_words() {
    let narrow = Options { quiet: true, ..options(60) };
    insta::assert_snapshot!(whole(&measurements::simulated(), &with_tree(), narrow));
}

#[test]
fn by_line_address_and_label() {
    let labels = By::Label(vec!["thread".to_owned(), "handler".to_owned()]);
    for by in [By::Line, By::Address, By::File, labels] {
        let profile = Some(vec!["profile".to_owned()]);
        let selection = Selection { by, top: 2, sections: profile, ..Selection::default() };
        let all = whole(&measurements::simulated(), &selection, options(100));
        let (_, shown) = all.split_once("\nprofile by").unwrap();
        let (shown, _) = shown.split_once("\nmodelled figures").unwrap();
        insta::assert_snapshot!(shown);
    }
}

#[test]
fn annotated_without_the_elf_file() {
    let run = measurements::simulated();
    insta::assert_snapshot!(text(|out| annotate(&run, "worker", &options(100), out)));
    let missing = text(|out| annotate(&run, "SysTick_Handler", &options(100), out));
    assert!(missing.contains("no disassembly of it"), "{missing}");
    let nobody = text(|out| annotate(&run, "nobody", &options(100), out));
    assert!(nobody.contains("no function of that name"), "{nobody}");
}

#[test]
fn only_the_sections_asked_for() {
    let run = measurements::simulated();
    let pins = Some(vec!["pins".to_owned()]);
    let shown = whole(&run, &Selection { sections: pins, ..Selection::default() }, options(100));
    assert!(shown.contains("pins and marks") && !shown.contains("interrupts"), "{shown}");
    assert!(!shown.contains("profile by"), "{shown}");
    let listed = Some(vec!["disassembly".to_owned()]);
    let shown = whole(&run, &Selection { sections: listed, ..Selection::default() }, options(100));
    assert!(shown.contains("subs r3, #1"), "{shown}");
}

/// The example: loss that nobody knows is not 0.
#[test]
fn unknown_is_never_zero() {
    let sampled = whole(&measurements::sampled(), &Selection::default(), options(100));
    assert!(!sampled.contains("0 lost") && !sampled.contains(" 0 of"), "{sampled}");
    assert!(sampled.contains("lost         unknown: the recording has no timestamps"), "{sampled}");
    let words = sampled.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("how much was lost is unknown: the recording has no"), "{sampled}");
    let stacks = whole(&measurements::stacks(), &Selection::default(), options(100));
    assert!(stacks.contains("? unknown bound: calls through a pointer"), "{stacks}");
    let mut run = measurements::rig().parts.remove(0).measurement;
    run.totals.clear();
    for unit in [Unit::CYCLES, Unit::NANOSECONDS, Unit::RATIO, Unit::PERCENT, Unit::BYTES] {
        run.push_total(&unit.0, "figure", Quantity::unknown(unit.clone(), "nobody looked"));
    }
    run.push_total("idle", "idle", Quantity::unknown(Unit::CYCLES, "nobody looked"));
    let shown = whole(&run, &Selection::default(), options(100));
    assert_eq!(shown.matches("unknown: nobody looked").count(), 6, "{shown}");
}

#[test]
fn long_names_that_differ_in_the_middle_stay_different() {
    for width in [60, 80, 100] {
        let shown = whole(&measurements::heap(), &Selection::default(), options(width));
        let names = shown.lines().filter(|line| line.contains("com.ex"));
        let mut names: Vec<&str> = names.filter_map(|line| line.split("com").nth(1)).collect();
        assert_eq!(names.len(), 2, "{shown}");
        names.dedup();
        assert_eq!(names.len(), 2, "{shown}");
    }
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    let labels = By::Label(Vec::new());
    for by in [By::Function, By::Line, By::Address, By::File, labels] {
        let selection = Selection {
            by,
            annotate: vec!["worker".to_owned()],
            sections: None,
            without: Vec::new(),
            ..with_tree()
        };
        for (name, measurement) in measurements::all() {
            for width in [40, 50, 60, 72, 80, 100, 132, 200] {
                let shown = whole(&measurement, &selection, options(width));
                let wide = shown.lines().find(|line| line.chars().count() > width);
                assert_eq!(wide, None, "{name} at {width}:\n{shown}");
            }
        }
    }
}

#[test]
fn colours_change_nothing_but_colours() {
    for (name, measurement) in measurements::all() {
        let plain = whole(&measurement, &with_tree(), options(100));
        assert!(!plain.contains('\x1b'), "{name}");
        let painted = Options { style: Style { colour: true, width: 100 }, quiet: false };
        let painted = whole(&measurement, &with_tree(), painted);
        let stripped: String = painted
            .split('\x1b')
            .enumerate()
            .map(
                |(i, part)| {
                    if i == 0 { part } else { part.split_once('m').unwrap_or((part, "")).1 }
                },
            )
            .collect();
        assert_eq!(stripped, plain, "{name}");
    }
}

/// An instrument may know the bounds of parts better than by adding up those of places.
#[test]
fn stated_bounds_of_causes_come_first() {
    use strobe_model::measurement::{Column, Table};
    let mut run = measurements::simulated();
    let cycles = Column::figure("cycles", "cycles", Unit::CYCLES);
    let mut table = Table::new(vec![cycles, Column::text("measure", "measure")]);
    let bounds = strobe_model::Bounds { low: 190, likely: 200, high: 210 };
    let stated = Quantity::modelled(bounds, Unit::CYCLES, None);
    table.row([stated.into(), "fetch-wait".into()]);
    // Of another amount than the profile's: not to be believed.
    table.row([801u64.into(), "execute".into()]);
    run.push("causes", "cycles by cause", Content::Table(table));
    let shown = whole(&run, &Selection::default(), options(100));
    assert!(shown.contains("-5.0/+5.0 %  F  fetch wait"), "{shown}");
    assert!(shown.contains("~ fetch wait: ~200 (190-210, -5.0/+5.0 %) cycles"), "{shown}");
    assert!(shown.contains(" 800 ") && !shown.contains("801"), "{shown}");
    assert_eq!(shown.matches("cycles by cause").count(), 1, "{shown}");
}

/// A sentence is wrapped even if one of its words is a long name; names of C++ are not sentences.
#[test]
fn sentences_with_a_name_in_them_are_whole() {
    use strobe_model::measurement::{Column, Table};
    let shown = |last: &str| {
        let mut run = measurements::simulated();
        let mut table = Table::new(vec![Column::text("variant", "variant")]);
        table.columns.push(Column::text("verdict", "verdict"));
        table.row(["a variant with a name of thirty".into(), last.into()]);
        run.push("verdicts", "verdicts", Content::Table(table));
        whole(&run, &Selection::default(), options(80))
    };
    let verdict = "plain: 19 to 34 times the vm-lateness-nanoseconds.p99 of chunks";
    let text = shown(verdict);
    assert!(verdict.split(' ').all(|word| text.contains(word)), "{text}");
    let name = "void operator<< <std::char_traits<char_type>>(std::basic_ostream<char_type>&)";
    assert!(shown(name).contains("..."), "{}", shown(name));
}

/// What is about single threads is there where rows are threads, or on request.
#[test]
fn sections_of_threads_come_with_rows_of_threads() {
    let mut run = measurements::simulated();
    let spreads = Content::Distributions(Default::default());
    let Content::Distributions(pins) = &run.sections[2].content else { panic!("pins") };
    let pins = Content::Distributions(pins.clone());
    run.push("latencies", "latencies of all", pins);
    run.push("empty", "nothing", spreads);
    let by_label = Selection { by: By::Label(Vec::new()), ..Selection::default() };
    let asked = Some(vec!["latencies".to_owned()]);
    let asked = Selection { sections: asked, ..Selection::default() };
    for (selection, is_there) in [(Selection::default(), false), (by_label, true), (asked, true)] {
        let shown = whole(&run, &selection, options(100));
        assert_eq!(shown.contains("latencies of all"), is_there, "{shown}");
    }
}

#[test]
fn an_empty_measurement_is_no_reason_to_stumble() {
    let mut empty = measurements::rig().parts.remove(0).measurement;
    empty.push("a", "profile", Content::Profile(Box::default()));
    empty.push("b", "table", Content::Table(Default::default()));
    empty.push("c", "spreads", Content::Distributions(Default::default()));
    let line = strobe_model::measurement::Timeline::new(Unit::TICKS);
    empty.push("d", "line", Content::Timeline(Box::new(line)));
    empty.push("e", "text", Content::Text(Default::default()));
    let shown = whole(&empty, &with_tree(), options(80));
    assert!(shown.contains("line: 0 ticks") && !shown.contains("table"), "{shown}");
}
