//! What is written, held against what the library of samply's author writes, and its indices
//! against its tables.

use fxprof_processed_profile as samply;
use proptest::prelude::*;
use serde_json::Value;

use super::super::subjects;
use super::*;

fn written(measurement: &Measurement, choice: &Choice) -> Value {
    let bytes = subjects::write(&Firefox, measurement, choice);
    let file = serde_json::from_slice(&bytes).expect("JSON");
    check(&file);
    file
}

fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no array: {value}"))
}

fn length(table: &Value) -> usize {
    table["length"].as_u64().expect("a length") as usize
}

/// Columns are as long as their table states, and indices point into theirs.
fn check(file: &Value) {
    for thread in array(&file["threads"]) {
        for name in ["samples", "markers", "stackTable", "frameTable", "funcTable"] {
            let table = &thread[name];
            for (column, values) in table.as_object().unwrap() {
                if let Some(values) = values.as_array() {
                    assert_eq!(values.len(), length(table), "{name}.{column}");
                }
            }
        }
        let inside = |table: &str, column: &str, most: usize| {
            let numbers = array(&thread[table][column]).iter().filter(|value| !value.is_null());
            assert!(
                numbers.clone().all(|n| (n.as_u64().expect("an index") as usize) < most),
                "{table}.{column}"
            );
        };
        let strings = array(&thread["stringArray"]).len();
        inside("samples", "stack", length(&thread["stackTable"]));
        inside("stackTable", "frame", length(&thread["frameTable"]));
        inside("frameTable", "func", length(&thread["funcTable"]));
        inside("frameTable", "category", array(&file["meta"]["categories"]).len());
        inside("funcTable", "name", strings);
        inside("funcTable", "fileName", strings);
        inside("markers", "name", strings);
        for (i, prefix) in array(&thread["stackTable"]["prefix"]).iter().enumerate() {
            assert!(prefix.is_null() || prefix.as_u64().is_some_and(|p| p < i as u64), "{prefix}");
        }
    }
    let threads = array(&file["threads"]).len() as u64;
    let visible = array(&file["meta"]["initialVisibleThreads"]);
    assert!(!visible.is_empty() && visible.iter().all(|i| i.as_u64().unwrap() < threads));
}

/// The names of a sample's frames, innermost first.
fn frames(thread: &Value, sample: usize) -> Vec<&str> {
    let mut names = Vec::new();
    let mut stack = thread["samples"]["stack"][sample].as_u64();
    while let Some(index) = stack {
        let at = |table: &str, column: &str, row: u64| &thread[table][column][row as usize];
        let frame = at("stackTable", "frame", index).as_u64().unwrap();
        let func = at("frameTable", "func", frame).as_u64().unwrap();
        let name = at("funcTable", "name", func).as_u64().unwrap();
        names.push(thread["stringArray"][name as usize].as_str().unwrap());
        stack = at("stackTable", "prefix", index).as_u64();
    }
    names
}

/// The sum of a measure's samples.
fn sum(file: &Value, process: &str) -> i128 {
    let threads = array(&file["threads"]).iter().filter(|t| t["processName"] == process);
    let weights = threads.flat_map(|thread| array(&thread["samples"]["weight"]));
    weights.map(|weight| i128::from(weight.as_i64().unwrap())).sum()
}

#[test]
fn labels_become_threads_and_measures_processes() {
    for (name, profile) in subjects::profiles() {
        let file = written(&subjects::of(profile.clone()), &Choice::default());
        for measure in &profile.measures {
            let process = format!("{} ({})", measure.title, measure.unit);
            assert_eq!(sum(&file, &process), subjects::total(&profile, &measure.id), "{name}");
        }
    }
    let file = written(&subjects::of(subjects::run()), &Choice::default());
    let main = &file["threads"][0];
    assert_eq!((&main["name"], &main["isMainThread"]), (&"thread main".into(), &true.into()));
    assert_eq!(frames(main, 1), ["(asleep)", "wait", "main"]);
    assert_eq!(main["samples"]["weight"][1], 400);
    assert_eq!(file["meta"]["initialVisibleThreads"], serde_json::json!([0, 1]));
    let file = written(&subjects::of(subjects::hostile()), &Choice::default());
    assert_eq!(frames(&file["threads"][0], 0), ["a;b 12\nfn=(1) c"]);
}

/// Two runs of a thread, a handler, samples at their times, a counter's changes, a loss.
#[test]
fn tracks_are_threads() {
    let file = written(&subjects::timeline(), &Choice::default());
    let names: Vec<&Value> = array(&file["threads"]).iter().map(|thread| &thread["name"]).collect();
    assert_eq!(names, ["main \"1\"", "calls", "Samples", "lost"]);
    let calls = &file["threads"][1]["markers"];
    assert_eq!(calls["startTime"], serde_json::json!([0.0, 0.001, 0.008]));
    assert_eq!(calls["endTime"], serde_json::json!([0.009, 0.002, 0.011]));
    let samples = &file["threads"][2];
    assert_eq!(samples["samples"]["timeDeltas"], serde_json::json!([0.0001, 0.0001, 0.0001]));
    assert_eq!([0, 1, 2].map(|i| frames(samples, i)[0]), ["main", "(asleep)", "main"]);
    assert_eq!(file["counters"][0]["samples"]["count"], serde_json::json!([7, -10]));
    assert_eq!(file["counters"][0]["category"], "Memory");
}

/// Fields by path; those of tables whose rows a profile need not have are left out.
fn fields(value: &Value, path: &str, all: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            let path = format!("{path}.{key}");
            all.push(path.clone());
            if key != "extensions" {
                fields(value, &path, all);
            }
        }),
        Value::Array(values) => values.iter().take(1).for_each(|v| fields(v, path, all)),
        _ => {}
    }
}

/// The same things, written by the library: a sample, a marker, a counter.
fn of_the_library() -> Value {
    let zero = samply::Timestamp::from_nanos_since_reference(0);
    let mut profile = samply::Profile::new(
        "app.elf",
        samply::ReferenceTimestamp::from_millis_since_unix_epoch(0.0),
        samply::SamplingInterval::from_millis(1),
    );
    let process = profile.add_process("app.elf", 0, zero);
    let thread = profile.add_thread(process, 0, zero, true);
    let name = profile.intern_string("main");
    let category_pair = samply::CategoryHandle::OTHER.into();
    let (frame, flags) = (samply::Frame::Label(name), samply::FrameFlags::empty());
    let frame = samply::FrameInfo { frame, category_pair, flags };
    let stack = profile.intern_stack_frames(thread, [frame].into_iter());
    profile.add_sample(thread, zero, stack, samply::CpuDelta::ZERO, 1);
    let counter = profile.add_counter(process, "level", "Memory", "bytes");
    profile.add_counter_sample(counter, zero, 1.0, 0);
    profile.add_initial_visible_thread(thread);
    profile.add_marker(thread, samply::MarkerTiming::Instant(zero), Marker(name));
    serde_json::to_value(&profile).expect("JSON")
}

struct Marker(samply::StringHandle);

impl samply::StaticSchemaMarker for Marker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "strobe";
    const CHART_LABEL: Option<&'static str> = Some("{marker.name}");
    const TOOLTIP_LABEL: Option<&'static str> = Some("{marker.name}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.name}");
    const FIELDS: &'static [samply::StaticSchemaMarkerField] = &[];

    fn name(&self, _: &mut samply::Profile) -> samply::StringHandle {
        self.0
    }

    fn category(&self, _: &mut samply::Profile) -> samply::CategoryHandle {
        samply::CategoryHandle::OTHER
    }

    fn string_field_value(&self, _: u32) -> samply::StringHandle {
        self.0
    }

    fn number_field_value(&self, _: u32) -> f64 {
        0.0
    }
}

#[test]
fn fields_are_those_of_the_format() {
    let (mut ours, mut wanted) = (Vec::new(), Vec::new());
    fields(&written(&subjects::timeline(), &Choice::default()), "", &mut ours);
    let library = of_the_library();
    check(&library);
    fields(&library, "", &mut wanted);
    ours.sort();
    wanted.sort();
    assert_eq!(ours, wanted);
    let version = &library["meta"]["preprocessedProfileVersion"];
    let file = written(&subjects::of(subjects::run()), &Choice::default());
    assert_eq!(file["meta"]["preprocessedProfileVersion"], *version);
}

proptest! {
    #[test]
    fn sums_are_any_profiles(profile in subjects::any_run()) {
        let total = subjects::total(&profile, "cycles");
        if total > 0 {
            let file = written(&subjects::of(profile), &Choice::default());
            prop_assert_eq!(sum(&file, "cycles (cycles)"), total);
        }
    }
}
