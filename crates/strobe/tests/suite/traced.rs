//! `strobe report`, `strobe top` and `strobe export` on what comes out of trace pins, where the
//! truth is known: of simulated boards, and in captures of a pin.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::recorded::{
    addresses, balance, column, ended, figure, findings, functions, lines, packets, recorded, rows,
    said, unattributed,
};
use crate::common::{self, Ran, array, number, prebuilt, strobe};
use serde_json::Value;
use strobe_model::measurement::{Content, Loss, Measurement, Severity};
use strobe_report::file;
use strobe_synth::captures::{LineFault, trace_pin};

/// How the simulated board is traced: a link that carries it all.
const FAST: [&str; 7] = ["--clock", "16MHz", "--baud", "2M", "--exceptions", "--timestamps", "1"];

/// Records a simulated board.
fn record(firmware: &str, more: &[&str]) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("pin.strobe").display().to_string();
    let start = ["record", "sim:stm32f407", "--elf", firmware, "--quiet", "-o", &file];
    let ran = strobe(&[&start, more].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    (directory, file)
}

/// Reading holds a report to what it promises: that it balances, for example.
fn report(arguments: &[&str]) -> Measurement {
    let report = recorded(&[&["report"], arguments].concat());
    assert!(findings(&report, "unbalanced").is_empty());
    report
}

/// A run of the same on the simulated board.
fn run(firmware: &str, more: &[&str]) -> Measurement {
    let arguments = ["run", firmware, "--board", "stm32f407", "--quiet"];
    ended(&[&arguments, more].concat()).1
}

/// Of a run that is known to the cycle, the sampled shares lie within their intervals, nearly
/// always. Board, pin and samples are the same each time: how many lie inside is a fixed number,
/// which only another firmware or model changes.
#[test]
fn sampled_shares_are_where_their_intervals_say() {
    // Without a timer: what it does is in step with nothing.
    let firmware = prebuilt("numbers-m4f");
    let plan = [&FAST[..], &["--period", "1024", "--for", "2s"]].concat();
    let (_directory, file) = record(&firmware, &plan);
    let sampled = report(&[&file, "--elf", &firmware]);
    let exact = run(&firmware, &[]);
    let taken = figure(&sampled, "samples");
    let all = figure(&exact, "cycles");
    assert!(taken.abs_diff(all / 1024) <= 1, "{taken}");
    let samples = functions(&sampled, "samples");
    let (mut inside, mut looked_at) = (0, 0);
    for (name, cycles) in functions(&exact, "cycles").into_iter().filter(|(_, n)| *n > 0) {
        let share = cycles as f64 / all as f64;
        let n = samples.get(&name).copied().unwrap_or(0);
        let (low, high) = strobe_analyse::statistics::wilson(taken, n);
        looked_at += 1;
        inside += u32::from((low..=high).contains(&share));
    }
    assert!(looked_at >= 10, "{looked_at}");
    assert!(inside * 10 >= looked_at * 9, "{inside} of {looked_at} lie inside");
}

/// Every exception that the run had comes out of the pin, entered and left.
#[test]
fn exceptions_are_those_of_the_run() {
    let firmware = prebuilt("threads-nuttx");
    let (_directory, file) =
        record(&firmware, &[&FAST[..], &["--period", "none", "--for", "500ms"]].concat());
    let traced = report(&[&file, "--elf", &firmware]);
    let exact = run(&firmware, &["--until", "500ms"]);
    let count = |of: &Measurement, key: &str| -> Vec<(u64, u64)> {
        let all = column(of, "interrupts", "number").into_iter();
        let mut all: Vec<_> = all.zip(column(of, "interrupts", key)).collect();
        all.sort_unstable();
        all
    };
    let truth = count(&exact, "count");
    assert_eq!(truth.len(), 2);
    assert_eq!(count(&traced, "entered"), truth);
    assert_eq!(count(&traced, "left"), truth);
    assert_eq!(unattributed(&traced, "bytes", "undecodable"), 0);
    let all = rows(&traced, "interrupts");
    let names: Vec<&str> = all.iter().filter_map(|e| e["interrupt"].as_str()).collect();
    assert_eq!(names, ["PendSV (PendSV_Handler)", "SysTick (SysTick_Handler)"]);
}

/// The micro-ROS set-up: the link carries a fifth, and the report states it.
#[test]
fn lost_samples_are_counted() {
    let firmware = prebuilt("threads-nuttx");
    // 16 MHz and 11,000 baud are to each other as 168 MHz and 115,200.
    let plan = ["--clock", "16MHz", "--baud", "10971", "--period", "16384", "--timestamps", "64"];
    let asked = ["record", "sim:stm32f407", "--elf", &firmware, "-o", "-", "--for", "1s"];
    let refused = strobe(&[&asked[..], &plan].concat());
    assert_eq!(refused.code, 69, "{}", refused.stderr);
    assert!(refused.stderr.contains("loses about"), "{}", refused.stderr);
    let (_directory, file) = record(&firmware, &[&plan[..], &["--insist", "--for", "5s"]].concat());
    let traced = report(&[&file, "--elf", &firmware]);
    let samples = balance(&traced, "samples");
    assert!(!matches!(samples.lost, Loss::Unknown(_)), "{samples:?}");
    let (taken, lost) = (samples.taken, samples.lost.known());
    assert!(packets(&traced, "overflow") > 100);
    // Samples of a core asleep are short, so more of them come through.
    assert!((0.4..0.85).contains(&(lost as f64 / taken as f64)), "{lost} of {taken}");
    assert!((4500..5000).contains(&taken), "{taken}");
}

/// What an analyser sees of a pin at three samples to a bit, in frames with another stream: all
/// that went over it, and sigrok's own decoder finds the same, but for what it leaves unsaid.
#[test]
fn pin_capture_decodes_as_sent_and_as_sigrok() {
    let pin = trace_pin(1, 5600, None);
    let directory = tempfile::tempdir().expect("a directory");
    let capture = directory.path().join("pin.sr").display().to_string();
    std::fs::write(&capture, &pin.session).expect("a file");
    let traced = report(&[&capture]);
    let packets = |kind: &str| packets(&traced, kind);
    let pcs = pin.pcs.len() as u64;
    assert!(pcs > 1500 && pin.overflows > 30, "{pcs} {}", pin.overflows);
    assert_eq!(packets("PC sample"), pcs);
    assert_eq!(figure(&traced, "samples"), pcs);
    assert_eq!(packets("overflow"), pin.overflows);
    assert_eq!(packets("exception"), pin.exceptions);
    assert_eq!(packets("data trace: code"), pin.data_pcs);
    assert_eq!(packets("data trace: value"), pin.data_values);
    assert_eq!(unattributed(&traced, "bytes", "undecodable"), 0);
    assert_eq!(unattributed(&traced, "framed bytes", "undecodable"), 0);
    let other = &rows(&traced, "streams")[1];
    assert_eq!((number(&other["stream"]), number(&other["bytes"])), (2, pin.other_bytes));
    let text = lines(&traced, "port-0").join("\n").replace("[lost?]", "");
    assert_eq!(text, pin.text.trim_end_matches('\n'));

    let of = "uart:baudrate=8000000:rx=SWO,arm_tpiu:stream=1,arm_itm";
    let sigrok =
        Command::new("sigrok-cli").args(["-i", &capture, "-P", of, "-A", "arm_itm"]).output();
    let sigrok = sigrok.expect("sigrok-cli is installed (apt-get install sigrok-cli)");
    let sigrok = String::from_utf8_lossy(&sigrok.stdout).into_owned();
    let lines = |with: &str| sigrok.lines().filter(|line| line.contains(with)).count() as u64;
    assert_eq!(lines(" PC: "), pcs);
    assert_eq!(lines("Overflow"), pin.overflows);
    assert_eq!(
        lines("Enter: IRQ 28") + lines("Exit: IRQ 28") + lines("Resume: Thread"),
        pin.exceptions
    );
    assert_eq!(lines("Watchpoint 1: PC"), pin.data_pcs);
    assert_eq!(lines("Write data"), pin.data_values);
    let words: String =
        sigrok.lines().filter_map(|line| line.split_once(" 0: \"")?.1.strip_suffix('"')).collect();
    // It keeps the line that it has not seen the end of.
    assert!(pin.text.starts_with(&words) && words.len() + 20 > pin.text.len(), "{words}");
}

/// The part of a measurement that depends on what was read, not on how it got here.
fn figures(report: &Measurement) -> Vec<(String, Content)> {
    let of = [
        "profile",
        "interrupts",
        "threads",
        "packets",
        "streams",
        "ports",
        "port-0",
        "counters",
        "watched-variables",
        "watched-from",
        "watched",
    ];
    let all = report.sections.iter().filter(|section| of.contains(&section.id.as_str()));
    // What depends on how long it took is left out.
    let without_rate = |content: &Content| match content {
        Content::Table(table) => {
            let mut table = table.clone();
            table.columns.retain(|column| column.id != "rate");
            Content::Table(table)
        }
        other => other.clone(),
    };
    let found: Vec<_> = all.map(|s| (s.id.clone(), without_rate(&s.content))).collect();
    for section in ["profile", "packets"] {
        assert!(found.iter().any(|(id, _)| id == section), "no {section}");
    }
    found
}

/// The last measurement that `strobe top` shows of what comes through a pipe, in pieces of that
/// size.
fn top_of(bytes: &[u8], piece: usize) -> Measurement {
    let mut child = common::command()
        .args(["top", "-", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    for piece in bytes.chunks(piece) {
        pipe.write_all(piece).expect("it listens");
    }
    drop(pipe);
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    parsed(text.lines().last().expect("a measurement"))
}

/// A limit for silence ends it at any time, as it ends a recording: well, if something has come.
#[test]
fn silence_ends_it_behind_the_first_byte_too() {
    let mut child = common::command()
        .args(["top", "-", "--format", "json", "--silence", "200ms"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(&strobe_synth::swo::mixed(3000, 5).bytes).expect("it listens");
    // The pipe stays open: only silence can end it.
    let output = child.wait_with_output().expect("it ends");
    drop(pipe);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && messages.contains("silence"), "{messages}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.lines().last().is_some_and(|line| figure(&parsed(line), "bytes") > 0));
}

fn parsed(text: &str) -> Measurement {
    match file::read(text.as_bytes()) {
        Ok(measurement) => measurement,
        other => panic!("{other:?}"),
    }
}

/// The bytes of a pin as they are, recorded, captured, captured and recorded, and as they come: one
/// reader reads them all.
#[test]
fn every_way_in_gives_the_same_figures() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (capture, raw) = (path("pin.sr"), path("pin.swo"));
    let recorded = |source: &str| {
        let out = path("out.strobe");
        let ran = strobe(&["record", source, "-o", &out, "--quiet", "--force"]);
        assert_eq!(ran.code, 0, "{source}: {}", ran.stderr);
        figures(&report(&[&out]))
    };
    for fault in [None, Some(LineFault::StopBit), Some(LineFault::Break)] {
        let pin = trace_pin(3, 5600, fault);
        std::fs::write(&capture, &pin.session).expect("a file");
        let captured = figures(&report(&[&capture]));
        for rate in ["", "@8M"] {
            let again = recorded(&format!("sr:{capture}:SWO{rate}"));
            assert_eq!(again, captured, "{fault:?}, recorded from the capture{rate}");
        }
        if fault.is_none() {
            std::fs::write(&raw, &pin.bytes).expect("a file");
            assert_eq!(figures(&report(&[&raw])), captured, "a raw file");
            assert_eq!(recorded(&format!("file:{raw}")), captured, "a recording");
            assert_eq!(figures(&top_of(&pin.bytes, 999)), captured, "live");
        }
    }
}

/// The frames that orbuculum puts around the bytes are taken off a file as off a server.
#[test]
fn frames_of_orbuculum_are_taken_off_a_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let stream = strobe_synth::swo::mixed(3000, 5).bytes;
    let frames = strobe_synth::orbflow::frames(1, &stream, 100);
    let (raw, framed) = (path("raw.swo"), path("framed.swo"));
    std::fs::write(&raw, &stream).expect("a file");
    std::fs::write(&framed, &frames).expect("a file");
    let expected = figures(&report(&[&raw, "--as", "swo"]));
    assert_eq!(figures(&report(&[&framed, "--as", "swo"])), expected);
    let ran = strobe(&["record", &format!("file:{framed}"), "-o", &path("out"), "--quiet"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(figures(&report(&[&path("out")])), expected);
    // From the middle of the first frame, as a recording or as a file: all of the others.
    let first = frames.iter().position(|byte| *byte == 0).expect("an end");
    std::fs::write(&framed, &frames[first / 2..]).expect("a file");
    std::fs::write(&raw, &stream[100..]).expect("a file");
    let bytes = |report: &Measurement| figure(report, "bytes");
    let expected = bytes(&report(&[&raw, "--as", "swo"]));
    assert_eq!(bytes(&report(&[&framed, "--as", "swo"])), expected);
    let source = format!("file:{framed}");
    let ran = strobe(&["record", &source, "-o", &path("out"), "--quiet", "--force"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(bytes(&report(&[&path("out")])), expected);
    // Full of another stream is not empty.
    std::fs::write(&framed, strobe_synth::orbflow::frames(7, &stream, 100)).expect("a file");
    let other = strobe(&["report", &framed, "--as", "swo"]);
    assert_eq!(other.code, 65, "{}", other.stderr);
    assert!(other.stderr.contains("frames with tag 7"), "{}", other.stderr);
}

/// A byte that the line has damaged costs what comes up to the next synchronisation of the frames,
/// and puts nothing in its place.
#[test]
fn a_fault_on_the_line_is_confined() {
    for fault in [LineFault::StopBit, LineFault::Break] {
        let pin = trace_pin(2, 5600, Some(fault));
        let directory = tempfile::tempdir().expect("a directory");
        let capture = directory.path().join("pin.sr").display().to_string();
        std::fs::write(&capture, &pin.session).expect("a file");
        let traced = report(&[&capture]);
        assert!(said(&traced).contains("no valid stop bit"), "{fault:?}: {}", said(&traced));
        assert_eq!(column(&traced, "streams", "stream"), [1, 2], "{fault:?}");
        let undecodable = unattributed(&traced, "framed bytes", "undecodable");
        assert_eq!(undecodable, pin.undecodable, "{fault:?}");
        let (taken, sent) = (figure(&traced, "samples"), pin.pcs.len() as u64);
        // A sample takes 5 bytes.
        let least = sent - pin.undecodable / 5 - 1;
        assert!((least..sent).contains(&taken), "{fault:?}: {taken} of {sent}");
        let sampled = addresses(&traced);
        assert!(sampled.len() > 10, "{fault:?}: {}", sampled.len());
        for at in sampled {
            assert!(pin.pcs.iter().any(|pc| u64::from(*pc) == at), "{fault:?}: {at:#x}");
        }
    }
}

#[test]
fn another_firmware_is_reported() {
    let firmware = prebuilt("threads-nuttx");
    let (_directory, file) = record(
        &firmware,
        &["--clock", "16MHz", "--baud", "2M", "--period", "1024", "--for", "100ms"],
    );
    let other = prebuilt("numbers-m4f");
    let traced = report(&[&file, "--elf", &other]);
    assert!(said(&traced).contains("not the firmware that was recorded"), "{}", said(&traced));
    let right = report(&[&file, "--elf", &firmware]);
    let warned = right.findings.iter().any(|f| f.severity <= Severity::Warning);
    assert!(!warned, "{:?}", right.findings);
    // Of an ELF whose code lies elsewhere.
    let traced = report(&[&file, "--elf", &prebuilt("tour-mps2")]);
    assert!(said(&traced).contains("lie outside this firmware"));
}

#[test]
fn a_recording_that_was_cut_reports_it() {
    let firmware = prebuilt("threads-nuttx");
    let (directory, file) =
        record(&firmware, &["--clock", "16MHz", "--baud", "2M", "--period", "1024", "--for", "5s"]);
    let bytes = std::fs::read(&file).expect("the recording");
    let cut = directory.path().join("cut.strobe").display().to_string();
    std::fs::write(&cut, &bytes[..bytes.len() * 2 / 3]).expect("a copy");
    let traced = report(&[&cut, "--elf", &firmware]);
    assert!(said(&traced).contains("no end mark"), "{}", said(&traced));
    assert!(figure(&traced, "samples") > 1000);
    // A hole in the middle: both sides are read, and the hole is reported.
    let mut holed = bytes.clone();
    let middle = holed.len() / 2;
    holed[middle..middle + 300].fill(0x55);
    std::fs::write(&cut, &holed).expect("a copy");
    let notes = said(&report(&[&cut]));
    assert!(notes.contains("are damaged"), "{notes}");
}

#[test]
fn non_traces_are_refused_or_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        path.display().to_string()
    };
    let refused = |arguments: &[&str], code, expected: &str| {
        let ran: Ran = strobe(arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stdout.is_empty(), "{arguments:?}");
    };
    refused(&["report", &file("empty", b"")], 65, "is empty");
    refused(
        &["report", &file("text", "some words\n".repeat(900).as_bytes())],
        65,
        "unrecognised format",
    );
    refused(&["report", "/nowhere/at.all"], 66, "cannot read");
    let zeros = file("zeros", &vec![0; 100_000_000]);
    refused(&["report", &zeros], 65, "100 % of it is undecodable");
    let traced = report(&["--as", "swo", &zeros]);
    assert_eq!(unattributed(&traced, "bytes", "undecodable"), 100_000_000);
    refused(&["report", &zeros, "--as", "swo", "--idle", "main"], 64, "needs its firmware");
    refused(&["report", &zeros, "--as", "swo", "--thread-pointer", "x"], 64, "comparator");
    refused(&["export", &zeros, "--as", "swo", "--to", "chrome"], 64, "--clock");
    // Instruction trace is named, with no advice to read it as something else.
    for trace in [strobe_synth::swo::etm(4000, 1), strobe_synth::swo::etm4(4000, 1)] {
        let path = file("etm", &trace);
        refused(&["report", &path], 65, "instruction trace of an ETM");
        let ran = strobe(&["report", &path]);
        assert!(!ran.stderr.contains("--as"), "{}", ran.stderr);
        let forced = said(&report(&["--as", "swo", &path]));
        assert!(forced.contains("instruction trace") && !forced.contains("hardly"), "{forced}");
    }
}

#[test]
fn ports_go_to_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (swo, log) = (path("pin.swo"), path("log.txt"));
    // Software wrote "hi\n" to port 0, and a word to port 2.
    let mut stream = strobe_synth::swo::Stream::new();
    stream.sync().instrumentation(0, b"h").instrumentation(2, &[1, 2, 3, 4]);
    stream.instrumentation(0, b"i").instrumentation(0, b"\n");
    std::fs::write(&swo, &stream.bytes).expect("a file");
    let traced = report(&[&swo, "--as", "swo", "--port", &format!("0={log}")]);
    assert_eq!(std::fs::read_to_string(&log).expect("the log"), "hi\n");
    assert_eq!(lines(&traced, "port-0"), ["hi"]);
    assert_eq!(column(&traced, "ports", "port"), [0, 2]);
    assert_eq!(column(&traced, "ports", "bytes"), [3, 4]);
}

#[test]
fn top_shows_what_is_new() {
    let firmware = prebuilt("threads-nuttx");
    let start = ["top", "sim:stm32f407", "--elf", &firmware, "--for", "2s", "--interval", "900ms"];
    let plan = ["--clock", "16MHz", "--baud", "1M", "--period", "4096"];
    let ran = strobe(&[&start[..], &plan].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let blocks: Vec<&str> =
        ran.stdout.split("\n\n").filter(|b| b.contains("sim stm32f407")).collect();
    assert!(blocks.len() >= 2, "{}", ran.stdout);
    assert!(ran.stdout.contains("(asleep)") && ran.stdout.contains("work"), "{}", ran.stdout);
    let json = strobe(&[&start[..], &plan, &["--format", "json"]].concat());
    let samples = json.stdout.lines().map(|line| figure(&parsed(line), "samples"));
    let samples: Vec<u64> = samples.collect();
    assert!(samples.is_sorted() && samples.len() >= 2, "{samples:?}");
    assert!((7750..=7820).contains(samples.last().expect("one")), "{samples:?}");
}

#[test]
fn handlers_are_slices_on_a_time_line() {
    let firmware = prebuilt("threads-nuttx");
    let (_directory, file) =
        record(&firmware, &[&FAST[..], &["--period", "none", "--for", "200ms"]].concat());
    let ran = strobe(&["export", &file, "--elf", &firmware, "--to", "chrome"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let trace: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let slices = array(&trace["traceEvents"]).iter().filter(|event| event["ph"] == "X");
    let ticks: Vec<f64> = slices
        .filter(|slice| slice["name"] == "SysTick (SysTick_Handler)")
        .filter_map(|slice| slice["ts"].as_f64())
        .collect();
    assert!((395..=400).contains(&ticks.len()), "{}", ticks.len());
    // Every 8,000 cycles at 16 MHz: half a millisecond, but for what made it wait.
    let distances = ticks.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(distances.clone().all(|d| (300.0..700.0).contains(&d)), "{ticks:?}");
}
