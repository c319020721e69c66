//! What is written, read by types that are the published schema: whatever it does not name is
//! refused.

use proptest::prelude::*;
use serde::Deserialize;

use super::super::subjects;
use super::*;

/// `FileFormat.File` of the schema.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Read {
    #[serde(rename = "$schema")]
    schema: String,
    shared: ReadShared,
    profiles: Vec<ReadProfile>,
    name: Option<String>,
    active_profile_index: Option<usize>,
    exporter: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadShared {
    frames: Vec<ReadFrame>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadFrame {
    name: String,
    file: Option<String>,
    line: Option<f64>,
    #[serde(rename = "col")]
    _col: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    tag = "type",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
enum ReadProfile {
    Sampled {
        name: String,
        unit: ReadUnit,
        start_value: f64,
        end_value: f64,
        samples: Vec<Vec<usize>>,
        weights: Vec<f64>,
    },
    Evented {
        name: String,
        unit: ReadUnit,
        start_value: f64,
        end_value: f64,
        events: Vec<ReadEvent>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ReadUnit {
    None,
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
    Bytes,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadEvent {
    r#type: char,
    at: f64,
    frame: usize,
}

/// Reads, and holds what the schema states in words: indices are there, events are in order and
/// closed as they were opened.
fn read(measurement: &Measurement, choice: &Choice) -> Read {
    let read: Read = serde_json::from_slice(&subjects::write(&Speedscope, measurement, choice))
        .expect("the schema");
    assert_eq!(read.schema, SCHEMA);
    assert_eq!(read.name.as_deref(), Some("app.elf"));
    assert_eq!(read.exporter.as_deref(), Some("strobe 0"));
    assert!(read.active_profile_index.is_some_and(|index| index < read.profiles.len()));
    for profile in &read.profiles {
        match profile {
            ReadProfile::Sampled { start_value, end_value, samples, weights, .. } => {
                assert_eq!(samples.len(), weights.len());
                assert_eq!(end_value - start_value, weights.iter().sum::<f64>());
                assert!(samples.iter().flatten().all(|frame| *frame < read.shared.frames.len()));
                assert!(samples.iter().all(|stack| !stack.is_empty()));
            }
            ReadProfile::Evented { start_value, end_value, events, .. } => {
                let (mut now, mut open) = (*start_value, Vec::new());
                for event in events {
                    assert!(event.at >= now && event.at <= *end_value, "{event:?}");
                    now = event.at;
                    match event.r#type {
                        'O' => open.push(event.frame),
                        'C' => assert_eq!(open.pop(), Some(event.frame)),
                        other => panic!("{other}"),
                    }
                }
                assert!(open.is_empty());
            }
        }
    }
    read
}

/// The sums of all profiles of each measure.
fn sum(read: &Read, title: &str) -> f64 {
    let of = |profile: &ReadProfile| match profile {
        ReadProfile::Sampled { name, weights, .. } => {
            let same = name == title || name.starts_with(&format!("{title}: "));
            if same { weights.iter().sum() } else { 0.0 }
        }
        ReadProfile::Evented { .. } => panic!("no samples"),
    };
    read.profiles.iter().map(of).sum()
}

#[test]
fn every_label_and_measure_is_a_profile() {
    for (name, profile) in subjects::profiles() {
        for by_place in [false, true] {
            let choice = Choice { by_place, ..Choice::default() };
            let read = read(&subjects::of(profile.clone()), &choice);
            for measure in &profile.measures {
                let total = subjects::total(&profile, &measure.id) as f64;
                assert_eq!(sum(&read, &measure.title), total, "{name}, {}", measure.id);
            }
        }
    }
    let read = read(&subjects::of(subjects::run()), &Choice::default());
    let names: Vec<&str> = read
        .profiles
        .iter()
        .map(|profile| match profile {
            ReadProfile::Sampled { name, unit, .. } => {
                assert_eq!(*unit, ReadUnit::None);
                name.as_str()
            }
            ReadProfile::Evented { name, .. } => name,
        })
        .collect();
    assert_eq!(names[..2], ["cycles: thread main", "cycles: handler SysTick"]);
    assert!(read.shared.frames.iter().any(|frame| frame.name == "(asleep)"));
}

#[test]
fn units_files_and_lines() {
    let read_heap = read(&subjects::of(subjects::heap()), &Choice::default());
    let ReadProfile::Sampled { name, unit, .. } = &read_heap.profiles[0] else { panic!() };
    assert_eq!((name.as_str(), *unit), ("bytes", ReadUnit::Bytes));
    let choice = Choice { by_place: true, ..Choice::default() };
    let read = read(&subjects::of(subjects::run()), &choice);
    let get = read.shared.frames.iter().find(|frame| frame.name == "get").unwrap();
    assert_eq!((get.file.as_deref(), get.line), (Some("src/tick.c"), Some(77.0)));
}

/// `late` overlaps both others and has a lane of its own.
#[test]
fn spans_of_a_time_line_are_nested() {
    let read = read(&subjects::timeline(), &Choice::default());
    let named = |profile: &ReadProfile| match profile {
        ReadProfile::Evented { name, unit: ReadUnit::Nanoseconds, events, .. } => {
            (name.clone(), events.len())
        }
        other => panic!("{other:?}"),
    };
    let found: Vec<(String, usize)> = read.profiles.iter().map(named).collect();
    let wanted = [("main \"1\"", 2), ("calls", 4), ("calls (2)", 2)];
    assert_eq!(found, wanted.map(|(name, events)| (name.to_owned(), events)));
}

proptest! {
    #[test]
    fn sums_are_any_profiles(profile in subjects::any_run()) {
        let total = subjects::total(&profile, "cycles") as f64;
        if total > 0.0 {
            let read = read(&subjects::of(profile), &Choice::default());
            prop_assert_eq!(sum(&read, "cycles"), total);
        }
    }
}
