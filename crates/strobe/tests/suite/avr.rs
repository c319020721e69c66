//! Programs for AVR parts, from the ELF file to the report.

use std::io::Write;

use strobe_model::measurement::Cell;

use crate::common::figures::*;
use crate::common::{measured, prebuilt, strobe};

/// 1022 cycles from edge to edge: 63.875 us at 16 MHz, where a logic analyser saw 63.88.
#[test]
fn the_founding_loop_on_an_arduino_uno() {
    let (code, ran) = run(&[&prebuilt("loop-avr"), "--mark", "PD1"]);
    assert_eq!(code, 0);
    assert_eq!(board(&ran), Some("arduino-uno"), "chosen by itself");
    assert_eq!(core(&ran), Some("AVRe+"));
    assert_eq!(widths(&ran, "PD1 high"), [1022; 20]);
    assert_exact(&ran);
    assert_eq!(ended(&ran), "sleeps-forever");
}

#[test]
fn a_profile_has_avr_libcs_functions_and_balances() {
    for (program, board) in [("work-avr", "arduino-uno"), ("work-avr-2560", "arduino-mega")] {
        let (code, ran) = run(&[&prebuilt(program), "--board", board]);
        assert_eq!(code, 0, "{program}");
        let functions = functions(&ran);
        for name in ["sorts", "qsort", "sqrt", "__udivmodsi4", "vfprintf"] {
            assert!(functions.iter().any(|f| f.0 == name), "{program}: no {name}");
        }
    }
}

#[test]
fn instructions_are_annotated() {
    let ran = strobe(&["run", &prebuilt("loop-avr"), "--annotate", "pulse"]);
    assert!(ran.stdout.contains("subi r24, 0x01"), "{}", ran.stdout);
}

/// What handlers cost, counted by hand from the instruction set manual: 4 cycles in, 3 for the
/// vector's JMP, GCC's 32 and 35 of saving and restoring around a call, and the 13 of the work; 4
/// more to wake up from idle.
#[test]
fn three_peripherals_interrupt_at_their_own_pace() {
    let mut input = tempfile::NamedTempFile::new().unwrap();
    let bytes: Vec<u8> = (0..64).collect();
    input.write_all(&bytes).unwrap();
    let program = prebuilt("peripherals-avr");
    let line = format!("USART0=file:{}", input.path().display());
    let ran = strobe(&[
        "run",
        &program,
        "--uart-input",
        &line,
        "--mark",
        "PB0",
        "--board",
        "arduino-uno",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let row = |name: &str| -> Vec<String> {
        let line = ran.stdout.lines().find(|line| line.contains(name));
        line.unwrap_or_else(|| panic!("no {name}")).split_whitespace().map(str::to_owned).collect()
    };
    let received = row("USART_RX (USART0)");
    // Count, cycles, share and its sign, per entry.
    assert_eq!((received[0].as_str(), received[4].as_str()), ("64", "91"));
    assert_eq!(row("TIMER1_COMPA (TIMER1)")[0], "32");
    let (code, ran) = run(&[&program, "--mark", "PB0", "--board", "arduino-uno"]);
    assert_eq!(code, 0);
    assert!(widths(&ran, "PB0 high").iter().all(|&cycles| cycles == 8192));
}

/// Intel HEX has no names, but the same instructions: what is measured is the same.
#[test]
fn intel_hex_runs_as_the_elf_file_does() {
    for (objcopy, program, board) in [
        ("avr-objcopy", "work-avr", "arduino-uno"),
        ("arm-none-eabi-objcopy", "calculator", "stm32f070cb"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let hex = directory.path().join(program).with_extension("hex").display().to_string();
        let elf = prebuilt(program);
        let status = std::process::Command::new(objcopy).args(["-O", "ihex", &elf, &hex]).status();
        assert!(status.expect("binutils run").success());
        let named = run(&[&elf, "--until", "20ms"]).1;
        let (code, bare) = run(&[&hex, "--until", "20ms"]);
        assert_eq!((code, self::board(&bare)), (0, Some(board)));
        // A HEX file has no functions, in which loops that wait and allocators are looked for, and
        // no variables, which show what is left of a stack.
        let named_only = ["waiting", "stack-margin", "heap-peak"];
        let totals = |ran: &strobe_model::measurement::Measurement| {
            let all = ran.totals.iter().filter(|total| !named_only.contains(&total.id.as_str()));
            all.cloned().collect::<Vec<_>>()
        };
        assert_eq!(totals(&bare), totals(&named), "{program}");
        let causes = ["cycles", "cause"].map(|name| column(&bare, "causes", name));
        assert_eq!(causes, ["cycles", "cause"].map(|name| column(&named, "causes", name)));
        let ran = strobe(&["run", &hex, "--board", board, "--until", "1ms", "--quiet"]);
        assert!(ran.stdout.contains("profile by address"), "{}", ran.stdout);
        let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("Intel HEX has none; give the ELF file"), "{flat}");
    }
}

#[test]
fn a_firmware_for_another_core_is_refused() {
    for (program, board, other) in [
        ("work-avr", "cortex-m3", "built for AVR"),
        ("calculator-m3", "arduino-uno", "built for Arm"),
    ] {
        let ran = strobe(&["run", &prebuilt(program), "--board", board]);
        assert_eq!(ran.code, 65);
        assert!(
            ran.stderr.contains(other) && ran.stderr.contains("it fits board"),
            "{}",
            ran.stderr
        );
    }
}

/// Least and most cycles.
type Range = (u64, u64);

/// Cycles from the instruction set manual (DS40002198) with a program counter of 16 and of 22 bits.
const MANUAL: [(&str, Range, Range); 24] = [
    ("adc", (1, 1), (1, 1)),
    ("adiw", (2, 2), (2, 2)),
    ("brne", (1, 2), (1, 2)),
    ("brcs", (1, 2), (1, 2)),
    ("call", (4, 4), (5, 5)),
    ("cpc", (1, 1), (1, 1)),
    ("eicall", (4, 4), (4, 4)),
    ("in", (1, 1), (1, 1)),
    ("jmp", (3, 3), (3, 3)),
    ("ld", (2, 2), (2, 2)),
    ("ldd", (2, 2), (2, 2)),
    ("lds", (2, 2), (2, 2)),
    ("lpm", (3, 3), (3, 3)),
    ("movw", (1, 1), (1, 1)),
    ("mul", (2, 2), (2, 2)),
    ("out", (1, 1), (1, 1)),
    ("pop", (2, 2), (2, 2)),
    ("push", (2, 2), (2, 2)),
    ("rcall", (3, 3), (4, 4)),
    ("ret", (4, 4), (5, 5)),
    ("reti", (4, 4), (5, 5)),
    ("rjmp", (2, 2), (2, 2)),
    ("std", (2, 2), (2, 2)),
    ("sts", (2, 2), (2, 2)),
];

/// Each instruction of avr-libc's printing, sorting and arithmetic, before a run and in it.
#[test]
fn cycles_of_each_instruction_are_the_manuals() {
    let (mut met, mut ran) = (std::collections::BTreeSet::new(), 0);
    for (program, board, wide) in
        [("work-avr", "arduino-uno", false), ("work-avr-2560", "arduino-mega", true)]
    {
        for function in ["main", "sorts", "qsort", "vfprintf", "sqrt", "__udivmodsi4"] {
            let elf = prebuilt(program);
            let (code, explained) =
                measured(&["cycles", &elf, function, "--board", board, "--run"]);
            assert_eq!(code, 0, "{function}");
            let cells = |name: &str| column(&explained, "instructions", name);
            for (i, text) in cells("instruction").iter().enumerate() {
                let of = |name: &str| number(&cells(name)[i]);
                let range = (of("cycles-min"), of("cycles-max"));
                let text = text.text().expect("an instruction");
                let mnemonic = text.split(' ').next().unwrap();
                if let Some((name, narrow, broad)) = MANUAL.iter().find(|row| row.0 == mnemonic) {
                    assert_eq!(range, if wide { *broad } else { *narrow }, "{board}: {text}");
                    met.insert(*name);
                }
                if cells("runs")[i] != Cell::Empty {
                    let (count, jumped) = (of("runs"), of("taken"));
                    let more = if range.0 == range.1 { 0 } else { jumped * (range.1 - range.0) };
                    assert_eq!(of("run-cycles"), count * range.0 + more, "{board}: {text}");
                    ran += u64::from(count > 0);
                }
            }
        }
    }
    assert!(met.len() >= 20 && ran > 100, "only {met:?}, {ran} ran");
}
