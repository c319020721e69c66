//! Whatever it is given, `strobe` says in one message what is wrong, ends with the documented exit code, and
//! never panics. Where firmware ran at all, there is a report.

mod common;

use std::fs;
use std::path::Path;

use common::{Ran, command, prebuilt, ran, strobe};
use insta::assert_snapshot;
use strobe_synth::{
    Assembler, Cond, ElfBuilder, Imm8Op, Insn, LoadStore, Reg, Section, Segment, Special, Symbol,
    Value,
};
use tempfile::TempDir;

const FLASH: u32 = 0;
const STM32_FLASH: u32 = 0x0800_0000;
const STACK_TOP: u32 = 0x2000_1000;
/// Where code starts behind the vectors of the sixteen system exceptions.
const CODE_OFFSET: u32 = 0x40;

/// Calls `strobe` in a directory that holds the file `firmware.elf`, so that messages name no other path.
fn with_file(bytes: &[u8], arguments: &[&str]) -> Ran {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("firmware.elf"), bytes).unwrap();
    in_directory(&directory, arguments)
}

fn in_directory(directory: &TempDir, arguments: &[&str]) -> Ran {
    ran(command().args(arguments).current_dir(directory.path()))
}

/// Runs a file that cannot be used and returns the one message about it.
fn refused(bytes: &[u8]) -> String {
    let ran = with_file(bytes, &["run", "firmware.elf"]);
    message(&ran, 65)
}

/// The one message of a call that must fail, without a result.
fn message(ran: &Ran, code: i32) -> String {
    assert_eq!(ran.code, code, "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout, "");
    assert_one_message(&ran.stderr);
    ran.stderr.clone()
}

fn assert_one_message(stderr: &str) {
    let messages = stderr.lines().filter(|line| !line.starts_with("  ")).count();
    assert!(messages == 1 && stderr.starts_with("strobe: "), "not one message:\n{stderr}");
}

/// Messages, each with what it is about, for a snapshot.
#[derive(Default)]
struct Told(String);

impl Told {
    fn add(&mut self, what: &str, message: &str) {
        self.0 += &format!("{what}:\n{message}\n");
    }
}

/// Vectors that point every exception at the code's start, then the code.
fn image(stack: u32, entry: u32, code: &[u8]) -> Vec<u8> {
    let mut words = vec![stack];
    words.resize(CODE_OFFSET as usize / 4, entry);
    words.iter().flat_map(|word| word.to_le_bytes()).chain(code.iter().copied()).collect()
}

/// A firmware whose only function, `main`, is this code.
fn firmware(base: u32, code: impl FnOnce(&mut Assembler)) -> Vec<u8> {
    let start = base + CODE_OFFSET;
    let mut assembler = Assembler::new(start);
    code(&mut assembler);
    let (code, _) = assembler.finish();
    let mut elf = ElfBuilder::new();
    elf.entry = start | 1;
    elf.code(base, &image(STACK_TOP, start | 1, &code));
    elf.function("main", start, code.len() as u32);
    elf.build()
}

/// `b .`
fn spin(asm: &mut Assembler) {
    let here = asm.label_here();
    asm.b(here);
}

/// A sound firmware that spins, with something changed.
fn changed(change: impl FnOnce(&mut ElfBuilder)) -> Vec<u8> {
    let mut elf = ElfBuilder::new();
    elf.entry = CODE_OFFSET | 1;
    elf.code(FLASH, &image(STACK_TOP, CODE_OFFSET | 1, &[0xfe, 0xe7]));
    change(&mut elf);
    elf.build()
}

/// Runs a firmware that gets as far as running and expects a report that balances.
fn reported(elf: &[u8], arguments: &[&str], code: i32) -> String {
    let all = [&["run", "firmware.elf"], arguments].concat();
    let ran = with_file(elf, &all);
    assert_eq!(ran.code, code, "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stderr, "");
    assert!(ran.stdout.contains("\n  balance"), "{}", ran.stdout);
    ran.stdout
}

/// Checks that a report has all of these words, wherever lines break.
fn assert_says(report: &str, words: &[&str]) {
    let flat = report.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in words {
        assert!(flat.contains(word), "no {word:?} in\n{report}");
    }
}

#[test]
fn files_that_are_no_elf_are_refused() {
    let mut told = Told::default();
    told.add(
        "a script",
        &refused(b"#!/bin/sh\necho no firmware at all, but long enough for a header\n"),
    );
    told.add("an empty file", &refused(b""));
    told.add("a file of four bytes", &refused(b"\x7fELF"));
    assert_snapshot!(told.0);
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let mut told = Told::default();
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("build")).unwrap();
    let of = |name| message(&in_directory(&directory, &["run", name]), 66);
    told.add("a directory", &of("build"));
    told.add("a missing file", &of("missing.elf"));
    assert_snapshot!(told.0);
}

#[test]
fn elf_files_for_other_machines_are_refused() {
    let mut told = Told::default();
    told.add("64 bits", &refused(&changed(|elf| elf.class = 2)));
    told.add("x86", &refused(&changed(|elf| elf.machine = 3)));
    told.add("x86-64 in 32 bits", &refused(&changed(|elf| elf.machine = 62)));
    told.add("big-endian", &refused(&changed(|elf| elf.encoding = 2)));
    told.add("an object file", &refused(&changed(|elf| elf.file_type = 1)));
    told.add(
        "a program of the host",
        &refused(&fs::read(std::env::current_exe().unwrap()).unwrap()[..4096]),
    );
    assert_snapshot!(told.0);
}

/// Cut anywhere, a file is refused with one message, or still runs as it does whole.
#[test]
fn truncated_files_are_refused_or_run() {
    let whole = fs::read(prebuilt("loop-0ws")).unwrap();
    let headers = 0..256.min(whole.len());
    let lengths = headers.step_by(13).chain((256..whole.len()).step_by(whole.len() / 40));
    for length in lengths.chain([whole.len() - 1]) {
        let ran = with_file(&whole[..length], &["run", "firmware.elf"]);
        match ran.code {
            65 => {
                assert_eq!(ran.stdout, "", "{length} bytes");
                assert_one_message(&ran.stderr);
            }
            0 => assert_eq!(ran.stderr, "", "{length} bytes"),
            code => panic!("{length} bytes: exit code {code}\n{}", ran.stderr),
        }
    }
}

#[test]
fn broken_segments_and_sections_are_refused_or_run() {
    let mut told = Told::default();
    let segment = |change: fn(&mut Segment)| {
        changed(|elf| {
            let mut segment = Segment {
                virtual_address: 0x2000_0000,
                physical_address: 0x1000,
                data: vec![0xa5; 64],
                flags: 6,
                ..Segment::default()
            };
            change(&mut segment);
            elf.segment(segment);
        })
    };
    let section = |change: fn(&mut Section)| {
        changed(|elf| {
            let mut section = Section {
                name: ".debug_info".into(),
                kind: 1,
                data: vec![0xff; 64],
                ..Section::default()
            };
            change(&mut section);
            elf.section(section);
        })
    };
    told.add("more bytes than the file has", &refused(&segment(|s| s.file_size = Some(u32::MAX))));
    told.add(
        "bytes behind the end of the file",
        &refused(&segment(|s| s.file_offset = Some(u32::MAX - 8))),
    );
    told.add("two segments at one place", &refused(&segment(|s| s.physical_address = 0x10)));
    told.add(
        "a segment where there is no memory",
        &refused(&segment(|s| s.physical_address = 0x6000_0000)),
    );
    told.add(
        "a segment over the end of the address space",
        &refused(&segment(|s| s.physical_address = 0xffff_fff0)),
    );
    told.add(
        "more program headers than the file has",
        &refused(&changed(|elf| elf.segment_count = Some(0xfffe))),
    );
    told.add(
        "program headers behind the end of the file",
        &refused(&changed(|elf| elf.segment_table_offset = Some(u32::MAX - 3))),
    );
    told.add(
        "memory over the end of the address space",
        &refused(&segment(|s| s.memory_size = Some(u32::MAX))),
    );
    told.add("a section larger than the file", &refused(&section(|s| s.size = Some(u32::MAX))));
    told.add(
        "a section behind the end of the file",
        &refused(&section(|s| s.file_offset = Some(u32::MAX))),
    );
    told.add(
        "more section headers than the file has",
        &refused(&changed(|elf| elf.section_count = Some(0xfeff))),
    );
    told.add(
        "section headers behind the end of the file",
        &refused(&changed(|elf| elf.section_table_offset = Some(u32::MAX - 3))),
    );
    told.add(
        "section names without sections",
        &refused(&changed(|elf| elf.section_count = Some(0))),
    );
    assert_snapshot!(told.0);
    // What is wrong inside a section that only describes the code does not keep it from running.
    reported(&section(|_| ()), &[], 0);
}

#[test]
fn firmware_without_a_vector_table_is_refused() {
    let mut told = Told::default();
    let mut blank = ElfBuilder::new();
    blank.code(FLASH, &[0xff; 1024]);
    told.add("blank flash", &refused(&blank.build()));
    told.add("no segment", &refused(&ElfBuilder::new().build()));
    assert_snapshot!(told.0);
}

#[test]
fn a_vector_table_that_no_core_could_start_from_is_refused() {
    let refused_image =
        |image: Vec<u8>| refused(ElfBuilder::new().code(FLASH, &image).build().as_slice());
    let spin = [0xfe, 0xe7];
    let mut told = Told::default();
    let entry = CODE_OFFSET | 1;
    told.add("stack outside memory", &refused_image(image(0x5000_0000, entry, &spin)));
    told.add("entry without the Thumb bit", &refused_image(image(STACK_TOP, CODE_OFFSET, &spin)));
    told.add("entry outside memory", &refused_image(image(STACK_TOP, 0x6000_0001, &spin)));
    assert_snapshot!(told.0);
}

#[test]
fn a_stack_that_leaves_memory_is_a_lockup() {
    let elf = firmware(FLASH, |asm| {
        asm.load(Reg::new(0), Value::Word(0x3000_0000));
        asm.emit(Insn::MovHigh { rd: Reg::SP, rm: Reg::new(0) });
        asm.emit(Insn::Push { list: 1, lr: false });
        spin(asm);
    });
    // The HardFault cannot save its registers there either (ARMv6-M B1.5.15).
    assert_says(&reported(&elf, &[], 121), &["lockup at 0x00000044", "0x2ffffffc"]);
}

#[test]
fn code_that_leaves_memory_is_a_fault() {
    let elf = firmware(FLASH, |asm| {
        asm.load(Reg::new(0), Value::Word(0x1000_0001));
        asm.emit(Insn::Bx { rm: Reg::new(0) });
    });
    let report = reported(&elf, &[], 120);
    assert_says(&report, &["HardFault at 0x10000000"]);
    // Behind the last instruction is blank flash, which is no code either.
    let elf = firmware(FLASH, |asm| asm.emit(Insn::Udf { imm8: 0 }));
    assert_says(&reported(&elf, &[], 120), &["HardFault at 0x00000040", "undefined"]);
}

const M4: [&str; 2] = ["--board", "cortex-m4f"];

/// ARMv7-M knows more about its faults, and says so in registers.
#[test]
fn a_fault_on_a_cortex_m4_is_told_in_words() {
    let elf = firmware(FLASH, |asm| {
        asm.load(Reg::new(0), Value::Word(0x3000_0000));
        asm.emit(Insn::MemImm { op: LoadStore::Ldr, rt: Reg::new(1), rn: Reg::new(0), units: 0 });
        spin(asm);
    });
    let report = reported(&elf, &M4, 120);
    assert_says(
        &report,
        &[
            "HardFault at 0x00000042",
            "precise bus fault: load of 4 bytes from 0x30000000, where nothing answers",
            "CFSR 0x00008200 PRECISERR",
            "HFSR 0x40000000 FORCED",
            "BFAR 0x30000000",
            "main",
        ],
    );
}

/// The core has gone on when the bus says no, but the simulator knows who stored.
#[test]
fn a_lost_store_on_a_cortex_m4_names_the_instruction() {
    let elf = firmware(FLASH, |asm| {
        asm.load(Reg::new(0), Value::Word(0x3000_0000));
        asm.emit(Insn::MemImm { op: LoadStore::Str, rt: Reg::new(1), rn: Reg::new(0), units: 0 });
        spin(asm);
    });
    let report = reported(&elf, &M4, 120);
    assert_says(
        &report,
        &[
            "imprecise bus fault: store of 4 bytes to 0x30000000",
            "the store is that of 0x00000042 main",
            "IMPRECISERR",
        ],
    );
}

/// What the firmware has a handler for is its own business: the run goes on, and the report counts.
#[test]
fn a_fault_that_the_firmware_handles_is_a_warning() {
    let elf = firmware(FLASH, |asm| {
        let [r0, r1, r2] = [0, 1, 2].map(Reg::new);
        // All vectors lead here: the second time it is UsageFault's handler.
        asm.emit(Insn::Mrs { rd: r2, from: Special::Ipsr });
        let first = asm.label();
        asm.cbz(false, r2, first);
        spin(asm);
        asm.bind(first);
        asm.load(r0, Value::Word(0xe000_ed24));
        asm.load(r1, Value::Word(7 << 16));
        asm.emit(Insn::MemImm { op: LoadStore::Str, rt: r1, rn: r0, units: 0 });
        asm.emit(Insn::Udf { imm8: 0 });
        asm.pool();
    });
    let report = reported(&elf, &M4, 0);
    let words = ["undefined instruction, which the firmware's UsageFault handler was started for"];
    assert_says(&report, &words);
}

/// `b .` with no interrupt to come is where programs end that have no other way to.
#[test]
fn a_branch_to_itself_ends_the_run() {
    let report = reported(&firmware(FLASH, spin), &[], 0);
    assert_says(&report, &["ended", "nothing is left that could wake it"]);
}

#[test]
fn an_endless_loop_ends_at_the_limit_with_a_report() {
    let busy = firmware(STM32_FLASH, |asm| {
        let turn = asm.label_here();
        asm.emit(Insn::Imm8 { op: Imm8Op::Add, rdn: Reg::new(0), imm8: 1 });
        asm.b(turn);
    });
    let report = reported(&busy, &["--until", "1ms"], 0);
    assert_says(&report, &["1.000 ms simulated", "the limit that was asked for"]);
    let report = reported(&busy, &["--until", "100000c"], 0);
    assert_says(&report, &["balance: 100,000 taken", "the limit that was asked for"]);
}

/// It sleeps nearly all the time, so ten thousand million cycles pass at once.
#[test]
fn firmware_that_never_ends_stops_at_the_built_in_limit() {
    let ran = strobe(&["run", &prebuilt("blink")]);
    assert_eq!((ran.code, ran.stderr.as_str()), (124, ""));
    assert_says(&ran.stdout, &["the built-in limit", "taken = "]);
}

#[test]
fn the_exit_code_of_firmware_is_cut_at_63() {
    let directory = tempfile::tempdir().unwrap();
    for (text, words) in [("", 0), ("one two\nthree\n", 3), (&"w ".repeat(100), 63)] {
        fs::write(directory.path().join("input"), text).unwrap();
        let input = fs::File::open(directory.path().join("input")).unwrap();
        let ran = ran(command().args(["run", &prebuilt("wordcount")]).stdin(input));
        assert_eq!(ran.code, words, "{}", ran.stderr);
    }
}

/// Writes three registers of STM32F4: its RCC, a USART and a DMA controller.
fn for_another_board() -> Vec<u8> {
    firmware(STM32_FLASH, |asm| {
        for address in [0x4002_3830, 0x4001_1000, 0x4002_6000] {
            asm.load(Reg::new(1), Value::Word(address));
            asm.load(Reg::new(0), Value::Word(0x2000));
            asm.emit(Insn::MemImm {
                op: LoadStore::Str,
                rt: Reg::new(0),
                rn: Reg::new(1),
                units: 0,
            });
        }
        spin(asm);
    })
}

#[test]
fn firmware_for_another_board_lists_the_registers_that_are_missing() {
    let report = reported(&for_another_board(), &["--until", "1000c"], 0);
    assert_says(&report, &["0x40011000", "main"]);
}

/// Reads a register until it changes.
fn waiting_for(address: u32) -> Vec<u8> {
    firmware(STM32_FLASH, |asm| {
        asm.load(Reg::new(1), Value::Word(address));
        let turn = asm.label_here();
        let (rt, rn) = (Reg::new(0), Reg::new(1));
        asm.emit(Insn::MemImm { op: LoadStore::Ldr, rt, rn, units: 0 });
        asm.emit(Insn::Imm8 { op: Imm8Op::Cmp, rdn: rt, imm8: 0 });
        asm.b_cond(Cond::Eq, turn);
        spin(asm);
    })
}

#[test]
fn a_board_that_has_the_missing_devices_is_named() {
    let report = reported(&for_another_board(), &["--until", "1000c"], 0);
    assert_says(
        &report,
        &[
            "of the 3 registers used where board stm32f070cb has no device, 3 belong to devices of board stm32f407 \
             (as many to those of stm32f4-discovery, olimex-e407, netduinoplus2)",
            "say --board stm32f407",
        ],
    );
    let report = reported(&for_another_board(), &["--board", "stm32f407", "--until", "1000c"], 0);
    assert!(!report.contains("say --board"), "{report}");
}

#[test]
fn a_loop_that_waits_for_an_unmodelled_register_is_told() {
    // The F4's RCC, where an F070 has nothing.
    let report = reported(&waiting_for(0x4002_3800), &["--until", "200000c"], 0);
    let words = [
        "the firmware waits for a register that is not modelled: 0x08000042 main",
        "has done nothing but read 0x40023800 for the last 199",
        "and it is always 0x00000000",
        "say --board stm32f407",
    ];
    assert_says(&report, &words);
    // Where no board has anything.
    let report = reported(&waiting_for(0x5fff_0000), &["--until", "200000c"], 0);
    assert_says(&report, &["no built-in board has more of the devices", "(--svd)", "`ready`"]);
    // A loop that has only begun may still end.
    let report = reported(&waiting_for(0x4002_3800), &["--until", "2000c"], 0);
    assert!(!report.contains("the firmware waits"), "{report}");
}

/// The board's RAM ends in the middle of them.
#[test]
fn variables_without_memory_are_told() {
    let elf = changed(|elf| {
        elf.segment(Segment {
            virtual_address: 0x2003_f000,
            physical_address: 0x2003_f000,
            memory_size: Some(0x1_0000),
            flags: 6,
            ..Segment::default()
        });
    });
    let report = reported(&elf, &["--board", "cortex-m0"], 0);
    let words = [
        "the firmware has data at 0x2003f000..0x2004f000, where board cortex-m0 has no memory for all",
        "the firmware fits boards cortex-m3",
    ];
    assert_says(&report, &words);
}

/// Calls itself without end, with a table and a flag below the stack.
fn recursion() -> Vec<u8> {
    let start = FLASH + CODE_OFFSET;
    let mut asm = Assembler::new(start);
    let again = asm.label();
    asm.bl(again);
    spin(&mut asm);
    let dive = asm.here();
    asm.bind(again);
    asm.emit(Insn::Push { list: 0b1_0000, lr: true });
    asm.bl(again);
    spin(&mut asm);
    let (code, _) = asm.finish();
    let end = start + code.len() as u32;
    let mut elf = ElfBuilder::new();
    elf.entry = start | 1;
    elf.code(FLASH, &image(STACK_TOP, start | 1, &code));
    elf.function("main", start, dive - start).function("dive", dive, end - dive);
    for (name, at, size) in [("flag", 0x2000_0000, 4), ("table", 0x2000_0004, 0x7fc)] {
        elf.symbol(Symbol {
            name: name.into(),
            value: at,
            size,
            kind: 1,
            global: true,
            section: 0xfff1,
        });
    }
    elf.build()
}

#[test]
fn a_recursion_into_variables_is_located() {
    let elf = recursion();
    let words = [
        "the stack of thread main has overflowed: at cycle",
        "its pointer was 0x200007f8, below 0x20000800, where the variable table ends",
        "it reached down to 0x2000",
        "at 0x00000048 dive, the calls to it are dive (257 times) < main",
    ];
    // It goes on over everything, until RAM ends.
    assert_says(&reported(&elf, &[], 121), &words);
    let json = with_file(&elf, &["run", "firmware.elf", "--format", "json"]);
    assert_says(&json.stdout, &words[..2]);
    // Before it gets there, nothing is said.
    let report = reported(&elf, &["--until", "1000c"], 0);
    assert!(!report.contains("has overflowed"), "{report}");
}

#[test]
fn strict_ends_at_the_first_register_that_is_not_modelled() {
    let report = reported(&for_another_board(), &["--strict", "--until", "1000c"], 123);
    assert_says(&report, &["an unmodelled register was accessed", "0x40023830"]);
}

/// Switches USART1's receiver on, at 115,200 baud from 8 MHz, and never reads.
fn deaf() -> Vec<u8> {
    firmware(STM32_FLASH, |asm| {
        // RCC_APB2ENR, BRR and CR1 (UE, RE).
        for (address, value) in [(0x4002_1018, 1 << 14), (0x4001_380c, 69), (0x4001_3800, 5)] {
            asm.load(Reg::new(1), Value::Word(address));
            asm.load(Reg::new(0), Value::Word(value));
            let (rt, rn) = (Reg::new(0), Reg::new(1));
            asm.emit(Insn::MemImm { op: LoadStore::Str, rt, rn, units: 0 });
        }
        spin(asm);
    })
}

/// Twelve bytes of ten bits: all but the first are overrun, or still to come when the run ends.
#[test]
fn serial_input_is_never_lost_in_silence() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("firmware.elf"), deaf()).unwrap();
    fs::write(directory.path().join("script"), "twelve bytes").unwrap();
    let told = |more: &[&str]| {
        let input = ["run", "firmware.elf", "--uart-input", "USART1=file:script"];
        let ran = in_directory(&directory, &[&input, more].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
        ran.stdout
    };
    let report = told(&["--until", "20000c"]);
    assert_says(&report, &["(overrun): they are lost (11 times)"]);
    assert!(!report.contains("still to arrive"), "{report}");
    // 690 cycles each: five have arrived, and the sixth is on its way.
    let report = told(&["--uart-input-after", "1ms", "--until", "12000c"]);
    assert_says(
        &report,
        &[
            "(overrun): they are lost (4 times)",
            "bytes for USART1 were still to arrive when the run ended, of 12 in all",
        ],
    );
    // Without a limit the board waits for what is still to be sent.
    assert_says(&told(&["--uart-input-after", "50ms"]), &["they are lost (11 times)"]);
}

#[test]
fn boards_are_looked_for_by_name_and_by_file() {
    let mut told = Told::default();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("wrong.toml"), "name = 3\n").unwrap();
    fs::write(directory.path().join("broken.toml"), "name = \"x\n").unwrap();
    let elf = prebuilt("loop-0ws");
    let of =
        |board, code| message(&in_directory(&directory, &["run", &elf, "--board", board]), code);
    told.add("no such board", &of("stm32f070", 64));
    told.add("no such file", &of("missing.toml", 66));
    told.add("a name that is a number", &of("wrong.toml", 65));
    told.add("no TOML", &of("broken.toml", 65));
    told.add("flash elsewhere", &of("cortex-m0", 65));
    assert_snapshot!(told.0);
}

#[test]
fn names_that_do_not_exist_are_wrong_arguments() {
    let mut told = Told::default();
    let of = |arguments: &[&str]| {
        message(&strobe(&[&["run", &prebuilt("fault")], arguments].concat()), 64)
    };
    told.add("--until parse_haeder", &of(&["--until", "parse_haeder"]));
    told.add("--mark PB8", &of(&["--mark", "PB8"]));
    told.add("--from nowhere", &of(&["--from", "nowhere"]));
    told.add("--to main", &of(&["--to", "main"]));
    told.add("--annotate mian", &of(&["--annotate", "mian"]));
    told.add("--uart USART9=null", &of(&["--uart", "USART9=null"]));
    told.add("--ethernet ETH=loopback", &of(&["--ethernet", "ETH=loopback"]));
    told.add("--until 100", &of(&["--until", "100"]));
    told.add("--until 20mss", &of(&["--until", "20mss"]));
    told.add("--until twice", &of(&["--until", "10ms", "--until", "20ms"]));
    let ran = strobe(&["cycles", &prebuilt("fault"), "mian"]);
    told.add("cycles mian", &message(&ran, 64));
    let ran = strobe(&["cycles", &prebuilt("fault"), "main", "--wait-states", "7"]);
    told.add("cycles main --wait-states 7", &message(&ran, 64));
    assert_snapshot!(told.0);
}

#[test]
fn arguments_that_do_not_parse_are_wrong_arguments() {
    for arguments in [
        &["run"][..],
        &["sprint"],
        &["run", "--uart", "USART1", "x.elf"],
        &["run", "--ethernet", "ETH=tap:", "x.elf"],
    ] {
        let ran = strobe(arguments);
        assert_eq!(ran.code, 64, "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
}

#[test]
fn what_was_probably_meant_is_suggested() {
    let of = |arguments: &[&str]| {
        let ran = strobe(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (64, ""), "{}", ran.stderr);
        ran.stderr
    };
    let elf = prebuilt("fault");
    assert_eq!(
        of(&[&elf]),
        format!("strobe: `{elf}` is no command; to profile it: strobe run {elf}\n")
    );
    for (arguments, meant) in [
        (&["cylces", &elf, "main"][..], "'cycles'"),
        (&["run", "--untill", "main", &elf], "'--until'"),
        (&["run", "--by", "lines", &elf], "'line'"),
        (&["cycles", &elf, "mian"], "did you mean main?"),
    ] {
        let message = of(arguments);
        assert!(message.contains(meant), "no {meant} in\n{message}");
    }
}

/// What runs can end with is said where people look for it.
#[test]
fn the_commands_that_run_firmware_explain_their_exit_codes() {
    for command in ["run", "cycles"] {
        let help = strobe(&[command, "--help"]);
        assert_eq!(help.code, 0);
        assert_says(&help.stdout, &["120 HardFault", "only --run-on lets run", "130 stopped by"]);
    }
}

#[test]
fn a_window_that_never_opens_is_said() {
    let ran = strobe(&["run", &prebuilt("loop-0ws"), "--from", "0x08000f00"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_says(&ran.stdout, &["--from 0x08000f00 was never reached, so nothing was measured"]);
}

#[test]
fn a_name_never_reached_is_told_by_the_exit_code() {
    let report = strobe(&["run", &prebuilt("loop-0ws"), "--until", "set_mode", "--quiet"]);
    assert_eq!(report.code, 64, "an inlined function has no place of its own: {}", report.stderr);
    let report = strobe(&["run", &prebuilt("loop-0ws"), "--until", "exit"]);
    assert_eq!(report.code, 122, "{}", report.stderr);
    assert!(report.stdout.contains("balance: "));
}

/// What `strobe run ... | head -1` does once head has its line.
#[test]
fn a_closed_pipe_is_no_error() {
    for format in ["text", "json"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command()
            .args(["run", &prebuilt("loop-0ws"), "--format", format])
            .stdout(writer)
            .stderr(std::process::Stdio::piped())
            .spawn()
            .and_then(|child| child.wait_with_output())
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
    }
}

/// A log reader that went away must not cost the report or the exit code.
#[test]
fn a_closed_standard_error_is_no_error() {
    for (arguments, code) in [(["run", "shift"], 0), (["run", "missing"], 66)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let file = match arguments[1] {
            "missing" => "missing.elf".to_owned(),
            name => prebuilt(name),
        };
        let output = command().args([arguments[0], &file]).stderr(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert_eq!(output.stdout.is_empty(), code != 0, "{arguments:?}");
    }
}

#[test]
fn results_that_cannot_be_written_are_an_error() {
    let mut told = Told::default();
    let directory = tempfile::tempdir().unwrap();
    let elf = prebuilt("loop-0ws");
    let of = |path| message(&in_directory(&directory, &["run", &elf, "-o", path]), 74);
    told.add("in a missing directory", &of("missing/report.txt"));
    told.add("a directory", &of("."));
    assert_snapshot!(told.0);
    let full = Path::new("/dev/full");
    if full.exists() {
        let out = fs::File::create(full).unwrap();
        let output = command().args(["run", &elf]).stdout(out).output().unwrap();
        assert_eq!(output.status.code(), Some(74));
        assert_one_message(&String::from_utf8_lossy(&output.stderr));
        let out = fs::File::create(full).unwrap();
        let help = command().arg("--help").stdout(out).output().unwrap();
        assert_eq!(help.status.code(), Some(74), "help is a result, too");
    }
}
