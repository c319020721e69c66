//! The stack of calls that a run keeps beside the real one, instruction by instruction.

use std::sync::atomic::AtomicBool;

use strobe_devices::board::Board;
use strobe_devices::machine::Machine;
use strobe_sim::bus::Bus;
use strobe_sim::observe::calls::CallTree;

/// LLVM jumps by BL where ARMv6-M reaches no further. A function that does so and calls itself is
/// as deep after the inner call as it was before.
#[test]
fn a_recursion_that_jumps_by_bl_returns() {
    let code: [u16; 14] = [
        0x2002, 0xf000, 0xf801, 0xe7fe, // reset: movs r0, #2; bl f; b .
        0xb510, 0xb082, 0xf000, 0xf800, // f: push {r4, lr}; sub sp, #8; bl middle
        0x3801, 0xd001, 0xf7ff, 0xfff8, // middle: subs r0, #1; beq out; bl f
        0xb002, 0xbd10, // out: add sp, #8; pop {r4, pc}
    ];
    const MIDDLE: u32 = 0x18;
    const OUT: u32 = 0x20;
    let board = Board::builtin("lm3s6965evb").expect("a bundled board");
    let mut bus: Bus = board.build().expect("a good board");
    let vectors = [0x2000_0400_u32, 9].into_iter().flat_map(u32::to_le_bytes);
    let image: Vec<u8> = vectors.chain(code.into_iter().flat_map(u16::to_le_bytes)).collect();
    bus.load(0, &image).expect("it fits");
    let tree = CallTree::new(&bus, &[(8, 0x10), (0x10, 0x24)]);
    let mut machine = Machine::new(&board, bus, tree).expect("a core");
    machine.reset().expect("a vector table");
    let (pc, sp) = (machine.pc(), machine.sp());
    machine.observer_mut().start(pc, sp);
    let mut seen = Vec::new();
    for _ in 0..200 {
        machine.run(machine.cycles() + 1, &AtomicBool::new(false));
        if machine.pc() == OUT {
            let mut chain = machine.observer().backtrace(false);
            chain.retain(|back| *back != Some(MIDDLE));
            seen.push(chain);
        }
    }
    seen.dedup();
    // Innermost first: at the end of the inner call, and of the outer one.
    assert_eq!(seen, [vec![Some(OUT), Some(0xe)], vec![Some(0xe)]]);
}
