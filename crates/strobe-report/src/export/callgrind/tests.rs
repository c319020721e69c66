//! What is written, read by a small parser of the format as its manual describes it.

use proptest::prelude::*;
use strobe_model::measurement::Profile;

use super::super::subjects;
use super::*;

/// A file as it was read. Functions by name: own costs by file and place; calls by callee with what
/// they cost.
#[derive(Debug, Default)]
struct Read {
    events: Vec<String>,
    summary: Vec<i128>,
    totals: Vec<i128>,
    own: Vec<(String, String, String, Vec<i128>)>,
    calls: Vec<(String, String, i128, Vec<i128>)>,
}

/// `(3) name` or `(3)`.
fn name(text: &str, known: &mut HashMap<String, String>) -> String {
    let (number, name) = text.strip_prefix('(').and_then(|t| t.split_once(')')).expect("a number");
    if !name.is_empty() {
        let before = known.insert(number.to_owned(), name.trim().to_owned());
        assert_eq!(before, None, "{text}");
    }
    known[number].clone()
}

fn read(text: &str) -> Read {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("# callgrind format"));
    let mut read = Read::default();
    let (mut files, mut functions, mut objects) = (HashMap::new(), HashMap::new(), HashMap::new());
    let (mut file, mut function, mut callee, mut call) =
        (String::new(), String::new(), String::new(), None);
    let numbers = |text: &str| -> Vec<i128> {
        text.split_whitespace().map(|number| number.parse().expect("a number")).collect()
    };
    for line in lines.filter(|line| !line.is_empty()) {
        if let Some((key, value)) = line.split_once(": ").filter(|(key, _)| !key.contains('=')) {
            match key {
                "events" => read.events = value.split(' ').map(str::to_owned).collect(),
                "summary" => read.summary = numbers(value),
                "totals" => read.totals = numbers(value),
                "positions" => assert_eq!(value, "instr line"),
                "version" | "creator" | "cmd" | "event" => {}
                other => panic!("{other}"),
            }
        } else if let Some((key, value)) = line.split_once('=') {
            match key {
                "ob" => drop(name(value, &mut objects)),
                "fl" | "fi" | "fe" => file = name(value, &mut files),
                "cfi" => drop(name(value, &mut files)),
                "fn" => function = name(value, &mut functions),
                "cfn" => callee = name(value, &mut functions),
                "calls" => call = Some(value.split(' ').next().unwrap().parse::<i128>().unwrap()),
                other => panic!("{other}: {line}"),
            }
        } else {
            let mut words = line.splitn(3, ' ');
            let (address, at) = (words.next().unwrap(), words.next().unwrap());
            assert!(address.starts_with("0x"), "{line}");
            let costs = numbers(words.next().unwrap());
            assert_eq!(costs.len(), read.events.len());
            match call.take() {
                Some(times) => read.calls.push((function.clone(), callee.clone(), times, costs)),
                None => {
                    let place = format!("{address}:{at}");
                    read.own.push((function.clone(), file.clone(), place, costs));
                }
            }
        }
    }
    read
}

fn written(profile: &Profile) -> Read {
    let measurement = subjects::of(profile.clone());
    let bytes = subjects::write(&Callgrind, &measurement, &Choice::default());
    let read = read(&String::from_utf8(bytes).expect("UTF-8"));
    for (i, event_name) in read.events.iter().enumerate() {
        let own: i128 = read.own.iter().map(|(.., costs)| costs[i]).sum();
        assert_eq!((read.summary[i], read.totals[i]), (own, own), "{event_name}");
        let measure = profile.measures.iter().find(|m| event(&m.id) == *event_name).unwrap();
        assert_eq!(own, subjects::total(profile, &measure.id), "{event_name}");
    }
    read
}

#[test]
fn costs_calls_and_places() {
    let read = written(&subjects::run());
    assert_eq!(read.events, ["Cycles", "Execute", "Asleep", "Executions"]);
    let own = |function: &str, place: &str| {
        let found = read.own.iter().find(|(f, _, p, _)| f == function && p == place);
        found.map(|(_, file, _, costs)| (file.as_str(), costs.as_slice()))
    };
    assert_eq!(own("main", "0x8000104:10"), Some(("src/main.c", &[40, 40, 0, 20][..])));
    // Inlined: of the function that it is in, at the line that it is from.
    assert_eq!(own("main", "0x8000108:77"), Some(("src/tick.c", &[60, 60, 0, 60][..])));
    assert_eq!(own("wait", "0x8000202:20"), Some(("src/main.c", &[50, 50, 0, 10][..])));
    assert_eq!(own("(asleep)", "0x0:0"), Some(("???", &[400, 0, 400, 0][..])));
    let call = |caller: &str, callee: &str| {
        let found = read.calls.iter().find(|(from, to, ..)| from == caller && to == callee);
        found.map(|(.., costs)| costs[0])
    };
    assert_eq!(call("thread main", "main"), Some(550));
    assert_eq!(call("main", "wait"), Some(450));
    assert_eq!(call("wait", "(asleep)"), Some(400));
    assert_eq!(call("handler SysTick", "tick"), Some(30));
    assert_eq!(read.calls.len(), 4);
}

#[test]
fn every_profile_adds_up() {
    for (name, profile) in subjects::profiles() {
        assert!(!written(&profile).own.is_empty(), "{name}");
    }
    let read = written(&subjects::hostile());
    assert!(read.own.iter().any(|(function, ..)| function == "a;b 12 fn=(1) c"));
    assert!(read.own.iter().any(|(_, file, ..)| file == "dir with space/ü; .c"));
}

#[test]
fn events_are_letters_and_digits() {
    assert_eq!(["load-store", "7th", "ü"].map(event), ["LoadStore", "E7th", ""]);
    let mut profile = subjects::heap();
    for measure in ["ü", "ö"].iter().zip(&mut profile.measures) {
        measure.1.id = (*measure.0).to_owned();
    }
    for values in &mut profile.chains.values {
        values.measure = if values.measure == "bytes" { "ü" } else { "ö" }.to_owned();
    }
    let bytes = subjects::write(&Callgrind, &subjects::of(profile), &Choice::default());
    assert_eq!(read(&String::from_utf8(bytes).unwrap()).events, ["Event0", "Event1"]);
}

/// How often is known where it was counted.
#[test]
fn calls_are_counted() {
    let mut profile = subjects::run();
    let id = "calls".to_owned();
    let calls = strobe_model::measurement::Values {
        measure: id.clone(),
        values: vec![1, 7, 30],
        ..Default::default()
    };
    profile.chains.values.push(calls);
    profile.measures.push(strobe_model::measurement::Measure { id, ..profile.measures[3].clone() });
    let times: Vec<i128> = written(&profile).calls.iter().map(|(_, _, times, _)| *times).collect();
    // And once for falling asleep, which nobody counts.
    assert_eq!(times.iter().sum::<i128>(), 39, "{times:?}");
}

proptest! {
    /// What a label calls is all that it has.
    #[test]
    fn sums_are_any_profiles(profile in subjects::any_run()) {
        let read = written(&profile);
        let of_labels = |(caller, _, _, costs): &(String, String, i128, Vec<i128>)| {
            let is_label = caller.starts_with("thread ") || caller.starts_with("handler ");
            if is_label { costs[0] } else { 0 }
        };
        let labelled: i128 = read.calls.iter().map(of_labels).sum();
        let samples = profile.chains.label.iter().zip(&profile.chains.values[0].values);
        let with_label = samples.filter(|(label, _)| label.is_some());
        let wanted: i64 = with_label.map(|(_, value)| value).sum();
        prop_assert_eq!(labelled, i128::from(wanted));
    }
}
