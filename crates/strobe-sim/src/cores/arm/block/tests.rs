//! Code in memories that appear at several addresses.

use std::sync::atomic::AtomicBool;

use crate::cores::arm::timing::{CoreKind, Timing};
use crate::cores::arm::{CoreOptions, Machine, Stop};
use crate::kernel::bus::Bus;
use crate::kernel::memory::{Memory, MemoryKind};

const FLASH: u32 = 0x0800_0000;
const RAM: u32 = 0x2000_0000;
const BYTES: u32 = 0x400;

/// A Cortex-M0 without interrupts, whose flash and RAM appear at a second address each.
fn aliased() -> (Bus, CoreOptions) {
    let flash = Memory::new("flash", MemoryKind::Flash, FLASH, BYTES);
    let ram = Memory::new("ram", MemoryKind::Ram, RAM, BYTES);
    let mut bus = Bus::new(flash, ram, 1_000_000);
    bus.aliases = vec![(0, BYTES, FLASH), (0x1000_0000, BYTES, RAM)];
    let options = CoreOptions {
        timing: Timing::new(CoreKind::CortexM0),
        irq_lines: 0,
        priority_bits: 2,
        mpu_regions: 0,
        cpuid: 0,
        systick_reference_divider: 0,
        systick_calibration: 0,
        vtor_mask: 0,
        bit_band: false,
        vectors: 0,
        trace_gate: None,
    };
    (bus, options)
}

/// A machine that starts at `entry` with this code there.
fn machine(entry: u32, code: &[u16]) -> Machine<()> {
    let (mut bus, options) = aliased();
    let vectors = [0x2000_0400, entry | 1].map(u32::to_le_bytes).concat();
    bus.load(0, &vectors).expect("flash");
    let code: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
    bus.load(entry, &code).expect("memory");
    let mut machine = Machine::new(bus, &options, ());
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
