//! Wrong, truncated and corrupt files: one clear error with the byte and advice, never a panic or a
//! hang.

use std::time::{Duration, Instant};

use crate::common::build::Workshop;
use crate::common::exercise::exercise;
use proptest::prelude::*;
use strobe_symbols::{Error, Firmware};
use strobe_synth::{ElfBuilder, Section, Segment};

/// More than the milliseconds that a small file takes under any load, and less than a hang.
const LONGEST: Duration = Duration::from_secs(600);

fn small_elf() -> Vec<u8> {
    let workshop = Workshop::new();
    std::fs::read(workshop.gcc("small.elf", &["-g", "-Os", "-ffunction-sections"]))
        .expect("the ELF file")
}

fn error(bytes: &[u8]) -> Error {
    Firmware::parse(bytes).expect_err("not a firmware image")
}

fn patched(bytes: &[u8], at: usize, patch: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + patch.len()].copy_from_slice(patch);
    bytes
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Offset of the n-th program header.
fn program_header(bytes: &[u8], n: usize) -> usize {
    word(bytes, 28) as usize + 32 * n
}

/// GNU ld leaves a segment of zeroed data at the page where its contents would begin.
#[test]
fn empty_segments_may_lie_past_the_files_end() {
    let mut elf = ElfBuilder::new();
    elf.code(0x0800_0000, &[0; 64]);
    elf.segment(Segment {
        virtual_address: 0x2000_0000,
        physical_address: 0x2000_0000,
        memory_size: Some(0x400),
        file_offset: Some(0x0001_0000),
        flags: 6,
        ..Segment::default()
    });
    let name = ".empty".to_owned();
    elf.section(Section { name, kind: 1, file_offset: Some(0x0001_0000), ..Section::default() });
    let firmware = Firmware::parse(elf.build()).expect("a firmware");
    let memory: Vec<_> =
        firmware.segments().iter().map(|s| (s.run_address, s.data().len())).collect();
    assert_eq!(memory, [(0x0800_0000, 64), (0x2000_0000, 0)]);
}

#[test]
fn other_kinds_of_file_are_named() {
    for (bytes, expected) in [
        (&b""[..], "the file is empty"),
        (b"S00600", "S-records"),
        (b"S00600", "objcopy -I srec -O ihex"),
        (b"UF2\nWQ]\x9e", "UF2"),
        (b"!<arch>\n", "static library"),
        (b"MZ\x90\0", "Windows"),
        (b"\0\x40\0\x20\x01\x01\0\x08", "raw binary image"),
        (b"\xe0\x3f\0\x10\x31\x04\0\0", "-O ihex --change-addresses ADDRESS"),
        (b"hello", "7f 45 4c 46"),
    ] {
        let error = error(bytes);
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.offset(), 0);
    }
}

#[test]
fn wrong_headers_are_named_with_their_byte() {
    let elf = small_elf();
    for (at, patch, expected) in [
        (4, &[2][..], "64-bit class"),
        (4, &[9], "class 9"),
        (5, &[2], "big-endian"),
        (18, &[62, 0], "machine x86-64"),
        (18, &[243, 0], "machine RISC-V"),
        (18, &[0xe7, 0x03], "machine number 999"),
        (16, &[1, 0], "an object file"),
        (16, &[4, 0], "a core dump"),
    ] {
        let error = error(&patched(&elf, at, patch));
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.offset(), at as u64, "{error}");
    }
}

#[test]
fn a_program_for_an_operating_system_is_refused() {
    let elf = small_elf();
    let at = program_header(&elf, 0);
    let error = error(&patched(&elf, at, &[3, 0, 0, 0]));
    assert!(error.to_string().contains("operating system"), "{error}");
    assert_eq!(error.offset(), at as u64);
}

#[test]
fn impossible_segments_are_refused() {
    let elf = small_elf();
    let first = program_header(&elf, 0);
    let load_address = word(&elf, first + 12).to_le_bytes();

    let huge = error(&patched(&elf, first + 20, &0x0500_0000_u32.to_le_bytes()));
    assert!(matches!(huge, Error::TooLarge { .. }), "{huge}");
    assert_eq!(huge.offset(), first as u64);

    let second = program_header(&elf, 1);
    let overlap = error(&patched(&elf, second + 12, &load_address));
    assert!(matches!(overlap, Error::SegmentsOverlap { first: 0, second: 1, .. }), "{overlap}");

    let outside = error(&patched(&elf, first + 4, &0x00ff_ffff_u32.to_le_bytes()));
    assert!(matches!(outside, Error::Truncated { .. }), "{outside}");

    let more_in_file = error(&patched(&elf, first + 20, &1_u32.to_le_bytes()));
    assert!(matches!(more_in_file, Error::Malformed { .. }), "{more_in_file}");

    let wraps = error(&patched(&elf, first + 8, &0xffff_fff0_u32.to_le_bytes()));
    assert!(matches!(wraps, Error::Malformed { .. }), "{wraps}");

    let none = error(&patched(&elf, 44, &[0, 0]));
    assert!(matches!(none, Error::NothingToLoad { .. }), "{none}");
}

#[test]
fn every_truncation_is_an_error_that_reports_it() {
    let elf = small_elf();
    let started = Instant::now();
    for length in 0..elf.len() {
        // Everything that the section table describes must be there, and the table is last.
        let error = error(&elf[..length]);
        let text = error.to_string();
        assert!(length < 4 || text.contains("truncated"), "{length} bytes: {text}");
        assert!(error.offset() <= elf.len() as u64, "{length} bytes: {text}");
    }
    assert!(started.elapsed() < LONGEST, "truncations took {:?}", started.elapsed());
}

#[test]
fn damage_to_debug_information_costs_only_detail() {
    let elf = small_elf();
    let sound = Firmware::parse(&elf[..]).expect("a firmware image");
    let file = object::File::parse(&elf[..]).expect("an ELF file");
    for name in [
        ".debug_info",
        ".debug_abbrev",
        ".debug_line",
        ".debug_rnglists",
        ".debug_str",
        ".debug_frame",
    ] {
        use object::{Object as _, ObjectSection as _};
        let (start, size) = file.section_by_name(name).and_then(|s| s.file_range()).expect(name);
        let mut damaged = elf.clone();
        damaged[start as usize..(start + size) as usize].fill(0xff);
        let damaged = Firmware::parse(damaged).expect("the image itself is sound");
        let names =
            |firmware: &Firmware| firmware.functions().iter().map(|f| f.start).collect::<Vec<_>>();
        assert_eq!(names(&damaged), names(&sound), "{name}");
        if name != ".debug_str" {
            assert!(!damaged.warnings().is_empty(), "{name} is damaged without a warning");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Arbitrary bytes changed: no panic, no hang, and consistent answers.
    #[test]
    fn corruption_never_panics_or_hangs(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..24),
    ) {
        static ELF: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        let mut bytes = ELF.get_or_init(small_elf).clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let started = Instant::now();
        exercise(&bytes);
        prop_assert!(started.elapsed() < LONGEST, "took {:?}", started.elapsed());
    }
}

/// Regression inputs found by fuzzing.
#[test]
fn fuzzed_cases_stay_fixed() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    for entry in std::fs::read_dir(&directory).expect("tests/cases") {
        let path = entry.expect("a directory entry").path();
        if path.extension().is_some_and(|extension| extension == "elf") {
            let started = Instant::now();
            exercise(&std::fs::read(&path).expect("a case"));
            assert!(started.elapsed() < LONGEST, "{} took {:?}", path.display(), started.elapsed());
        }
    }
}
