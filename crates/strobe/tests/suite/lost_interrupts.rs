//! Interrupts that were lost: a request that comes while the same one waits is counted, against
//! programs whose counts are known by construction.

use strobe_model::measurement::{Measurement, Number, Table};
use strobe_synth::{ElfBuilder, Symbol};

use crate::common::figures::warnings;
use crate::common::measured;

/// Where code begins behind the vectors.
const CODE: u32 = 0xc0;

/// A Cortex-M program with one handler, at the offset `handler` of the code.
fn arm(base: u32, vector: usize, code: &[u16], handler: u32, pool: &[u32]) -> Vec<u8> {
    let start = base + CODE;
    let mut words = vec![start | 1; CODE as usize / 4];
    words[0] = 0x2000_1000;
    words[vector] = (start + handler) | 1;
    let mut image: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    image.extend(code.iter().flat_map(|half| half.to_le_bytes()));
    image.resize(image.len().next_multiple_of(4), 0);
    image.extend(pool.iter().flat_map(|word| word.to_le_bytes()));
    let mut elf = ElfBuilder::new();
    elf.entry = start | 1;
    elf.code(base, &image).function("main", start, handler);
    elf.function("on_tick", start + handler, code.len() as u32 * 2 - handler);
    elf.build()
}

fn run(elf: &[u8], board: &str, until: &str) -> Measurement {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("firmware.elf");
    std::fs::write(&path, elf).unwrap();
    let path = path.display().to_string();
    let (code, measurement) = measured(&["run", &path, "--board", board, "--until", until]);
    assert_eq!(code, 0, "{:?}", measurement.findings);
    measurement
}

fn number(table: &Table, column: &str) -> i64 {
    let cells = &table.column(column).unwrap_or_else(|| panic!("no column {column}")).cells;
    assert_eq!(cells.len(), 1, "one interrupt");
    match cells[0].number() {
        Some(Number::Integer(number)) => number,
        other => panic!("{column}: {other:?}"),
    }
}

/// Entries and lost requests of the only interrupt, and the finding about it.
fn counts(measurement: &Measurement) -> (i64, i64, Option<String>) {
    let table = measurement.table("interrupts").expect("interrupts");
    let texts = measurement.findings.iter().map(|finding| finding.text.clone());
    let finding = texts.into_iter().find(|text| text.contains("were lost"));
    (number(table, "count"), number(table, "lost"), finding)
}

/// Ticks every 1,000 cycles; interrupts are masked for `turns` of four cycles.
fn ticking(turns: u32) -> Vec<u8> {
    let code = [
        0x4806, 0x4907, // ldr r0, =SYST; ldr r1, =999
        0x6041, 0x2100, 0x6081, // str r1, [r0, #4]; movs r1, #0; str r1, [r0, #8]
        0x2107, 0x6001, // movs r1, #7; str r1, [r0]
        0xb672, 0x4a04, // cpsid i; ldr r2, =turns
        0x3a01, 0xd1fd, // subs r2, #1; bne
        0xb662, 0xe7fe, // cpsie i; b .
        0x4770, // bx lr
    ];
    arm(0, 15, &code, 26, &[0xe000_e010, 999, turns])
}

#[test]
fn ticks_while_interrupts_are_masked_are_lost() {
    // Ticks come at 1,000, 2,000 ... 20,000. Ten come while they are masked: one is served late.
    let masked = run(&ticking(2_600), "cortex-m0", "20500c");
    let (entries, lost, finding) = counts(&masked);
    assert_eq!((entries, lost), (11, 9));
    let finding = finding.expect("a finding");
    assert!(finding.starts_with("9 requests of SysTick were lost: each came"), "{finding}");
    assert!(finding.contains("(11 entries)") && finding.contains("main"), "{finding}");
    // The masked section, from CPSID on.
    assert!(finding.contains("masked from 0x000000ce main"), "{finding}");
    // One that waits is late and not lost.
    let (entries, lost, finding) = counts(&run(&ticking(300), "cortex-m0", "20500c"));
    assert_eq!((entries, lost, finding), (20, 0, None));
}

/// Masked to the end of the run: no handler ever runs, and the requests are lost all the same.
#[test]
fn permanently_masked_requests_are_counted() {
    let ran = run(&ticking(1_000_000), "cortex-m0", "20500c");
    let finding = warnings(&ran).into_iter().find(|text| text.contains("were lost"));
    let finding = finding.expect("a finding");
    assert!(finding.contains("19 requests of SysTick"), "{finding}");
    assert!(finding.contains("never ran"), "{finding}");
}

/// TIM6 of an STM32F070 at 8 MHz: an update every 1,000 cycles, its flag cleared by the handler;
/// interrupts are masked for `turns` of four cycles.
fn updating(turns: u32) -> Vec<u8> {
    updating_with(0x6013, turns)
}

/// The same with another instruction where the interrupt is enabled in the NVIC.
fn updating_with(enable: u16, turns: u32) -> Vec<u8> {
    let code = [
        0x480c, 0x2110, 0x61c1, // ldr r0, =RCC; movs r1, #16; str r1, [r0, #0x1c]
        0x480c, 0x490c, 0x62c1, // ldr r0, =TIM6; ldr r1, =999; str r1, [r0, #0x2c]
        0x2101, 0x60c1, // movs r1, #1; str r1, [r0, #0xc]
        0x4a0b, 0x4b0c, enable, // ldr r2, =ISER; ldr r3, =1 << 17; str r3, [r2]
        0xb672, 0x6001, // cpsid i; str r1, [r0]
        0x4a0b, // ldr r2, =turns
        0x3a01, 0xd1fd, // subs r2, #1; bne
        0xb662, 0xe7fe, // cpsie i; b .
        0x4804, 0x2100, 0x6101, // ldr r0, =TIM6; movs r1, #0; str r1, [r0, #0x10]
        0x4770, // bx lr
        0, 0, 0, 0,
    ];
    let pool = [0x4002_1000, 0x4000_1000, 999, 0xe000_e100, 1 << 17, turns];
    arm(0x0800_0000, 16 + 17, &code, 36, &pool)
}

#[test]
fn timer_updates_while_its_flag_is_set_are_lost() {
    let (entries, lost, finding) = counts(&run(&updating(2_600), "stm32f070cb", "20500c"));
    assert_eq!((entries, lost), (11, 9));
    assert!(finding.as_deref().is_some_and(|text| text.contains("TIM6")), "{finding:?}");
    // Nobody looks at the timer again: what it lost is counted to the end all the same.
    let masked = run(&updating(1_000_000), "stm32f070cb", "20500c");
    let finding = warnings(&masked).into_iter().find(|text| text.contains("were lost"));
    let finding = finding.expect("a finding");
    assert!(finding.contains("19 requests of IRQ17 (TIM6)"), "{finding}");
}

/// A flag that asks for an interrupt which the NVIC never lets through is for whoever polls it.
#[test]
fn never_enabled_interrupts_are_not_lost() {
    let ran = run(&updating_with(0x46c0, 1_000_000), "stm32f070cb", "20500c");
    assert!(!warnings(&ran).iter().any(|text| text.contains("lost")), "{:?}", warnings(&ran));
}

/// A timer runs for ten updates before its flag is cleared and the interrupt enabled.
#[test]
fn flags_before_enabling_are_not_lost() {
    let code = [
        0x480b, 0x2110, 0x61c1, // ldr r0, =RCC; movs r1, #16; str r1, [r0, #0x1c]
        0x480b, 0x490b, 0x62c1, // ldr r0, =TIM6; ldr r1, =999; str r1, [r0, #0x2c]
        0x2101, 0x60c1, 0x6001, // movs r1, #1; str r1, [r0, #0xc]; str r1, [r0]
        0x4a0a, 0x3a01, 0xd1fd, // ldr r2, =turns; subs r2, #1; bne
        0x6102, 0x4b09, // str r2, [r0, #0x10]; ldr r3, =1 << 17
        0x4a09, 0x6013, // ldr r2, =ICPR; str r3, [r2]
        0x4a09, 0x6013, 0xe7fe, // ldr r2, =ISER; str r3, [r2]; b .
        0x4803, 0x2100, 0x6101, // ldr r0, =TIM6; movs r1, #0; str r1, [r0, #0x10]
        0x4770, // bx lr
    ];
    let pool = [0x4002_1000, 0x4000_1000, 999, 2_600, 1 << 17, 0xe000_e280, 0xe000_e100];
    let elf = arm(0x0800_0000, 16 + 17, &code, 38, &pool);
    assert_eq!(counts(&run(&elf, "stm32f070cb", "20500c")), (10, 0, None));
}

/// The timer with its interrupt disabled in the NVIC, and nothing masked.
#[test]
fn code_disabling_an_interrupt_is_the_culprit() {
    let code = [
        0x480b, 0x2110, 0x61c1, // ldr r0, =RCC; movs r1, #16; str r1, [r0, #0x1c]
        0x480b, 0x490b, 0x62c1, // ldr r0, =TIM6; ldr r1, =999; str r1, [r0, #0x2c]
        0x2101, 0x60c1, // movs r1, #1; str r1, [r0, #0xc]
        0x4a0a, 0x4b0b, 0x6013, // ldr r2, =ISER; ldr r3, =1 << 17; str r3, [r2]
        0x6001, 0x3280, 0x6013, // str r1, [r0]; adds r2, #128; str r3, [r2]: ICER
        0x4c09, 0x3c01, 0xd1fd, // ldr r4, =turns; subs r4, #1; bne
        0x3a80, 0x6013, 0xe7fe, // subs r2, #128; str r3, [r2]; b .
        0x4802, 0x2100, 0x6101, // ldr r0, =TIM6; movs r1, #0; str r1, [r0, #0x10]
        0x4770, // bx lr
    ];
    let pool = [0x4002_1000, 0x4000_1000, 999, 0xe000_e100, 1 << 17, 2_600];
    let elf = arm(0x0800_0000, 16 + 17, &code, 40, &pool);
    let (entries, lost, finding) = counts(&run(&elf, "stm32f070cb", "20500c"));
    assert_eq!((entries, lost), (11, 9));
    let finding = finding.expect("a finding");
    assert!(finding.contains("it was masked from 0x080000da main"), "{finding}");
    assert!(!finding.contains("behind"), "{finding}");
}

/// Timer 0 of an ATmega328P compares every 2,000 cycles, and `sei` comes after ten of them.
#[test]
fn compares_of_an_avr_under_cli_are_lost() {
    let vectors = (0..26u16).flat_map(|n| [0x940c, if n == 14 { 0x34 + 19 } else { 0x34 }]);
    let code = [
        0xe002, 0xbd04, // ldi r16, CTC; out TCCR0A, r16
        0xef09, 0xbd07, // ldi r16, 249; out OCR0A, r16
        0xe002, 0x9300, 0x006e, // ldi r16, OCIE0A; sts TIMSK0, r16
        0xe002, 0xbd05, // ldi r16, clk/8; out TCCR0B, r16
        0xef8f, 0xe194, // ldi r24, 0xff; ldi r25, 0x14: 5375
        0x9701, 0xf7f1, // sbiw r24, 1; brne
        0x9478, // sei
        0xcfff, 0, 0, 0, 0,      // rjmp .
        0x9518, // reti
    ];
    let image: Vec<u8> = vectors.chain(code).flat_map(u16::to_le_bytes).collect();
    let mut elf = ElfBuilder::new();
    elf.machine = 83;
    elf.code(0, &image);
    for (name, value, size) in [("main", 0x68, 30), ("on_compare", 0x68 + 38, 2)] {
        let (name, kind, section) = (name.into(), 2, 0xfff1);
        elf.symbol(Symbol { name, value, size, kind, global: true, section });
    }
    let (entries, lost, finding) = counts(&run(&elf.build(), "arduino-uno", "41000c"));
    assert_eq!((entries, lost), (11, 9));
    assert!(finding.as_deref().is_some_and(|text| text.contains("main")), "{finding:?}");
}
