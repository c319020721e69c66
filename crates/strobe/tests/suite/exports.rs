//! `strobe export`, read by others and read back: what goes out must come in again.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::number;
use crate::common::recorded::{column, recorded, rows, spread};
use serde_json::Value;
use strobe_model::measurement::Measurement;
use strobe_synth::tracer;
use tempfile::TempDir;

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).env_remove("COLUMNS").output();
    let output = output.unwrap_or_else(|error| panic!("{program} does not start: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn strobe(arguments: &[&str]) -> String {
    run(env!("CARGO_BIN_EXE_strobe"), arguments)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

const METADATA: &str = "typealias integer { size = 8; } := u8;
typealias integer { size = 32; } := u32;
trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000000; };
stream { event.header := struct { u8 id; u8 timestamp; }; };
event { name = sched_switch; id = 0; fields := struct { u8 prev_tid; u8 next_tid; string \
next_comm; }; };
event { name = isr_enter; id = 1; fields := struct { u32 irq; }; };
event { name = isr_exit; id = 2; fields := struct { u32 irq; }; };
event { name = ctf_timer_start; id = 3; fields := struct { u8 id; }; };
event { name = ctf_timer_stop; id = 4; fields := struct { u8 id; }; };
event { name = heap_alloc; id = 5; fields := struct { u8 pid; u32 fn1; u32 fn2; u32 fn3; u32 fn4; \
u32 address; u8 user_alloc; u8 user_req; }; };
event { name = something; id = 6; };
";

/// Events: two threads, an interrupt in one of them and another in that, a timer, a block, and
/// something unknown.
fn stream() -> Vec<u8> {
    let mut stream: Vec<u8> = Vec::new();
    let switch =
        |at: u8, from: u8, to: u8, name: &str| [&[0, at, from, to], name.as_bytes(), &[0]].concat();
    let isr = |id: u8, at: u8, irq: u8| vec![id, at, irq, 0, 0, 0];
    let heap = [&[5, 70, 1][..], &[0; 16], &[0, 16, 0, 32, 48, 40]].concat();
    for event in [
        switch(10, 0, 1, "main"),
        isr(1, 20, 15),
        isr(1, 25, 7),
        isr(2, 30, 7),
        isr(2, 40, 15),
        vec![3, 50, 9],
        switch(60, 1, 2, "worker \"two\""),
        heap,
        vec![4, 80, 9],
        vec![6, 90],
        switch(100, 2, 1, "main"),
    ] {
        stream.extend(event);
    }
    stream
}

const DEMO: &str = "docs/captures/events";

/// The trace that README.md shows: with noise before it, an interrupt whose end is missing, and
/// half an event at its end.
fn demo() -> Vec<u8> {
    let isr = |id: u8, at: u8| vec![id, at, 15, 0, 0, 0];
    let tail = [&isr(1, 130)[..], &isr(1, 150), &isr(2, 162), &[0, 180, 1, 2, b'w']].concat();
    [b"hello\r\n", &[0xbe, 0xbe, 0xde, 0xad][..], &stream(), &tail].concat()
}

#[test]
fn documented_trace_is_the_one_made_here() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(DEMO);
    let files = [("metadata", METADATA.as_bytes().to_vec()), ("stream", demo())];
    for (name, bytes) in files {
        let path = folder.join(name);
        if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &bytes).unwrap();
        }
        let found = std::fs::read(&path).unwrap_or_default();
        assert!(found == bytes, "{DEMO}/{name} is not what is made here; `make bless` writes it");
    }
}

/// The events in a directory.
fn trace() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("metadata"), METADATA).unwrap();
    std::fs::write(path.join("stream"), stream()).unwrap();
    (folder, path)
}

fn report(path: &Path) -> Measurement {
    recorded(&["report", text(path)])
}

fn threads(report: &Measurement) -> Vec<(i64, String, u64)> {
    let thread = |t: &Value| {
        let name = t["thread"].as_str().unwrap().to_owned();
        // What runs without a start have is nobody's for sure.
        let running = number(&t["time"]) - number(&t["unannounced-time"]);
        (t["number"].as_i64().unwrap(), name, running)
    };
    let mut all: Vec<_> = rows(report, "threads").iter().map(thread).filter(|t| t.2 > 0).collect();
    all.sort();
    all
}

#[test]
fn ctf_is_read_back_and_by_babeltrace2() {
    let (folder, path) = trace();
    let out = folder.path().join("out");
    strobe(&["export", text(&path), "--to", "ctf", "-o", text(&out)]);
    let (before, after) = (report(&path), report(&out));
    assert_eq!(threads(&before), threads(&after));
    assert_eq!(
        threads(&before),
        [(1, "main (1)".to_owned(), 50_000), (2, "worker \"two\" (2)".to_owned(), 40_000)]
    );
    for section in ["interrupts", "interrupt-durations"] {
        let of = |m: &Measurement| m.section(section).expect(section).content.clone();
        assert_eq!(of(&before), of(&after), "{section}");
    }
    assert_eq!(spread(&before, "interrupt-durations", "15").mean(), Some(20_000.0));
    // The export has the tracks' names.
    let timer = spread(&before, "timer-durations", "9");
    assert_eq!((timer, timer.count()), (spread(&after, "timer-durations", "timer 9"), 1));
    assert_eq!(column(&after, "streams", "undecodable-bytes"), [0]);
    let lines = run("babeltrace2", &["--clock-cycles", "--no-delta", text(&out)]);
    let lines: Vec<&str> = lines.lines().map(str::trim_end).collect();
    // 3 runs of threads, the last without length, 2 handlers, 1 timer; 1 moment and 1 value of a
    // counter.
    assert_eq!(lines.len(), 2 * (3 + 2 + 1) + 2, "{lines:#?}");
    assert_eq!(
        lines[0],
        "[00000000000000000000] thread_switched_in: { thread_id = 1, name = \"main\" }"
    );
    assert!(
        lines.contains(&"[00000000000000060000] counter: { track = \"heap in use\", value = 48 }"),
        "{lines:#?}"
    );
    assert!(lines[2].contains("isr_enter: { irq = 7"), "{lines:#?}");
    let error = Command::new(env!("CARGO_BIN_EXE_strobe"))
        .args(["export", text(&path), "--to", "ctf", "-o", text(&out)])
        .output()
        .unwrap();
    assert_eq!(error.status.code(), Some(74), "a directory that is not empty is left alone");
}

/// The structure that the trace processor loads: slices inside one another, names for all that is
/// named, times in microseconds.
#[test]
fn chrome_json_is_what_perfetto_loads() {
    let (_folder, path) = trace();
    for format in ["chrome", "perfetto"] {
        let document = json(&strobe(&["export", text(&path), "--to", format]));
        let events = document["traceEvents"].as_array().unwrap();
        let of =
            |phase: &str| -> Vec<&Value> { events.iter().filter(|e| e["ph"] == phase).collect() };
        assert_eq!((of("X").len(), of("i").len(), of("C").len()), (6, 1, 1));
        for event in events {
            assert!(event["pid"].is_u64() && event["name"].is_string(), "{event}");
            assert!(event["ph"] == "M" || event["ts"].is_f64(), "{event}");
        }
        let tracks: Vec<(u64, u64)> = of("M")
            .iter()
            .filter(|m| m["name"] == "thread_name")
            .map(|m| (m["pid"].as_u64().unwrap(), m["tid"].as_u64().unwrap()))
            .collect();
        for slice in of("X") {
            let track = (slice["pid"].as_u64().unwrap(), slice["tid"].as_u64().unwrap());
            assert!(tracks.contains(&track), "{slice}");
        }
        let handler = of("X").into_iter().find(|e| e["name"] == "interrupt 15").unwrap();
        assert_eq!((handler["ts"].as_f64(), handler["dur"].as_f64()), (Some(10.0), Some(20.0)));
        assert_eq!(of("C")[0]["args"]["bytes"], 48);
    }
}

/// Long streams of a tracer, with losses: as many handlers and runs come back, and babeltrace2
/// reads as many events.
#[test]
fn long_traces_are_read_back() {
    let handlers = tracer::interrupts(1, 2800, true);
    let threads = tracer::threads(2, 1200);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("metadata.tsdl"), tracer::metadata()).unwrap();
    let streams = [("isr.raw.bin", &handlers.bytes), ("sched.raw.bin", &threads.bytes)];
    for (name, bytes) in streams {
        let stream = folder.path().join(name);
        std::fs::write(&stream, bytes).unwrap();
        let out = folder.path().join(name.replace('.', "-"));
        strobe(&["export", text(&stream), "--to", "ctf", "-o", text(&out)]);
        let after = report(&out);
        let timed = column(&after, "interrupts", "timed");
        if name == "isr.raw.bin" {
            let wanted = handlers.truth.handlers.values().map(|h| h.durations.len() as u64);
            assert!(timed.iter().copied().eq(wanted), "{timed:?}");
        } else {
            let before = report(&stream);
            let named = |report: &Measurement| -> Vec<String> {
                let all = self::threads(report).into_iter();
                let mut names: Vec<String> = all.map(|(_, name, _)| name).collect();
                names.sort();
                names
            };
            assert_eq!(named(&before), named(&after));
            assert_eq!(named(&after).len(), threads.truth.running_ns.len());
        }
        let lines = run("babeltrace2", &["--clock-cycles", text(&out)]);
        let events = column(&after, "streams", "events")[0];
        assert_eq!(lines.lines().count() as u64, events, "{name}");
        assert!(events > 1000, "{name}: {events}");
    }
}

/// A firmware is exported with all options of a run; what was recorded is not run again.
#[test]
fn options_of_a_run_hold_for_firmware_alone() {
    let firmware = crate::common::prebuilt("loop-0ws");
    let code = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_strobe"))
            .args(["export", "--to", "collapsed", "--quiet"])
            .args(arguments)
            .output()
            .unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), errors)
    };
    let (end, short, _) = code(&[&firmware, "--until", "2ms"]);
    assert_eq!(end, Some(0));
    let (end, long, _) = code(&[&firmware, "--until", "4ms", "--interpret"]);
    assert_eq!(end, Some(0));
    let cycles = |stacks: &str| -> u64 {
        stacks.lines().map(|l| l.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
    };
    assert!(cycles(&short) > 0 && cycles(&long).abs_diff(2 * cycles(&short)) < 100, "{long}");
    let (end, _, errors) = code(&[&firmware, "--until", "2ms", "--until", "0x8000ffe"]);
    assert_eq!(end, Some(122), "a place that is never reached: {errors}");

    let (_folder, path) = trace();
    for option in [["--until", "2ms"], ["--rtos", "none"]] {
        let (end, _, errors) = code(&[&[text(&path)][..], &option[..]].concat());
        assert_eq!(end, Some(64), "{errors}");
        assert!(errors.contains(&format!("{} is for firmware", option[0])), "{errors}");
    }
}

/// A profile needs no clock; a time line does, and the message states what to give.
#[test]
fn streams_without_a_clock_have_profiles() {
    let directory = tempfile::tempdir().unwrap();
    let pin = directory.path().join("pin.swo");
    let elf = crate::common::prebuilt("trace-itself");
    strobe(&["run", &elf, "--until", "finished", "--quiet", "--swo", text(&pin)]);
    let export = |file: &str, to: &str| {
        Command::new(env!("CARGO_BIN_EXE_strobe"))
            .args(["export", file, "--elf", &elf, "--to", to])
            .output()
            .unwrap()
    };
    let stacks = String::from_utf8(export(text(&pin), "collapsed").stdout).unwrap();
    let samples = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
    let report = recorded(&["report", text(&pin), "--elf", &elf]);
    let all = report.total("samples").and_then(|n| n.value()).expect("samples").as_u64();
    assert_eq!(stacks.lines().map(samples).sum::<u64>(), all);
    let untimed = export(text(&pin), "chrome");
    let errors = String::from_utf8(untimed.stderr).unwrap();
    assert!(errors.contains("--clock and --tick"), "{errors}");
    assert_eq!(untimed.status.code(), Some(64));
    // What `strobe report` does not take for a stream is none here either.
    let nonsense = directory.path().join("nonsense.bin");
    let bytes: Vec<u8> =
        (0..4000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    std::fs::write(&nonsense, bytes).unwrap();
    for command in [&["report", text(&nonsense)][..], &["export", text(&nonsense), "--to", "pprof"]]
    {
        let ran = Command::new(env!("CARGO_BIN_EXE_strobe")).args(command).output().unwrap();
        let errors = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(65), "{command:?}: {errors}");
        assert!(errors.contains("unrecognised format"), "{errors}");
    }
}
