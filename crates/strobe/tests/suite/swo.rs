//! `strobe run --swo` and `--trace-write`: the trace pin of a simulated board.

use crate::common::recorded::{column, recorded};
use crate::common::{prebuilt, strobe};

/// As micro-ROS's benchmarking programmed it, with DBGMCU_CR, at 2 Mbaud.
const WRITES: [&str; 8] = [
    "0xe000edfc=0x01000000",
    "0xe0042004=0x20",
    "0xe0040010=83",
    "0xe00400f0=2",
    "0xe0040304=0x100",
    "0xe0000fb0=0xc5acce55",
    "0xe0000e80=0x1000f",
    "0xe0001000=0x40001e1f",
];

#[test]
fn the_pin_goes_to_a_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("swo.bin").display().to_string();
    let firmware = prebuilt("trace");
    let mut arguments =
        vec!["run", &firmware, "--board", "stm32f407", "--until", "20ms", "--swo", &file];
    WRITES.iter().for_each(|write| arguments.extend(["--trace-write", write]));
    let ran = strobe(&arguments);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let bytes = std::fs::read(&file).expect("the file");
    // A sample each 16,384 cycles, with a timestamp: five to nine bytes.
    let samples = bytes.iter().filter(|&&byte| byte == 0x17 || byte == 0x15).count();
    assert!((190..230).contains(&samples), "{samples} samples in {} bytes", bytes.len());
    assert_eq!(bytes[0], 0x17);
}

#[test]
fn a_pin_that_shows_nothing_is_reported() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("swo.bin").display().to_string();
    let firmware = prebuilt("trace");
    let ran = strobe(&["run", &firmware, "--board", "stm32f407", "--until", "1ms", "--swo", &file]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("nothing left the trace pin"), "{}", ran.stdout);
    assert!(std::fs::read(&file).expect("the file").is_empty());
}

#[test]
fn wrong_writes_are_refused() {
    let firmware = prebuilt("trace");
    for (write, expected) in [
        ("0xe0001000", "ADDRESS=VALUE"),
        ("0xe0001002=1", "not the address of a word"),
        ("0xe0001000=0x100000000", "32 bits"),
        ("0xd0000000=1", "no register at 0xd0000000"),
    ] {
        let ran = strobe(&["run", &firmware, "--board", "stm32f407", "--trace-write", write]);
        assert_eq!(ran.code, 64, "{write}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{write}: {}", ran.stderr);
    }
    let avr = prebuilt("work-avr");
    let ran = strobe(&["run", &avr, "--trace-write", "0xe0001000=1"]);
    assert_eq!(ran.code, 64, "{}", ran.stderr);
    let ran = strobe(&["run", &firmware, "--board", "stm32f407", "--swo", "/nowhere/swo.bin"]);
    assert!(ran.code != 0 && ran.stderr.contains("/nowhere/swo.bin"), "{}", ran.stderr);
}

/// What a serial decoder reads off the pin's edges is what left it, byte for byte.
#[test]
fn the_pin_can_be_seen_as_a_waveform() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("swo.bin").display().to_string();
    let firmware = prebuilt("trace-itself");
    let common = [firmware.as_str(), "--board", "stm32f407", "--until", "20ms", "-q"];
    let ran = strobe(&[&["run"], &common[..], &["--swo", &file]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let protocol = "uart:rx=PB3:baud=2000000";
    let report = recorded(&[&["bus"], &common[..], &["-P", protocol]].concat());
    let seen: Vec<u8> = column(&report, "words", "value").iter().map(|n| *n as u8).collect();
    let sent = std::fs::read(&file).expect("the file");
    // The last byte may be under way when the run ends.
    let whole = seen.len() - 1;
    assert!(whole > 2000 && sent.len() - whole <= 2, "{} {}", sent.len(), seen.len());
    assert!(seen[..whole] == sent[..whole]);
}
