//! The right AVR or none: firmware goes to the board of the part that its file shows, and is
//! refused where there is none.

use strobe_synth::{ElfBuilder, Section, Segment, Symbol};
use tempfile::TempDir;

use crate::common::{Ran, command, measured, ran};

/// A jump to itself, after two that do nothing.
const CODE: [u8; 6] = [0, 0, 0, 0, 0xff, 0xcf];

/// `.note.gnu.avr.deviceinfo`, as avr-libc writes it.
fn note(name: &str, flash: u32, ram: (u32, u32)) -> Section {
    let words = [0, flash, ram.0, ram.1, 0, 0, 8, 1];
    let strings = [b"\0", name.as_bytes(), b"\0"].concat();
    let size = (4 * words.len() + strings.len()) as u32;
    let head = [4, size, 1].map(|word: u32| word.to_le_bytes()).concat();
    let body = words.map(|word: u32| word.to_le_bytes()).concat();
    let mut data = [head, b"AVR\0".to_vec(), body, strings].concat();
    data.resize(data.len().next_multiple_of(4), 0);
    Section { name: ".note.gnu.avr.deviceinfo".into(), kind: 7, data, ..Section::default() }
}

/// A firmware for an AVR of this architecture.
fn avr(architecture: u32, at: u32) -> ElfBuilder {
    let mut elf = ElfBuilder::new();
    (elf.machine, elf.flags, elf.entry) = (83, architecture, at);
    elf.code(at, &CODE);
    let (name, kind, size) = ("main".into(), 2, CODE.len() as u32);
    elf.symbol(Symbol { name, value: at, size, kind, global: true, section: 0xfff1 });
    elf
}

/// With data from there on, and the stack from here down.
fn with_memory(mut elf: ElfBuilder, data: u32, stack: u32) -> ElfBuilder {
    let address = 0x80_0000 + data;
    elf.segment(Segment {
        virtual_address: address,
        physical_address: address,
        memory_size: Some(8),
        flags: 6,
        ..Segment::default()
    });
    let (name, section) = ("__stack".into(), 0xfff1);
    elf.symbol(Symbol { name, value: stack, global: true, section, ..Symbol::default() });
    elf
}

fn of(name: &str, flash: u32, ram: (u32, u32), architecture: u32) -> ElfBuilder {
    let mut elf = avr(architecture, 0);
    elf.section(note(name, flash, ram));
    elf
}

struct Case(TempDir);

impl Case {
    fn new(elf: &ElfBuilder) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("firmware.elf"), elf.build()).unwrap();
        Case(directory)
    }

    fn run(&self, options: &[&str]) -> Ran {
        let all = [&["run", "firmware.elf", "--until", "100c"], options].concat();
        ran(command().args(all).current_dir(self.0.path()))
    }

    /// The board that it ran on, and its findings.
    fn board(&self, options: &[&str]) -> (String, Vec<String>) {
        let path = self.0.path().join("firmware.elf").display().to_string();
        let all = [&["run", path.as_str(), "--until", "100c"], options].concat();
        let (code, measurement) = measured(&all);
        assert_eq!(code, 0, "{:?}", measurement.findings);
        let texts = measurement.findings.into_iter().map(|finding| finding.text).collect();
        (measurement.subject.board.expect("a board"), texts)
    }
}

fn misfit(texts: &[String]) -> Option<&String> {
    texts.iter().find(|text| text.contains("does not fit this firmware"))
}

#[test]
fn the_part_that_a_file_names_decides() {
    let cases = [
        (of("atmega328p", 0x8000, (0x100, 0x800), 5), "arduino-uno"),
        (of("atmega2560", 0x4_0000, (0x200, 0x2000), 6), "arduino-mega"),
        (of("atmega16u2", 0x4000, (0x100, 0x200), 35), "atmega16u2"),
        (of("attiny85", 0x2000, (0x60, 0x200), 25), "attiny85"),
    ];
    for (elf, expected) in &cases {
        let (board, texts) = Case::new(elf).board(&[]);
        assert_eq!(&board, expected, "{texts:?}");
        assert_eq!(misfit(&texts), None);
        assert!(texts.iter().any(|text| text.contains("is built for at")), "{texts:?}");
    }
}

#[test]
fn part_without_a_board_is_refused_with_known_facts() {
    let cases = [
        (of("atmega32u4", 0x8000, (0x100, 0xa00), 5), ["atmega32u4", "2560 of RAM at 0x800100"]),
        (of("attiny1616", 0x4000, (0x3800, 0x800), 103), ["attiny1616", "16384 bytes of flash"]),
    ];
    for (elf, words) in &cases {
        let ran = Case::new(elf).run(&[]);
        assert_eq!((ran.code, ran.stdout.as_str()), (65, ""), "{}", ran.stderr);
        for word in words.iter().chain(&["strobe boards", "--board NAME", "--board FILE.toml"]) {
            assert!(ran.stderr.contains(word), "no {word:?} in {}", ran.stderr);
        }
        let (board, texts) = Case::new(elf).board(&["--board", "arduino-uno"]);
        assert_eq!(board, "arduino-uno");
        assert!(misfit(&texts).is_some_and(|text| text.contains(words[0])), "{texts:?}");
    }
}

#[test]
fn a_part_that_differs_in_memories_runs_with_them() {
    let case = Case::new(&of("atmega168p", 0x4000, (0x100, 0x400), 5));
    let memory = "flash=0:16384,ram=0x800100:1024";
    let ran = case.run(&[]);
    assert_eq!(ran.code, 65, "{}", ran.stdout);
    assert!(
        ran.stderr.contains(&format!("--board arduino-uno --memory {memory}")),
        "{}",
        ran.stderr
    );
    let (_, texts) = case.board(&["--board", "arduino-uno", "--memory", memory]);
    assert_eq!(misfit(&texts), None);
    let (_, texts) = case.board(&["--board", "arduino-uno"]);
    assert!(misfit(&texts).is_some_and(|text| text.contains("its memories are others")));
}

/// As older toolchains link: the architecture and the stack are all that there is.
#[test]
fn without_a_name_architecture_ram_and_stack_decide() {
    let runs = [
        (with_memory(avr(25, 0), 0x60, 0x25f), "attiny85"),
        (with_memory(avr(2, 0), 0x60, 0x25f), "attiny85"),
        (with_memory(avr(0, 0), 0x200, 0x21ff), "arduino-mega"),
        (with_memory(avr(5, 0), 0x100, 0x8ff), "arduino-uno"),
        (avr(5, 0), "arduino-uno"),
        (avr(0, 0), "arduino-uno"),
        (avr(6, 0), "arduino-mega"),
    ];
    for (elf, expected) in &runs {
        assert_eq!(&Case::new(elf).board(&[]).0, expected);
    }
    let refused = [
        (with_memory(avr(25, 0), 0x100, 0x2ff), "0x8002ff"),
        (with_memory(avr(5, 0), 0x100, 0xaff), "0x800aff"),
        (with_memory(avr(5, 0), 0x60, 0x45f), "data from 0x800060"),
        (avr(51, 0), "architecture 51"),
        (avr(103, 0), "whose registers are others"),
    ];
    for (elf, word) in &refused {
        let ran = Case::new(elf).run(&[]);
        assert_eq!(ran.code, 65, "{word}: {}", ran.stdout);
        assert!(ran.stderr.contains(word), "no {word:?} in {}", ran.stderr);
    }
    let (_, texts) = Case::new(&avr(51, 0)).board(&["--board", "arduino-uno"]);
    assert!(misfit(&texts).is_some_and(|text| text.contains("architecture 51")), "{texts:?}");
}

/// A program of avr-gcc without a part or architecture, as in Intel HEX: jumps for all vectors, and
/// start-up code that sets the stack pointer.
fn started(vectors: u16, bytes: u16, stack: u16) -> ElfBuilder {
    let table = match bytes {
        4 => [0x940c, 2 * vectors].repeat(usize::from(vectors)),
        _ => [vec![0xc000 | (vectors - 1)], vec![0xcfff; usize::from(vectors) - 1]].concat(),
    };
    let ldi = |register: u16, value: u16| {
        0xe000 | (value & 0xf0) << 4 | (register - 16) << 4 | value & 0xf
    };
    // clr r1; out SREG, r1; ldi r28; ldi r29; out SPH, r29; out SPL, r28; rjmp .-2
    let start =
        [0x2411, 0xbe1f, ldi(28, stack & 0xff), ldi(29, stack >> 8), 0xbfde, 0xbfcd, 0xcfff];
    let words = table.into_iter().chain(start);
    let code: Vec<u8> = words.flat_map(u16::to_le_bytes).collect();
    let mut elf = ElfBuilder::new();
    (elf.machine, elf.flags) = (83, 0);
    elf.code(0, &code);
    elf
}

#[test]
fn vectors_and_stack_decide_where_nothing_is_named() {
    let runs = [
        (started(26, 4, 0x8ff), "arduino-uno"),
        (started(57, 4, 0x21ff), "arduino-mega"),
        (started(15, 2, 0x25f), "attiny85"),
        (started(29, 4, 0x2ff), "atmega16u2"),
        // An ATmega168, which has the Uno's registers and less RAM.
        (started(26, 4, 0x4ff), "arduino-uno"),
    ];
    for (elf, expected) in &runs {
        assert_eq!(&Case::new(elf).board(&[]).0, expected);
    }
    let refused = [
        (started(43, 4, 0xaff), ["43 vectors of 4 bytes", "first stack at 0x800aff"]),
        (started(35, 4, 0x40ff), ["35 vectors of 4 bytes", "first stack at 0x8040ff"]),
        (started(17, 2, 0x25f), ["17 vectors of 2 bytes", "first stack at 0x80025f"]),
    ];
    for (elf, words) in &refused {
        let ran = Case::new(elf).run(&[]);
        assert_eq!((ran.code, ran.stdout.as_str()), (65, ""), "{}", ran.stderr);
        assert!(words.iter().all(|word| ran.stderr.contains(word)), "{}", ran.stderr);
    }
}

#[test]
fn a_bootloader_starts_in_the_boot_section() {
    let mut elf = avr(5, 0x7000);
    // The signature, which is for the programmer and takes no memory.
    let (virtual_address, data) = (0x84_0000, vec![0x0f, 0x95, 0x1e]);
    elf.segment(Segment {
        virtual_address,
        physical_address: virtual_address,
        data,
        ..Segment::default()
    });
    let case = Case::new(&elf);
    let (board, texts) = case.board(&[]);
    assert_eq!(board, "arduino-uno");
    assert!(texts.iter().any(|t| t.contains("0x7000") && t.contains("BOOTRST")), "{texts:?}");
    assert!(!texts.iter().any(|text| text.contains("no memory")), "{texts:?}");
    let shown = case.run(&[]);
    assert!(shown.stdout.contains("main"), "{}", shown.stdout);
}

/// What is advised works: no CMSIS-SVD file describes an AVR, and `--memory` alone gives no core.
#[test]
fn advice_for_an_avr_offers_only_working_options() {
    // in r24, 0x29; sbrs r24, 0; rjmp .-6
    let mut elf = ElfBuilder::new();
    (elf.machine, elf.flags) = (83, 4);
    elf.code(0, &[0xb589_u16, 0xff80, 0xcffd].map(u16::to_le_bytes).concat());
    let case = Case::new(&elf);
    let waiting = ["run", "firmware.elf", "--board", "atmega16u2", "--until", "50000c", "--terse"];
    let ran = ran(command().args(waiting).current_dir(case.0.path()));
    let shown = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("of your own, with base = \"atmega16u2\", defines"), "{shown}");
    assert!(!shown.contains("--svd"), "{shown}");
    let refused = case.run(&["--memory", "flash=0:16K,ram=0x800100:512"]);
    assert_eq!(refused.code, 64, "{}", refused.stdout);
    assert!(refused.stderr.contains("name one with --board"), "{}", refused.stderr);
}
