//! `strobe export` of a measurement with a profile: files of every format, read by the programs
//! that they are for where those are there.

use std::path::Path;
use std::process::Command;

use crate::common::strobe;
use flate2::Compression;
use flate2::write::GzEncoder;
use strobe_model::measurement::{
    Address, Content, Ended, Functions, Instrument, Kind, Label, Locations, Measure, Measurement,
    NamedPart, Part, Profile, Samples, Stacks, Subject, Unit, Values, Window,
};
use tempfile::TempDir;

const CYCLES: [i64; 3] = [1000, 5500, 250];
const ASLEEP: [i64; 3] = [0, 5000, 0];
const EXECUTE: [i64; 3] = [1000, 500, 250];

fn measure(id: &str, part: Option<Part>) -> Measure {
    let title = id.replace('-', " ");
    Measure { id: id.to_owned(), title, unit: Unit::CYCLES, kind: Kind::Exact, part }
}

/// `main` calls `wait`, which sleeps; a handler interrupts both.
fn measurement() -> Measurement {
    let part = |idle| {
        let of = "cycles".to_owned();
        Some(Part { of, letter: None, idle, meaning: None, advice: None })
    };
    let values = |id: &str, values: [i64; 3]| Values {
        measure: id.to_owned(),
        values: values.to_vec(),
        ..Values::default()
    };
    let label = |key: &str, value: &str| Label { key: key.to_owned(), value: value.to_owned() };
    let profile = Profile {
        measures: vec![
            measure("cycles", None),
            measure("execute", part(false)),
            measure("asleep", part(true)),
        ],
        files: vec!["src/main.c".to_owned()],
        functions: Functions {
            name: ["main", "wait<T>(char const*)", "SysTick_Handler"].map(str::to_owned).to_vec(),
            address: [0x100, 0x200, 0x300].map(|n| Some(Address(0x0800_0000 + n))).to_vec(),
            file: vec![Some(0); 3],
            ..Functions::default()
        },
        locations: Locations {
            address: vec![None; 3],
            function: vec![Some(0), Some(1), Some(2)],
            frame: vec![None; 3],
        },
        stacks: Stacks { parent: vec![None, Some(0), None], location: vec![0, 1, 2] },
        labels: vec![label("thread", "main"), label("handler", "SysTick")],
        chains: Samples {
            at: vec![Some(0), Some(1), Some(2)],
            label: vec![Some(0), Some(0), Some(1)],
            values: vec![
                values("cycles", CYCLES),
                values("execute", EXECUTE),
                values("asleep", ASLEEP),
            ],
        },
        ..Profile::default()
    };
    let (kind, name) = ("firmware".to_owned(), "app.elf".to_owned());
    let subject = Subject { kind, name, ..Subject::default() };
    let window = Window::untimed("not of interest", Ended::default());
    let mut measurement = Measurement::new(subject, Instrument::default(), window);
    measurement.push("profile", "cycles", Content::Profile(Box::new(profile)));
    measurement.check().expect("sound");
    measurement
}

/// The measurement in a file.
fn written() -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("run.measurement");
    std::fs::write(&path, serde_json::to_vec(&measurement()).expect("JSON")).expect("a file");
    (folder, path.display().to_string())
}

fn export(arguments: &[&str]) -> String {
    let ran = strobe(&[&["export"], arguments].concat());
    assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.stderr);
    ran.stdout
}

#[test]
fn collapsed_stacks_add_up() {
    let (_folder, file) = written();
    let text = export(&[&file, "--to", "collapsed"]);
    assert_eq!(
        text,
        "handler SysTick;SysTick_Handler 250\n\
         thread main;main 1000\n\
         thread main;main;wait<T>(char const*) 500\n\
         thread main;main;wait<T>(char const*);(asleep) 5000\n"
    );
    let asleep = export(&[&file, "--to", "folded", "--measure", "asleep"]);
    assert_eq!(asleep, "thread main;main;wait<T>(char const*);(asleep) 5000\n");
}

/// Compressed and not, a measurement gives the same bytes.
#[test]
fn compressed_measurements_are_read() {
    let (folder, file) = written();
    let path = folder.path().join("run.measurement.gz");
    let mut out = GzEncoder::new(std::fs::File::create(&path).unwrap(), Compression::fast());
    std::io::Write::write_all(&mut out, &std::fs::read(&file).unwrap()).unwrap();
    out.finish().unwrap();
    let path = path.display().to_string();
    for format in ["collapsed", "flamegraph", "speedscope", "firefox", "callgrind"] {
        assert_eq!(export(&[&path, "--to", format]), export(&[&file, "--to", format]), "{format}");
    }
}

/// What callgrind_annotate adds up, by function alone and with its calls.
#[test]
fn callgrind_annotate_reads_it() {
    let (folder, file) = written();
    let out = folder.path().join("callgrind.out").display().to_string();
    export(&[&file, "--to", "callgrind", "-o", &out]);
    let annotate = |arguments: &[&str]| -> String {
        let output = Command::new("callgrind_annotate").args(arguments).arg(&out).output();
        let output = output.expect("callgrind_annotate is there: `scripts/setup test`");
        let (text, errors) = (&output.stdout, String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && errors.is_empty(), "{errors}");
        String::from_utf8_lossy(text).replace(',', "")
    };
    let first = |text: &str, function: &str| -> i64 {
        let line = text.lines().find(|line| line.contains(function));
        let line = line.unwrap_or_else(|| panic!("{function} is not in\n{text}"));
        line.split_whitespace().next().unwrap().parse().expect("a number")
    };
    let own = annotate(&["--threshold=100"]);
    assert_eq!(first(&own, "PROGRAM TOTALS"), CYCLES.iter().sum::<i64>());
    assert_eq!(first(&own, ":(asleep)"), 5000);
    assert_eq!(first(&own, ":main"), 1000);
    let inclusive = annotate(&["--threshold=100", "--inclusive=yes"]);
    assert_eq!(first(&inclusive, ":thread main"), 6500);
    assert_eq!(first(&inclusive, ":main"), 6500);
    assert_eq!(first(&inclusive, ":wait<T>(char const*)"), 5500);
}

#[test]
fn the_picture_is_xml() {
    let (_folder, file) = written();
    let text = export(&[&file, "--to", "svg"]);
    let document = roxmltree::Document::parse(&text).expect("XML");
    let titles: Vec<&str> = document
        .descendants()
        .filter(|n| n.has_tag_name("title"))
        .filter_map(|n| n.text())
        .collect();
    assert!(titles.contains(&"all\n6,750 cycles (100.0 %)"), "{titles:?}");
    assert!(titles.contains(&"(asleep)\n5,000 cycles (74.1 %)"), "{titles:?}");
}

/// A rig, or a comparison, has parts: one of them is chosen by its name.
#[test]
fn a_part_is_exported_by_its_name() {
    let named = |name: &str, measurement| NamedPart { name: name.to_owned(), measurement };
    let mut inner = measurement();
    inner.sections.clear();
    inner.parts = vec![named("ping", measurement())];
    let mut whole = measurement();
    whole.sections.clear();
    whole.parts = vec![named("p", measurement()), named("pin", inner)];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rig.measurement");
    std::fs::write(&path, serde_json::to_vec(&whole).unwrap()).unwrap();
    let path = path.display().to_string();
    let (_folder, alone) = written();
    let expected = export(&[&alone, "--to", "collapsed"]);
    for part in ["p", "pin/ping"] {
        assert_eq!(export(&[&path, "--to", "collapsed", "--part", part]), expected, "{part}");
    }
    let fails = |arguments: &[&str], code: i32, text: &str| {
        let ran = strobe(&[&["export"], arguments].concat());
        assert_eq!(ran.code, code, "{}", ran.stderr);
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    };
    let names = "there is no part `ping`; parts are: p, pin, pin/ping";
    fails(&[&path, "--to", "collapsed", "--part", "ping"], 64, names);
    fails(&[&alone, "--to", "collapsed", "--part", "p"], 64, "parts are: none");
    let advice = "parts of its own (p, pin); --part NAME exports one of these";
    fails(&[&path, "--to", "collapsed"], 65, advice);
}

#[test]
fn unexportable_measurement_is_an_error_with_advice() {
    let (folder, file) = written();
    let fails = |arguments: &[&str], code: i32, text: &str| {
        let ran = strobe(&[&["export", &file], arguments].concat());
        assert_eq!(ran.code, code, "{}", ran.stderr);
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    };
    let formats = "it can go to pprof, collapsed, flamegraph, speedscope, firefox, callgrind";
    fails(&["--to", "chrome"], 65, formats);
    let out = folder.path().join("ctf").display().to_string();
    fails(&["--to", "ctf", "-o", &out], 65, "has a profile (profile)");
    assert!(!Path::new(&out).exists());
    fails(&["--to", "ctf"], 64, "name their directory");
    fails(&["--to", "pprof", "--measure", "joules"], 64, "it has cycles, execute, asleep");
    fails(&["--to", "pprof", "--section", "heap"], 64, "it has a profile (profile)");
    let broken = folder.path().join("broken.measurement");
    std::fs::write(&broken, "{\"schema\": \"strobe-measurement/9\"}").unwrap();
    let ran = strobe(&["export", broken.to_str().unwrap(), "--to", "pprof"]);
    assert_eq!(ran.code, 65);
    assert!(ran.stderr.contains("strobe-measurement/9"), "{}", ran.stderr);
}

/// Under a flame graph stand whole reasons, and each is one.
#[test]
fn flame_graphs_state_whole_reasons() {
    let elf = crate::common::prebuilt("pairs-slow");
    let run = [&elf, "--until", "20ms"];
    let export = [&["export"], &run[..], &["--to", "flamegraph", "--quiet"]].concat();
    let picture = strobe(&export).stdout;
    let note = picture.lines().find(|line| line.contains("class=\"note\"")).expect("a note");
    let note = note.split_once('>').and_then(|(_, rest)| rest.split_once('<')).expect("text").0;
    let (_, reasons) = note.split_once(" cycles, modelled: ").expect("reasons");
    assert!(!reasons.contains('…') && !reasons.contains("..."), "{note}");
    let reasons: Vec<&str> = reasons.split("; ").collect();
    let (last, whole) = reasons.split_last().expect("some");
    assert!(last.starts_with("and ") && last.ends_with(" more reasons"), "{note}");
    assert!(!whole.is_empty(), "{note}");
    let report = strobe(&[&["run"], &run[..]].concat()).stdout;
    let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
    for reason in whole {
        assert!(report.contains(&format!(" cycles {reason} ")), "{reason}: {report}");
        assert_ne!(*reason, "modelled");
    }
    assert!(!report.contains(" cycles modelled ~"), "{report}");
    assert!(report.contains(" cycles waits are modelled: bounds are those of a run"), "{report}");
}
