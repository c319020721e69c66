//! Images that are linked behind a bootloader or a stage of their own: they start from their own
//! vector table.

use strobe_synth::{ElfBuilder, Section};

use crate::common::{measured, strobe};

const FLASH: u32 = 0x0800_0000;
const STACK: u32 = 0x2000_1000;
/// Vectors: the system exceptions.
const TABLE: u32 = 0x40;

/// `svc 0`, `b .`; and the handler, `b .`.
const CODE: [u8; 6] = [0x00, 0xdf, 0xfe, 0xe7, 0xfe, 0xe7];

/// A vector table with code behind it, whose SVCall handler is a function of its own.
fn image(base: u32) -> Vec<u8> {
    let code = (base + TABLE) | 1;
    let mut words = vec![code; TABLE as usize / 4];
    (words[0], words[11]) = (STACK, code + 4);
    words.iter().flat_map(|word| word.to_le_bytes()).chain(CODE).collect()
}

fn elf(base: u32) -> ElfBuilder {
    let mut elf = ElfBuilder::new();
    elf.entry = (base + TABLE) | 1;
    elf.function("main", base + TABLE, 4).function("on_call", base + TABLE + 4, 2);
    elf
}

/// Runs to the handler, which only the right vector table leads to; the findings' texts.
fn reaches_its_handler(elf: &ElfBuilder, board: &str) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("firmware.elf");
    std::fs::write(&path, elf.build()).unwrap();
    let path = path.display().to_string();
    let to = ["--until", "on_call", "--until", "1000c"];
    let (code, measurement) = measured(&[&["run", &path, "--board", board], &to[..]].concat());
    assert_eq!(code, 0, "{measurement:#?}");
    assert_eq!(measurement.window.ended.kind, "reached", "on {board}");
    measurement.findings.into_iter().map(|finding| finding.text).collect()
}

fn is_reported(texts: &[String], words: &[&str]) {
    let found = texts.iter().find(|text| text.contains("linked behind a bootloader"));
    let found = found.unwrap_or_else(|| panic!("no finding in {texts:?}"));
    words.iter().for_each(|word| assert!(found.contains(word), "no {word:?} in {found}"));
}

#[test]
fn image_after_a_bootloader_starts_from_its_vectors() {
    for offset in [0x2000, 0x8000] {
        for board in ["stm32f103", "stm32f407", "stm32f070cb"] {
            let base = FLASH + offset;
            let mut elf = elf(base);
            elf.code(base, &image(base));
            let texts = reaches_its_handler(&elf, board);
            let vtor = if board == "stm32f070cb" { "passed them on" } else { "VTOR was set" };
            is_reported(&texts, &[&format!("{base:#010x}"), &format!("{STACK:#010x}"), vtor]);
        }
    }
}

/// What lies below the table may look like one until the second look.
#[test]
fn names_go_before_contents() {
    let base = FLASH + 0x2000;
    let mut decoy = image(base);
    decoy.resize(0x400, 0);
    decoy.extend(image(base + 0x400));
    let mut named = elf(base + 0x400);
    named.code(base, &decoy).section(Section {
        name: ".isr_vector".into(),
        kind: 1,
        flags: 2,
        address: base + 0x400,
        size: Some(TABLE),
        ..Section::default()
    });
    is_reported(&reaches_its_handler(&named, "stm32f103"), &["0x08002400", "section .isr_vector"]);
    let mut named = elf(base + 0x400);
    named.code(base, &decoy).function("vector_table", base + 0x400, TABLE);
    is_reported(&reaches_its_handler(&named, "stm32f103"), &["0x08002400", "symbol vector_table"]);
}

/// As on an RP2040, whose flash begins with 256 bytes that set up the flash.
#[test]
fn a_first_stage_is_not_taken_for_vectors() {
    let mut bytes = vec![0x00, 0xb5, 0x32, 0x4b, 0x21, 0x20, 0x58, 0x60];
    bytes.resize(0x100, 0x46);
    bytes.extend(image(FLASH + 0x100));
    let mut elf = elf(FLASH + 0x100);
    elf.code(FLASH, &bytes);
    is_reported(&reaches_its_handler(&elf, "stm32f070cb"), &["0x08000100"]);
}

#[test]
fn image_at_the_flash_start_needs_no_warning() {
    let mut elf = elf(FLASH);
    elf.code(FLASH, &image(FLASH));
    let texts = reaches_its_handler(&elf, "stm32f103");
    assert!(!texts.iter().any(|text| text.contains("bootloader")), "{texts:?}");
}

/// As `--memory` gives a bare core what it does not start from: no bootloader is in front of it.
#[test]
fn image_at_a_memorys_start_has_no_bootloader() {
    let mut elf = elf(FLASH);
    elf.code(FLASH, &image(FLASH));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("firmware.elf");
    std::fs::write(&path, elf.build()).unwrap();
    let path = path.display().to_string();
    let memory = "flash=0x08000000:64K,ram=0x20000000:20K";
    let board = ["--board", "cortex-m3", "--memory", memory, "--until", "on_call"];
    let (code, measurement) = measured(&[&["run", &path], &board[..]].concat());
    assert_eq!(code, 0, "{measurement:#?}");
    assert!(!measurement.findings.iter().any(|finding| finding.text.contains("bootloader")));
    let own = measurement.findings.iter().find(|finding| finding.code == "own-vectors");
    let text = &own.expect("a finding").text;
    assert!(text.contains("0x08000000") && text.contains("VTOR was set"), "{text}");
    // Its own table is what is wrong where there is no other.
    let memory = "flash=0x08000000:64K,ram=0x20000000:2K";
    let ran = strobe(&["run", &path, "--board", "cortex-m3", "--memory", memory]);
    assert_eq!(ran.code, 65, "{}", ran.stdout);
    assert!(ran.stderr.contains("0x08000000: the initial stack pointer"), "{}", ran.stderr);
}

#[test]
fn an_image_without_any_table_is_refused_as_before() {
    let mut elf = elf(FLASH + 0x2000);
    elf.code(FLASH + 0x2000, &CODE);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("firmware.elf");
    std::fs::write(&path, elf.build()).unwrap();
    let ran = strobe(&["run", &path.display().to_string(), "--board", "stm32f103"]);
    assert_eq!(ran.code, 65, "{}", ran.stdout);
    assert!(ran.stderr.contains("no usable vector table at 0x00000000"), "{}", ran.stderr);
}
