//! Debug information that demands far more work than its size: parsing ends in time, with a
//! warning.
//!
//! In each case records of a small file share or repeat others, so that reading them one by one
//! would take hours or all memory.

use std::time::{Duration, Instant};

use crate::common::handmade::{abbreviation, elf, unit};
use strobe_symbols::Firmware;

const COMPILE_UNIT: u32 = 0x11;
const SUBPROGRAM: u32 = 0x2e;
const INLINED: u32 = 0x1d;
const NAME: u32 = 0x03;
const STMT_LIST: u32 = 0x10;
const LOW_PC: u32 = 0x11;
const HIGH_PC: u32 = 0x12;
const RANGES: u32 = 0x55;
const ADDR: u32 = 0x01;
const DATA1: u32 = 0x0b;
const STRP: u32 = 0x0e;
const SEC_OFFSET: u32 = 0x17;
const FLAG_PRESENT: u32 = 0x19;
const CODE: u32 = 0x0800_0000;

/// More than the second or so that these files take under any load, and less than the hours without
/// a limit.
const LONGEST: Duration = Duration::from_secs(1200);

/// Parses in time and looks up one address.
fn read(what: &str, sections: &[(&str, Vec<u8>)]) -> Firmware {
    let bytes = elf(sections);
    let started = Instant::now();
    let firmware = Firmware::parse(&bytes[..]).expect("a firmware image");
    let frames = firmware.frames(CODE + 4).frames.len();
    let elapsed = started.elapsed();
    eprintln!(
        "{what}: {} bytes in {elapsed:?}, {frames} frames, {:?}",
        bytes.len(),
        firmware.warnings()
    );
    assert!(elapsed < LONGEST, "{what} took {elapsed:?}");
    firmware
}

fn expect_warning(firmware: &Firmware, text: &str) {
    assert!(
        firmware.warnings().iter().any(|warning| warning.detail.contains(text)),
        "{:?}",
        firmware.warnings()
    );
}

#[test]
fn a_sound_unit_is_read() {
    let table = [
        abbreviation(1, COMPILE_UNIT, true, &[]),
        abbreviation(2, SUBPROGRAM, false, &[(NAME, STRP), (LOW_PC, ADDR), (HIGH_PC, DATA1)]),
        vec![0],
    ];
    let entries = [&[1, 2][..], &0_u32.to_le_bytes(), &CODE.to_le_bytes(), &[16, 0]].concat();
    let firmware = read(
        "sound",
        &[
            (".debug_abbrev", table.concat()),
            (".debug_info", unit(0, &entries)),
            (".debug_str", b"start\0".to_vec()),
        ],
    );
    assert!(firmware.warnings().is_empty(), "{:?}", firmware.warnings());
    assert_eq!(firmware.frames(CODE + 4).frames[0].name, Some("start"));
}

#[test]
fn many_functions_that_share_one_long_range_list() {
    let table = [
        abbreviation(1, COMPILE_UNIT, true, &[]),
        abbreviation(2, SUBPROGRAM, false, &[(RANGES, SEC_OFFSET)]),
        vec![0],
    ];
    let mut entries = vec![1];
    entries.extend([2, 0, 0, 0, 0].repeat(100_000));
    let range = [CODE, CODE + 2].map(u32::to_le_bytes).concat();
    let firmware = read(
        "ranges",
        &[
            (".debug_abbrev", table.concat()),
            (".debug_info", unit(0, &entries)),
            (".debug_ranges", range.repeat(100_000)),
        ],
    );
    expect_warning(&firmware, "far more records");
}

#[test]
fn attributes_without_bytes() {
    let table = [
        abbreviation(1, COMPILE_UNIT, true, &[]),
        abbreviation(2, 0x34, false, &[(0x3f, FLAG_PRESENT); 50_000]),
        vec![0],
    ];
    let mut entries = vec![1];
    entries.extend([2].repeat(500_000));
    let firmware = read(
        "attributes",
        &[(".debug_abbrev", table.concat()), (".debug_info", unit(0, &entries))],
    );
    expect_warning(&firmware, "far more records");
}

#[test]
fn abbreviation_tables_that_overlap() {
    let mut table = Vec::new();
    for code in 1..50_000 {
        table.extend(abbreviation(code, COMPILE_UNIT, false, &[]));
    }
    let size = table.len() as u32;
    let units: Vec<u8> = (0..size / 4).flat_map(|n| unit(4 * n, &[1])).collect();
    read("abbreviations", &[(".debug_abbrev", table), (".debug_info", units)]);
}

#[test]
fn inlining_without_end() {
    let table = [
        abbreviation(1, COMPILE_UNIT, true, &[]),
        abbreviation(2, SUBPROGRAM, true, &[(LOW_PC, ADDR), (HIGH_PC, DATA1)]),
        abbreviation(3, INLINED, true, &[(LOW_PC, ADDR), (HIGH_PC, DATA1)]),
        vec![0],
    ];
    let place = [&CODE.to_le_bytes()[..], &[16]].concat();
    let mut entries = [&[1, 2][..], &place].concat();
    entries.extend([&[3][..], &place].concat().repeat(200_000));
    let firmware =
        read("inlining", &[(".debug_abbrev", table.concat()), (".debug_info", unit(0, &entries))]);
    let depth = firmware.frames(CODE + 4).frames.len();
    assert!((64..1000).contains(&depth), "{depth} frames");
}

#[test]
fn many_functions_with_one_long_name() {
    let table = [
        abbreviation(1, COMPILE_UNIT, true, &[]),
        abbreviation(2, SUBPROGRAM, false, &[(NAME, STRP), (LOW_PC, ADDR), (HIGH_PC, DATA1)]),
        vec![0],
    ];
    let mut entries = vec![1];
    for n in 0..100_000_u32 {
        entries.push(2);
        entries.extend(n.to_le_bytes());
        entries.extend([&CODE.to_le_bytes()[..], &[16]].concat());
    }
    read(
        "names",
        &[
            (".debug_abbrev", table.concat()),
            (".debug_info", unit(0, &entries)),
            (".debug_str", vec![b'x'; 2_000_000]),
        ],
    );
}

#[test]
fn line_programs_that_overlap() {
    let table = [abbreviation(1, COMPILE_UNIT, false, &[(STMT_LIST, SEC_OFFSET)]), vec![0]];
    // A header that fits every fourth offset: its length fields read the same wherever it starts.
    let header = [0x00_u8, 0x00, 0x10, 0x00];
    let lines = header.repeat(500_000);
    let units: Vec<u8> = (0..200_000_u32)
        .flat_map(|n| unit(0, &[&[1][..], &(4 * n).to_le_bytes()].concat()))
        .collect();
    read(
        "lines",
        &[(".debug_abbrev", table.concat()), (".debug_info", units), (".debug_line", lines)],
    );
}

#[test]
fn symbols_that_share_one_long_name() {
    // Every symbol's name is the rest of the same two million bytes.
    let symbol = |n: u32| {
        let mut symbol = [n, CODE + 1, 2].map(u32::to_le_bytes).concat();
        symbol.extend([0x12, 0, 1, 0]);
        symbol
    };
    let symbols: Vec<u8> =
        std::iter::once(vec![0; 16]).chain((0..100_000).map(symbol)).flatten().collect();
    let mut bytes = elf(&[(".symtab", symbols), (".strtab", vec![b'x'; 2_000_000])]);
    // The section headers: type and linked string table of `.symtab`.
    let table = u32::from_le_bytes(bytes[32..36].try_into().expect("four bytes")) as usize;
    bytes[table + 2 * 40 + 4] = 2;
    bytes[table + 2 * 40 + 24] = 3;
    let started = Instant::now();
    let firmware = Firmware::parse(bytes).expect("a firmware image");
    assert_eq!(firmware.functions().len(), 1);
    assert!(started.elapsed() < LONGEST, "took {:?}", started.elapsed());
}
