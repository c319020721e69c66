//! `strobe pins` and `strobe bus` on firmware: what simulated pins do is measured, decoded,
//! exported and compared.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

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

fn json(command: &str, input: &[&str], more: &[&str]) -> Value {
    let arguments = [&[command], input, more, &["--format", "json"]].concat();
    let output = strobe(&arguments);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {messages}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn words(lane: &Value) -> Vec<u64> {
    let words = lane["words"].as_array().expect("words");
    words.iter().map(|w| w["value"].as_u64().expect("a number")).collect()
}

fn hello() -> Vec<u8> {
    std::fs::read(root().join("firmware/hello-uart/expected.txt")).expect("expected.txt")
}

#[test]
fn the_founding_loop_on_both_chips() {
    // By the board's name for PD1.
    let avr = json("pins", &LOOP_AVR, &["D1"]);
    assert_eq!(avr["schema"], "strobe-pins/1");
    let high = &avr["pins"][0]["high_ps"];
    assert_eq!(
        (&high["count"], &high["min"], &high["max"]),
        (&20.into(), &63_875_000.into(), &63_875_000.into())
    );
    assert!(high.get("bounds").is_none(), "an AVR's cycles are exact: {high}");

    let arm = json("pins", &LOOP, &["PB8"]);
    let high = &arm["pins"][0]["high_ps"];
    let bounds = &high["bounds"]["mean"];
    let (low, most) = (bounds["low"].as_u64().unwrap(), bounds["high"].as_u64().unwrap());
    assert!((low..=most).contains(&45_190_000), "as measured on the chip: {bounds}");
    assert_eq!(bounds["likely"], high["mean"]);
}

#[test]
fn a_trigger_moves_the_beginning() {
    let all = json("pins", &LOOP, &["PB8"]);
    let later = json("pins", &LOOP, &["PB8", "--trigger", "PB8=1"]);
    assert_eq!(all["capture"]["start_ps"], 0);
    assert!(later["capture"]["start_ps"].as_i64().unwrap() > 0);
    // The edge that it begins with is not one of its own.
    assert_eq!(all["pins"][0]["rising"], 10);
    assert_eq!(
        (&later["pins"][0]["rising"], &later["pins"][0]["initial"]),
        (&9.into(), &"high".into())
    );
}

#[test]
fn a_simulated_serial_line_carries_what_the_program_prints() {
    let report = json("bus", &HELLO, &["-P", "uart:rx=PA9"]);
    let bytes: Vec<u8> = words(&report["lanes"][0]).into_iter().map(|w| w as u8).collect();
    assert_eq!(bytes, hello());
    assert_eq!(report["fault_counts"], serde_json::json!({}));
    // It waits for the wire while a word is under way, and sleeps between lines.
    let core = &report["core"];
    let share = |part: &str| {
        let of = |what: &str| core[part][what].as_f64().unwrap();
        assert!(of("awake_cycles") <= of("cycles"), "{core}");
        of("awake_cycles") / of("cycles")
    };
    assert!(share("words") > 0.9 && share("span") < 0.5, "{core}");
}

#[test]
fn dma_leaves_the_core_time_of_its_own() {
    let report = json("bus", &SHIFT, &["-P", "spi:clk=PB13:mosi=PB15:cs=PB12"]);
    let lane = &report["lanes"][0];
    assert_eq!(lane["summary"]["words"], 8192);
    // 12 MHz: a byte takes 32 cycles of 48 MHz, whatever sends it.
    assert_eq!(report["core"]["words"]["cycles"], 8192 * 32);
    let counts =
        report["transfers"].as_array().unwrap().iter().map(|t| t["words"].as_u64().unwrap());
    assert_eq!(counts.filter(|n| *n == 1024).count(), 8);
}

#[test]
fn others_open_what_is_exported() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["hello.sr", "hello.vcd"] {
        let path = directory.path().join(name);
        let path = path.to_str().unwrap();
        json("pins", &HELLO, &["PA9", "--export", path]);
        let report = json("bus", &[path], &["-P", "uart:rx=PA9"]);
        let bytes: Vec<u8> = words(&report["lanes"][0]).into_iter().map(|w| w as u8).collect();
        assert_eq!(bytes, hello(), "{name}");
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
        let report = json("pins", input, &[&against[..], more].concat());
        assert_eq!(report["schema"], "strobe-against/1");
        let figures = report["pairs"][0]["figures"].as_array().unwrap().clone();
        figures.iter().map(|f| f["verdict"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(verdicts(&LOOP, &[]).iter().all(|v| v == "agree"));
    let slow = ["firmware/prebuilt/loop-0ws.elf", "--board", "stm32f070cb", "--until", "finished"];
    let times = ["--from", "PB8:rise", "--to", "PB8:fall"];
    assert_eq!(verdicts(&slow, &times), ["differ"; 4]);
    // A capture beside a capture: every file agrees with itself.
    let itself = json("pins", &[path.to_str().unwrap()], &against[..2]);
    let figures = itself["pairs"][0]["figures"].as_array().unwrap();
    assert!(figures.iter().all(|f| f["verdict"] == "agree" && f["difference"]["value"] == 0));
}

#[test]
fn a_recording_has_a_limit() {
    let report = json("pins", &LOOP, &["PB8", "--max-edges", "7"]);
    let pin = &report["pins"][0];
    assert_eq!(pin["rising"].as_u64().unwrap() + pin["falling"].as_u64().unwrap(), 7);
    let notes = report["notes"].to_string();
    assert!(notes.contains("--max-edges"), "{notes}");
}

#[test]
fn a_fault_ends_a_recording_as_it_ends_a_run() {
    // A board without pins: what is left to see is when the core was awake.
    let output = strobe(&["pins", "firmware/prebuilt/fault.elf", "--board", "cortex-m0"]);
    assert_eq!(output.status.code(), Some(120));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("the run ended in a fault"), "{text}");
}

#[test]
fn wrong_arguments_say_what_to_do() {
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
