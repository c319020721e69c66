//! Code in memories that appear at several addresses.

use std::sync::atomic::AtomicBool;

use crate::boards::Board;
use crate::cores::arm::{Machine, Stop};

const BOARD: &str = "
    name = 'aliases'
    description = 'memories that appear twice'
    clock_hz = 1_000_000
    core = { model = 'cortex-m0', multiplier_cycles = 1, irq_lines = 0, cpuid = 0 }
    [[memory]]
    name = 'flash'
    kind = 'flash'
    base = 0x0800_0000
    size = 0x400
    alias = 0
    [[memory]]
    name = 'ram'
    kind = 'ram'
    base = 0x2000_0000
    size = 0x400
    alias = 0x1000_0000
";

/// A machine that starts at `entry` with this code there.
fn machine(entry: u32, code: &[u16]) -> Machine<()> {
    let board = Board::parse(BOARD).expect("a board");
    let mut bus = board.build().expect("builds");
    let vectors = [0x2000_0400, entry | 1].map(u32::to_le_bytes).concat();
    bus.load(0, &vectors).expect("flash");
    let code: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
    bus.load(entry, &code).expect("memory");
    let mut machine = Machine::new(bus, &board.arm_core().unwrap(), ());
    machine.reset().expect("a vector table");
    machine
}

/// Such code was decoded anew each time that it ran, until the host had no memory left.
#[test]
fn code_in_an_alias_is_decoded_once() {
    // adds r0, #1; b back
    let mut machine = machine(0x40, &[0x3001, 0xe7fd]);
    assert_eq!(machine.run(40_000, &AtomicBool::new(false)), Stop::Limit);
    assert_eq!((machine.cpu.r[0], machine.blocks.all.len()), (10_000, 1));
}

#[test]
fn code_in_an_alias_of_ram_may_change_itself() {
    // strh r2, [r3] makes `adds r1, #1` of the `adds r0, #1` before it.
    let mut machine = machine(0x1000_0040, &[0x3001, 0x801a, 0xe7fc]);
    (machine.cpu.r[2], machine.cpu.r[3]) = (0x3101, 0x2000_0040);
    machine.run(600, &AtomicBool::new(false));
    assert_eq!((machine.cpu.r[0], machine.cpu.r[1]), (1, 99));
}
