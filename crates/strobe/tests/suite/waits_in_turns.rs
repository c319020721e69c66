//! Busy waiting whose turns are not all alike: readings in a row, loops within a turn, calls by
//! pointers and by jumps; and work that looks like it.

use strobe_synth::{ElfBuilder, Symbol};

use crate::waits::{BOARD, arm, avr, load, run, ticking, waits, with_functions};

const UNO: [&str; 4] = ["--board", "arduino-uno", "--until", "20000c"];

/// What the one wait of a program that `ticking` builds waits for, and its cycles.
fn one(code: &[u16]) -> Option<(String, u64)> {
    let mut found = waits(&run(&ticking(code), &BOARD));
    assert!(found.len() < 2, "{code:04x?} {found:?}");
    found.pop()
}

/// As compilers count in a `uint16_t` or `uint8_t`.
#[test]
fn a_counter_may_be_narrower_than_its_register() {
    // movs r4, #200; back: ldr r3, [r2]; cmp r3, #50; bhs out; subs r4, #1; uxth r4, r4;
    // cmp r4, #0; bne back
    let timeout = [0x24c8, 0x6813, 0x2b32, 0xd203, 0x3c01, 0xb2a4, 0x2c00, 0xd1f8];
    assert_eq!(one(&timeout).expect("a wait").0, "variable ticks");
    // movs r4, #200; back: subs r4, #1; uxth r4, r4; cmp r4, #0; bne back
    let delay = [0x24c8, 0x3c01, 0xb2a4, 0x2c00, 0xd1fb];
    assert_eq!(one(&delay).expect("a delay").0, "nothing: it counts");
    // back: ldr r3, [r2]; lsls r3, #31; bpl over; adds r4, #1; uxth r4, r4; over: ldr r3, [r2];
    // cmp r3, #50; bne back
    let count = [0x6813, 0x07db, 0xd501, 0x3401, 0xb2a4, 0x6813, 0x2b32, 0xd1f7];
    assert_eq!(one(&count), None);
    // movs r4, #0; back: ldrb r3, [r2, r4]; adds r4, #1; uxtb r4, r4; cmp r3, #255; bne back
    assert_eq!(one(&[0x2400, 0x5d13, 0x3401, 0xb2e4, 0x2bff, 0xd1fa]), None);
}

/// An odd tick must be seen fifty times in a row.
#[test]
fn so_many_readings_in_a_row_end_a_wait() {
    // movs r4, #0; back: ldr r3, [r2]; lsls r3, #31; bmi over; movs r4, #0; b back;
    // over: adds r4, #1; cmp r4, #50; bne back
    let code = [0x2400, 0x6813, 0x07db, 0xd401, 0x2400, 0xe7fa, 0x3401, 0x2c32, 0xd1f7];
    let (what, cycles) = one(&code).expect("a wait");
    assert_eq!(what, "variable ticks");
    assert!((1_000..2_000).contains(&cycles), "{cycles}");
    // movs r5, #200; movs r4, #0; back: ldr r3, [r2]; lsls r3, #31; bmi over; movs r4, #0; b on;
    // over: adds r4, #1; on: subs r5, #1; bne back: how many there were at last.
    let last = [0x25c8, 0x2400, 0x6813, 0x07db, 0xd401, 0x2400, 0xe000, 0x3401, 0x3d01, 0xd1f7];
    assert_eq!(one(&last), None);
}

/// Fifty readings that are as the one before.
#[test]
fn comparison_with_the_previous_reading_is_a_wait() {
    // ldr r5, [r2]; movs r4, #0; back: ldr r3, [r2]; cmp r3, r5; beq same; movs r4, #0; b on;
    // same: adds r4, #1; on: mov r5, r3; cmp r4, #50; bne back
    let code =
        [0x6815, 0x2400, 0x6813, 0x42ab, 0xd001, 0x2400, 0xe000, 0x3401, 0x461d, 0x2c32, 0xd1f6];
    assert_eq!(one(&code).expect("a wait").0, "variable ticks");
}

/// Nothing but the turns in which something was seen leaves a result.
#[test]
fn results_of_selected_turns_are_work() {
    // movs r4, #0; back: ldr r1, [r2]; cmp r1, #50; beq out; ldr r3, [r0, #8]; cmp r4, r3;
    // bhs back; mov r4, r3; b back: the most of what was read.
    let most = [0x2400, 0x6811, 0x2932, 0xd004, 0x6883, 0x429c, 0xd2f9, 0x461c, 0xe7f7];
    assert_eq!(one(&most), None);
    // The same with lsls r5, r3, #31; bpl back; cmp r4, #0; bne back; mov r4, r3; b back: the first
    // that was odd. And with movs r4, #1 behind bpl: whether one was.
    // All with movs r7, r4 behind the loop.
    let first =
        [0x2400, 0x6811, 0x2932, 0xd006, 0x6883, 0x07dd, 0xd5f9, 0x2c00, 0xd1f7, 0x461c, 0xe7f5];
    assert_eq!(one(&first), None);
    let seen = [0x2400, 0x6811, 0x2932, 0xd004, 0x6883, 0x07dd, 0xd5f9, 0x2401, 0xe7f7, 0x0027];
    assert_eq!(one(&seen), None);
    // back: ldr r3, [r0, #8]; lsls r1, r3, #31; bpl over; mov r4, r3 or nop; over: ldr r1, [r2];
    // cmp r1, #50; bne back: the last that was odd.
    let mut last = [0x6883, 0x07d9, 0xd500, 0x461c, 0x6811, 0x2932, 0xd1f8, 0x0027];
    assert_eq!(one(&last), None);
    last[3] = 0xbf00;
    assert!(one(&last).is_some());
}

/// The same sum over and over, until a tick.
#[test]
fn inner_sum_is_work_and_inner_count_is_not() {
    // back: movs r4, #8; movs r3, #0; in: ldr r1, [r2] or nop; adds r3, r1 or nop; subs r4, #1;
    // bne in; ldr r1, [r2]; cmp r1, #50; bne back
    let mut code = [0x2408, 0x2300, 0x6811, 0x185b, 0x3c01, 0xd1fb, 0x6811, 0x2932, 0xd1f6];
    assert_eq!(one(&code), None);
    (code[2], code[3]) = (0xbf00, 0xbf00);
    assert_eq!(one(&code).expect("a wait").0, "variable ticks");
}

#[test]
fn readings_that_nothing_looks_at_are_no_wait() {
    // movs r4, #200; back: ldr r3, [r2]; lsls r1, r3, #3 or nop; subs r4, #1; bne back
    let mut code = [0x24c8, 0x6813, 0x00d9, 0x3c01, 0xd1fb];
    assert_eq!(one(&code), None);
    code[2] = 0xbf00;
    assert_eq!(one(&code), None);
}

#[test]
fn pointer_call_counts_as_its_only_observed_target() {
    let code = [
        load(4, 0), // ldr r4, =other
        0x47a0,
        0x2832,
        0xd1fc,
        0xe7fe, // back: blx r4; cmp r0, #50; bne back; b .
        load(1, 1),
        0x6808,
        0x4770, // other: ldr r1, =ticks; ldr r0, [r1]; bx lr
    ];
    let other = 0xc0 + 10 + 1;
    let found = waits(&run(&arm(&code, 10, &[other, 0x2000_0010]), &BOARD));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "variable ticks");
    assert!(found[0].1 > 99_000, "{found:?}");
    // str r0, [r1] for ldr: it stores.
    let mut stores = code;
    stores[6] = 0x6008;
    assert_eq!(waits(&run(&arm(&stores, 10, &[other, 0x2000_0010]), &BOARD)), []);
}

#[test]
fn a_function_may_jump_on_by_a_pointer() {
    let with = |reads: u16| {
        let code = [
            0xf000,
            0xf803,
            0x2832,
            0xd1fb,
            0xe7fe, // back: bl look; cmp r0, #50; bne back; b .
            load(3, 0),
            0x4718, // look: ldr r3, =other; bx r3
            load(1, 1),
            reads,
            0x4770, // other: ldr r1, =ticks; ldr r0, [r1] or str r0, [r1]; bx lr
        ];
        let functions = [("main", 0, 10), ("other", 14, 6), ("look", 10, 4)];
        let other = 0xc0 + 14 + 1;
        waits(&run(&with_functions(&code, &functions, &[other, 0x2000_0010]), &BOARD))
    };
    let found = with(0x6808);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "variable ticks");
    assert_eq!(with(0x6008), []);
}

#[test]
fn an_avr_calls_by_a_pointer() {
    let code: [u16; 9] = [
        0xe0e6, 0xe0f0, // ldi r30, 6; ldi r31, 0: look
        0x9509, 0x3085, 0xf7e9, 0xcfff, // back: icall; cpi r24, 5; brne back; rjmp .
        0x9180, 0x0100, 0x9508, // look: lds r24, 0x100; ret
    ];
    let image: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
    let mut elf = ElfBuilder::new();
    elf.machine = 83;
    elf.code(0, &image);
    for (name, value, size) in [("main", 0, 12), ("look", 12, 6)] {
        let (kind, section) = (2, 0xfff1);
        elf.symbol(Symbol { name: name.into(), value, size, kind, global: true, section });
    }
    let found = waits(&run(&elf.build(), &UNO));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].1 > 19_000, "{found:?}");
}

/// The shift is a loop of its own: by the counter, or by what is the same in every turn.
#[test]
fn an_avr_that_shifts_by_its_counter_searches() {
    let code = [
        0xe020, 0x9180, 0x0100, 0x2e02, // ldi r18, 0; back: lds r24, 0x100; mov r0, r18
        0xc001, 0x9586, 0x940a, 0xf7ea, // rjmp in; bit: lsr r24; in: dec r0; brpl bit
        0xfd80, 0xc002, 0x9523, 0xcff5, // sbrc r24, 0; rjmp out; inc r18; rjmp back
        0xcfff,
    ];
    assert_eq!(waits(&run(&avr(&code), &UNO)), []);
}

/// A function that ends in a jump to another one does what that does.
#[test]
fn tail_jump_inherits_the_work_of_its_target() {
    let with = |store: u16| {
        let code = [
            load(2, 0),
            0xf000,
            0xf803,
            0x2809,
            0xd1fb,
            0xe7fe, // ldr r2, =RAM; back: bl look; cmp r0, #9; bne back; b .
            0x6810,
            0x2805,
            0xd000,
            0xe000,
            0x4770, // look: ldr r0, [r2]; cmp r0, #5; beq over; b work; over: bx lr
            0x6853,
            0x3301,
            store,
            0x4770, // work: ldr r3, [r2, #4]; adds r3, #1; str r3, [r2, #4] or nop; bx lr
        ];
        let functions = [("main", 0, 12), ("look", 12, 10), ("work", 22, 8)];
        waits(&run(&with_functions(&code, &functions, &[0x2000_0100]), &BOARD)).len()
    };
    assert_eq!((with(0x6053), with(0xbf00)), (0, 1));
}

/// A call of what lies before it is no jump back.
#[test]
fn a_turn_with_a_call_is_one_turn() {
    let code = [
        0xf000,
        0xf804,
        0xe7fe, // bl waiter; b .
        load(1, 0),
        0x6808,
        0x4770, // look: ldr r1, =ticks; ldr r0, [r1]; bx lr
        0xf7ff,
        0xfffb,
        0x2832,
        0xd1fb,
        0x4770, // waiter: bl look; cmp r0, #50; bne waiter; bx lr
    ];
    let functions = [("main", 0, 6), ("look", 6, 6), ("waiter", 12, 10)];
    let ran = run(&with_functions(&code, &functions, &[0x2000_0010]), &BOARD);
    assert_eq!(waits(&ran).len(), 1);
    let rounds = ran.table("waiting").and_then(|table| table.column("rounds"));
    let rounds = rounds.and_then(|column| column.cells[0].number()).expect("rounds").as_u64();
    // A turn takes more than eleven cycles, the call and what it calls among them.
    assert!((5_000..9_000).contains(&rounds), "{rounds}");
}
