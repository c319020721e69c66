//! `strobe pins` and `strobe bus` as a user runs them, on a made-up capture that the README shows
//! as well.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::recorded::{row, rows};
use strobe_model::measurement::{Content, Measurement};
use strobe_report::file;
use strobe_synth::{Line, ParityBit, UartWave};

/// Ticks of a microsecond to a bit at 9600 baud.
const BIT: f64 = 1e6 / 9600.0;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn strobe(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strobe"));
    command.args(arguments).current_dir(root()).env_remove("COLUMNS");
    command.output().expect("strobe starts")
}

fn printed(arguments: &[&str]) -> String {
    let output = strobe(arguments);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {messages}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn measured(arguments: &[&str]) -> Measurement {
    let text = printed(&[arguments, &["--format", "measurement"]].concat());
    match file::read(text.as_bytes()) {
        Ok(measurement) => measurement,
        other => panic!("{arguments:?}: {other:?}"),
    }
}

const DEMO: &str = "docs/captures/serial.vcd";

/// A board that greets at 9600 baud and blinks while it does, on a line with a spike and a break.
/// As a VCD file, written here word by word.
fn demo() -> String {
    let mut wave = UartWave::new(BIT);
    let mut led = Line::new(false);
    wave.rest(20.0);
    for (n, byte) in b"Hello, strobe!\r\n".iter().enumerate() {
        let at = wave.now.round() as u64;
        led.set(at + 3, n % 2 == 0);
        wave.send_with(u32::from(*byte), false, n == 9);
    }
    wave.rest(15.0);
    wave.put(false, 0.2);
    wave.rest(15.0);
    wave.put(false, 25.0);
    wave.rest(10.0);
    wave.send(0x06);
    wave.rest(20.0);
    vcd("1 MHz", "1 us", [("RX", &wave.line), ("LED", &led)], wave.now.round() as u64)
}

/// A VCD file of two lines, as sigrok's.
fn vcd(clock: &str, tick: &str, lines: [(&str, &Line); 2], end: u64) -> String {
    let mut changes: Vec<(u64, String)> = Vec::new();
    for (id, (_, line)) in ['!', '"'].into_iter().zip(lines) {
        changes.push((0, format!("{}{id}", u8::from(line.initial))));
        changes.extend(
            line.edges.iter().map(|(at, level)| (*at, format!("{}{id}", u8::from(*level)))),
        );
    }
    changes.sort_by_key(|(at, _)| *at);
    let [first, second] = lines.map(|(name, _)| name);
    let mut text = format!(
        "$comment Acquisition with 2/2 channels at {clock} $end\n$timescale {tick} $end\n\
         $scope module board $end\n$var wire 1 ! {first} $end\n$var wire 1 \" {second} $end\n\
         $upscope $end\n$enddefinitions $end\n"
    );
    for (at, change) in changes {
        text += &format!("#{at} {change}\n");
    }
    text + &format!("#{end}\n")
}

/// Speeds are sure only where the words that are shown are: of a line with a parity bit, read
/// without, half the words are faulty, and the note names the format; so it does for a line that
/// rests low. The same where a bit has a single sample.
#[test]
fn no_speed_is_sure_beside_faulty_words() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("line.vcd").display().to_string();
    let bus = |format: &str| {
        let report = measured(&["bus", &path, "-P", &format!("uart:rx=RX{format}")]);
        let sure = rows(&report, "speeds")[0]["sure"].as_str().unwrap_or_default().to_owned();
        let notes = report.findings.iter().map(|finding| finding.text.clone());
        (sure, notes.collect::<Vec<_>>().join("; "))
    };
    let sent = |bit: f64, parity: ParityBit| {
        let mut wave = UartWave { parity, ..UartWave::new(bit) };
        wave.rest(20.0);
        (0..=255).for_each(|word| wave.send(word));
        wave.rest(20.0);
        wave
    };
    let write = |clock: &str, tick: &str, wave: &UartWave| {
        let lines = [("RX", &wave.line), ("LED", &Line::new(false))];
        std::fs::write(&path, vcd(clock, tick, lines, wave.now.round() as u64)).expect("a file");
    };
    write("1 MHz", "1 us", &sent(BIT, ParityBit::Even));
    let (sure, notes) = bus("");
    assert_eq!(sure, "no");
    assert!(notes.contains("format=8e1"), "{notes}");
    assert_eq!(bus(":format=8e1"), ("yes".to_owned(), String::new()));
    let mut resting_low = UartWave::new(BIT);
    resting_low.rest(20.0);
    for n in 0..120 {
        resting_low.send(n * n * 7 % 256);
        resting_low.rest(3.0);
    }
    resting_low.rest(20.0);
    resting_low.line = resting_low.line.inverted();
    write("1 MHz", "1 us", &resting_low);
    let (sure, notes) = bus("");
    assert!(sure == "no" && notes.contains("with invert=yes hardly"), "{sure}: {notes}");
    assert_eq!(bus(":invert=yes"), ("yes".to_owned(), String::new()));
    write("10 kHz", "100 us", &sent(1.0, ParityBit::None));
    let (sure, notes) = bus("");
    assert!(sure == "no" && notes.contains("1.0 samples to a bit"), "{sure}: {notes}");
}

#[test]
fn documented_capture_is_the_one_made_here() {
    let path = root().join(DEMO);
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&path, demo()).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == demo(), "{DEMO} is not what is made here; `make bless` writes it");
}

#[test]
fn bytes_and_faults_decode_without_a_given_speed() {
    let report = measured(&["bus", DEMO, "-P", "uart:rx=RX"]);
    assert_eq!(rows(&report, "speeds")[0]["used"], 9600.0);
    let words = rows(&report, "words");
    let text: Vec<u8> = words.iter().map(|w| w["value"].as_u64().unwrap() as u8).collect();
    assert_eq!(text, b"Hello, strobe!\r\n\x06");
    let counts = rows(&report, "fault-counts");
    assert_eq!(counts.len(), 3);
    for fault in ["framing error", "break", "glitch"] {
        assert_eq!(row(&report, "fault-counts", fault)["count"], 1, "{fault}");
    }
    // The same for people: hexadecimal digits and text, what is faulty marked, and no words where
    // none are wanted.
    let lines = rows(&report, "bytes");
    assert_eq!(lines[0]["text"], "Hello, strobe!..");
    assert!(lines[0]["hex"].as_str().unwrap().contains(" 72! 6f"), "{lines:?}");
    let errors = measured(&["bus", DEMO, "-P", "uart:rx=RX", "--errors-only"]);
    assert!(errors.section("words").is_none() && errors.section("bytes").is_none());
    assert_eq!(rows(&errors, "faults"), rows(&report, "faults"));
    let text = printed(&["bus", DEMO, "-P", "uart:rx=RX"]);
    assert!(text.contains("0.011458") && text.contains("at [s]"), "{text}");
}

#[test]
fn an_export_measures_as_the_original_does() {
    let directory = tempfile::tempdir().unwrap();
    let figures = |path: &str| -> Vec<(String, Content)> {
        let all = [
            measured(&["pins", path, "--from", "RX:fall", "--to", "LED:any"]),
            measured(&["pins", path, "led", "--histogram"]),
            measured(&["bus", path, "-P", "uart:rx=RX:baudrate=9600"]),
        ];
        all.into_iter().flat_map(|m| m.sections).map(|s| (s.id, s.content)).collect()
    };
    let original = figures(DEMO);
    for section in ["intervals", "edges", "pins", "lines", "words", "faults"] {
        assert!(original.iter().any(|(id, _)| id == section), "{section}");
    }
    assert_eq!(rows(&measured(&["pins", DEMO, "led"]), "edges")[0]["rising"], 8);
    for name in ["again.sr", "again.vcd"] {
        let path = directory.path().join(name);
        let path = path.to_str().unwrap();
        printed(&[
            "pins",
            DEMO,
            "--export",
            path,
            "-o",
            directory.path().join("report").to_str().unwrap(),
        ]);
        assert!(figures(path) == original, "{name} differs");
    }
}

#[test]
fn sigrok_decodes_what_strobe_does_not() {
    let text = printed(&["bus", DEMO, "--sigrok", "uart:rx=RX:baudrate=9600:format=ascii"]);
    assert!(text.contains("uart-1: H"), "{text}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_strobe"));
    command.args(["bus", DEMO, "--sigrok", "uart:rx=RX"]).current_dir(root()).env("PATH", "");
    let output = command.output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(64));
    assert!(message.contains("apt-get install sigrok-cli"), "{message}");
}

#[test]
fn wrong_arguments_and_files_have_advice() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let empty = file("empty.vcd", b"");
    let zip = file("cut.sr", b"PK\x03\x04 and no more");
    let elf = file("fw.elf", b"\x7fELF\x01\x01\x01");
    let still = file("still.csv", b"Time [s],a\n0.0,1\n1.0,1\n");
    let cases: [(&[&str], i32, &str); 14] = [
        (&["pins", "nowhere.sr"], 66, "cannot read nowhere.sr"),
        (&["pins", "docs"], 66, "is a directory"),
        (&["pins", &empty], 65, "empty"),
        (&["pins", &zip], 65, "not a complete zip file"),
        (&["pins", &elf], 65, "fw.elf"),
        (&["pins", DEMO, "CLK"], 64, "there are: RX, LED"),
        (&["pins", DEMO, "--from", "RX:sideways", "--to", "LED"], 64, r#""sideways" is no edge"#),
        (&["pins", DEMO, "--export", "capture.png"], 64, ".vcd or .sr"),
        (&["bus", DEMO], 64, "--protocol"),
        (&["bus", DEMO, "-P", "uart"], 64, "uart needs rx or tx"),
        (&["bus", DEMO, "-P", "uart:rx=RX:speed=9600"], 64, "it knows"),
        (&["bus", DEMO, "-P", "spi:mosi=RX"], 64, "spi needs clk"),
        (&["bus", DEMO, "-P", "can:rx=RX"], 64, "--sigrok"),
        (&["bus", &still, "-P", "uart:rx=a"], 65, "too few pulses"),
    ];
    for (arguments, code, wanted) in cases {
        let output = strobe(arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
        assert!(message.contains(wanted), "{arguments:?}: {message}");
        assert!(output.stdout.is_empty(), "{arguments:?} prints a result");
    }
    let pin = row(&measured(&["pins", &still]), "edges", "a");
    assert_eq!(
        (&pin["rising"], &pin["falling"], &pin["initial"]),
        (&0.into(), &0.into(), &"high".into())
    );
    assert!(printed(&["pins", &still]).contains("edges          0\n"));
    let text = printed(&["bus", &still, "-P", "uart:rx=a:baudrate=9600"]);
    assert!(text.contains("words           0\n"), "{text}");
}
