//! Busy waiting that leaves something to the next turn: sums towards an end, counters of any width
//! and place, counts of turns; and work that looks like it.

use strobe_synth::{ElfBuilder, Symbol};

use crate::waits::{BOARD, arm, avr, load, run, ticking, waits, with_functions};

/// The one wait of a program that `ticking` builds, if it has one.
fn one(code: &[u16]) -> Option<(String, u64)> {
    let mut found = waits(&run(&ticking(code), &BOARD));
    assert!(found.len() < 2, "{code:04x?} {found:?}");
    found.pop()
}

/// As libraries write `delay_us`: what SysTick has gone on since the last turn is added up.
#[test]
fn sum_ending_a_loop_is_wait_and_result_not() {
    let mut code = [
        0x2300, 0x24c8, 0x0124, // movs r3, #0; movs r4, #200; lsls r4, r4, #4
        0x6885, // ldr r5, [r0, #8]
        0x6881, 0x428d, 0xd901, // back: ldr r1, [r0, #8]; cmp r5, r1; bls over
        0x195b, 0x1a5b, // adds r3, r3, r5; subs r3, r3, r1
        0x000d, // over: movs r5, r1
        0x42a3, 0xd3f7, // cmp r3, r4; bcc back
    ];
    let (what, cycles) = one(&code).expect("a wait");
    assert_eq!(what, "SysTick's counter");
    assert!((3_000..5_000).contains(&cycles), "{cycles}");
    // subs r4, #1; bne back: so many turns, and the sum is what comes of them.
    (code[10], code[11]) = (0x3c01, 0xd1f7);
    assert_eq!(one(&code), None);
}

#[test]
fn frame_counter_may_be_a_byte_or_two_words() {
    for delay in [
        // As a Cortex-M0 has it at -O0: adds r3, r7, #7; ldrb r3, [r3]; uxtb; adds; uxtb r2, r3;
        // adds r3, r7, #7; strb r2, [r3].
        vec![
            0xb082, 0xaf00, 0x1dfb, 0x2200, 0x701a, 0xe006, 0x1dfb, 0x781b, 0xb2db, 0x3301, 0xb2da,
            0x1dfb, 0x701a, 0x1dfb, 0x781b, 0xb2db, 0x2bc7, 0xd9f3, 0xe7fe, 0x4770,
        ],
        // ldrd r2, r3, [sp]; adds r0, r2, #1; adc r1, r3, #0; strd r0, r1, [sp]; ldrd; cmp; sbcs.
        vec![
            0x2200, 0x2300, 0xb082, 0xe9cd, 0x2300, 0xe9dd, 0x2300, 0x1c50, 0xf143, 0x0100, 0xe9cd,
            0x0100, 0xe9dd, 0x2300, 0xf5b2, 0x7f7a, 0xf173, 0x0300, 0xd3f1, 0xe7fe, 0x4770,
        ],
    ] {
        let other = 2 * (delay.len() as u32 - 1);
        let found = waits(&run(&arm(&delay, other, &[0]), &BOARD));
        assert_eq!(found.len(), 1, "{delay:04x?} {found:?}");
        assert_eq!(found[0].0, "nothing: it counts");
    }
    // sub sp, #16; add r2, sp, #0; movs r3, #8; back: strb r3, [r2]; adds r2, #1; subs r3, #1; bne
    let fill = [0xb084, 0xaa00, 0x2308, 0x7013, 0x3201, 0x3b01, 0xd1fb, 0xe7fe, 0x4770];
    assert_eq!(waits(&run(&arm(&fill, 16, &[0]), &BOARD)), []);
}

#[test]
fn a_loop_may_count_its_turns_in_a_variable() {
    // back: ldr r3, [r2]; adds r3, #1; str r3, [r2]; ldr r3, [r0, #8]; cmp r3, r2; bne back
    let (what, cycles) =
        one(&[0x6813, 0x3301, 0x6013, 0x6883, 0x4293, 0xd1f9]).expect("a wait for the counter");
    assert_eq!(what, "SysTick's counter");
    assert!(cycles > 90_000, "{cycles}");
    // movs r4, #200; back: ldr r3, [r2]; ldr r1, [r0, #8]; adds r3, r3, r1; str r3, [r2];
    // subs r4, #1; bne back
    assert_eq!(one(&[0x24c8, 0x6813, 0x6881, 0x185b, 0x6013, 0x3c01, 0xd1f9]), None);
}

/// Every millisecond that SysTick's flag shows is one less; an IT block counts it.
#[test]
fn a_condition_may_count_towards_the_end() {
    // movs r5, #5; back: ldr r3, [r0]; tst r3, #0x10000; it ne; addne r5, #-1; cmp r5, #0; bne
    let code = [0x2505, 0x6803, 0xf413, 0x3f80, 0xbf18, 0xf105, 0x35ff, 0x2d00, 0xd1f7];
    let (what, cycles) = one(&code).expect("a wait");
    assert_eq!(what, "SysTick's flag");
    assert!((4_000..5_500).contains(&cycles), "{cycles}");
}

#[test]
fn register_both_it_branches_write_is_not_a_result() {
    // back: ldr r3, [r2]; cmp r3, #50; ite hs; movhs r1, #1; movlo r1, #0; cmp r1, #0; beq back
    let code = [0x6813, 0x2b32, 0xbf2c, 0x2101, 0x2100, 0x2900, 0xd0f8];
    assert_eq!(one(&code).expect("a wait").0, "variable ticks");
    // With addlo r1, #1 it counts in some turns; cmp r3, #50; blo back ends it.
    assert_eq!(one(&[0x6813, 0x2b32, 0xbf2c, 0x2101, 0x3101, 0x2b32, 0xd3f8]), None);
}

/// Which bit is set is a result; whether one is, is a wait.
#[test]
fn a_shift_by_a_counter_is_a_search() {
    // movs r5, #0; movs r4, #0; back: ldr r3, [r2]; lsrs r3, r4; adds r4, #1; lsls r3, r3, #31;
    // bpl back
    let mut code = [0x2500, 0x2400, 0x6813, 0x40e3, 0x3401, 0x07db, 0xd5fa];
    assert_eq!(one(&code), None);
    // lsrs r3, r5
    code[3] = 0x40eb;
    assert_eq!(one(&code).expect("a wait").0, "variable ticks");
}

#[test]
fn an_atomic_addition_is_work() {
    // movs r5, #100; back: ldrex r3, [r2]; adds r3, #1; strex r4, r3, [r2]; cmp r4, #0; bne back;
    // subs r5, #1; bne back
    let add = [0x2564, 0xe852, 0x3f00, 0x3301, 0xe842, 0x3400, 0x2c00, 0xd1f8, 0x3d01, 0xd1f6];
    assert_eq!(one(&add), None);
}

/// Which variable it is, the loop knows and the function does not. A comparison for equality counts
/// the zeros of a difference.
#[test]
fn a_function_reads_where_its_argument_leads() {
    let code = [
        load(2, 0), // ldr r2, =ticks
        0x4610,
        0xf000,
        0xf803, // back: mov r0, r2; bl other
        0x2800,
        0xd0fa,
        0xe7fe, // cmp r0, #0; beq back; b .
        0x6800,
        0x3832, // other: ldr r0, [r0]; subs r0, #50
        0xfab0,
        0xf080,
        0x0940,
        0x4770, // clz r0, r0; lsrs r0, r0, #5; bx lr
    ];
    let found = waits(&run(&arm(&code, 14, &[0x2000_0010]), &BOARD));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "variable ticks");
}

/// As `micros` does, which reads until nothing has come in between, and multiplies.
#[test]
fn a_function_may_read_again_and_multiply() {
    let mut code = vec![
        load(0, 0),
        load(1, 1), // SYST, 999
        0x6041,
        0x2100,
        0x6081, // str r1, [r0, #4]; movs r1, #0; str r1, [r0, #8]
        0x2107,
        0x6001,     // movs r1, #7; str r1, [r0]
        load(2, 2), // ticks
        0xf000,
        0xf808,
        0x2896,
        0xd3fb,
        0xe7fe, // back: bl look; cmp r0, #150; bcc back; b .
    ];
    // other: ldr r0, =ticks; ldr r1, [r0]; adds r1, #1; str r1, [r0]; bx lr
    code.extend([load(0, 2), 0x6801, 0x3101, 0x6001, 0x4770]);
    // look: ldr r1, [r2]; nop; ldr r3, [r2]; cmp r1, r3; bne look; movs r0, #3; muls r0, r1; bx lr
    code.extend([0x6811, 0xbf00, 0x6813, 0x4299, 0xd1fa, 0x2003, 0x4348, 0x4770]);
    let functions = [("main", 0, 26), ("other", 26, 10), ("look", 36, 16)];
    let elf = with_functions(&code, &functions, &[0xe000_e010, 999, 0x2000_0010]);
    let found = waits(&run(&elf, &BOARD));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "variable ticks");
    assert!((40_000..50_500).contains(&found[0].1), "{found:?}");
}

const UNO: [&str; 4] = ["--board", "arduino-uno", "--until", "20000c"];

#[test]
fn avr_counter_may_join_or_add_bytes() {
    for delay in [
        // volatile uint16_t, at -Og: ldd r24, Y+1; ldd r25, Y+2; movw r18, r24; subi r18, 1;
        // sbc r19, r1; std; std; or r24, r25; brne
        vec![
            0x921f, 0x921f, 0xb7cd, 0xb7de, 0xee88, 0x8389, // up to std Y+1, r24
            0x8189, 0x819a, 0x019c, 0x5021, 0x0931, 0x833a, 0x8329, 0x2b89, 0xf7b9, 0xcfff,
        ],
        // The same in registers: movw r24, r18; movw r18, r24; subi; sbc; or; brne
        vec![
            0xee88, 0xe093, 0xc002, 0x0000, 0x01c9, 0x019c, 0x5021, 0x0931, 0x2b89, 0xf7c9, 0xcfff,
        ],
        // A byte: ldi r25, 0xff; add r25, r24; cpse r24, r1; rjmp; nop; mov r24, r25; rjmp
        vec![0xec88, 0xef9f, 0x0f98, 0x1181, 0xc001, 0xcfff, 0x0000, 0x2f89, 0xcff8],
    ] {
        let found = waits(&run(&avr(&delay), &UNO));
        assert_eq!(found.len(), 1, "{delay:04x?} {found:?}");
        assert_eq!(found[0].0, "nothing: it counts");
    }
}

/// `for (g = 0; g < 500; g++)` of a volatile variable.
#[test]
fn an_avr_counts_in_a_variable() {
    let code: [u16; 17] = [
        0x9180, 0x0100, 0x9190, 0x0101, 0x9601, // lds r24, g; lds r25, g+1; adiw r24, 1
        0x9390, 0x0101, 0x9380, 0x0100, // sts g+1, r25; sts g, r24
        0x9180, 0x0100, 0x9190, 0x0101, // lds r24, g; lds r25, g+1
        0x3f84, 0x4091, 0xf380, 0xcfff, // cpi r24, 0xf4; sbci r25, 1; brcs; rjmp .
    ];
    let image: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
    let mut elf = ElfBuilder::new();
    elf.machine = 83;
    elf.code(0, &image);
    for (name, value, size, kind) in [("main", 0, 34, 2), ("g", 0x80_0100, 2, 1)] {
        let (name, section) = (name.to_owned(), 0xfff1);
        elf.symbol(Symbol { name, value, size, kind, global: true, section });
    }
    let found = waits(&run(&elf.build(), &UNO));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "nothing: it counts");
}

/// TCNT0 runs at the core's clock.
#[test]
fn avr_wait_may_sum_timer_differences() {
    let code = [
        0xe001, 0xbd05, // ldi r16, 1; out TCCR0B, r16
        0xe020, 0xe030, 0xb546, // ldi r18, 0; ldi r19, 0; in r20, TCNT0
        0xb596, 0x2f89, 0x1b84, // back: in r25, TCNT0; mov r24, r25; sub r24, r20
        0x0f28, 0x1d31, 0x2f49, // add r18, r24; adc r19, r1; mov r20, r25
        0x3c28, 0x0531, 0xf3b8, 0xcfff, // cpi r18, 200; cpc r19, r1; brcs back; rjmp .
    ];
    let found = waits(&run(&avr(&code), &UNO));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_ne!(found[0].0, "nothing: it counts");
    assert!((180..230).contains(&found[0].1), "{found:?}");
}

/// How often a bit was set: the loop within is those turns of the one around it in which it is.
#[test]
fn some_turns_of_a_loop_are_no_wait() {
    let code = [
        0xe001, 0xbd05, // ldi r16, 1; out TCCR0B, r16
        0xe684, 0xe090, // ldi r24, 100; ldi r25, 0
        0x9701, 0xf038, // next: sbiw r24, 1; brcs end
        0xb406, 0xfe00, 0xcffb, // again: in r0, TCNT0; sbrs r0, 0; rjmp next
        0x5f2f, 0x4f3f, // subi r18, 0xff; sbci r19, 0xff
        0x9701, 0xf7c8, 0xcfff, // sbiw r24, 1; brcc again; end: rjmp .
    ];
    assert_eq!(waits(&run(&avr(&code), &UNO)), []);
}

/// lds r18, n; add r24, r24; subi r24, 0xff; inc r25; cp r25, r18; brcs back
#[test]
fn a_step_behind_a_sum_leaves_the_sum() {
    let code = [
        0xec28, 0x9320, 0x0100, 0xe090, // ldi r18, 200; sts n, r18; ldi r25, 0
        0x9120, 0x0100, 0x0f88, 0x5f8f, 0x9593, 0x1792, 0xf3c8, 0xcfff,
    ];
    assert_eq!(waits(&run(&avr(&code), &UNO)), []);
}

/// A function that is given what it has returned in the turn before works; other: lsls r0, r0, #1;
/// adds r0, #1; bx lr.
#[test]
fn a_call_with_its_own_result_is_work() {
    let with = |back: u16| {
        let code = [
            load(1, 0), // ldr r1, =RAM
            0x2000,     // movs r0, #0
            0xf000,
            0xf804, // bl other
            0x680b,
            0x2b05,
            back, // ldr r3, [r1]; cmp r3, #5; bne to bl or to movs
            0xe7fe,
            0x0040,
            0x3001,
            0x4770,
        ];
        waits(&run(&arm(&code, 16, &[0x2000_0100]), &BOARD)).len()
    };
    assert_eq!((with(0xd1fa), with(0xd1f9)), (0, 1));
}
