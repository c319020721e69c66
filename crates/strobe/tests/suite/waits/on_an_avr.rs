//! Waits of an AVR, whose counters take several bytes.

use strobe_synth::{ElfBuilder, Symbol};

use super::{avr, run, waits};

#[test]
fn an_avr_waits_for_flags_and_counts() {
    let code: [u16; 12] = [
        0xef8f, 0xef9f, // ldi r24, 0xff; ldi r25, 0xff
        0x9701, 0xf7f1, // sbiw r24, 1; brne
        0x9918, // sbic 0x03, 0: PINB
        0xcffe, // rjmp back: ends at once
        0x9b18, // sbis 0x03, 0
        0xcffe, // rjmp back: never ends
        0xcfff, 0, 0, 0x9508,
    ];
    let image: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
    let mut elf = ElfBuilder::new();
    elf.machine = 83;
    elf.code(0, &image);
    let (name, kind, section) = ("main".into(), 2, 0xfff1);
    elf.symbol(Symbol { name, value: 0, size: 24, kind, global: true, section });
    let ran = run(&elf.build(), &["--board", "arduino-uno", "--until", "500000c"]);
    let found = waits(&ran);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0].0, "nothing: it counts");
    assert!((262_000..262_200).contains(&found[0].1), "{found:?}");
    assert_ne!(found[1].0, found[0].0);
    assert!(found[1].1 > 200_000, "{found:?}");
}

#[test]
fn avr_memory_search_is_work_and_a_counter_not() {
    let found =
        |code: &[u16]| waits(&run(&avr(code), &["--board", "arduino-uno", "--until", "20000c"]));
    // ldi r30, 0; ldi r31, 1; ld r24, Z; adiw r30, 1; tst r24; breq
    let search = [0xe0e0, 0xe0f1, 0x8180, 0x9631, 0x2388, 0xf3e1, 0xcfff];
    assert_eq!(found(&search), []);
    // A list of one element that is its own next one: movw r30, r18; ld r18, Z; ldd r19, Z+1; or
    let list = [
        0xe020, 0xe031, 0x9320, 0x0100, 0x9330, 0x0101, // ldi r18, 0; ldi r19, 1; sts
        0x01f9, 0x8120, 0x8131, 0x1521, 0x0531, 0xf7d1, 0xcfff, // ...; cp; cpc; brne
    ];
    assert_eq!(found(&list), []);
    // for (volatile uint16_t i = 0; i < 1000; i++)
    let count = [
        0xee88, 0xe093, 0x921f, 0x921f, 0xb7cd, 0xb7de, 0x821a, 0x8219, // up to std Y+1, r1
        0x8129, 0x813a, 0x1728, 0x0739, 0xf438, // ldd, ldd, cp, cpc, brcc
        0x8129, 0x813a, 0x5f2f, 0x4f3f, 0x833a, 0x8329, 0xcff4, 0xcfff, // count, rjmp
    ];
    let found = found(&count);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "nothing: it counts");
}

/// As Arduino's `delay`: two counters in nested loops, which go in steps that are in registers, and
/// a function that reads the time and shifts it.
#[test]
fn delay_counting_down_the_remaining_time_is_a_wait() {
    let code: [u16; 25] = [
        0xe005, 0xbd05, // ldi r16, 5; out TCCR0B, r16: 1,024 cycles a tick
        0xe134, 0x2ec3, 0x2488, // ldi r19, 20; mov r12, r19; eor r8, r8
        0x20cc, 0xf049, // tst r12; breq done
        0xd00a, 0x1988, 0x308a, 0xf3d0, // rcall now; sub r24, r8; cpi r24, 10; brcs
        0xe021, 0x1ac2, // ldi r18, 1; sub r12, r18
        0xe08a, 0x0e88, 0xcff5, // ldi r24, 10; add r8, r24; rjmp
        0xcfff, 0, // done: rjmp .
        0xb586, 0x2f98, // now: in r24, TCNT0; mov r25, r24
        0xe042, 0x9596, 0x954a, 0xf7e9, 0x9508, // ldi r20, 2; lsr r25; dec r20; brne; ret
    ];
    let image: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
    let mut elf = ElfBuilder::new();
    elf.machine = 83;
    elf.code(0, &image);
    for (name, value, size) in [("main", 0, 36), ("now", 36, 14)] {
        let (kind, section) = (2, 0xfff1);
        elf.symbol(Symbol { name: name.into(), value, size, kind, global: true, section });
    }
    let ran = run(&elf.build(), &["--board", "arduino-uno", "--until", "500000c"]);
    let found = waits(&ran);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_ne!(found[0].0, "nothing: it counts");
    // Twenty times ten ticks.
    assert!((204_000..205_500).contains(&found[0].1), "{found:?}");
}
