//! Boards that are not there, and firmware for another one.

use std::fs;

use insta::assert_snapshot;
use strobe_synth::{Cond, Imm8Op, Insn, LoadStore, Reg, Segment, Value};

use super::{
    Messages, STM32_FLASH, assert_reported, changed, firmware, in_directory, message, reported,
    spin,
};
use crate::common::prebuilt;

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
fn firmware_for_another_board_lists_its_missing_registers() {
    let report = reported(&for_another_board(), &["--board", "stm32f070cb", "--until", "1000c"], 0);
    assert_reported(&report, &["0x40011000", "main"]);
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
    let report = reported(&for_another_board(), &["--board", "stm32f070cb", "--until", "1000c"], 0);
    assert_reported(
        &report,
        &[
            "of the 3 registers used where board stm32f070cb has no device, 3 belong to devices of \
             board stm32f407 \
             (as many to those of stm32f4-discovery, olimex-e407, netduinoplus2, nucleo-f401re, \
             nucleo-f411re, blackpill-f411)",
            "use --board stm32f407",
        ],
    );
    let report = reported(&for_another_board(), &["--board", "stm32f407", "--until", "1000c"], 0);
    assert!(!report.contains("use --board"), "{report}");
}

#[test]
fn loop_waiting_for_an_unmodelled_register_is_reported() {
    // The F4's RCC, where an F070 has nothing.
    let report = reported(&waiting_for(0x4002_3800), &["--until", "200000c"], 0);
    let words = [
        "the firmware waits for a register that is not modelled: 0x08000042 main",
        "has done nothing but read 0x40023800 for the last 199,",
        "and it is always 0x00000000",
        "use --board stm32f407",
        "another way than on the real board, at 0x08000042 main",
    ];
    assert_reported(&report, &words);
    assert_eq!(report.matches("without a model").count(), 1, "{report}");
    // Where no board has anything.
    let report = reported(&waiting_for(0x5fff_0000), &["--until", "200000c"], 0);
    assert_reported(&report, &["no built-in board has more of the devices", "(--svd)", "`ready`"]);
    // A loop that has only begun may still end.
    let report = reported(&waiting_for(0x4002_3800), &["--until", "2000c"], 0);
    assert!(!report.contains("the firmware waits"), "{report}");
}

/// The board's RAM ends in the middle of them.
#[test]
fn variables_without_memory_are_reported() {
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
        "the firmware has data at 0x2003f000..0x2004f000, where board cortex-m0 has no memory for \
         all",
        "the firmware fits boards cortex-m3",
    ];
    assert_reported(&report, &words);
}

#[test]
fn strict_ends_at_the_first_unmodelled_register() {
    let report = reported(
        &for_another_board(),
        &["--board", "stm32f070cb", "--strict", "--until", "1000c"],
        123,
    );
    assert_reported(&report, &["an unmodelled register was accessed", "0x40023830"]);
}

#[test]
fn boards_are_looked_for_by_name_and_by_file() {
    let mut messages = Messages::default();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("wrong.toml"), "name = 3\n").unwrap();
    fs::write(directory.path().join("broken.toml"), "name = \"x\n").unwrap();
    let elf = prebuilt("loop-0ws");
    let of =
        |board, code| message(&in_directory(&directory, &["run", &elf, "--board", board]), code);
    messages.add("no such board", &of("stm32f070", 64));
    messages.add("no such file", &of("missing.toml", 66));
    messages.add("a name that is a number", &of("wrong.toml", 65));
    messages.add("no TOML", &of("broken.toml", 65));
    messages.add("flash elsewhere", &of("cortex-m0", 65));
    assert_snapshot!(messages.0);
}
