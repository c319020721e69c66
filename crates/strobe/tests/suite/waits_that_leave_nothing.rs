//! Busy waiting that computes something on the way, or stores the same in every turn, and leaves
//! nothing behind; and work, of which something is used there.

use crate::waits::{BOARD, arm, avr, load, run, ticking, waits};

const UNO: [&str; 4] = ["--board", "arduino-uno", "--until", "20000c"];

/// What the one wait of a program that `ticking` builds waits for, and its cycles.
fn one(code: &[u16]) -> Option<(String, u64)> {
    let mut found = waits(&run(&ticking(code), &BOARD));
    assert!(found.len() < 2, "{code:04x?} {found:?}");
    found.pop()
}

/// As a button is debounced: eight readings in a row are in a byte.
#[test]
fn bits_that_are_shifted_into_a_register_until_all_are_set_are_a_wait() {
    // movs r3, #0; movs r4, #1; back: ldr r1, [r2]; lsls r3, #1; uxtb r3, r3; ands r1, r4;
    // orrs r3, r1; cmp r3, #255; bne back
    let history = [0x2300, 0x2401, 0x6811, 0x005b, 0xb2db, 0x4021, 0x430b, 0x2bff, 0xd1f8];
    let (what, cycles) = one(&history).expect("a wait");
    assert_eq!(what, "variable ticks");
    assert!((900..1_500).contains(&cycles), "{cycles}");
    // movs r5, r3: the byte is what was wanted.
    assert_eq!(one(&[&history[..], &[0x001d]].concat()), None);
}

/// ldi r24, 0; back: in r25, TCNT0; bst r25, 2; eor r25, r25; bld r25, 0; add r24, r24;
/// or r24, r25; cpi r24, 255; brne back
#[test]
fn an_avr_shifts_bits_into_a_register() {
    let history =
        [0xe001, 0xbd05, 0xe080, 0xb596, 0xfb92, 0x2799, 0xf990, 0x0f88, 0x2b89, 0x3f8f, 0xf7c1];
    let with = |behind: &[u16]| waits(&run(&avr(&[&history[..], behind].concat()), &UNO)).len();
    // mov r18, r24; rjmp .
    assert_eq!((with(&[0xcfff]), with(&[0x2f28, 0xcfff])), (1, 0));
}

/// How often seven fits into SysTick's period, which is read in every turn: only a wait if nobody
/// wants to know.
#[test]
fn a_quotient_is_work() {
    // movs r4, #0; movs r3, #0; back: adds r3, #7; adds r4, #1; ldr r1, [r0, #4]; cmp r3, r1;
    // bcc back; nop or movs r5, r4
    let with = |behind| one(&[0x2400, 0x2300, 0x3307, 0x3401, 0x6841, 0x428b, 0xd3fa, behind]);
    assert!(with(0xbf00).is_some());
    assert_eq!(with(0x0025), None);
    // The last of two hundred readings: movs r4, #200; back: ldr r3, [r0, #8]; subs r4, #1;
    // bne back; nop or movs r5, r3
    let with = |behind| one(&[0x24c8, 0x6883, 0x3c01, 0xd1fc, behind]);
    assert!(with(0xbf00).is_some());
    assert_eq!(with(0x001d), None);
}

/// The greatest of two hundred readings. Both ways through a turn count, each by itself, so that
/// what is read does not decide when the loop ends.
#[test]
fn a_count_at_the_end_of_each_branch_is_decided_by_none() {
    // movs r4, #200; movs r5, #0; back: ldr r3, [r0, #8]; cmp r5, r3; bcs less; movs r5, r3;
    // subs r4, #1; bne back; b on; less: subs r4, #1; bne back; on: movs r6, r5
    let peak = [
        0x24c8, 0x2500, 0x6883, 0x429d, 0xd203, 0x001d, 0x3c01, 0xd1f9, 0xe001, 0x3c01, 0xd1f6,
        0x002e,
    ];
    assert_eq!(one(&peak), None);
}

/// other: subs r0, #10; cmp r0, #10; bhs other; bx lr. Whoever calls it may use the remainder.
#[test]
fn what_a_function_returns_is_used_where_it_was_called() {
    // ldr r0, =500; bl other; movs r1, r0 or nop; b .
    let with = |behind| {
        let code = [load(0, 0), 0xf000, 0xf802, behind, 0xe7fe, 0x380a, 0x280a, 0xd2fc, 0x4770];
        waits(&run(&arm(&code, 10, &[500]), &BOARD)).len()
    };
    assert_eq!((with(0x0001), with(0xbf00)), (0, 1));
}

/// As a watchdog gets its key; two values, or so many times one, are a signal.
#[test]
fn a_wait_may_store_the_same_in_every_turn() {
    // movs r4, #170; back: str r4, [r2, #124]; ldr r3, [r2]; cmp r3, #50; bne back
    let (what, cycles) = one(&[0x24aa, 0x67d4, 0x6813, 0x2b32, 0xd1fb]).expect("a wait");
    assert_eq!(what, "variable ticks");
    assert!((45_000..50_500).contains(&cycles), "{cycles}");
    // With movs r5, #85 and str r5, [r2, #124].
    assert_eq!(one(&[0x24aa, 0x2555, 0x67d4, 0x67d5, 0x6813, 0x2b32, 0xd1fa]), None);
    // movs r5, #200; back: str r4, [r2, #124]; subs r5, #1; bne back
    assert_eq!(one(&[0x24aa, 0x25c8, 0x67d4, 0x3d01, 0xd1fc]), None);
    // ldi r24, 255; back: out DDRB, r24; in r25, PINB; and r25, r25; breq back
    let port = [0xef8f, 0xb984, 0xb193, 0x2399, 0xf3e1, 0xcfff];
    assert_eq!(waits(&run(&avr(&port), &UNO)).len(), 1);
}

#[test]
fn a_function_that_a_wait_calls_may_store_the_same_in_every_call() {
    let with = |value| {
        let code = [
            load(2, 0),
            load(3, 1),
            0xf000,
            0xf804,
            0x6810,
            0x2809,
            0xd1fa,
            0xe7fe, // back: bl other; ldr r0, [r2]; cmp r0, #9; bne back; b .
            value,
            0x6019,
            0x4770, // other: movs r1, #170 or adds r1, #1; str r1, [r3]; bx lr
        ];
        waits(&run(&arm(&code, 16, &[0x2000_0010, 0x2000_0100]), &BOARD)).len()
    };
    assert_eq!((with(0x21aa), with(0x3101)), (1, 0));
}

/// Fifty readings that are as the one before, which compilers keep on the stack without optimising.
#[test]
fn the_last_reading_may_be_on_the_stack() {
    // sub sp, #8; add r7, sp, #0; movs r3, #0; str r3, [r7]; str r3, [r7, #4]; back: ldr r3, [r2];
    // ldr r1, [r7]; cmp r3, r1; beq same; str r3, [r7]; movs r1, #0; b on; same: ldr r1, [r7, #4];
    // adds r1, #1; on: str r1, [r7, #4]; ldr r1, [r7, #4]; cmp r1, #50; bne back
    let code = [
        0xb082, 0xaf00, 0x2300, 0x603b, 0x607b, 0x6813, 0x6839, 0x428b, 0xd002, 0x603b, 0x2100,
        0xe001, 0x6879, 0x3101, 0x6079, 0x6879, 0x2932, 0xd1f2,
    ];
    assert_eq!(one(&code).expect("a wait").0, "variable ticks");
}

/// What a loop has read last may be used behind it; how often it has read that may not.
#[test]
fn a_wait_may_hand_on_what_it_has_read() {
    // movs r5, #255; movs r6, #0; back: ldr r3, [r2]; movs r1, #1; ands r3, r1; cmp r5, r3;
    // beq same; movs r6, #0; same: movs r5, r3; adds r6, #1; cmp r6, #16; bne back
    let code = [
        0x25ff, 0x2600, 0x6813, 0x2101, 0x400b, 0x429d, 0xd000, 0x2600, 0x001d, 0x3601, 0x2e10,
        0xd1f5,
    ];
    // movs r7, r5; movs r7, r6
    let with = |behind| one(&[&code[..], &[behind]].concat());
    assert_eq!(with(0x002f).expect("a wait").0, "variable ticks");
    assert_eq!(with(0x0037), None);
}

/// What SysTick has gone on, with its period where it began anew: an IT block reads that.
#[test]
fn an_it_block_may_read() {
    // movs r1, #0; movs r4, #200; lsls r4, #4; ldr r6, [r0, #8]; back: movs r3, r6;
    // ldr r6, [r0, #8]; cmp r3, r6; iteee cs; subcs r3, r3, r6; ldrcc r5, [r0, #4];
    // subcc r5, r5, r6; addcc r3, r3, r5; adds r1, r1, r3; cmp r1, r4; bcc back
    let code = [
        0x2100, 0x24c8, 0x0124, 0x6886, 0x0033, 0x6886, 0x42b3, 0xbf2f, 0x1b9b, 0x6845, 0x1bad,
        0x195b, 0x18c9, 0x42a1, 0xd3f4,
    ];
    let (_, cycles) = one(&code).expect("a wait");
    assert!((2_000..5_000).contains(&cycles), "{cycles}");
}

/// How often a bit was set and how often not: one of the counts goes on in a loop within the other.
#[test]
fn a_count_that_goes_on_when_the_loop_is_entered_anew_is_work() {
    let code = [
        0xe001, 0xbd05, 0xe020, 0xe040, // ldi r16, 1; out TCCR0B, r16; ldi r18, 0; ldi r20, 0
        0xb193, 0x1191, 0xc007, // next: in r25, PINB; cpse r25, r1; rjmp end
        0xb406, 0xfe00, 0xc005, // again: in r0, TCNT0; sbrs r0, 0; rjmp other
        0x9543, 0xb193, 0x2399, 0xf3c9, // inc r20; in r25, PINB; and r25, r25; breq again
        0xcfff, 0x9523, 0xcff3, // end: rjmp .; other: inc r18; rjmp next
    ];
    assert_eq!(waits(&run(&avr(&code), &UNO)), []);
}
