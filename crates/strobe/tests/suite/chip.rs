//! The right board or none: firmware goes to the board that its build and its peripherals show, is
//! refused where there is none, and is warned of where the user names another.

use strobe_synth::{Assembler, ElfBuilder, Insn, LoadStore, Reg, Section, Segment, Value};
use tempfile::TempDir;

use crate::common::{Ran, command, measured, ran};

const V6M: u8 = 12;
const V7M: u8 = 10;
const V7EM: u8 = 13;
const V8M: u8 = 17;

/// Clock, ports and a serial line of an STM32G0, as its code names them.
const G0: [u32; 5] = [0x4002_1034, 0x5000_0000, 0x5000_0400, 0x4001_3800, 0x4002_1800];
const F0: [u32; 5] = [0x4002_1014, 0x4800_0000, 0x4800_0400, 0x4001_3800, 0x4001_0000];
const F1: [u32; 5] = [0x4002_1018, 0x4001_0800, 0x4001_1000, 0x4001_3800, 0x4002_0000];
const F4: [u32; 5] = [0x4002_3830, 0x4002_0000, 0x4002_0c00, 0x4001_1000, 0x4002_6000];
const NRF52: [u32; 4] = [0x4000_0000, 0x5000_0504, 0x4000_2500, 0x4000_8504];

/// `.ARM.attributes`: the architecture, for microcontrollers.
fn attributes(architecture: u8) -> Section {
    attributes_of(&[6, architecture, 7, b'M'])
}

/// `.ARM.attributes` with these tags and values.
fn attributes_of(tags: &[u8]) -> Section {
    let file = [&[1, 5 + tags.len() as u8, 0, 0, 0][..], tags].concat();
    let length = 4 + 6 + file.len() as u32;
    let data = [b"A".to_vec(), length.to_le_bytes().to_vec(), b"aeabi\0".to_vec(), file];
    let (name, kind) = (".ARM.attributes".into(), 0x7000_0003);
    Section { name, kind, data: data.concat(), ..Section::default() }
}

/// A firmware that reads these registers and stops, with this much further flash.
fn firmware(base: u32, architecture: u8, registers: &[u32], more: usize) -> Vec<u8> {
    image(base, architecture, registers, more, 0x2000_1000).build()
}

/// The same with its first stack here.
fn image(base: u32, architecture: u8, registers: &[u32], more: usize, stack: u32) -> ElfBuilder {
    let mut elf = unnamed(base, &[], registers, more, stack);
    elf.section(attributes(architecture));
    elf
}

/// The same without an architecture, as in Intel HEX, and with these instructions first.
fn unnamed(base: u32, first: &[u8], registers: &[u32], more: usize, stack: u32) -> ElfBuilder {
    let start = base + 0x40;
    let mut asm = Assembler::new(start + first.len() as u32);
    for &address in registers {
        asm.load(Reg::new(1), Value::Word(address));
        let (rt, rn) = (Reg::new(0), Reg::new(1));
        asm.emit(Insn::MemImm { op: LoadStore::Ldr, rt, rn, units: 0 });
    }
    let here = asm.label_here();
    asm.b(here);
    let (code, _) = asm.finish();
    let code = [first, &code].concat();
    let mut words = [start | 1; 16];
    words[0] = stack;
    let words = words.iter().flat_map(|word| word.to_le_bytes());
    let mut image: Vec<u8> = words.chain(code.iter().copied()).collect();
    image.resize(image.len() + more, 0);
    let mut elf = ElfBuilder::new();
    elf.entry = start | 1;
    elf.code(base, &image).function("main", start, code.len() as u32);
    elf
}

struct Case(TempDir);

impl Case {
    fn new(elf: &[u8]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("firmware.elf"), elf).unwrap();
        Case(directory)
    }

    fn run(&self, options: &[&str]) -> Ran {
        let all = [&["run", "firmware.elf", "--until", "2000c"], options].concat();
        ran(command().args(all).current_dir(self.0.path()))
    }

    /// The board that it ran on, and its findings.
    fn board(&self, options: &[&str]) -> (String, Vec<String>) {
        let path = self.0.path().join("firmware.elf").display().to_string();
        let all = [&["run", path.as_str(), "--until", "2000c"], options].concat();
        let (code, measurement) = measured(&all);
        assert_eq!(code, 0, "{:?}", measurement.findings);
        let texts = measurement.findings.into_iter().map(|finding| finding.text).collect();
        (measurement.subject.board.expect("a board"), texts)
    }
}

fn case(base: u32, architecture: u8, registers: &[u32], more: usize) -> Case {
    Case::new(&firmware(base, architecture, registers, more))
}

const FLASH: u32 = 0x0800_0000;

#[test]
fn firmware_goes_to_the_board_that_its_evidence_shows() {
    let cases: [(u8, &[u32], usize, &str); 8] = [
        (V6M, &F0, 0, "stm32f070cb"),
        (V7M, &F1, 0, "stm32f103"),
        (V7M, &F1, 100 << 10, "stm32f103rb"),
        (V7M, &F1, 200 << 10, "stm32f103rc"),
        (V7M, &F1, 400 << 10, "stm32f103ze"),
        (V7EM, &F4, 0, "stm32f407"),
        (V6M, &[], 0, "stm32f070cb"),
        (V7M, &[], 0, "stm32f103"),
    ];
    for (architecture, registers, more, expected) in cases {
        let (board, texts) = case(FLASH, architecture, registers, more).board(&[]);
        assert_eq!(board, expected, "{texts:?}");
        assert!(!texts.iter().any(|text| text.contains("does not fit")), "{texts:?}");
    }
}

/// Makefiles of a line of chips may name its Cortex-M4 for all: the peripherals show which it is.
#[test]
fn m3_firmware_built_as_m4_gets_its_board() {
    let f100 = [0x4002_1000, 0x4001_0800, 0x4001_0c00, 0x4001_1000, 0x4001_3800, 0x4000_7000];
    let (board, texts) = case(FLASH, V7EM, &f100, 0).board(&[]);
    assert!(board.starts_with("stm32f103"), "{board}: {texts:?}");
    let why = "for ARMv7E-M, which its code does without";
    assert!(texts.iter().any(|text| text.contains(why)), "{texts:?}");
    // sel r4, r4, ip, which a Cortex-M3 does not have; bx lr.
    let code = [0xa4, 0xfa, 0x8c, 0xf4, 0x70, 0x47, 0x00, 0xbf];
    let mut image = image(FLASH, V7EM, &f100, 0, 0x2000_1000);
    image.code(FLASH + 0x1000, &code);
    let ran = Case::new(&image.build()).run(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (65, ""), "{}", ran.stderr);
    for words in ["STM32F1 (Cortex-M3)", "lacks the instruction at 0x08001000"] {
        assert!(ran.stderr.contains(words), "no {words:?} in {}", ran.stderr);
    }
}

#[test]
fn firmware_without_a_board_is_refused_with_advice() {
    let way_on = ["--memory flash=", "--svd", "strobe boards --new"];
    // Where it is linked, for which architecture, registers in its code, bytes more, words.
    type Case<'a> = (u32, u8, &'a [u32], usize, &'a [&'a str]);
    let cases: [Case; 6] = [
        (
            FLASH,
            V6M,
            &G0,
            0,
            &["STM32G0 (Cortex-M0+), STM32L0 (Cortex-M0+) or STM32C0", "ARMv6-M", "0x20001000"],
        ),
        (FLASH, V6M, &G0, 300 << 10, &["STM32G0"]),
        (FLASH, V7M, &F4, 0, &["STM32F2 (Cortex-M3) or STM32L1"]),
        (FLASH, V7EM, &F0, 0, &["STM32F3 (Cortex-M4F) or STM32L4"]),
        (0, V7EM, &NRF52, 0, &["nRF52"]),
        // Of the right family, but larger than any of its boards.
        (FLASH, V7M, &F1, 600 << 10, &["STM32F1", "--board stm32f103 --memory"]),
    ];
    for (base, architecture, registers, more, words) in cases {
        let ran = case(base, architecture, registers, more).run(&[]);
        assert_eq!((ran.code, ran.stdout.as_str()), (65, ""), "{words:?}: {}", ran.stderr);
        for word in words.iter().chain(&way_on) {
            assert!(ran.stderr.contains(word), "no {word:?} in {}", ran.stderr);
        }
    }
    // Devices at the same addresses are no peripherals in common: an F407's port is where a G0 has
    // its clocks, and its USB where an nRF has its pins.
    for (base, architecture, registers) in
        [(FLASH, V6M, &G0[..]), (0, V7EM, &NRF52), (FLASH, V7EM, &F0)]
    {
        let ran = case(base, architecture, registers, 0).run(&[]);
        assert!(!ran.stderr.contains("has its peripherals"), "{}", ran.stderr);
    }
    let ran = case(FLASH, V8M, &[], 0).run(&[]);
    assert_eq!(ran.code, 65, "{}", ran.stderr);
    assert!(ran.stderr.contains("ARMv8-M.mainline"), "{}", ran.stderr);
}

/// An F4 and an F7 have the same blocks of registers; the floating-point unit is another one.
#[test]
fn unsupported_floating_point_unit_fits_no_board() {
    for (registers, words) in [(&F4[..], "STM32F7 (Cortex-M7)"), (&F4[..0], "FPv5 of a Cortex-M7")]
    {
        let mut image = unnamed(FLASH, &[], registers, 0, 0x2000_1000);
        image.section(attributes_of(&[6, V7EM, 7, b'M', 10, 8]));
        let case = Case::new(&image.build());
        let ran = case.run(&[]);
        assert_eq!((ran.code, ran.stdout.as_str()), (65, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(words), "no {words:?} in {}", ran.stderr);
        assert!(!ran.stderr.contains("STM32F4 "), "{}", ran.stderr);
        let (board, texts) = case.board(&["--board", "stm32f407"]);
        assert_eq!(board, "stm32f407");
        let warned = texts.iter().find(|text| text.contains("does not fit this firmware: it is"));
        assert!(warned.is_some_and(|text| text.contains("Cortex-M7")), "{texts:?}");
    }
}

/// Where the file names no architecture, what its code begins with decides which cores can run it.
#[test]
fn code_beyond_a_core_is_not_run_on_it() {
    let thumb2 = |base: u32, registers: &[u32]| {
        // movw r0, #1
        let image = unnamed(base, &[0x40, 0xf2, 0x01, 0x00], registers, 0, 0x2000_1000);
        Case::new(&image.build())
    };
    assert_eq!(thumb2(FLASH, &[]).board(&[]).0, "stm32f407");
    assert_eq!(thumb2(FLASH, &F1).board(&[]).0, "stm32f103");
    assert_eq!(thumb2(0, &[]).board(&[]).0, "cortex-m4f");
    let ran = thumb2(FLASH, &F0).run(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (65, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("newer than ARMv6-M"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("STM32F0"), "{}", ran.stderr);
    let (board, texts) = thumb2(FLASH, &F4).board(&[]);
    assert_eq!(board, "stm32f407");
    let as_well = "STM32F2 (Cortex-M3), STM32F7 (Cortex-M7) or STM32L1 (Cortex-M3) as well";
    assert!(texts.iter().any(|text| text.contains(as_well)), "{texts:?}");
    let ran = thumb2(FLASH, &[]).run(&["--board", "stm32f070cb", "--terse"]);
    let shown = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("its code uses instructions that a Cortex-M0 lacks"), "{shown}");
    // What a Cortex-M0 runs goes where it went.
    let plain = Case::new(&unnamed(FLASH, &[], &F0, 0, 0x2000_1000).build());
    assert_eq!(plain.board(&[]).0, "stm32f070cb");
}

/// Nobody named the generic board that such a firmware came nearest to.
#[test]
fn stack_or_data_outside_memory_fits_no_board() {
    let elsewhere = Case::new(&image(0, V6M, &[], 0, 0x1000_8000).build());
    let mut data = image(0, V7EM, &[], 0, 0x2000_1000);
    data.segment(Segment {
        virtual_address: 0x1fff_8000,
        physical_address: 0x1fff_8000,
        memory_size: Some(64),
        flags: 6,
        ..Segment::default()
    });
    let ram = ["0x10008000", "ARMv6-M"];
    for (case, words) in [(elsewhere, ram), (Case::new(&data.build()), ["ARMv7E-M", "0x20001000"])]
    {
        let ran = case.run(&[]);
        assert_eq!((ran.code, ran.stdout.as_str()), (65, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains("no built-in board fits this firmware"), "{}", ran.stderr);
        assert!(words.iter().all(|word| ran.stderr.contains(word)), "{}", ran.stderr);
    }
}

/// Core-coupled memory is no less of RAM than the bank that the stack is in.
#[test]
fn data_in_any_ram_count_as_ram() {
    let mut data = image(FLASH, V7EM, &F4, 0, 0x2000_1000);
    data.segment(Segment {
        virtual_address: 0x1000_0000,
        physical_address: 0x1000_0000,
        memory_size: Some(64),
        flags: 6,
        ..Segment::default()
    });
    let ran = Case::new(&data.build()).run(&["--terse"]);
    assert!(ran.stdout.contains("bytes of flash, 64 bytes of RAM"), "{}", ran.stdout);
}

/// 48 KiB of RAM are what speaks for the larger part.
#[test]
fn the_first_stack_decides_among_parts_of_a_family() {
    let large = Case::new(&image(FLASH, V7M, &F1, 0, 0x2000_c000).build());
    assert_eq!(large.board(&[]).0, "stm32f103rc");
}

#[test]
fn named_board_is_used_with_a_warning() {
    let g0 = case(FLASH, V6M, &G0, 0);
    let (board, texts) = g0.board(&["--board", "stm32f070cb"]);
    assert_eq!(board, "stm32f070cb");
    let warned = texts.iter().find(|text| text.contains("does not fit this firmware"));
    let warned = warned.unwrap_or_else(|| panic!("{texts:?}"));
    assert!(warned.contains("0x50000000") && warned.contains("STM32G0"), "{warned}");
    // The way on that a refusal names is no misfit.
    let bare = ["--board", "cortex-m0plus", "--memory", "flash=0x08000000:64K"];
    let (board, texts) = g0.board(&bare);
    assert_eq!(board, "cortex-m0plus");
    assert!(!texts.iter().any(|text| text.contains("does not fit")), "{texts:?}");
}

/// An MPS2 has memories where an nRF52 has them, and other devices at the addresses of its.
#[test]
fn advice_names_no_board_whose_peripherals_are_others() {
    let nrf52 = Case::new(&image(0, V7EM, &NRF52, 0, 0x2004_0000).build());
    for board in ["stm32f407", "cortex-m0"] {
        let ran = nrf52.run(&["--board", board]);
        assert_eq!((ran.code, ran.stdout.as_str()), (65, ""), "{board}: {}", ran.stderr);
        assert!(!ran.stderr.contains("mps2"), "{}", ran.stderr);
        let words = ["nRF52 (Cortex-M4F)", "cortex-m4f", "--memory flash=", "--svd", "--new"];
        for word in words {
            assert!(ran.stderr.contains(word), "no {word:?} in {}", ran.stderr);
        }
    }
    let (_, texts) = nrf52.board(&["--board", "cortex-m4f"]);
    assert!(!texts.iter().any(|text| text.contains("mps2")), "{texts:?}");
    let stated = |text: &&String| text.contains("it is for nRF52 (Cortex-M4F)");
    let way_on = texts.iter().find(stated).unwrap_or_else(|| panic!("{texts:?}"));
    assert!(way_on.contains("--svd") && way_on.contains("strobe boards --new"), "{way_on}");
    // Without registers of a family every board with its memories may be meant.
    let bare = Case::new(&image(0, V7EM, &[], 0, 0x2004_0000).build());
    let ran = bare.run(&["--board", "cortex-m0"]);
    assert!(ran.stderr.contains("it fits boards") && ran.stderr.contains("mps2"), "{}", ran.stderr);
}

/// A core without a floating-point unit is none for code that was built with one.
#[test]
fn advised_cores_have_the_floating_point_unit() {
    let image = |tags: &[u8]| {
        let mut image = unnamed(0, &[], &NRF52, 0, 0x2000_1000);
        image.section(attributes_of(tags));
        Case::new(&image.build()).run(&["--board", "cortex-m0"]).stderr
    };
    let hard = image(&[6, V7EM, 7, b'M', 10, 6]);
    assert!(hard.contains("its core alone is that of board cortex-m4f: use"), "{hard}");
    let soft = image(&[6, V7EM, 7, b'M']);
    assert!(soft.contains("its core alone is that of boards cortex-m4, cortex-m4f"), "{soft}");
}

/// Release files of an nRF52 program its UICR as well, and have code that names few registers.
#[test]
fn configuration_words_show_the_family_and_are_no_memory() {
    // movw r0, #1
    let mut image = unnamed(0, &[0x40, 0xf2, 0x01, 0x00], &[], 0, 0x2000_1000);
    let words = [0x000f_4000_u32, 0xffff_ffff].map(u32::to_le_bytes).concat();
    image.segment(Segment {
        virtual_address: 0x1000_1014,
        physical_address: 0x1000_1014,
        data: words,
        flags: 4,
        ..Segment::default()
    });
    let case = Case::new(&image.build());
    let ran = case.run(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (65, ""), "{}", ran.stderr);
    for words in ["it is for nRF52 (Cortex-M4F)", "--board cortex-m4f --memory flash="] {
        assert!(ran.stderr.contains(words), "no {words:?} in {}", ran.stderr);
    }
    // The way on, as it is shown.
    let alone = ["--board", "cortex-m4f", "--memory", "flash=0:1M,ram=0x20000000:64K"];
    let (board, texts) = case.board(&alone);
    assert_eq!(board, "cortex-m4f");
    let left_out = |text: &&String| text.contains("8 bytes from 0x10001014 on are configuration");
    assert!(texts.iter().any(|text| left_out(&text)), "{texts:?}");
}

/// Where memory maps are densest, half of the blocks of registers are on any board.
#[test]
fn half_of_the_blocks_do_not_make_a_board() {
    let on_it = [0x4000_c000, 0x4000_8000, 0x4003_0000, 0x4003_1000, 0x4003_8000];
    let others = [0x4001_e000, 0x4001_f000, 0x4000_a000, 0x4000_b000];
    let case = |registers: &[u32]| {
        // movw r0, #1
        let image = unnamed(0, &[0x40, 0xf2, 0x01, 0x00], registers, 0, 0x2000_1000);
        Case::new(&image.build())
    };
    assert_eq!(case(&on_it).board(&[]).0, "lm3s6965evb");
    let ran = case(&[&on_it[..], &others].concat()).run(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (65, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("its code uses peripherals at"), "{}", ran.stderr);
}

/// Where no board has memory, too, what is known is stated.
#[test]
fn program_outside_any_flash_is_refused_with_facts() {
    let case = Case::new(&unnamed(0x1004_0000, &[], &[], 0, 0x1000_8000).build());
    let ran = case.run(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (65, ""), "{}", ran.stderr);
    let way_on = "--board cortex-m0plus --memory flash=";
    for words in ["programmed to 0x10040000", "first stack at 0x10008000", way_on, "--new"] {
        assert!(ran.stderr.contains(words), "no {words:?} in {}", ran.stderr);
    }
    // The way on, as it is shown; without the core it is asked for.
    let memory = "flash=0x10040000:64K,ram=0x10000000:64K";
    let (board, _) = case.board(&["--board", "cortex-m0plus", "--memory", memory]);
    assert_eq!(board, "cortex-m0plus");
    let ran = case.run(&["--memory", memory]);
    assert_eq!(ran.code, 64, "{}", ran.stdout);
    assert!(ran.stderr.contains("no core fits") && ran.stderr.contains("--board cortex-m4f"));
}

/// Code that reaches its ports by a table has their addresses in data.
#[test]
fn ports_in_tables_show_the_family() {
    let registers = [0x4002_1000, 0x4002_1034, 0x4002_2000, 0x4001_3800];
    let with = |ports: [u32; 2]| {
        let mut image = image(FLASH, V6M, &registers, 0, 0x2000_1000);
        image.code(FLASH + 0x1000, &ports.map(u32::to_le_bytes).concat());
        Case::new(&image.build())
    };
    let ran = with([0x5000_0000, 0x5000_0400]).run(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (65, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("STM32G0 (Cortex-M0+)"), "{}", ran.stderr);
    assert_eq!(with([0x4800_0000, 0x4800_0400]).board(&[]).0, "stm32f070cb");
}

/// Neither where it has no memory nor where its registers are missing.
#[test]
fn no_board_is_advised_that_does_not_fit() {
    let g0 = case(FLASH, V6M, &[0x4002_1000, 0x4002_2000, 0x4001_3800, 0x5000_0000], 0);
    let ran = g0.run(&["--board", "cortex-m0"]);
    assert_eq!(ran.code, 65, "{}", ran.stdout);
    assert!(ran.stderr.contains("it is for STM32G0"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("stm32f070cb"), "{}", ran.stderr);
    let (_, texts) = g0.board(&["--memory", "flash=0x08000000:64K,ram=0x20000000:8K"]);
    assert!(!texts.iter().any(|text| text.contains("stm32f070cb")), "{texts:?}");
    let f0 = case(FLASH, V6M, &F0, 0).run(&["--board", "cortex-m0"]);
    assert!(f0.stderr.contains("it fits board stm32f070cb"), "{}", f0.stderr);
}

#[test]
fn a_board_whose_core_is_too_old_is_refused() {
    for architecture in [V7M, V7EM] {
        let ran = case(FLASH, architecture, &[], 0).run(&["--board", "stm32f070cb"]);
        assert_eq!(ran.code, 65, "{}", ran.stdout);
        assert!(ran.stderr.contains("has another core (Cortex-M0)"), "{}", ran.stderr);
    }
    // Code built for an M4 need not use what an M3 lacks, and an M0's runs on every core.
    for (architecture, board) in [(V7EM, "stm32f103"), (V6M, "stm32f407")] {
        let (ran_on, _) = case(FLASH, architecture, &[], 0).board(&["--board", board]);
        assert_eq!(ran_on, board);
    }
}

#[test]
fn a_board_takes_other_memories_and_keeps_its_devices() {
    let large = case(FLASH, V7M, &F1, 600 << 10);
    let memory = ["--board", "stm32f103", "--memory", "flash=0x08000000:768K,ram=0x20000000:96K"];
    let (board, texts) = large.board(&memory);
    assert_eq!(board, "stm32f103");
    assert!(!texts.iter().any(|text| text.contains("bootloader")), "{texts:?}");
    let ran = large.run(&["--board", "stm32f103", "--memory", "ram=0x40021000:4K"]);
    assert_eq!(ran.code, 64, "{}", ran.stderr);
    assert!(ran.stderr.contains("overlaps"), "{}", ran.stderr);
}

#[test]
fn a_clock_alone_does_not_discard_the_board() {
    let (board, texts) = case(FLASH, V7M, &F1, 0).board(&["--clock", "24MHz"]);
    assert_eq!(board, "stm32f103");
    assert!(texts.iter().any(|text| text.contains("--clock does not apply")), "{texts:?}");
    let path = case(0, V7M, &[], 0);
    let (board, texts) = path.board(&["--clock", "24MHz"]);
    assert_eq!(board, "cortex-m3");
    assert!(!texts.iter().any(|text| text.contains("does not apply")), "{texts:?}");
}

#[test]
fn a_board_file_from_an_svd_file_loads_back() {
    let svd = crate::common::root().join("crates/strobe/tests/svd/part.svd");
    let made = ran(command().args(["boards", "--new", &svd.display().to_string()]));
    assert_eq!(made.code, 0, "{}", made.stderr);
    let case = case(FLASH, V6M, &F0, 0);
    std::fs::write(case.0.path().join("part.toml"), made.stdout).unwrap();
    let path = case.0.path().join("part.toml").display().to_string();
    let (board, _) = case.board(&["--board", &path]);
    assert_eq!(board, "partf070");
}
