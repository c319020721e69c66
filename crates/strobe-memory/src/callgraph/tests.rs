//! Calls are found in machine code, direct and indirect ones.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use strobe_symbols::Firmware;
use strobe_synth::{ElfBuilder, Symbol};

use super::{Building, Function, Graph, Target};

const AT: u32 = 0x0800_0000;

/// Code with one function over all of it.
fn image(machine: u16, at: u32, code: &[u16]) -> Firmware {
    let bytes: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
    let mut elf = ElfBuilder::new();
    elf.machine = machine;
    elf.code(at, &bytes);
    match machine {
        40 => _ = elf.function("f", at, bytes.len() as u32),
        // Without a Thumb bit.
        _ => {
            let symbol = Symbol {
                name: "f".to_owned(),
                value: at,
                size: bytes.len() as u32,
                kind: 2,
                ..Symbol::default()
            };
            elf.symbol(Symbol { global: true, section: 1, ..symbol });
        }
    }
    Firmware::parse(elf.build()).unwrap()
}

fn walked(machine: u16, at: u32, code: &[u16]) -> Function {
    let firmware = image(machine, at, code);
    Graph::new(&firmware, &[at], &HashMap::new()).functions[&at].clone()
}

fn thumb(code: &[u16]) -> Function {
    walked(40, AT, code)
}

fn avr(code: &[u16]) -> Function {
    walked(83, 0, code)
}

/// The encodings are those that GNU as writes for the text beside them.
#[test]
fn thumb_frame_depths_follow_their_code() {
    let cases: [(&str, &[u16], u32); 14] = [
        ("push {r4, lr}; pop {r4, pc}", &[0xb510, 0xbd10], 8),
        (
            "push {r7, lr}; sub sp, #16; mov r7, sp; mov sp, r7; add sp, #16; pop {r7, pc}",
            &[0xb580, 0xb084, 0x466f, 0x46bd, 0xb004, 0xbd80],
            24,
        ),
        ("stmdb sp!, {r4-r8, lr}; ldmia.w sp!, {r4-r8, pc}", &[0xe92d, 0x41f0, 0xe8bd, 0x81f0], 24),
        ("str.w lr, [sp, #-4]!; ldr.w pc, [sp], #4", &[0xf84d, 0xed04, 0xf85d, 0xfb04], 4),
        (
            "subw sp, sp, #1036; addw sp, sp, #1036; bx lr",
            &[0xf2ad, 0x4d0c, 0xf20d, 0x4d0c, 0x4770],
            1036,
        ),
        (
            "sub.w sp, sp, #512; add.w sp, sp, #512; bx lr",
            &[0xf5ad, 0x7d00, 0xf50d, 0x7d00, 0x4770],
            512,
        ),
        ("vpush {d8-d9}; vpop {d8-d9}; bx lr", &[0xed2d, 0x8b04, 0xecbd, 0x8b04, 0x4770], 16),
        (
            "strd r4, lr, [sp, #-8]!; ldrd r4, lr, [sp], #8; bx lr",
            &[0xe96d, 0x4e02, 0xe8fd, 0x4e02, 0x4770],
            8,
        ),
        (
            "ldr r4, [pc, #4]; add sp, r4; bx lr; nop; .word -400",
            &[0x4c01, 0x44a5, 0x4770, 0xbf00, 0xfe70, 0xffff],
            400,
        ),
        (
            "movs r3, #131; lsls r3, #2; negs r3, r3; add sp, r3; b .",
            &[0x2383, 0x009b, 0x425b, 0x449d, 0xe7fe],
            524,
        ),
        (
            "movw r12, #1000; sub.w sp, sp, r12; b .",
            &[0xf240, 0x3ce8, 0xebad, 0x0d0c, 0xe7fe],
            1000,
        ),
        (
            "mov r3, sp; bic r3, r3, #7; mov sp, r3; b .",
            &[0x466b, 0xf023, 0x0307, 0x469d, 0xe7fe],
            7,
        ),
        (
            "cbz r0, 1f; push {r4, r5}; pop {r4, r5}; 1: push {r6}; pop {r6}; bx lr",
            &[0xb108, 0xb430, 0xbc30, 0xb440, 0xbc40, 0x4770],
            8,
        ),
        (
            "cmp r0, #0; it ne; bxne lr; push {r0-r3}; b .",
            &[0x2800, 0xbf18, 0x4770, 0xb40f, 0xe7fe],
            16,
        ),
    ];
    for (text, code, deepest) in cases {
        let function = thumb(code);
        assert_eq!(function.deepest, deepest, "{text}: {function:?}");
        assert!(function.dynamic.is_empty() && function.unbounded.is_empty(), "{text}");
    }
}

#[test]
fn calls_have_the_depth_of_their_frame() {
    // push {r4, lr}; bl f; ldr r3, [pc, #8]; blx r3; blx r4; pop {r4, pc}; .word f
    let code = [0xb510, 0xf7ff, 0xfffd, 0x4b02, 0x4798, 0x47a0, 0xbd10, 0xbf00];
    let word = [(AT & 0xffff) as u16 | 1, (AT >> 16) as u16];
    let function = thumb(&[&code[..], &word].concat());
    let calls: Vec<_> = function
        .calls
        .iter()
        .map(|((at, to, tail), call)| (at - AT, *to, *tail, call.depth))
        .collect();
    let expected = [
        (2, Target::Known(AT), false, 8),
        (8, Target::Known(AT), false, 8),
        (10, Target::Unknown, false, 8),
    ];
    assert_eq!(calls, expected);
}

/// Compilers for ARMv6-M jump by BL where B does not reach; assembly comes back from such places.
#[test]
fn a_bl_to_within_the_function_is_a_jump() {
    // push {r4, lr}; cmp r0, #0; bne 1f; bl 2f; 1: pop {r4, pc}; 2: push {r0-r3}; add sp, #16;
    // pop {r4, pc}
    let far = [0xb510, 0x2800, 0xd101, 0xf000, 0xf801, 0xbd10, 0xb40f, 0xb004, 0xbd10];
    let graph = Graph::new(&image(40, AT, &far), &[AT], &HashMap::new());
    let function = &graph.functions[&AT];
    assert_eq!((graph.functions.len(), function.deepest), (1, 24), "{function:?}");
    assert!(function.returns && function.calls.is_empty(), "{function:?}");
    // push {lr}; bl 1f; bl 1f; push {r0-r2}; b .; 1: push {r3, lr}; pop {r3, pc}
    let local = [0xb500, 0xf000, 0xf804, 0xf000, 0xf802, 0xb407, 0xe7fe, 0xb508, 0xbd08];
    let function = thumb(&local);
    assert_eq!((function.deepest, function.returns), (16, false), "{function:?}");
    assert!(function.calls.is_empty(), "{function:?}");
}

/// Functions are looked at again when others turn out never to come back, which may be when no
/// steps are left.
#[test]
fn known_facts_survive_when_steps_run_out() {
    let firmware = image(40, AT, &[0xb510, 0xbd10]); // push {r4, lr}; pop {r4, pc}
    let bounds = HashMap::new();
    let mut building = Building::new(&firmware, &bounds);
    building.walk(vec![AT], &HashSet::new());
    building.steps = 0;
    building.walk(vec![AT], &HashSet::from([AT]));
    let function = &building.functions[&AT];
    assert!(!function.is_cut && function.deepest == 8, "{function:?}");
}

#[test]
fn tail_jump_is_a_call_at_its_stack_depth() {
    // push {lr}; add sp, #4; b.w beyond
    let function = thumb(&[0xb500, 0xb001, 0xf000, 0xb880]);
    let call: Vec<_> = function.calls.keys().copied().collect();
    assert_eq!(call, [(AT + 4, Target::Known(AT + 0x108), true)]);
    assert_eq!(function.calls[&call[0]].depth, 0);
    assert!(!function.returns);
}

/// A popped return address is a return, another popped word a call of something unknown.
#[test]
fn interworking_returns_are_returns() {
    // push {r4, lr}; pop {r4}; pop {r3}; bx r3
    let function = thumb(&[0xb510, 0xbc10, 0xbc08, 0x4718]);
    assert!(function.returns && function.calls.is_empty(), "{function:?}");
    let function = thumb(&[0xb408, 0xbc08, 0x4718]); // push {r3}; pop {r3}; bx r3
    assert!(!function.returns && function.calls.len() == 1, "{function:?}");
}

#[test]
fn tables_of_branches_are_followed() {
    // cmp; bhi end; tbb [pc, r0]; table 2, 3, 4, 0; push {r0}; push {r0, r1}; b .; bx lr
    let code = [0x2802, 0xd807, 0xe8df, 0xf000, 0x0302, 0x0004, 0xb401, 0xb403, 0xe7fe, 0x4770];
    assert_eq!(thumb(&code).deepest, 12);
}

#[test]
fn statically_unknown_stack_use_is_listed() {
    // sub.w sp, sp, r0; mov sp, r7
    let function = thumb(&[0xb580, 0x466f, 0xebad, 0x0d00, 0x46bd, 0xbd80]);
    assert_eq!(function.dynamic.iter().map(|at| at - AT).collect::<Vec<_>>(), [4]);
    // 1: push {r0}; b 1b
    let function = thumb(&[0xb401, 0xe7fd]);
    assert!(!function.unbounded.is_empty(), "{function:?}");
}

/// A thread that puts its stack pointer away and loads another one goes on where that one did the
/// same; arithmetic on the stack pointer remains an allocation.
#[test]
fn switches_of_threads_leave_the_depth_as_it_is() {
    let cases: [(&str, &[u16], u32); 3] = [
        (
            "push {r4-r7, lr}; mov r3, sp; str r3, [r1]; ldr r3, [r0]; mov sp, r3; pop {r4-r7, pc}",
            &[0xb5f0, 0x466b, 0x600b, 0x6803, 0x469d, 0xbdf0],
            20,
        ),
        (
            "push {r4-r11, lr}; str.w sp, [r1, #8]; ldr.w sp, [r0, #8]; pop {r4-r11, pc}",
            &[0xe92d, 0x4ff0, 0xf8c1, 0xd008, 0xf8d0, 0xd008, 0xe8bd, 0x8ff0],
            36,
        ),
        (
            "mrs r0, msp; subs r0, #64; msr msp, r0; b .",
            &[0xf3ef, 0x8008, 0x3840, 0xf380, 0x8808, 0xe7fe],
            64,
        ),
    ];
    for (text, code, deepest) in cases {
        let function = thumb(code);
        assert_eq!(function.deepest, deepest, "{text}: {function:?}");
        assert!(function.dynamic.is_empty(), "{text}");
    }
    let unknown: [(&str, &[u16]); 2] = [
        ("mov r3, sp; str r3, [r1]; sub.w sp, sp, r0", &[0x466b, 0x600b, 0xebad, 0x0d00, 0xe7fe]),
        ("ldr.w sp, [r0, #8]; b .", &[0xf8d0, 0xd008, 0xe7fe]),
    ];
    for (text, code) in unknown {
        assert_eq!(thumb(code).dynamic.len(), 1, "{text}");
    }
    // push r28; push r29; in r28, SPL; in r29, SPH; sts; sts; lds; lds; out SPH; out SPL; pop; ret
    let code = [
        0x93cf, 0x93df, 0xb7cd, 0xb7de, 0x93c0, 0x0100, 0x93d0, 0x0101, 0x91c0, 0x0102, 0x91d0,
        0x0103, 0xbfde, 0xbfcd, 0x91df, 0x91cf, 0x9508,
    ];
    let function = avr(&code);
    assert!(function.deepest == 2 && function.dynamic.is_empty(), "{function:?}");
}

/// As PendSV of FreeRTOS does it, on a Cortex-M4F, where it depends on a flag, and on a Cortex-M0.
#[test]
fn registers_saved_below_the_process_stack_pointer_are_counted() {
    // mrs r0, psp; tst.w lr, #16; it eq; vstmdbeq r0!, {s16-s31}; stmdb r0!, {r4-r11, lr}; bx lr
    let code = [0xf3ef, 0x8009, 0xf01e, 0x0f10, 0xbf08, 0xed20, 0x8a10, 0xe920, 0x4ff0, 0x4770];
    let function = thumb(&code);
    assert_eq!((function.saved, function.deepest), (64 + 36, 0), "{function:?}");
    // mrs r0, psp; subs r0, #32; str r0, [r2]; stmia r0!, {r4-r7}; bx lr
    assert_eq!(thumb(&[0xf3ef, 0x8009, 0x3820, 0x6010, 0xc0f0, 0x4770]).saved, 32);
    // mrs r0, psp; ldr r1, [r0, #24]; ldmia r0!, {r4}; bx lr
    assert_eq!(thumb(&[0xf3ef, 0x8009, 0x6981, 0xc810, 0x4770]).saved, 0);
    // How far it is from its end is no use of it: mrs r0, psp; sub.w r0, r0, #0x20000000; bx lr
    assert_eq!(thumb(&[0xf3ef, 0x8009, 0xf1a0, 0x5000, 0x4770]).saved, 0);
}

/// push r30; push r31; ret
#[test]
fn a_return_to_pushed_bytes_is_a_jump() {
    let function = avr(&[0x93ef, 0x93ff, 0x9508]);
    assert!(!function.returns, "{function:?}");
    assert_eq!(function.calls.keys().copied().collect::<Vec<_>>(), [(4, Target::Unknown, true)]);
    // sei; ret
    assert!(avr(&[0x9478, 0x9508]).lets_in);
}

#[test]
fn avr_frame_depths_follow_their_code() {
    let cases: [(&str, &[u16], u32); 5] = [
        ("push r28; push r29; pop r29; pop r28; ret", &[0x93cf, 0x93df, 0x91df, 0x91cf, 0x9508], 2),
        (
            "push r28; push r29; rcall .+0; in r28, SPL; in r29, SPH; ret",
            &[0x93cf, 0x93df, 0xd000, 0xb7cd, 0xb7de, 0x9508],
            4,
        ),
        (
            "in r28, SPL; in r29, SPH; sbiw r28, 10; in r0; cli; out SPH; out SREG; out SPL; ret",
            &[0xb7cd, 0xb7de, 0x972a, 0xb60f, 0x94f8, 0xbfde, 0xbe0f, 0xbfcd, 0x9508],
            10,
        ),
        (
            "in r28; in r29; subi r28, 0x40; sbci r29, 1; out SPH, r29; out SPL, r28; ret",
            &[0xb7cd, 0xb7de, 0x54c0, 0x40d1, 0xbfde, 0xbfcd, 0x9508],
            320,
        ),
        (
            "... subi r28, 0xc0; sbci r29, 0xfe; out SPH, r29; out SPL, r28; push r0; ret",
            &[
                0xb7cd, 0xb7de, 0x54c0, 0x40d1, 0xbfde, 0xbfcd, 0x5cc0, 0x4fde, 0xbfde, 0xbfcd,
                0x920f, 0x9508,
            ],
            320,
        ),
    ];
    for (text, code, deepest) in cases {
        let function = avr(code);
        assert_eq!(function.deepest, deepest, "{text}: {function:?}");
        assert!(function.dynamic.is_empty(), "{text}");
        assert!(function.returns, "{text}");
    }
}

#[test]
fn avr_calls_are_found_with_target_and_depth() {
    // push r28; rcall f; icall; ldi r30, 0; ldi r31, 0; icall; jmp 0x100
    let function = avr(&[0x93cf, 0xdffe, 0x9509, 0xe0e0, 0xe0f0, 0x9509, 0x940c, 0x0080]);
    let calls: Vec<_> =
        function.calls.iter().map(|((at, to, tail), call)| (*at, *to, *tail, call.depth)).collect();
    let expected = [
        (2, Target::Known(0), false, 1),
        (4, Target::Unknown, false, 1),
        (10, Target::Known(0), false, 1),
        (12, Target::Known(0x100), true, 1),
    ];
    assert_eq!(calls, expected);
}

proptest! {
    /// Whatever the bytes are, walking them ends, and depths are no larger than pushes allow.
    #[test]
    fn any_bytes_are_walked(code in prop::collection::vec(any::<u16>(), 1..200), is_avr: bool) {
        let (machine, at) = if is_avr { (83, 0) } else { (40, AT) };
        let firmware = image(machine, at, &code);
        let entries: Vec<u32> = (0..code.len() as u32).map(|half| at + 2 * half).collect();
        let graph = Graph::new(&firmware, &entries, &HashMap::new());
        prop_assert!(graph.functions.contains_key(&at));
    }
}
