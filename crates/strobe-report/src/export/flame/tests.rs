//! Pictures read as XML: what is drawn adds up and stays where it belongs.

use proptest::prelude::*;
use roxmltree::{Document, Node as Element};
use strobe_model::measurement::Profile;

use super::super::subjects;
use super::*;

fn written(profile: &Profile) -> String {
    let bytes = subjects::write(&FlameGraph, &subjects::of(profile.clone()), &Choice::default());
    String::from_utf8(bytes).expect("UTF-8")
}

/// A frame: name, figures, left and right edge, top.
struct Drawn {
    name: String,
    figures: String,
    left: f64,
    right: f64,
    top: f64,
}

fn frames(text: &str) -> Vec<Drawn> {
    let document = Document::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let child = |of: Element<'_, '_>, name: &str| -> Option<String> {
        of.children().find(|c| c.has_tag_name(name))?.text().map(str::to_owned)
    };
    let groups = document.descendants().filter(|node| node.has_tag_name("g"));
    let frame = |group: Element<'_, '_>| {
        let rectangle = group.children().find(|c| c.has_tag_name("rect")).expect("a rectangle");
        let number = |name| rectangle.attribute(name).unwrap().parse::<f64>().unwrap();
        let (title, left, right) =
            (child(group, "title").unwrap(), number("x"), number("x") + number("width"));
        if let Some(label) = child(group, "text") {
            let room = (right - left) / CHARACTER;
            assert!(label.chars().count() as f64 <= room, "{label} in {room}");
        }
        let (name, figures) = title.rsplit_once('\n').unwrap();
        Drawn { name: name.to_owned(), figures: figures.to_owned(), left, right, top: number("y") }
    };
    groups.map(frame).collect()
}

#[test]
fn frames_stand_on_their_callers_with_both_figures() {
    let text = written(&subjects::run());
    let frames = frames(&text);
    let of = |name: &str| frames.iter().find(|frame| frame.name == name).unwrap();
    assert_eq!(of("all").figures, "580 cycles (100.0 %)");
    assert_eq!(of("main").figures, "550 cycles (94.8 %) with calls, 100 cycles (17.2 %) by itself");
    assert_eq!(of("(asleep)").figures, "400 cycles (69.0 %)");
    assert!(of("wait").top > of("main").top && of("main").top > of("thread main").top);
    assert!(text.contains("app.elf: cycles by call chain"));
    insta::assert_snapshot!("flame_run", text);
}

#[test]
fn every_profile_adds_up_and_hostile_names_are_text() {
    for (name, profile) in subjects::profiles() {
        let text = written(&profile);
        let all = &frames(&text)[0];
        let total = grouped(subjects::total(&profile, &profile.measures[0].id) as u64);
        assert!(all.figures.starts_with(&format!("{total} ")), "{name}: {}", all.figures);
    }
    let frames = frames(&written(&subjects::hostile()));
    assert!(frames.iter().any(|frame| frame.name == "<T as \"Q\">::f&'s\\"));
    assert!(!written(&subjects::hostile()).contains("<script"));
}

/// A call a thousand deep and one that is too narrow to be seen.
#[test]
fn omitted_frames_are_counted() {
    let mut profile = subjects::heap();
    profile.stacks.parent = (0..1000u32).map(|i| i.checked_sub(1)).chain([None]).collect();
    profile.stacks.location = vec![0; 1000];
    profile.stacks.location.push(1);
    profile.chains.at = vec![Some(999), Some(1000), Some(0)];
    profile.chains.values[0].values = vec![1_000_000_000, 1, 0];
    let text = written(&profile);
    assert!(
        text.contains("frames not drawn: 1 too narrow, 751 deeper than 250 calls"),
        "{}",
        &text[text.len() - 200..]
    );
    assert_eq!(frames(&text).len(), DEEPEST);
}

#[test]
fn names_are_shortened_in_the_middle() {
    assert_eq!(shortened("abcdefgh", 8).unwrap(), "abcdefgh");
    assert_eq!(shortened("abcdefgh", 7).unwrap(), "abc…fgh");
    assert_eq!(shortened("abcdefgh", 6).unwrap(), "abc…gh");
    assert_eq!(shortened("日本語日本語", 7).unwrap(), "日…語");
    assert_eq!(shortened("abcdefgh", 4), None);
}

proptest! {
    /// A frame is within the one above it, and beside others of its row.
    #[test]
    fn frames_are_within_their_callers(profile in subjects::any_run()) {
        let frames = frames(&written(&profile));
        for (i, a) in frames.iter().enumerate() {
            let within = |b: &Drawn| {
                b.top == a.top - ROW && b.left <= a.left + 0.02 && a.right <= b.right + 0.3
            };
            prop_assert!(i == 0 || frames.iter().any(within), "{}", a.name);
            let beside = |b: &Drawn| {
                b.top != a.top || b.right <= a.left + 0.02 || a.right <= b.left + 0.3
            };
            prop_assert!(frames[..i].iter().all(beside), "{}", a.name);
        }
    }
}

/// What a browser or a terminal would obey is in no picture.
#[test]
fn names_reverse_nothing() {
    assert_eq!(super::escaped("a\u{202e}b\u{9b}c"), "a b c");
    assert_eq!(crate::markdown::cell("a\u{2066}b"), "a b");
}
