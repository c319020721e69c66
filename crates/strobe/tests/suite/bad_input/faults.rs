//! Firmware that makes a mistake while it runs.

use strobe_synth::{Assembler, ElfBuilder, Insn, LoadStore, Reg, Special, Symbol, Value};

use super::{
    CODE_OFFSET, FLASH, STACK_TOP, assert_reported, firmware, image, reported, spin, with_file,
};

#[test]
fn a_stack_that_leaves_memory_is_a_lockup() {
    let elf = firmware(FLASH, |asm| {
        asm.load(Reg::new(0), Value::Word(0x3000_0000));
        asm.emit(Insn::MovHigh { rd: Reg::SP, rm: Reg::new(0) });
        asm.emit(Insn::Push { list: 1, lr: false });
        spin(asm);
    });
    // The HardFault cannot save its registers there either (ARMv6-M B1.5.15).
    assert_reported(&reported(&elf, &[], 121), &["lockup at 0x00000044", "0x2ffffffc"]);
}

#[test]
fn code_that_leaves_memory_is_a_fault() {
    let elf = firmware(FLASH, |asm| {
        asm.load(Reg::new(0), Value::Word(0x1000_0001));
        asm.emit(Insn::Bx { rm: Reg::new(0) });
    });
    let report = reported(&elf, &[], 120);
    assert_reported(&report, &["HardFault at 0x10000000"]);
    // Behind the last instruction is blank flash, which is no code either.
    let elf = firmware(FLASH, |asm| asm.emit(Insn::Udf { imm8: 0 }));
    assert_reported(&reported(&elf, &[], 120), &["HardFault at 0x00000040", "undefined"]);
}

const M4: [&str; 2] = ["--board", "cortex-m4f"];

/// ARMv7-M knows more about its faults, and shows it in registers.
#[test]
fn cortex_m4_fault_is_reported_in_words() {
    let elf = firmware(FLASH, |asm| {
        asm.load(Reg::new(0), Value::Word(0x3000_0000));
        asm.emit(Insn::MemImm { op: LoadStore::Ldr, rt: Reg::new(1), rn: Reg::new(0), units: 0 });
        spin(asm);
    });
    let report = reported(&elf, &M4, 120);
    assert_reported(
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

/// The core has gone on when the bus reports the error, but the simulator knows who stored.
#[test]
fn lost_store_on_cortex_m4_names_the_instruction() {
    let elf = firmware(FLASH, |asm| {
        asm.load(Reg::new(0), Value::Word(0x3000_0000));
        asm.emit(Insn::MemImm { op: LoadStore::Str, rt: Reg::new(1), rn: Reg::new(0), units: 0 });
        spin(asm);
    });
    let report = reported(&elf, &M4, 120);
    assert_reported(
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
    assert_reported(&report, &words);
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
        "at 0x00000046 dive, the calls to it are dive (257 times) < main",
    ];
    // It goes on over everything, until RAM ends.
    assert_reported(&reported(&elf, &[], 121), &words);
    let json = with_file(&elf, &["run", "firmware.elf", "--format", "json"]);
    assert_reported(&json.stdout, &words[..2]);
    // Before it gets there, nothing is said.
    let report = reported(&elf, &["--until", "1000c"], 0);
    assert!(!report.contains("has overflowed"), "{report}");
}
