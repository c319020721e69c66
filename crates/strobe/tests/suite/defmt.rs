//! Messages of `defmt` from firmware on a simulated board, and what becomes of damaged ones.

use std::path::Path;

use crate::common::recorded::{balance, column, recorded, rows};
use crate::common::{Ran, number, prebuilt, root, strobe};
use proptest::prelude::*;
use serde_json::Value;
use strobe_decode::container::{Header, PayloadKind, Reader, Writer};
use strobe_model::measurement::{Content, Measurement};
use strobe_source::defmt::message::Decoded;
use strobe_source::defmt::{Log, Table};
use strobe_symbols::Firmware;

const FIRMWARE: &str = "log-rs";

/// Records the pin while the firmware runs.
fn record(directory: &Path, pin: &[&str]) -> String {
    let file = directory.join("log.strobe").display().to_string();
    let elf = prebuilt(FIRMWARE);
    let source = ["record", "sim:stm32f407", "--elf", &elf, "-q", "-o", &file, "--clock", "16M"];
    let ran = strobe(&[&source[..], pin].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    file
}

const QUIET: [&str; 8] = ["--baud", "2M", "--period", "none", "--timestamps", "1", "--port", "0"];

fn reported(file: &str, options: &[&str]) -> Ran {
    let elf = prebuilt(FIRMWARE);
    strobe(&[&["report", file, "--elf", &elf][..], options].concat())
}

fn measured(file: &str, options: &[&str]) -> Measurement {
    let elf = prebuilt(FIRMWARE);
    recorded(&[&["report", file, "--elf", &elf][..], options].concat())
}

/// Port 0 of a report.
fn port(report: &Measurement) -> Value {
    let port = rows(report, "ports").remove(0);
    assert_eq!(port["port"], 0);
    port
}

/// Every byte of the port is somewhere, and so is every message.
fn assert_accounted(report: &Measurement) {
    let port = port(report);
    assert_eq!(number(&port["bytes"]), balance(report, "bytes of port 0").taken);
    let kept = rows(report, "port-0").len() as u64;
    let notes = &report.section("port-0").expect("messages").notes;
    let earlier = notes.iter().find_map(|note| note.split_once(" earlier messages"));
    let earlier = earlier.map_or(0, |(n, _)| n.parse::<u64>().expect("a number"));
    assert_eq!(number(&port["messages"]), earlier + kept);
    let levels: u64 = column(report, "port-0-levels", "messages").iter().sum();
    assert_eq!(number(&port["messages"]), levels);
}

/// What is decoded of port 0, in all its sections.
fn decoded(report: &Measurement) -> Vec<Content> {
    let ids = ["port-0", "port-0-levels"];
    ids.iter().map(|id| report.section(id).expect(id).content.clone()).collect()
}

/// `expected.txt` is what `defmt-print` 1.2.0 makes of the same bytes (`--port 0=FILE`).
#[test]
fn messages_are_those_of_defmt_print() {
    let directory = tempfile::tempdir().expect("a directory");
    let report = measured(&record(directory.path(), &QUIET), &[]);
    assert_accounted(&report);
    assert_eq!(number(&port(&report)["malformed"]) + number(&port(&report)["doubtful"]), 0);
    let messages = rows(&report, "port-0");
    let line = |message: &Value| {
        let text = message["message"].as_str().expect("a text");
        match (message["time"].as_str(), message["level"].as_str()) {
            (Some(time), Some(level)) => format!("{time} {:<5} {text}\n", level.to_uppercase()),
            // It shows no time for those without level.
            _ => format!("{text}\n"),
        }
    };
    let ours: String = messages.iter().map(line).collect();
    let expected = root().join("firmware/rust/log-rs/expected.txt");
    assert_eq!(ours, std::fs::read_to_string(expected).expect("the expected text"));
    for message in messages {
        assert_eq!(message["file"], "firmware/rust/log-rs/src/main.rs");
        assert!(number(&message["line"]) > 50);
    }
}

#[test]
fn the_report_shows_the_last_messages() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = record(directory.path(), &QUIET);
    let ran = reported(&file, &[]);
    let shown: Vec<&str> = ran.stdout.lines().collect();
    let begin = shown.iter().position(|line| *line == "stimulus ports").expect("ports");
    let end = shown.iter().position(|line| line.starts_with("packets of")).expect("the stream");
    insta::assert_snapshot!(shown[begin..end].join("\n"));
}

/// Samples take what the pin can carry, so bytes of messages are lost.
#[test]
fn losses_are_reported_and_the_rest_is_read() {
    let directory = tempfile::tempdir().expect("a directory");
    let pin = ["--baud", "115200", "--period", "64", "--port", "0", "--insist"];
    let file = record(directory.path(), &pin);
    let report = measured(&file, &[]);
    assert_accounted(&report);
    let port = port(&report);
    assert!(number(&port["interrupted"]) > 0, "{port}");
    assert!(number(&port["doubtful"]) + number(&port["malformed"]) > 0, "{port}");
}

#[test]
fn who_knows_better_says_where_messages_are() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = record(directory.path(), &QUIET);
    for options in [["--defmt-port", "none"], ["--defmt-port", "3"]] {
        assert_eq!(port(&measured(&file, &options))["messages"], Value::Null);
    }
    let port = port(&measured(&file, &["--defmt-port", "0"]));
    assert_eq!(number(&port["messages"]), 35);

    // Without the texts they are bytes.
    let other = prebuilt("trace");
    let ran = strobe(&["report", &file, "--elf", &other]);
    assert!(ran.code == 0 && ran.stdout.contains("  binary"), "{}", ran.stdout);
    let ran = strobe(&["report", &file, "--elf", &other, "--defmt-port", "0"]);
    assert!(ran.code == 65 && ran.stderr.contains("no section .defmt"), "{}", ran.stderr);
    let ran = strobe(&["report", &file, "--defmt-port", "0"]);
    assert!(ran.code == 64 && ran.stderr.contains("--elf"), "{}", ran.stderr);
    let ran = strobe(&["report", &file, "--defmt-port", "32"]);
    assert!(ran.code == 64 && ran.stderr.contains("0 to 31, or none"), "{}", ran.stderr);
}

#[test]
fn another_version_is_reported_with_advice() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = record(directory.path(), &QUIET);
    let mut bytes = std::fs::read(prebuilt(FIRMWARE)).expect("the firmware");
    let version = b"_defmt_version_ = 4";
    let is_one = |at: &usize| bytes[*at..].starts_with(version);
    let all: Vec<usize> = (0..bytes.len()).filter(is_one).collect();
    all.iter().for_each(|at| bytes[at + version.len() - 1] = b'9');
    let elf = directory.path().join("later.elf").display().to_string();
    std::fs::write(&elf, bytes).expect("room");
    let ran = strobe(&["report", &file, "--elf", &elf]);
    let advice = "has version 9 on the wire, and this strobe reads 3 and 4";
    let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(ran.code == 0 && flat.contains(advice), "{}", ran.stdout);
    let ran = strobe(&["report", &file, "--elf", &elf, "--defmt-port", "0"]);
    assert!(ran.code == 65 && ran.stderr.contains(advice), "{}", ran.stderr);
}

/// What the firmware sent, from a report.
fn bytes() -> Vec<u8> {
    let directory = tempfile::tempdir().expect("a directory");
    let file = record(directory.path(), &QUIET);
    let out = directory.path().join("port.bin").display().to_string();
    assert_eq!(reported(&file, &["--port", &format!("0={out}")]).code, 0);
    std::fs::read(out).expect("the port's bytes")
}

fn said(table: &Table, pieces: &mut dyn Iterator<Item = &[u8]>) -> (Decoded, u64) {
    let (mut log, mut all) = (Log::new(table.clone()), 0);
    for piece in pieces {
        log.push(piece);
        all += piece.len() as u64;
    }
    let decoded = log.finish();
    let frames = decoded.message_bytes + decoded.malformed_bytes + decoded.trailing_bytes;
    assert_eq!(all, frames + decoded.separator_bytes);
    (decoded, all)
}

fn table(elf: Vec<u8>) -> Option<Table> {
    Table::read(&Firmware::parse(elf).ok()?).ok()?
}

#[test]
fn damaged_messages_cost_no_others() {
    let table = table(std::fs::read(prebuilt(FIRMWARE)).expect("the firmware")).expect("a table");
    let sent = bytes();
    let whole = said(&table, &mut std::iter::once(&sent[..])).0;
    let config = ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() };
    proptest!(config, |(at in 0..sent.len(), bit in 0..8u8, size in 1..40usize)| {
        let mut bytes = sent.clone();
        bytes[at] ^= 1 << bit;
        let (decoded, _) = said(&table, &mut std::iter::once(&bytes[..]));
        prop_assert_eq!(&decoded, &said(&table, &mut bytes.chunks(size)).0);
        // A mark that is gone makes one of two.
        let same = decoded.last.iter().filter(|message| whole.last.contains(message)).count();
        prop_assert!(same + 2 >= whole.last.len());
        // Cut anywhere, the messages before are there.
        let (cut, _) = said(&table, &mut std::iter::once(&sent[..at]));
        prop_assert!(whole.last.starts_with(&cut.last) && cut.malformed == 0);
    });
    proptest!(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() }, |(
        noise in proptest::collection::vec(any::<u8>(), 0..3000), size in 1..40usize
    )| {
        let (decoded, _) = said(&table, &mut std::iter::once(&noise[..]));
        prop_assert_eq!(decoded, said(&table, &mut noise.chunks(size)).0);
    });
}

/// Bits of the ELF file flipped: symbols, their names, debug information.
#[test]
fn damaged_firmware_is_refused_or_read() {
    let elf = std::fs::read(prebuilt(FIRMWARE)).expect("the firmware");
    let sent = bytes();
    let mut read = 0;
    let mut step = 0x9e37_79b9_u32;
    for _ in 0..150 {
        let mut damaged = elf.clone();
        for _ in 0..8 {
            step = step.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = step as usize % damaged.len();
            damaged[at] ^= 1 << (step >> 29);
        }
        if let Some(table) = table(damaged) {
            read += 1;
            said(&table, &mut sent.chunks(100));
        }
    }
    assert!(read > 0);
    for end in (0..elf.len()).step_by(elf.len() / 60) {
        if let Some(table) = table(elf[..end].to_vec()) {
            said(&table, &mut sent.chunks(100));
        }
    }
}

/// A buffer of RTT brings the same bytes with nothing around them.
#[test]
fn a_channel_that_comes_alone_yields_the_same() {
    let directory = tempfile::tempdir().expect("a directory");
    let (file, bytes) = (record(directory.path(), &QUIET), directory.path().join("port0"));
    let ran = reported(&file, &["--port", &format!("0={}", bytes.display())]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let bytes = std::fs::read(bytes).expect("the port's bytes");
    let pin = Reader::new(std::fs::File::open(&file).expect("the file")).expect("a recording");
    let pin = pin.header().expect("its header").clone();
    let header = Header { carries: PayloadKind::Channel, settings: None, ..pin };
    let mut alone = Writer::new(Vec::new(), &header).expect("a header");
    bytes.chunks(7).for_each(|piece| alone.raw(1, piece).expect("a chunk"));
    let alone = alone.finish(2, "over").expect("an end");
    let path = directory.path().join("alone.strobe");
    std::fs::write(&path, alone).expect("a file");
    let path = path.display().to_string();
    let (theirs, ours) = (measured(&file, &[]), measured(&path, &[]));
    assert_accounted(&ours);
    assert_eq!(decoded(&ours), decoded(&theirs));
    assert_eq!(number(&port(&ours)["bytes"]), bytes.len() as u64);
    let shown = reported(&path, &[]).stdout;
    assert!(shown.contains("\nthe channel\n"), "{shown}");
    assert!(!shown.contains("belong to no packet"), "{shown}");
}
