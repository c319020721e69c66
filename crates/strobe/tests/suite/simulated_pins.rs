//! `strobe pins` and `strobe bus` on firmware: what simulated pins do is measured, decoded,
//! exported and compared.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::number;
use crate::common::recorded::{column, figure, row, rows, said};
use strobe_model::measurement::{Content, Distribution, Measurement, Spread};
use strobe_report::file;

const LOOP_AVR: [&str; 5] =
    ["firmware/prebuilt/loop-avr.elf", "--board", "arduino-uno", "--until", "10ms"];
const LOOP: [&str; 5] =
    ["firmware/prebuilt/loop-48mhz.elf", "--board", "stm32f070cb", "--until", "finished"];
const HELLO: [&str; 6] =
    ["firmware/prebuilt/hello-uart.elf", "--board", "stm32f070cb", "--until", "finished", "-q"];
const SHIFT: [&str; 6] =
    ["firmware/prebuilt/shift.elf", "--board", "stm32f070cb", "--until", "finished", "-q"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn strobe(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strobe"));
    command.args(arguments).current_dir(root()).env_remove("COLUMNS").env_remove("CLICOLOR_FORCE");
    command.output().expect("strobe starts")
}

fn measured(command: &str, input: &[&str], more: &[&str]) -> Measurement {
    let arguments = [&[command], input, more, &["--format", "measurement"]].concat();
    let output = strobe(&arguments);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {messages}");
    match file::read(&output.stdout) {
        Ok(measurement) => measurement,
        other => panic!("{arguments:?}: {other:?}"),
    }
}

fn bytes(bus: &Measurement) -> Vec<u8> {
    column(bus, "words", "value").into_iter().map(|word| word as u8).collect()
}

fn distribution<'a>(pins: &'a Measurement, name: &str) -> &'a Distribution {
    let Some(Content::Distributions(all)) = pins.section("pins").map(|s| &s.content) else {
        panic!("no widths");
    };
    all.distributions.iter().find(|d| d.name == name).expect("that pin's")
}

fn hello() -> Vec<u8> {
    std::fs::read(root().join("firmware/hello-uart/expected.txt")).expect("expected.txt")
}

#[test]
fn the_founding_loop_on_both_chips() {
    // By the board's name for PD1.
    let avr = measured("pins", &LOOP_AVR, &["D1"]);
    let high = distribution(&avr, "PD1 high");
    let spread = &high.spread;
    let found = (spread.count(), spread.min(), spread.max());
    assert_eq!(found, (20, Some(63_875_000), Some(63_875_000)));
    assert!(high.low.is_none(), "an AVR's cycles are exact: {high:?}");

    let arm = measured("pins", &LOOP, &["PB8"]);
    let high = distribution(&arm, "PB8 high");
    let mean = |spread: &Option<Spread>| spread.as_ref().and_then(Spread::mean).expect("bounds");
    let (low, most) = (mean(&high.low), mean(&high.high));
    assert!((low..=most).contains(&45_190_000.0), "as measured on the chip: {low} to {most}");
    let likely = high.spread.mean().expect("a mean");
    assert!((low..=most).contains(&likely), "{likely} in {low} to {most}");
}

#[test]
fn a_trigger_moves_the_beginning() {
    let all = measured("pins", &LOOP, &["PB8"]);
    let later = measured("pins", &LOOP, &["PB8", "--trigger", "PB8=1"]);
    assert_eq!(all.window.begin.nanoseconds, Some(0));
    assert!(later.window.begin.nanoseconds > Some(0));
    // The edge that it begins with is not one of its own.
    assert_eq!(row(&all, "edges", "PB8")["rising"], 10);
    let later = row(&later, "edges", "PB8");
    assert_eq!((&later["rising"], &later["initial"]), (&9.into(), &"high".into()));
}

#[test]
fn a_simulated_serial_line_carries_what_the_program_prints() {
    let report = measured("bus", &HELLO, &["-P", "uart:rx=PA9"]);
    assert_eq!(bytes(&report), hello());
    assert_eq!((figure(&report, "faults"), rows(&report, "fault-counts").len()), (0, 0));
    // It waits for the wire while a word is under way, and sleeps between lines.
    let share = |part: &str| {
        let core = row(&report, "core", part);
        let of = |what: &str| core[what].as_f64().unwrap();
        assert!(of("awake") <= of("cycles"), "{core}");
        of("awake") / of("cycles")
    };
    let (words, span) = (share("during words"), share("from the first word to the last"));
    assert!(words > 0.9 && span < 0.5, "{words} {span}");
}

#[test]
fn dma_leaves_the_core_time_of_its_own() {
    let report = measured("bus", &SHIFT, &["-P", "spi:clk=PB13:mosi=PB15:cs=PB12"]);
    assert_eq!(column(&report, "lines", "words"), [8192]);
    // 12 MHz: a byte takes 32 cycles of 48 MHz, whatever sends it.
    assert_eq!(row(&report, "core", "during words")["cycles"], 8192 * 32);
    let counts = column(&report, "transfers", "words");
    assert_eq!(counts.iter().filter(|n| **n == 1024).count(), 8);
}

#[test]
fn others_open_what_is_exported() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["hello.sr", "hello.vcd"] {
        let path = directory.path().join(name);
        let path = path.to_str().unwrap();
        measured("pins", &HELLO, &["PA9", "--export", path]);
        let report = measured("bus", &[path], &["-P", "uart:rx=PA9"]);
        assert_eq!(bytes(&report), hello(), "{name}");
        let mut sigrok = Command::new("sigrok-cli");
        let decoder = "uart:rx=PA9:baudrate=115200:format=hex";
        sigrok.args(["-i", path, "-P", decoder, "-A", "uart=rx-data"]);
        let output = sigrok.output().expect("sigrok-cli is installed");
        let text = String::from_utf8_lossy(&output.stdout);
        let byte = |line: &str| u8::from_str_radix(line.rsplit(' ').next()?, 16).ok();
        let bytes: Vec<u8> = text.lines().filter_map(byte).collect();
        assert_eq!(bytes, hello(), "{name}: {text}");
    }
}

#[test]
fn a_capture_beside_a_run_agrees_or_differs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("measured.csv");
    // What an analyser at 24 MHz would have seen of 45.19 us high and 0.47 us low.
    let (mut text, mut at) = ("Time [s],D0\n0.0,0\n".to_owned(), 10e-6_f64);
    let mut change = |text: &mut String, level: u8, then: f64| {
        *text += &format!("{:.9},{level}\n", (at * 24e6).floor() / 24e6);
        at += then;
    };
    for _ in 0..10 {
        change(&mut text, 1, 45.19e-6);
        change(&mut text, 0, 0.47e-6);
    }
    std::fs::write(&path, text).unwrap();
    let against =
        ["--against", path.to_str().unwrap(), "--pair", "PB8=D0", "--samplerate", "24MHz"];
    let verdicts = |input: &[&str], more: &[&str]| {
        let report = measured("pins", input, &[&against[..], more].concat());
        let figures = [rows(&report, "times"), rows(&report, "duties")].concat();
        let all: Vec<_> =
            figures.iter().map(|f| f["verdict"].as_str().unwrap().to_owned()).collect();
        assert_eq!(figure(&report, "figures"), all.len() as u64);
        all
    };
    let same = verdicts(&LOOP, &[]);
    assert!(same.len() > 8 && same.iter().all(|v| v == "agree"), "{same:?}");
    let slow = ["firmware/prebuilt/loop-0ws.elf", "--board", "stm32f070cb", "--until", "finished"];
    let times = ["--from", "PB8:rise", "--to", "PB8:fall"];
    assert_eq!(verdicts(&slow, &times), ["differ"; 4]);
    // A capture beside a capture: every file agrees with itself.
    let itself = measured("pins", &[path.to_str().unwrap()], &against[..2]);
    let figures = [rows(&itself, "times"), rows(&itself, "duties")].concat();
    assert!(figures.len() > 8);
    assert!(figures.iter().all(|f| f["verdict"] == "agree" && f["difference"] == 0), "{figures:?}");
}

#[test]
fn a_recording_has_a_limit() {
    let report = measured("pins", &LOOP, &["PB8", "--max-edges", "7"]);
    let pin = row(&report, "edges", "PB8");
    assert_eq!(number(&pin["rising"]) + number(&pin["falling"]), 7);
    assert!(said(&report).contains("--max-edges"), "{}", said(&report));
}

#[test]
fn fault_ends_recordings_as_it_ends_runs() {
    // A board without pins: what is left to see is when the core was awake.
    let output = strobe(&["pins", "firmware/prebuilt/fault.elf", "--board", "cortex-m0"]);
    assert_eq!(output.status.code(), Some(120));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("the run ended in a fault"), "{text}");
}

#[test]
fn wrong_arguments_have_advice() {
    let capture = "docs/captures/serial.vcd";
    let cases: [(&[&str], &str); 6] = [
        (&["pins", capture, "--board", "stm32f070cb"], "--board is for firmware"),
        (&["pins", capture, "--trigger", "main"], "--trigger is for firmware"),
        (&[&["pins"], &LOOP[..], &["PX9"]].concat(), "no channel PX9"),
        (&[&["pins"], &LOOP[..], &["--against", capture]].concat(), "--pair"),
        (&[&["pins"], &LOOP[..], &["--against", LOOP[0]]].concat(), "takes a capture"),
        (&["pins", capture, "--against", capture, "--clock-tolerance", "5"], "50ppm"),
    ];
    for (arguments, wanted) in cases {
        let output = strobe(arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}: {message}");
        assert!(message.contains(wanted), "{arguments:?}: {message}");
    }
}
