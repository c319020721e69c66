//! Loops that look like waits and do work.

use strobe_model::measurement::Trust;

use super::{BOARD, CODE, arm, at, load, run, ticking, waits, with_functions};
use crate::common::figures;

/// How often a flag was set is a result; how often it was looked at is a timeout.
#[test]
fn a_counter_that_counts_in_some_turns_is_work() {
    // back: ldr r3, [r0, #8]; lsls r3, #31; bpl over; adds r4, #1; over: adds r5, #1; cmp r5, #200;
    // bne back
    let code = [0x6883, 0x07db, 0xd500, 0x3401, 0x3501, 0x2dc8, 0xd1f8];
    assert_eq!(waits(&run(&ticking(&code), &BOARD)), []);
}

/// A function that only reads, called with the loop's counter, searches; with a constant, it looks.
#[test]
fn a_call_with_the_counter_is_work() {
    let with = |argument: u16| {
        let code = [
            0x2400, // movs r4, #0
            0x2500, // movs r5, #0
            argument,
            0xf000,
            0xf804, // back: movs r0, r4 or r5; bl other
            0x3401, // adds r4, #1
            0x2800,
            0xd0f9, // cmp r0, #0; beq back
            0xe7fe, // b .
            load(1, 0),
            0x5c08,
            0x4770, // other: ldr r1, =RAM; ldrb r0, [r1, r0]; bx lr
        ];
        waits(&run(&arm(&code, 18, &[0x2000_0100]), &BOARD))
    };
    assert_eq!(with(0x0020), []);
    assert_eq!(with(0x0028).len(), 1);
}

/// Two loops call one function, which has more to do for one of them: no call is worth the mean.
#[test]
fn shared_function_is_not_divided_by_call_count() {
    let code = [
        load(4, 0), // ldr r4, =300
        0x2001,
        0xf000,
        0xf80b, // back: movs r0, #1; bl look
        0x3c01,
        0xd1fa, // subs r4, #1; bne back
        0xf000,
        0xf801,
        0xe7fe, // bl waiter; b .
        0x2000,
        0xf000,
        0xf803, // waiter: movs r0, #0; bl look
        0x2800,
        0xd0fa,
        0x4770, // cmp r0, #0; beq waiter; bx lr
        load(1, 1),
        0x2800,
        0xd007, // look: ldr r1, =RAM; cmp r0, #0; beq short
        0xbf00,
        0xbf00,
        0xbf00,
        0xbf00,
        0xbf00,
        0xbf00,
        0xbf00,
        0xbf00,
        0x6808,
        0x4770, // short: ldr r0, [r1]; bx lr
    ];
    let functions = [("main", 0, 18), ("waiter", 18, 12), ("look", 30, 26)];
    let elf = with_functions(&code, &functions, &[300, 0x2000_0100]);
    let first = run(&elf, &["--board", "cortex-m3", "--until", "waiter"]);
    let first = figures::total(&first, "cycles");
    let found = waits(&run(&elf, &BOARD));
    // The first reads so many times and looks at none of it.
    assert_eq!(found.len(), 1, "{found:?}");
    let waiter = found[0].1;
    assert!(waiter.abs_diff(100_000 - first) <= 20, "{waiter} of {}", 100_000 - first);
}

/// Work that reads a counter so many times is no wait for it: what flash costs it stays uncertain.
#[test]
fn work_that_reads_a_register_keeps_its_bounds() {
    let code = [
        load(0, 0),
        0x2102,
        0x6001, // movs r1, #2; str r1, [r0]: TIM3 is clocked
        load(0, 1),
        load(1, 2),
        0x62c1, // str r1, [r0, #44]: TIM3_ARR
        0x2101,
        0x6001, // movs r1, #1; str r1, [r0]: TIM3_CR1
        0x2500,
        load(4, 3), // movs r5, #0; ldr r4, =3000
        0x6a43,
        0x18ed, // back: ldr r3, [r0, #36]; adds r5, r3
        0x3c01,
        0xd1fb, // subs r4, #1; bne back
        0xf000,
        0xf800,
        0xe7fe, // bl finish; finish: b .
    ];
    let pool = [0x4002_101c, 0x4000_0400, 4_999, 3_000];
    let functions = [("main", 0, 32), ("finish", 32, 2)];
    let elf = at(0x0800_0000, &code, &functions, &pool);
    let ran = run(&elf, &["--board", "stm32f103", "--until", "finish"]);
    let width = match ran.total("cycles").unwrap().trust() {
        Trust::Modelled { low, high, .. } => high.as_u64() - low.as_u64(),
        other => panic!("{other:?}"),
    };
    assert!(width > 1_000, "{width}");
}

/// Where the next element is depends on this one, also through another register.
#[test]
fn a_walk_along_a_list_is_work() {
    let list = |at: u32| -> Vec<u32> { (1..40).map(|n| at + 4 * n).chain([0]).collect() };
    for walk in [
        // ldr r2, =LIST; ldr r2, [r2]; cmp r2, #0; bne
        vec![load(2, 0), 0x6812, 0x2a00, 0xd1fc, 0xe7fe, 0x4770],
        // ldr r2, =LIST; b into mov r3, r2; ldr r2, [r3]; cmp r2, #0; bne
        vec![load(2, 0), 0xe7ff, 0x4613, 0x681a, 0x2a00, 0xd1fb, 0xe7fe, 0x4770],
    ] {
        let other = 2 * (walk.len() as u32 - 1);
        let first = CODE + (walk.len() as u32 * 2).next_multiple_of(4) + 4;
        let pool: Vec<u32> = std::iter::once(first).chain(list(first)).collect();
        let ran = run(&arm(&walk, other, &pool), &BOARD);
        assert_eq!(waits(&ran), [], "{walk:04x?}");
    }
}
