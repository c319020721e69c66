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

/// How often seven fits into SysTick's period, which is read in every turn.
#[test]
fn a_quotient_is_work() {
    // movs r4, #0; movs r3, #0; back: adds r3, #7; adds r4, #1; ldr r1, [r0, #4]; cmp r3, r1;
    // bcc back; movs r5, r4
    let quotient = [0x2400, 0x2300, 0x3307, 0x3401, 0x6841, 0x428b, 0xd3fa, 0x0025];
    assert_eq!(one(&quotient), None);
    // The last of two hundred readings: movs r4, #200; back: ldr r3, [r0, #8]; subs r4, #1;
    // bne back; movs r5, r3
    assert_eq!(one(&[0x24c8, 0x6883, 0x3c01, 0xd1fc, 0x001d]), None);
}

/// The greatest of two hundred readings. Both ways through a turn count, each by itself, so that
/// what is read does not decide when the loop ends.
#[test]
fn branch_counters_do_not_make_readings_decisive() {
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
fn returned_value_counts_as_used_by_the_caller() {
    // ldr r0, =500; bl other; movs r1, r0; b .
    let code = [load(0, 0), 0xf000, 0xf802, 0x0001, 0xe7fe, 0x380a, 0x280a, 0xd2fc, 0x4770];
    assert_eq!(waits(&run(&arm(&code, 10, &[500]), &BOARD)), []);
}

/// As a watchdog gets its key; two values, or so many times one, are a signal.
#[test]
fn a_wait_may_store_the_same_in_every_turn() {
    // movs r4, #170; back: str r4, [r2, #124]; ldr r3, [r2]; cmp r3, #50; bne back
    let (what, cycles) = one(&[0x24aa, 0x67d4, 0x6813, 0x2b32, 0xd1fb]).expect("a wait");
    assert_eq!(what, "variable ticks");
    assert!((45_000..50_500).contains(&cycles), "{cycles}");
    // movs r5, #200; back: str r4, [r2, #124]; subs r5, #1; bne back
    assert_eq!(one(&[0x24aa, 0x25c8, 0x67d4, 0x3d01, 0xd1fc]), None);
    // ldi r24, 255; back: out DDRB, r24; in r25, PINB; and r25, r25; breq back
    let port = [0xef8f, 0xb984, 0xb193, 0x2399, 0xf3e1, 0xcfff];
    assert_eq!(waits(&run(&avr(&port), &UNO)).len(), 1);
    // With out PORTB, r24 behind it.
    let two = [0xef8f, 0xb984, 0xb985, 0xb193, 0x2399, 0xf3d9, 0xcfff];
    assert_eq!(waits(&run(&avr(&two), &UNO)), []);
}

#[test]
fn function_called_by_waits_may_repeat_one_store() {
    let code = [
        load(2, 0),
        load(3, 1),
        0xf000,
        0xf804,
        0x6810,
        0x2809,
        0xd1fa,
        0xe7fe, // back: bl other; ldr r0, [r2]; cmp r0, #9; bne back; b .
        0x21aa,
        0x6019,
        0x4770, // other: movs r1, #170; str r1, [r3]; bx lr
    ];
    let ran = run(&arm(&code, 16, &[0x2000_0010, 0x2000_0100]), &BOARD);
    assert_eq!(waits(&ran).len(), 1);
}

/// What a loop has read last may be used behind it.
#[test]
fn a_wait_may_hand_on_what_it_has_read() {
    // movs r5, #255; movs r6, #0; back: ldr r3, [r2]; movs r1, #1; ands r3, r1; cmp r5, r3;
    // beq same; movs r6, #0; same: movs r5, r3; adds r6, #1; cmp r6, #16; bne back
    let code = [
        0x25ff, 0x2600, 0x6813, 0x2101, 0x400b, 0x429d, 0xd000, 0x2600, 0x001d, 0x3601, 0x2e10,
        0xd1f5,
    ];
    // movs r7, r5
    let code = [&code[..], &[0x002f]].concat();
    assert_eq!(one(&code).expect("a wait").0, "variable ticks");
}

/// How often a bit was set and how often not: one of the counts goes on in a loop within the other.
#[test]
fn count_continuing_after_loop_reentry_is_work() {
    let code = [
        0xe001, 0xbd05, 0xe020, 0xe040, // ldi r16, 1; out TCCR0B, r16; ldi r18, 0; ldi r20, 0
        0xb193, 0x1191, 0xc007, // next: in r25, PINB; cpse r25, r1; rjmp end
        0xb406, 0xfe00, 0xc005, // again: in r0, TCNT0; sbrs r0, 0; rjmp other
        0x9543, 0xb193, 0x2399, 0xf3c9, // inc r20; in r25, PINB; and r25, r25; breq again
        0xcfff, 0x9523, 0xcff3, // end: rjmp .; other: inc r18; rjmp next
    ];
    assert_eq!(waits(&run(&avr(&code), &UNO)), []);
}

/// What goes on from turn to turn in another way than by counting is taken for work, also where
/// somebody who reads it sees a wait.
#[test]
fn shift_registers_and_locks_count_as_work() {
    // As a button is debounced: movs r3, #0; movs r4, #1; back: ldr r1, [r2]; lsls r3, #1;
    // uxtb r3, r3; ands r1, r4; orrs r3, r1; cmp r3, #255; bne back
    let history = [0x2300, 0x2401, 0x6811, 0x005b, 0xb2db, 0x4021, 0x430b, 0x2bff, 0xd1f8];
    assert_eq!(one(&history), None);
    // A lock: movs r1, #1; back: ldrex r3, [r2]; strex r4, r1, [r2]; cmp r4, #0; bne back;
    // cmp r3, #50; bne back
    let lock = [0x2101, 0xe852, 0x3f00, 0xe842, 0x1400, 0x2c00, 0xd1f9, 0x2b32, 0xd1f7];
    assert_eq!(one(&lock), None);
}
