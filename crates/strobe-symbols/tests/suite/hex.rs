//! Intel HEX: the same bytes as the ELF file it was made from, and an error with its line for every
//! bad line.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::common::exercise::exercise;
use crate::common::hex::{from_noise, record};
use proptest::prelude::*;
use strobe_symbols::{Detail, Error, Firmware, Machine};

const END: &str = ":00000001FF\n";

/// The byte at each address.
fn contents(firmware: &Firmware) -> BTreeMap<u32, u8> {
    let segments = firmware.segments().iter();
    segments.flat_map(|s| (s.load_address.0..).zip(s.data().iter().copied())).collect()
}

#[test]
fn objcopy_output_has_the_bytes_of_the_elf() {
    let directory = tempfile::tempdir().expect("a directory");
    for (objcopy, program, machine) in [
        ("avr-objcopy", "work-avr.elf", Machine::Avr),
        ("avr-objcopy", "work-avr-2560.elf", Machine::Avr),
        ("arm-none-eabi-objcopy", "calculator.elf", Machine::Arm),
        ("arm-none-eabi-objcopy", "tour-lm3s6965.elf", Machine::Arm),
    ] {
        let elf =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware/prebuilt").join(program);
        let hex = directory.path().join("out.hex");
        let status = Command::new(objcopy).args(["-O", "ihex"]).arg(&elf).arg(&hex).status();
        assert!(status.expect("binutils run").success());
        let elf = Firmware::parse(std::fs::read(elf).expect("a prebuilt program")).expect("parses");
        let hex = Firmware::parse(std::fs::read(hex).expect("what objcopy wrote")).expect("parses");
        assert_eq!(hex.machine(), machine, "{program}");
        assert_eq!((hex.detail(), hex.functions().len()), (Detail::Addresses, 0), "{program}");
        assert!(hex.detail_note().contains("Intel HEX has none"), "{}", hex.detail_note());
        let (elf, hex) = (contents(&elf), contents(&hex));
        let all = elf.keys().chain(hex.keys());
        let differ: Vec<_> = all.filter(|at| elf.get(at) != hex.get(at)).collect();
        // Gaps between sections are zero in the ELF file and erased flash here.
        let is_padding =
            |at: &u32| matches!((elf.get(at), hex.get(at)), (None | Some(0), None | Some(0xff)));
        assert!(
            differ.len() < 64 && differ.iter().all(|at| is_padding(at)),
            "{program}: {differ:x?}"
        );
    }
}

fn refused(text: &str) -> String {
    exercise(text.as_bytes());
    match Firmware::parse(text.as_bytes()) {
        Err(error @ Error::Hex { .. }) => error.to_string(),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn faults_are_reported_with_their_line() {
    let good = record(0, 0x10, &[1, 2, 3, 4]);
    for (text, expected) in [
        (
            format!("{good}:0400200001020304D3\n{END}"),
            "line 2): the checksum is D3, but the record's bytes have D2",
        ),
        (format!("{good}:04002000010203\n{END}"), "line 2): the checksum"),
        (format!("{good}:0400\n{END}"), "line 2): the record is truncated"),
        (format!("{good}:0400200001020304D\n{END}"), "line 2): half a byte"),
        (format!("{good}:04002000010203xxD2\n{END}"), "line 2): a character is not"),
        (
            format!("{good}:0500200001020304D1\n{END}"),
            "line 2): the record's length does not match",
        ),
        (format!("{good}{}{END}", record(6, 0, &[])), "line 2): unknown record type 06"),
        (format!("{good}{}{END}", record(4, 0, &[1])), "line 2): the record's length is wrong"),
        (format!("{good}S1130000\n{END}"), "line 2): the line does not begin with a colon"),
        (format!("{good}:{}\n{END}", "00".repeat(300)), "line 2): the record is longer"),
        (good.clone(), "the file ends without an end record"),
        (format!("{good}{END}{good}"), "line 3): there is data after the end record"),
        (END.to_owned(), "there is no data"),
        (
            format!("{good}\r\n{}{END}", record(0, 0x13, &[9])),
            "line 3): 0x00000013 is written a second time, after line 1",
        ),
        (
            format!("{}{}{END}", record(2, 0, &[0x10, 0]), record(0, 0xffff, &[1, 2])),
            "exceed the record's address range",
        ),
        (format!("{}{}{END}", record(4, 0, &[0xff, 0xff]), record(0, 0xffff, &[1, 2])), "exceed"),
    ] {
        let message = refused(&text);
        assert!(message.contains(expected), "{message}\nfor\n{text}");
    }
}

/// Each truncation of a file is rejected: it lacks its end record.
#[test]
fn every_truncation_is_reported() {
    let text = format!("{}{}{END}", record(4, 0, &[8, 0]), record(0, 0x100, &[7; 32]));
    for length in 1..text.trim_end().len() {
        refused(&text[..length]);
    }
}

#[test]
fn pieces_without_end_are_refused() {
    let mut text = String::new();
    for at in 0..6000_u32 {
        let [high, upper, offset, low] = (at * 1000).to_be_bytes();
        text += &record(4, 0, &[high, upper]);
        text += &record(0, u16::from_be_bytes([offset, low]), &[1]);
    }
    assert!(refused(&(text + END)).contains("separate pieces"));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Bytes anywhere, in any order and length of records, end up at their addresses.
    #[test]
    fn bytes_come_out_where_they_belong(
        runs in prop::collection::btree_map(
            0_u32..0x4000,
            prop::collection::vec(any::<u8>(), 1..=255),
            1..20,
        ),
        backwards in any::<bool>(),
    ) {
        let mut wanted = BTreeMap::new();
        let mut lines = Vec::new();
        for (slot, data) in &runs {
            // Apart from each other, some of them across a 64 KiB boundary.
            let address = slot * 0x3f1;
            let [high, upper, offset, low] = address.to_be_bytes();
            let offset = u16::from_be_bytes([offset, low]);
            lines.push(record(4, 0, &[high, upper]) + &record(0, offset, data));
            wanted.extend((address..).zip(data.iter().copied()));
        }
        if backwards {
            lines.reverse();
        }
        let firmware = Firmware::parse((lines.concat() + END).into_bytes()).expect("a sound file");
        prop_assert_eq!(contents(&firmware), wanted);
    }

    #[test]
    fn arbitrary_valid_records_never_panic(noise in prop::collection::vec(any::<u8>(), 0..600)) {
        exercise(&from_noise(&noise));
    }

    #[test]
    fn damage_never_panics(at in any::<prop::sample::Index>(), value in any::<u8>()) {
        let (base, data) = (record(4, 0, &[8, 0]), record(0, 0x100, &[7; 32]));
        let mut text = format!("{base}{data}{END}").into_bytes();
        let at = at.index(text.len());
        text[at] = value;
        exercise(&text);
    }
}
